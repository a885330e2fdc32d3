import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.kernels.key_lookup import KeyLookup

text = st.one_of(
    st.text(max_size=3), st.text("ab", min_size=6, max_size=10), st.integers(0, 30).map(lambda n: f"{n:020}key:{n}")
)


def expected(keys, known):
    found = [(row, known.index(key)) for row, key in enumerate(keys) if key in known]
    return [row for row, _ in found], [hit for _, hit in found]


@given(st.lists(text, unique=True), st.lists(text), st.integers(0, 5))
def test_keys_are_found_where_they_are(known, keys, skipped):
    lookup = KeyLookup.of(pa.array(["xx", *known], pa.string()).slice(1))
    given_keys = pa.array(keys, pa.string()).slice(skipped)
    found = None if lookup is None else lookup.find(given_keys)
    if found is None:
        return
    assert tuple(part.tolist() for part in found) == expected(given_keys.to_pylist(), known)


def test_many_keys_are_found_as_arrow_finds_them():
    known = pa.array([f"{n * 7919 % 100003:032}-{n}" for n in range(5000)])
    keys = pa.array([f"{n * 7919 % 100003:032}-{n}" for n in range(3000, 9000)])
    rows, hits = KeyLookup.of(known).find(keys)
    assert (rows.tolist(), hits.tolist()) == (list(range(2000)), list(range(3000, 5000)))
    assert pc.index_in(keys, known).drop_null().to_pylist() == hits.tolist()


def test_keys_that_differ_only_where_nothing_is_read_are_not_mistaken():
    one, other = ("12345678" + middle + "middle__" + middle + "87654321" for middle in ("-----", "====="))
    assert KeyLookup.of(pa.array([one, other])) is None
    assert [part.tolist() for part in KeyLookup.of(pa.array([one])).find(pa.array([other, one]))] == [[1], [0]]


def test_other_types_are_left_to_arrow():
    assert KeyLookup.of(pa.array([b"12345678"])) is None
    assert KeyLookup.of(pa.array([], pa.string())) is None
    assert KeyLookup.of(pa.array(["12345678"])).find(pa.array([1])) is None
