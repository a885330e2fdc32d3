from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.errors import CorruptData, SchemaMismatch
from pyhudi.filegroup.log_ordering import lacks_ordering, ordering_columns, ordering_union
from pyhudi.formats.log import DELETES

UNION = DELETES.field("ordering").type
INSTANT = datetime(2026, 1, 2, 3, 4, 5, 6000, UTC)
MICROS = 1_767_323_045_006_000
DAY = date(2026, 1, 2)
DAYS = 20455


def wrapped(*values):
    """Return ordering values as a delete block has them: None, (wrapper, value) or a list of these."""

    def one(value):
        if isinstance(value, list):
            return {"ArrayWrapper": {"wrappedValues": [one(inner) for inner in value]}}
        return None if value is None else {value[0]: {"value": value[1]}}

    return pa.array([one(value) for value in values], UNION)


def columns_of(union, *types):
    fields = [pa.field(f"c{place}", kind) for place, kind in enumerate(types)]
    columns, lacks = ordering_columns(union, fields)
    assert [column.type for column in columns] == list(types)
    return [column.to_pylist() for column in columns], lacks.tolist()


@pytest.mark.parametrize(
    ("wrapper", "value", "kind", "expected"),
    [
        ("IntWrapper", 7, pa.int32(), 7),
        ("IntWrapper", 7, pa.int64(), 7),
        ("IntWrapper", 7, pa.string(), "7"),
        ("IntWrapper", DAYS, pa.date32(), DAY),
        ("LongWrapper", 0, pa.int64(), 0),
        ("LongWrapper", 2**60 + 1, pa.float64(), float(2**60)),
        ("LongWrapper", MICROS, pa.timestamp("us", "UTC"), INSTANT),
        ("LongWrapper", MICROS, pa.timestamp("us"), INSTANT.replace(tzinfo=None)),
        ("LongWrapper", MICROS // 1000, pa.timestamp("ms", "UTC"), INSTANT),
        ("LongWrapper", MICROS, pa.timestamp("ms", "UTC"), INSTANT),
        ("FloatWrapper", 1.5, pa.float64(), 1.5),
        ("DoubleWrapper", 1.5, pa.float64(), 1.5),
        ("BooleanWrapper", True, pa.bool_(), True),
        ("StringWrapper", "x", pa.string(), "x"),
        ("BytesWrapper", b"x", pa.binary(), b"x"),
        ("DecimalWrapper", Decimal("1.250000000000000"), pa.decimal128(9, 2), Decimal("1.25")),
    ],
)
def test_wrappers_become_values_of_the_column(wrapper, value, kind, expected):
    assert columns_of(wrapped((wrapper, value), None), kind) == ([[expected, None]], [False, True])


def test_deletes_of_one_block_may_have_wrappers_of_several_kinds():
    union = wrapped(("IntWrapper", 3), ("LongWrapper", 4), None, ("IntWrapper", 0), [("LongWrapper", 5)])
    assert columns_of(union, pa.int64()) == ([[3, 4, None, None, 5]], [False, False, True, True, False])


def test_the_integer_zero_is_no_ordering_value_and_other_zeros_are():
    union = wrapped(("IntWrapper", 0), ("LongWrapper", 0))
    assert columns_of(union, pa.int64()) == ([[None, 0]], [True, False])
    assert columns_of(union, pa.int32()) == ([[None, 0]], [True, True])


def test_a_table_without_ordering_columns_has_none():
    assert columns_of(wrapped(("LongWrapper", 5), None)) == ([], [True, True])


def test_several_ordering_columns_come_out_of_arrays():
    union = wrapped(
        [("LongWrapper", 5), ("StringWrapper", "a")], None, ("IntWrapper", 0), [("IntWrapper", 0), ("IntWrapper", 0)]
    )
    found, lacks = columns_of(union, pa.int64(), pa.string())
    assert found == [[5, None, None, None], ["a", None, None, None]]
    assert lacks == [False, True, True, False]


def test_dates_and_instants_of_java_are_compared_with_nothing():
    assert columns_of(wrapped(("DateWrapper", DAYS)), pa.date32()) == ([[None]], [True])
    assert columns_of(wrapped(("TimestampMicrosWrapper", MICROS)), pa.timestamp("us", "UTC")) == ([[None]], [True])
    union = wrapped([("LongWrapper", 1), ("LocalDateWrapper", DAYS)], [("LongWrapper", 1), ("IntWrapper", DAYS)])
    assert columns_of(union, pa.int64(), pa.date32()) == ([[1, 1], [None, DAY]], [True, False])


@pytest.mark.parametrize("union", [wrapped([("LongWrapper", 5)]), wrapped(("LongWrapper", 5))])
def test_another_number_of_ordering_values_is_corrupt(union):
    with pytest.raises(CorruptData, match="ordering value"):
        columns_of(union, pa.int64(), pa.string())


def test_a_value_that_does_not_fit_its_column_is_refused_by_name():
    with pytest.raises(SchemaMismatch, match="does not fit its column") as error:
        columns_of(wrapped(("StringWrapper", "x")), pa.int64())
    assert error.value.values["column"] == "c0"
    with pytest.raises(SchemaMismatch):
        columns_of(wrapped(("BytesWrapper", b"x")), pa.decimal128(9, 2))


@pytest.mark.parametrize("kind", [pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.date32()])
def test_text_as_the_ordering_value_of_a_moment_is_said(kind):
    with pytest.raises(SchemaMismatch, match="does not fit"):
        columns_of(wrapped(("StringWrapper", "x")), kind)


def test_rows_lack_an_ordering_value_by_the_same_rule():
    assert lacks_ordering([pa.array([0, None, 1], pa.int32())], 3).tolist() == [True, True, False]
    assert lacks_ordering([pa.array([0, None, 1], pa.int64())], 3).tolist() == [False, True, False]
    assert lacks_ordering([], 2).tolist() == [True, True]
    assert lacks_ordering([pa.array([None], pa.int64()), pa.array([None], pa.int64())], 1).tolist() == [False]


def unwrapped(union):
    """Return each ordering value as `wrapped` takes it."""

    def one(value):
        if value is None:
            return None
        [(name, inner)] = [(name, inner) for name, inner in value.items() if inner is not None]
        return [one(item) for item in inner["wrappedValues"]] if name == "ArrayWrapper" else (name, inner["value"])

    return [one(value) for value in union.to_pylist()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([7], pa.int32()), ("IntWrapper", 7)),
        (pa.array([7], pa.int64()), ("LongWrapper", 7)),
        (pa.array([1.5], pa.float32()), ("FloatWrapper", 1.5)),
        (pa.array([1.5], pa.float64()), ("DoubleWrapper", 1.5)),
        (pa.array([True]), ("BooleanWrapper", True)),
        (pa.array(["x"]), ("StringWrapper", "x")),
        (pa.array([b"x"]), ("BytesWrapper", b"x")),
        (pa.array([DAY]), ("IntWrapper", DAYS)),
        (pa.array([MICROS], pa.timestamp("us", "UTC")), ("LongWrapper", MICROS)),
        (pa.array([MICROS], pa.timestamp("us")), ("LongWrapper", MICROS)),
        (pa.array([MICROS // 1000], pa.timestamp("ms", "UTC")), ("LongWrapper", MICROS // 1000)),
        (pa.array([Decimal("1.25")], pa.decimal128(9, 2)), ("DecimalWrapper", Decimal("1.250000000000000"))),
    ],
)
def test_values_are_wrapped_as_spark_wraps_them_and_read_back(values, expected):
    column = pa.concat_arrays([values, values, pa.nulls(1, values.type)])
    union = ordering_union([column], np.array([False, True, False]))
    assert unwrapped(union) == [expected, ("IntWrapper", 0), ("IntWrapper", 0)]
    [found], lacks = ordering_columns(union, [pa.field("c", values.type)])
    assert found.equals(pa.concat_arrays([values, pa.nulls(2, values.type)]))
    assert lacks.tolist() == [False, True, True]


def test_several_ordering_values_are_wrapped_in_an_array():
    columns = [pa.array([5, 6, None]), pa.array(["a", None, None]), pa.array([DAY, DAY, None])]
    union = ordering_union(columns, np.array([False, True, False]))
    none = ("IntWrapper", 0)
    assert unwrapped(union) == [[("LongWrapper", 5), ("StringWrapper", "a"), ("IntWrapper", DAYS)], none, [none] * 3]
    fields = [pa.field(f"c{place}", column.type) for place, column in enumerate(columns)]
    found, lacks = ordering_columns(union, fields)
    assert [column.to_pylist() for column in found] == [[5, None, None], ["a", None, None], [DAY, None, None]]
    assert lacks.tolist() == [False, True, False]


def test_a_table_without_ordering_columns_writes_none():
    assert unwrapped(ordering_union([], np.array([True, True]))) == [("IntWrapper", 0)] * 2


@pytest.mark.parametrize(
    "column", [pa.array([Decimal(10**16)], pa.decimal128(38, 0)), pa.array([[1]], pa.list_(pa.int32()))]
)
def test_ordering_values_that_no_delete_can_have_are_refused(column):
    with pytest.raises(SchemaMismatch, match="delete block"):
        ordering_union([column], np.array([False]))
