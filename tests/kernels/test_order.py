import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput
from pyhudi.kernels.order import sort_rows

NAN = float("nan")


def rank(value):
    return (value is not None, value != value, 0 if value is None or value != value else value)


def test_nulls_come_first_and_nan_last():
    table = pa.table({"x": [3.0, None, NAN, 1.0, None], "y": [1, 2, 3, 4, 5]})
    assert sort_rows(table, ["x"])["y"].to_pylist() == [2, 5, 4, 1, 3]


def test_later_columns_break_ties_and_equal_rows_keep_their_order():
    table = pa.table({"a": ["b", "a", "b", "a"], "b": [1, 2, 0, 2], "n": [0, 1, 2, 3]})
    assert sort_rows(table, ["a", "b"])["n"].to_pylist() == [1, 3, 2, 0]


def test_fields_of_structs_and_dictionaries_can_be_sorted_by():
    table = pa.table({"s": [{"a": 2}, {"a": 1}, None], "d": pa.array(["y", "x", "x"]).dictionary_encode()})
    assert sort_rows(table, ["s.a"])["s"].to_pylist() == [None, {"a": 1}, {"a": 2}]
    assert sort_rows(table, ["d"])["d"].to_pylist() == ["x", "x", "y"]


@pytest.mark.parametrize("columns", [["z"], [], ["s"]])
def test_columns_that_cannot_be_sorted_by_are_refused(columns):
    with pytest.raises(InvalidInput):
        sort_rows(pa.table({"s": [{"a": 1}]}), columns)


ROWS = st.lists(st.tuples(st.none() | st.floats(), st.none() | st.text(max_size=2)))


@given(ROWS)
def test_sorting_equals_the_reference(rows):
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.float64()), "b": pa.array([b for _, b in rows], pa.string())}
    )
    table = table.append_column("n", pa.array(range(len(rows)), pa.int64()))
    encoded = [(a, None if b is None else b.encode()) for a, b in rows]
    expected = sorted(range(len(rows)), key=lambda i: (rank(encoded[i][0]), rank(encoded[i][1])))
    assert sort_rows(table, ["a", "b"])["n"].to_pylist() == expected
