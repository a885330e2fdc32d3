import datetime as dt
import enum
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pyhudi.errors import SchemaMismatch
from pyhudi.schema.python_values import to_array

UTC = dt.UTC
DAY, MOMENT = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 3)
NANOS = pd.Timestamp(1_577_836_800_000_000_001)
POINT = pa.struct([("x", pa.int32()), ("on", pa.date32())])


class Color(enum.IntEnum):
    RED = 7


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        ([1, None, 3], pa.int64(), [1, None, 3]),
        ([1.0, 2, None], pa.int32(), [1, 2, None]),
        ([Decimal("2.00"), np.int8(3), Color.RED], pa.int64(), [2, 3, 7]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([0.5, np.float32(0.25)], pa.float32(), [0.5, 0.25]),
        ([Decimal("1.5"), 2], pa.decimal128(6, 2), [Decimal("1.50"), Decimal("2.00")]),
        ([DAY, None], pa.date32(), [DAY, None]),
        ([MOMENT, pd.Timestamp(MOMENT), pd.NaT], pa.timestamp("us"), [MOMENT, MOMENT, None]),
        ([MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=3)))], pa.timestamp("us", "UTC"),
         [dt.datetime(2020, 1, 1, tzinfo=UTC)]),
        ([np.datetime64("2020-01-01T03", "ms")], pa.timestamp("us"), [MOMENT]),
        (["ü", pd.NA], pa.string(), ["ü", None]),
        ([b"\xff", bytearray(b"a")], pa.binary(), [b"\xff", b"a"]),
        ([True, np.bool_(False)], pa.bool_(), [True, False]),
        ([None, None], pa.decimal128(5, 1), [None, None]),
        ([], POINT, []),
        ([{"x": 1.0, "on": DAY}, None, {}], POINT, [{"x": 1, "on": DAY}, None, {"x": None, "on": None}]),
        ([[1, 2.0], (3,), None, np.array([4])], pa.list_(pa.int64()), [[1, 2], [3], None, [4]]),
        ([{"a": 1}, [("b", 2.0)], None], pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("b", 2)], None]),
        ([[{"x": 1}], []], pa.list_(POINT), [[{"x": 1, "on": None}], []]),
    ],
)  # fmt: skip
def test_values_are_stored_as_what_they_are(values, kind, stored):
    made = to_array(values, kind, "v")
    assert made.type == kind
    assert made.to_pylist() == stored
    made.validate(full=True)


@pytest.mark.parametrize(
    ("values", "kind", "row", "column", "value"),
    [
        ([1, 2.9], pa.int64(), 1, "v", "2.9"),
        ([None, 2.9], pa.int32(), 1, "v", "2.9"),
        ([1, 2**40], pa.int32(), 1, "v", str(2**40)),
        ([1, 2**63], pa.int64(), 1, "v", str(2**63)),
        ([2.0, 2.0**54], pa.int64(), 1, "v", "1.8"),
        ([float("nan")], pa.int64(), 0, "v", "nan"),
        ([0.5, 2**53 + 1], pa.float64(), 1, "v", str(2**53 + 1)),
        ([1.0, 1e39], pa.float32(), 1, "v", "1e+39"),
        ([Decimal(1), Decimal("1.5")], pa.int64(), 1, "v", "1.5"),
        ([Decimal("1.255")], pa.decimal128(6, 2), 0, "v", "1.255"),
        ([1.5], pa.decimal128(6, 2), 0, "v", "1.5"),
        ([True], pa.float64(), 0, "v", "True"),
        ([DAY, MOMENT], pa.date32(), 1, "v", "datetime.datetime(2020, 1, 1, 3, 0)"),
        ([2.5], pa.date32(), 0, "v", "2.5"),
        ([5], pa.timestamp("us"), 0, "v", "5"),
        ([DAY], pa.timestamp("us"), 0, "v", "datetime.date"),
        ([MOMENT], pa.timestamp("us", "UTC"), 0, "v", "datetime.datetime(2020, 1, 1, 3, 0)"),
        ([MOMENT.replace(tzinfo=UTC), MOMENT], pa.timestamp("us", "UTC"), 1, "v", "datetime.datetime"),
        ([MOMENT.replace(tzinfo=UTC)], pa.timestamp("us"), 0, "v", "datetime.datetime"),
        ([MOMENT, NANOS], pa.timestamp("us"), 1, "v", "000000001"),
        ([NANOS, NANOS], pa.timestamp("us"), 0, "v", "000000001"),
        ([np.datetime64(5, "ns")], pa.timestamp("us"), 0, "v", "000000005"),
        (["a", 5], pa.string(), 1, "v", "5"),
        (["a"], pa.binary(), 0, "v", "a"),
        ([b"a"], pa.string(), 0, "v", "a"),
        (["a", "\ud800"], pa.string(), 1, "v", "ud800"),
        ([object()], pa.string(), 0, "v", "object"),
        ([{"x": 1}, {"x": 1.5}], POINT, 1, "v.x", "1.5"),
        ([{"on": DAY}, {"on": MOMENT}], POINT, 1, "v.on", "datetime.datetime"),
        ([None, [1], [2, 2.5]], pa.list_(pa.int64()), 2, "v.element", "2.5"),
        ([{"a": 1}, {"a": 1, "b": 2.5}], pa.map_(pa.string(), pa.int64()), 1, "v.value", "2.5"),
        ([{5: 1}], pa.map_(pa.string(), pa.int64()), 0, "v.key", "5"),
        ([[("a", 1, 2)]], pa.map_(pa.string(), pa.int64()), 0, "v", "2"),
        ([1], POINT, 0, "v", "1"),
        ([{5: 1}], POINT, 0, "v", "5"),
        (["ab"], pa.list_(pa.string()), 0, "v", "ab"),
    ],
)
def test_a_value_that_would_change_is_refused_by_row_and_column(values, kind, row, column, value):
    with pytest.raises(SchemaMismatch) as caught:
        to_array(values, kind, "v")
    said = caught.value.values
    assert (said["row"], said["column"]) == (row, column)
    assert value in said["value"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pa.int64()),
        ([1, 2.5, None], pa.float64()),
        ([1, Decimal("1.5")], pa.decimal128(2, 1)),
        ([NANOS], pa.timestamp("ns")),
        ([pd.Timestamp(MOMENT)], pa.timestamp("us")),
        ([{"a": 1}, {"b": [MOMENT]}], pa.struct([("a", pa.int64()), ("b", pa.list_(pa.timestamp("us")))])),
        ([None], pa.null()),
        ([[]], pa.list_(pa.null())),
    ],
)
def test_values_of_a_new_column_have_the_type_they_look_like(values, kind):
    made = to_array(values, None, "v")
    assert [str(made.type).replace("item", "element")] == [str(kind).replace("item", "element")]


@pytest.mark.parametrize(
    "values",
    [[DAY, MOMENT], ["a", b"b"], [True, 1], [{"a": 1}, 1], [{"a": DAY}, {"a": MOMENT}], [1, "a"], [{1: 2}], [1 + 2j]],
)
def test_values_of_a_new_column_of_several_types_are_refused(values):
    with pytest.raises(SchemaMismatch, match="column='v"):
        to_array(values, None, "v")


def test_a_field_that_the_struct_lacks_is_kept_for_the_table_to_take_or_refuse():
    made = to_array([{"x": 1, "new": "n"}], POINT, "v")
    assert made.type.names == ["x", "on", "new"]
