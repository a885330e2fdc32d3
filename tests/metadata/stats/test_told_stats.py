"""What a task tells of a file that it wrote is what a reading of the file tells."""

import datetime
import io
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.filegroup.test_writer import FIRST, KEYS, SECOND, spec_at
from tests.metadata.checking import new_table, rows

from pyhudi import create_table
from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.bounds import measured, together
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.write_task import FileTask, Sink
from pyhudi.formats.parquet import ParquetOptions, write_base_file
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import MergeSpec
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats
from pyhudi.metadata.stats.told_stats import StatsMeasures, unpack_stats
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.state.layout import LAYOUTS
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


KEYED = ROWS.select([name for name in ROWS.column_names if name != "tags"])
for _name, _values in (("_hoodie_record_key", ["a", "b", "c", "d"]), ("_hoodie_partition_path", ["p"] * 4)):
    KEYED = KEYED.append_column(_name, pa.array(_values))
OWN_COLUMNS = [name for name in KEYED.column_names if not name.startswith("_")]
LOG_TYPES = {name: pa.string() for name in META_FIELDS} | {name: TYPES[name] for name in OWN_COLUMNS}


def logged(changes: RowChanges, version: int, options: dict) -> tuple[MemoryStorage, list]:
    """Write changes to logs; returns their statuses, which tell of all columns."""
    storage, layout = MemoryStorage(), RowLayout(schema=KEYED.select(OWN_COLUMNS).schema, key_spec=KEYS)
    logs = log_spec(Settings.of(options), LAYOUTS[version], layout, "trips")
    measures = StatsMeasures(tuple(LOG_TYPES), version, ())
    spec = spec_at(SECOND, layout=layout, logs=logs, merge=MergeSpec(ordering=("int",)), measures=measures)
    task = FileTask(partition="p", file_id="f-0", write_token="0-0-0", base_instant=FIRST, sink=Sink.LOG)
    return storage, append_changes(storage, spec, task, changes)


@pytest.mark.parametrize("block_format", ["avro", "parquet"])
@pytest.mark.parametrize(
    ("version", "columns"),
    [(6, None), (8, None), (9, None), (8, ("long", "double", "text")), (9, ("long", "double", "text"))],
    ids=["6", "8", "9", "8, partial", "9, partial"],
)
@pytest.mark.parametrize("deleted", [(), (0, 3), (0, 1, 2, 3)], ids=["rows", "both", "deletes"])
@pytest.mark.parametrize("is_small", [False, True], ids=["one file", "many"])
def test_what_is_told_of_a_log_is_what_a_reading_says(version, block_format, columns, deleted, is_small):
    small = {"hoodie.logfile.data.block.max.size": "1", "hoodie.logfile.max.size": "400"} if is_small else {}
    flags = np.isin(np.arange(4), deleted)
    changes = RowChanges(
        keys=KEYED["_hoodie_record_key"], rows=KEYED, is_delete=flags, is_unordered=flags, columns=columns
    )
    storage, statuses = logged(changes, version, {"hoodie.logfile.data.block.format": block_format, **small})
    assert (len(statuses) > 1) is is_small
    files = {("p", one.path.removeprefix("p/")): one.measures for one in statuses}
    assert all(files.values())
    expected = read_column_stats(storage, list(files), list(LOG_TYPES), version)
    found = unpack_stats(files, LOG_TYPES, version)
    assert expected.num_rows
    assert sorted_rows(found) == sorted_rows(expected)


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
        ("mor", lambda table: table.upsert(rows("b", ts=3)).instant),
        ("mor", lambda table: table.delete(keys=["b"]).instant),
    ],
    ids=["upsert", "clustering", "compaction", "rows to a log", "deletes to a log"],
)
def test_no_file_is_read_that_was_just_written(monkeypatch, table_type, act):
    table = new_table(9, table_type=table_type)
    table.upsert(rows("b", ts=2))
    looked_at: list[str] = []
    storage = type(table.state.storage)
    for name in ("open_input", "get_range", "head", "get"):
        asked = getattr(storage, name)
        monkeypatch.setattr(
            storage, name, lambda self, path, *said, asked=asked: looked_at.append(path) or asked(self, path, *said)
        )
    instant = act(table)
    assert looked_at  # what was stored
    assert not [path for path in looked_at if instant in path and not path.startswith(".hoodie/")]
    monkeypatch.undo()
    assert table.check().ok
