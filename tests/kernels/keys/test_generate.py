from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import InternalError, InvalidInput, KeyMissing, OptionError
from pyhudi.kernels.keys import (
    KeyGenerator,
    KeySpec,
    PartitionField,
    keys_and_paths,
    partition_paths,
    record_keys,
    register_key_generator,
)


def spec(*fields, generator=KeyGenerator.COMPLEX, partition=(), **more):
    levels = tuple(PartitionField(name=name) for name in partition)
    return KeySpec(generator=generator, record_key=fields, partition=levels, **more)


def keys(rows, *fields, **more):
    return record_keys(spec(*fields, **more), rows if isinstance(rows, pa.Table) else pa.table(rows)).to_pylist()


ALL_BUT_COMPLEX = [
    KeyGenerator.SIMPLE,
    KeyGenerator.TIMESTAMP,
    KeyGenerator.CUSTOM,
    KeyGenerator.NON_PARTITION,
]


@pytest.mark.parametrize("generator", ALL_BUT_COMPLEX)
def test_one_field_gives_the_bare_value(generator):
    assert keys({"a": [1, 20]}, "a", generator=generator) == ["1", "20"]


@pytest.mark.parametrize(("is_prefixed", "key"), [(True, "a:1"), (False, "1")])
def test_complex_with_one_field_has_two_encodings(is_prefixed, key):
    assert keys({"a": [1]}, "a", has_prefixed_single_key=is_prefixed) == [key]


@pytest.mark.parametrize("generator", [KeyGenerator.COMPLEX, KeyGenerator.CUSTOM, KeyGenerator.NON_PARTITION])
def test_several_fields_are_named_in_their_order(generator):
    rows = {"a": [1, 2], "b": ["x", "y"], "c": [date(2024, 1, 2), None]}
    assert keys(rows, "c", "b", "a", generator=generator) == ["c:2024-01-02,b:x,a:1", "c:__null__,b:y,a:2"]


def test_simple_takes_one_field():
    with pytest.raises(InvalidInput, match="COMPLEX"):
        keys({"a": [1], "b": [1]}, "a", "b", generator=KeyGenerator.SIMPLE)


def test_placeholders_stand_for_null_and_empty_parts():
    assert keys({"a": ["x", "x", "x"], "b": [None, "", "y"]}, "a", "b") == [
        "a:x,b:__null__",
        "a:x,b:__empty__",
        "a:x,b:y",
    ]


def test_a_key_of_nothing_but_null_and_empty_parts_is_refused():
    with pytest.raises(KeyMissing) as error:
        keys({"a": ["x", None, ""], "b": [None, "", None]}, "a", "b")
    assert (error.value.values["count"], error.value.values["first_row"]) == (2, 1)


@pytest.mark.parametrize("column", [["x", None, "y", None], ["x", "", "y", ""]])
def test_a_null_or_empty_key_is_refused_with_its_place(column):
    with pytest.raises(KeyMissing) as error:
        keys({"a": column}, "a", generator=KeyGenerator.SIMPLE)
    assert error.value.values == {"field": "a", "count": 2, "first_row": 1}


def test_fields_of_structs_are_found_and_null_where_the_struct_is():
    rows = pa.table({"a": [{"b": {"c": 1}}, {"b": None}, None], "id": [1, 2, 3]})
    assert keys(rows, "id", "a.b.c") == ["id:1,a.b.c:1", "id:2,a.b.c:__null__", "id:3,a.b.c:__null__"]


def test_a_column_whose_name_has_a_dot_comes_first():
    assert keys({"a.b": [1], "a": [{"b": 2}]}, "a.b", generator=KeyGenerator.SIMPLE) == ["1"]


def test_rows_without_their_key_fields_go_by_their_meta_columns():
    rows = {"_hoodie_record_key": ["k"], "_hoodie_partition_path": ["p=1"], "b": [1]}
    made = keys_and_paths(spec("a", "b", partition=("p",)), pa.table(rows))
    assert [column.to_pylist() for column in made] == [["k"], ["p=1"]]


def test_fields_win_over_meta_columns():
    assert keys({"_hoodie_record_key": ["old"], "a": ["new"]}, "a", generator=KeyGenerator.SIMPLE) == ["new"]


def test_rows_without_fields_and_meta_columns_are_refused_by_name():
    with pytest.raises(KeyMissing, match="fields='a, c', columns='b'"):
        keys({"b": [1]}, "a", "b", "c")
    with pytest.raises(KeyMissing, match="fields='p', columns='b'"):
        partition_paths(spec("b", partition=("p",)), pa.table({"b": [1]}))


def test_null_meta_columns_are_refused():
    with pytest.raises(KeyMissing):
        keys({"_hoodie_record_key": [None, "k"]}, "a")
    rows = pa.table({"_hoodie_partition_path": pa.array([None], pa.string())})
    with pytest.raises(InvalidInput, match="null"):
        partition_paths(spec("a", partition=("p",)), rows)


def test_generated_keys_number_the_rows():
    made = record_keys(spec(key_prefix="20240101"), pa.table({"a": [1, 2]}), task=3, first_row=7)
    assert made.to_pylist() == ["20240101_3_7", "20240101_3_8"]


def test_rows_that_have_a_generated_key_keep_it():
    rows = {"_hoodie_record_key": ["old_0_0", None]}
    assert keys(rows, key_prefix="new") == ["old_0_0", "new_0_1"]


def test_generated_keys_need_an_instant():
    with pytest.raises(InternalError):
        keys({"a": [1]})


def test_consistent_timestamps_are_text():
    rows = {"t": pa.array([datetime(2024, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC"))}
    assert keys(rows, "t", generator=KeyGenerator.SIMPLE) == ["1704153600000000"]
    consistent = keys(rows, "t", generator=KeyGenerator.SIMPLE, has_consistent_timestamps=True)
    assert consistent == ["2024-01-02 00:00:00.0"]


def test_tables_without_partitions_have_one_empty_path():
    rows = pa.table({"a": [1, 2]})
    assert partition_paths(spec("a"), rows).to_pylist() == ["", ""]
    unpartitioned = spec("a", generator=KeyGenerator.NON_PARTITION, partition=("a",))
    assert partition_paths(unpartitioned, rows).to_pylist() == ["", ""]


def test_no_rows_give_no_keys():
    rows = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    assert keys(rows, "a", "b") == []
    assert partition_paths(spec("a", partition=("b",)), rows).to_pylist() == []


# --- the user's own


def user(function):
    register_key_generator("mine", function)
    return spec(generator=KeyGenerator.USER_PROVIDED, function="mine")


def test_a_registered_function_makes_keys_and_paths():
    mine = user(lambda rows: (rows["a"].cast(pa.string()), pa.array(["x/y", ""])))
    made = keys_and_paths(mine, pa.table({"a": [1, 2]}))
    assert [column.to_pylist() for column in made] == [["1", "2"], ["x/y", ""]]
    assert record_keys(mine, pa.table({"a": [1, 2]})).to_pylist() == ["1", "2"]
    assert partition_paths(mine, pa.table({"a": [1, 2]})).to_pylist() == ["x/y", ""]


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ((pa.array(["k"]), pa.array(["../x"])), InvalidInput),
        ((pa.array(["k"]), pa.array([None], pa.string())), InvalidInput),
        ((pa.array([None], pa.string()), pa.array(["x"])), KeyMissing),
        ((pa.array([""]), pa.array(["x"])), KeyMissing),
        ((pa.array(["k", "k"]), pa.array(["x"])), InvalidInput),
        ((pa.array([[1]]), pa.array(["x"])), InvalidInput),
        ((["k"], ["x"]), InvalidInput),
        (pa.array(["k"]), InvalidInput),
    ],
)
def test_what_a_registered_function_gives_is_checked(result, kind):
    with pytest.raises(kind):
        keys_and_paths(user(lambda rows: result), pa.table({"a": [1]}))


def test_a_function_must_be_registered():
    with pytest.raises(OptionError, match="register"):
        record_keys(spec(generator=KeyGenerator.USER_PROVIDED, function="absent"), pa.table({"a": [1]}))


# --- against a row-by-row reference


def key_of(row, names):
    """Build one composite key; none if it is refused."""
    marks = [{None: "__null__", "": "__empty__"}.get(value, value) for value in row]
    if not any(row):
        return None
    return ",".join(f"{name}:{mark}" for name, mark in zip(names, marks, strict=True))


@given(st.lists(st.tuples(st.none() | st.text(max_size=3), st.none() | st.text(max_size=3)), min_size=1))
def test_composite_keys_equal_the_reference(rows):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.string())}
    )
    expected = [key_of(row, "ab") for row in rows]
    if None in expected:
        with pytest.raises(KeyMissing) as error:
            keys(table, "a", "b")
        assert error.value.values["count"] == expected.count(None)
        assert error.value.values["first_row"] == expected.index(None)
    else:
        assert keys(table, "a", "b") == expected
