import datetime
import io
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import CorruptData
from pyhudi.metadata.stats.column_stats import column_stats_schema, indexed_columns, read_column_stats
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.storage.memory import MemoryStorage

FILE = "a-0_0-0-0_20250101000000000.parquet"


def stored(rows: pa.Table, **written: Any) -> MemoryStorage:
    storage, file = MemoryStorage(), io.BytesIO()
    pq.write_table(rows, file, **written)
    storage.put(f"p/{FILE}", file.getvalue())
    return storage


def bounds_of(stats: pa.Table, kind: pa.DataType) -> tuple[Any, Any]:
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    least, greatest = (stats.column(name).combine_chunks() for name in ("minValue", "maxValue"))
    low, high = decode_bounds(least, greatest, said, kind)
    return low[0].as_py(), high[0].as_py()


def read(rows: pa.Table, version: int = 9, **written: Any) -> pa.Table:
    return read_column_stats(stored(rows, **written), [("p", FILE)], rows.column_names, version)


COLUMNS = {
    "bool": pa.array([True, None, False]),
    "int": pa.array([3, None, -7], pa.int32()),
    "long": pa.array([2**60, None, -(2**60)]),
    "float": pa.array([1.5, None, -2.5], pa.float32()),
    "double": pa.array([1e300, None, -0.5]),
    "text": pa.array(["b", None, "a"]),
    "date": pa.array([datetime.date(2024, 1, 1), None, datetime.date(1950, 1, 1)]),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("-9.75")], pa.decimal128(5, 2)),
    "big": pa.array([Decimal(10**14), None, Decimal(-(10**14))], pa.decimal128(15, 0)),
    "instant": pa.array([datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None, datetime.datetime(1960, 1, 1)]).cast(
        pa.timestamp("us", "UTC")
    ),
    "wall": pa.array([datetime.datetime(2024, 1, 1), None, datetime.datetime(1960, 1, 1)], pa.timestamp("us")),
}


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("row_group_size", [1, 2, 3])
def test_row_groups_are_put_together(version, row_group_size):
    rows = pa.table(COLUMNS)
    stats = read(rows, version, row_group_size=row_group_size)
    assert stats.schema == column_stats_schema(version)
    assert stats.column("columnName").to_pylist() == rows.column_names
    assert stats.column("partition").to_pylist() == ["p"] * len(COLUMNS)
    for at, name in enumerate(rows.column_names):
        ends = pc.min_max(rows.column(name)).as_py()
        assert bounds_of(stats.slice(at, 1), rows.schema.field(name).type) == (ends["min"], ends["max"])
        one = stats.slice(at, 1).to_pylist()[0]
        assert (one["fileName"], one["valueCount"], one["nullCount"]) == (FILE, 3, 1)
        assert one["totalSize"] > 0
        assert one["totalUncompressedSize"] > 0
        assert (one["isDeleted"], one.get("isTightBound", False)) == (False, False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, math.nan, -2.0], (-2.0, math.nan)),
        ([math.nan, None], (math.nan, math.nan)),
        ([0.0, None], (-0.0, 0.0)),
        ([-0.0, 5.0], (-0.0, 5.0)),
        ([None, None], (None, None)),
    ],
)
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("row_group_size", [1, 10])
def test_nan_is_the_greatest_float_though_a_footer_does_not_tell(values, expected, kind, row_group_size):
    found = read(pa.table({"x": pa.array(values, kind)}), row_group_size=row_group_size)
    assert repr(bounds_of(found, kind)) == repr(expected)


@pytest.mark.parametrize("written", [{"write_statistics": False}, {}])
def test_what_a_footer_does_not_tell_is_read(written):
    """Bounds beyond 4 KiB are not in a footer, nor are any if its writer was told so."""
    long = "x" * 5000
    found = read(pa.table({"t": ["b", None, long]}), **written)
    assert bounds_of(found, pa.string()) == ("b", long)
    assert found.column("nullCount").to_pylist() == [1]


def test_int96_is_read():
    moments = pa.array([datetime.datetime(2024, 1, 1), datetime.datetime(1960, 1, 1)], pa.timestamp("us"))
    found = read(pa.table({"t": moments}), use_deprecated_int96_timestamps=True)
    assert bounds_of(found, pa.timestamp("us", "UTC")) == tuple(
        datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (1960, 2024)
    )


def test_columns_that_a_file_lacks_or_that_have_no_statistics_have_no_row():
    rows = pa.table({"a": [1], "tags": [["x"]], "raw": [b"x"], "inner": [{"b": 1}]})
    found = read_column_stats(stored(rows), [("p", FILE)], ["tags", "raw", "inner", "b", "gone", "a"], 9)
    assert found.column("columnName").to_pylist() == ["a"]
    assert read_column_stats(stored(rows), [], ["a"], 9).schema == column_stats_schema(9)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_file_without_rows_has_no_statistics_since_apache_hudi_takes_keys_to_have_bounds(version):
    assert not read(pa.table(COLUMNS).slice(0, 0), version).num_rows


def test_a_damaged_file_is_named():
    storage = MemoryStorage()
    storage.put(FILE, b"PAR1")
    with pytest.raises(CorruptData) as raised:
        read_column_stats(storage, [("", FILE)], ["a"], 9)
    assert raised.value.values["path"] == FILE


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.none() | st.floats(), max_size=8),
    st.lists(st.none() | st.text(max_size=3), max_size=8),
    st.integers(1, 8),
    st.sampled_from([8, 9]),
)
def test_bounds_enclose_all_values(floats, texts, row_group_size, version):
    count = max(len(floats), len(texts))
    rows = pa.table(
        {
            "x": pa.array(floats + [None] * (count - len(floats)), pa.float64()),
            "t": pa.array(texts + [None] * (count - len(texts)), pa.string()),
        }
    )
    stats = read(rows, version, row_group_size=row_group_size)
    if not count:
        assert not stats.num_rows
        return
    for at, (name, order) in enumerate(
        {"x": lambda one: (one != one, 0 if one != one else one), "t": str.encode}.items()
    ):
        values = [one for one in rows.column(name).to_pylist() if one is not None]
        low, high = bounds_of(stats.slice(at, 1), rows.schema.field(name).type)
        assert stats.column("nullCount")[at].as_py() == count - len(values)
        if low is not None:
            assert all(order(low) <= order(value) <= order(high) for value in values)


OPTION = "hoodie.metadata.index.column.stats"
OWN = ("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path")
TYPES = pa.schema(
    {"id": pa.string(), "tags": pa.list_(pa.string()), "raw": pa.binary(), "fare": pa.float64(), "ts": pa.int64()}
)
WIDE = pa.schema({f"c{at}": pa.int32() for at in range(40)})


@pytest.mark.parametrize(
    ("schema", "options", "version", "expected"),
    [
        (TYPES, {}, 9, (*OWN, "id", "fare", "ts")),
        (TYPES, {f"{OPTION}.column.list": "ts, tags,id, gone"}, 9, (*OWN, "id", "ts")),
        (TYPES, {f"{OPTION}.max.columns.to.index": "2"}, 8, (*OWN, "id", "fare")),
        (WIDE, {}, 8, (*OWN, *WIDE.names[:32])),
        (WIDE, {}, 6, (*META_FIELDS, *WIDE.names)),
    ],
)
def test_the_first_columns_that_can_are_indexed_or_those_that_are_named(schema, options, version, expected):
    assert indexed_columns(schema, Settings.of(options), version, has_meta_fields=True) == expected
    without = indexed_columns(schema, Settings.of(options), version, has_meta_fields=False)
    assert without == tuple(name for name in expected if not name.startswith("_hoodie"))
