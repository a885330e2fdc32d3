import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.kernels.keys import KeyGenerator, KeySpec, key_elements, record_keys
from pyhudi.kernels.keys.parse import split_plain_keys

SAFE = st.none() | st.text("xyz_é", min_size=1, max_size=4)


@given(st.lists(st.tuples(SAFE, SAFE).filter(any), min_size=1))
def test_splitting_is_the_inverse_of_making(rows):
    table = pa.table(
        {"f.1": pa.array([a for a, _ in rows], pa.string()), "g": pa.array([b for _, b in rows], pa.string())}
    )
    made = record_keys(KeySpec(generator=KeyGenerator.COMPLEX, record_key=("f.1", "g")), table).combine_chunks()
    assert [column.to_pylist() for column in split_plain_keys(made, ["f.1", "g"])] == [
        table["f.1"].to_pylist(),
        table["g"].to_pylist(),
    ]


@pytest.mark.parametrize("keys", [["a:1,2,b:x"], ["a:1,b:2", None], ["b:1,a:2"], ["a:1"]])
def test_keys_that_commas_and_names_do_not_part_are_left_alone(keys):
    assert split_plain_keys(pa.array(keys), ["a", "b"]) is None


@pytest.mark.parametrize(
    ("key", "fields", "elements"),
    [
        ("1", ["id"], ["1"]),
        ("id:1", ["id"], ["id:1"]),
        ("a,b", ["id"], ["a,b"]),
        ("a:1,b:2", ["a", "b"], ["1", "2"]),
        ("a:1,b:2", ["b", "a"], ["1", "2"]),
        ("a:1,b:2", ["b"], ["2"]),
        ("a:1,b:2", [], ["1", "2"]),
        ("a:1,b:2", [""], ["1", "2"]),
        ("a:1,b:2", ["c"], ["a:1,b:2"]),
        ("a:__null__,b:__empty__", ["a", "b"], [None, ""]),
        ("a:1,2,b:3", ["a", "b"], ["1,2", "3"]),
        ("a:1,b:2014-10-22 13:50:42,c:3", ["b"], ["2014-10-22 13:50:42"]),
        ("a:1,b:2:3", ["a", "b"], ["1", "2:3"]),
        ("a,b:1", ["b"], ["a,b:1"]),
        ("a:,b:", ["a", "b"], ["", ""]),
    ],
)
def test_the_elements_of_a_key_are_those_hudi_finds(key, fields, elements):
    assert key_elements(pa.array([key]), fields).to_pylist() == [elements]


def elements_of(key, fields):
    """Walk one key from colon to colon."""
    if "," not in key or ":" not in key:
        return [key]
    found, start = [], 0
    while start < len(key):
        colon = key.index(":", start)
        end, after = len(key), key.find(":", colon + 1)
        while after >= 0:
            comma = key.rfind(",", colon, after)
            if comma > 0:
                end = comma
                break
            after = key.find(":", after + 1)
        if not fields or key[start:colon] in fields:
            found.append({"__null__": None, "__empty__": ""}.get(key[colon + 1 : end], key[colon + 1 : end]))
        start = end + 1
    return found or [key]


KEYS = st.lists(
    st.sampled_from(["a", "b", ":", ",", "a:", ",b:", "__null__", "__empty__", "ü", "\ufdd0"]), max_size=8
).map("".join)


@given(st.lists(KEYS), st.sampled_from([(), ("a",), ("a", "b"), ("b",)]))
def test_elements_equal_the_reference(keys, fields):
    assert key_elements(pa.array(keys, pa.string()), fields).to_pylist() == [elements_of(key, fields) for key in keys]
