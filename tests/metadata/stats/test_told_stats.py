"""What a task tells of a file that it wrote is what a reading of the file tells."""

import datetime
import io
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.metadata.checking import new_table, rows

from pyhudi import create_table
from pyhudi.filegroup.bounds import measured, together
from pyhudi.formats.parquet import ParquetOptions, write_base_file
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats
from pyhudi.metadata.stats.told_stats import StatsMeasures, unpack_stats
from pyhudi.storage.memory import MemoryStorage

FILE = ("p", "a-0_0-0-0_20250101000000000.parquet")
DAY = datetime.datetime(2024, 1, 1)
ROWS = pa.table(
    {
        "bool": pa.array([True, None, False, True]),
        "int": pa.array([3, None, -7, 0], pa.int32()),
        "long": pa.array([2**60, None, -(2**60), 0]),
        "float": pa.array([1.5, None, math.nan, 0.0], pa.float32()),
        "double": pa.array([-0.0, None, 0.0, 1e300]),
        "nothing": pa.array([None] * 4, pa.float64()),
        "text": pa.array(["b", None, "a", "\u00e9"]),
        "date": pa.array([DAY.date(), None, datetime.date(1950, 1, 1), DAY.date()]),
        "decimal": pa.array([Decimal("1.25"), None, Decimal("-9.75"), Decimal(0)], pa.decimal128(5, 2)),
        "instant": pa.array([DAY, None, DAY, DAY], pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        "wall": pa.array([DAY, None, DAY, DAY], pa.timestamp("us")),
        "bytes": pa.array([b"b", None, b"a", b""]),
        "tags": pa.array([["a"], None, [], ["b"]]),
    }
)
TYPES = {field.name: field.type for field in ROWS.schema} | {"gone": pa.int64()}


def written(rows: pa.Table, columns=tuple(TYPES), *, version: int = 9, rows_a_group: int = 2) -> tuple[bytes, bytes]:
    """Write a file and return it with what is told of it."""
    sink, options = io.BytesIO(), ParquetOptions(row_group_rows=rows_a_group)
    end = write_base_file(sink, rows.to_batches(max_chunksize=1), rows.schema, options, dict)
    floats = tuple(one.name for one in rows.schema if pa.types.is_floating(one.type))
    seen = {name: together([measured(part) for part in rows[name].chunks]) for name in floats}
    return sink.getvalue(), StatsMeasures(tuple(columns), version, floats).told(end, seen)


def sorted_rows(stats: pa.Table) -> list[str]:
    return sorted(map(repr, stats.to_pylist()))  # NaN is not equal to itself


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("rows_a_group", [1, 3, 100])
def test_what_is_told_is_what_a_file_says(version, rows_a_group):
    data, told = written(ROWS, version=version, rows_a_group=rows_a_group)
    storage = MemoryStorage()
    storage.put("/".join(FILE), data)
    expected = read_column_stats(storage, [FILE], list(TYPES), version)
    found = unpack_stats({FILE: told}, TYPES, version)
    assert found.schema == column_stats_schema(version)
    assert sorted_rows(found) == sorted_rows(expected)
    assert found.num_rows == 11


def test_of_a_bound_that_no_footer_has_nothing_is_told():
    rows = pa.table({"text": ["x" * 100_000, "y" * 100_000], "n": [1, 2]})
    assert written(rows, rows.column_names)[1] == b""
    assert written(rows, ["n"])[1]


@pytest.mark.parametrize(
    "types",
    [{"int": pa.int64()}, {"int": pa.int32(), "other": pa.string()}],
    ids=["of another type", "not measured"],
)
def test_a_file_of_which_not_all_is_told_is_to_be_read(types):
    told = written(ROWS)[1]
    other = written(pa.table({"int": pa.array([5], pa.int64())}), ["int", "other"])[1]
    found = unpack_stats({FILE: told, ("q", "b.parquet"): other}, types, 9)
    assert set(found["partition"].to_pylist()) == ({"q"} if types["int"] == pa.int64() else set())


def test_where_no_column_is_asked_for_nothing_is_told():
    told = written(ROWS, ())[1]
    assert told
    assert unpack_stats({FILE: told}, {}, 9).num_rows == 0


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.datasource.write.drop.partition.columns": "true"},
        {"hoodie.populate.meta.fields": "false", "hoodie.metadata.index.column.stats.column.list": "none"},
    ],
    ids=["a dropped column of floats", "no columns"],
)
def test_tables_are_written_of_which_files_tell_less(tmp_path, options):
    schema = pa.schema([("uuid", pa.string()), ("fare", pa.float64()), ("tip", pa.float64())])
    trips = pa.table({"uuid": ["a", "b"], "fare": [1.5, 2.5], "tip": [0.5, math.nan]}, schema=schema)
    table = create_table(str(tmp_path / "t"), schema, record_key="uuid", partition_by="fare", options=options)
    assert table.upsert(trips, options=options).inserted == 2
    assert table.check().ok


def test_only_columns_that_are_asked_for_are_unpacked():
    found = unpack_stats({FILE: written(ROWS)[1]}, {"long": pa.int64(), "gone": pa.int64()}, 9)
    assert found["columnName"].to_pylist() == ["long"]


@pytest.mark.parametrize(
    ("table_type", "act"),
    [
        ("cow", lambda table: table.upsert(rows("b", "c")).instant),
        ("cow", lambda table: table.cluster(order_by=["uuid"]).instants[-1]),
        ("mor", lambda table: table.compact().instants[-1]),
    ],
    ids=["upsert", "clustering", "compaction"],
)
def test_no_base_file_is_opened_that_was_just_written(monkeypatch, table_type, act):
    table = new_table(9, table_type=table_type)
    table.upsert(rows("b", ts=2))
    opened: list[str] = []
    storage = type(table.state.storage)
    open_input = storage.open_input
    monkeypatch.setattr(storage, "open_input", lambda self, path: opened.append(path) or open_input(self, path))
    instant = act(table)
    assert opened  # what was stored
    assert not [path for path in opened if instant in path]
    monkeypatch.undo()
    assert table.check().ok
