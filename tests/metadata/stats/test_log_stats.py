"""Statistics of logs, held against those of the rows themselves."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import TRIPS, trip
from tests.filegroup.test_appender import AVRO, changes_of, spec_of
from tests.filegroup.test_writer import LAYOUT, SECOND, TASK, keyed

from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.write_task import Sink
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, rollback_block
from pyhudi.metadata.stats.column_stats import read_column_stats
from pyhudi.metadata.stats.log_stats import log_stats
from pyhudi.storage.memory import MemoryStorage

COLUMNS = ["_hoodie_record_key", "uuid", "ts", "fare", "rider", "gone"]
KINDS = pytest.mark.parametrize("options", [{}, AVRO], ids=["parquet", "avro"])


def written(changes, options=(), layout=LAYOUT):
    storage = MemoryStorage()
    task = replace(TASK, sink=Sink.LOG)
    [status] = append_changes(storage, spec_of(SECOND, options=options, layout=layout), task, changes)
    return storage, status.path


def stats_of(storage, path, columns=COLUMNS):
    return {name: (bounds, counts) for name, _, bounds, counts in log_stats(storage, path, columns, 9)}


@KINDS
def test_bounds_and_counts_are_those_of_the_rows(options):
    rows = keyed(trip("b", ts=3, fare=2.0, rider=None), trip("a", ts=7, fare=-1.0), trip("c", ts=5), trip("d"))
    found = stats_of(*written(changes_of(rows, deletes=(3,)), options))
    assert found["uuid"] == (("a", "c"), (3, 0, 0, 0))
    assert found["_hoodie_record_key"] == (("a", "c"), (3, 0, 0, 0))
    assert found["ts"] == ((3, 7), (3, 0, 0, 0))
    assert found["fare"] == ((-1.0, 2.0), (3, 0, 0, 0))
    assert found["rider"][1] == (3, 1, 0, 0)
    assert "gone" not in found


@KINDS
def test_nan_is_the_greatest_of_all_blocks(options):
    rows = keyed(*[trip(str(number), fare=fare) for number, fare in enumerate([3.0, math.nan, -2.0])])
    small = {**dict(options), "hoodie.logfile.data.block.max.size": "1"}
    (least, greatest), counts = stats_of(*written(changes_of(rows), small))["fare"]
    assert (least, math.isnan(greatest), counts) == (-2.0, True, (3, 0, 0, 0))


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_log_of_deletes_has_columns_without_values(version):
    storage, path = written(changes_of(keyed(trip("a")), deletes=(0,)))
    found = read_column_stats(storage, [tuple(path.split("/"))], COLUMNS, version)
    assert sorted(found.column("columnName").to_pylist()) == sorted(set(COLUMNS) - {"gone"})
    assert set(found.column("valueCount").to_pylist()) == {0}
    assert found.column("minValue").null_count == found.num_rows
    if version == 9:
        assert {one["typeOrdinal"] for one in found.column("valueType").to_pylist()} == {1}


@KINDS
def test_what_a_partial_update_leaves_out_has_no_statistics(options):
    changes = replace(changes_of(keyed(trip("a", fare=4.0))), columns=("uuid", "fare"))
    found = stats_of(*written(changes, options))
    assert found["fare"] == ((4.0, 4.0), (1, 0, 0, 0))
    assert "rider" not in found
    assert "ts" not in found


@KINDS
def test_blocks_of_two_schemas_are_told_in_the_last(options):
    narrow = pa.schema([pa.field("ts", pa.int32()) if field.name == "ts" else field for field in TRIPS])
    rows = keyed(trip("a", ts=2))
    older = rows.set_column(rows.column_names.index("ts"), narrow.field("ts"), pa.array([1], pa.int32()))
    storage, first = written(changes_of(older.drop_columns(["rider"])), options, _layout(narrow, "rider"))
    content = storage.get(first)
    other, path = written(changes_of(rows), options)
    storage.put(path, content + other.get(path))
    found = stats_of(storage, path)
    assert found["ts"] == ((1, 2), (2, 0, 0, 0))
    assert found["rider"][1] == (2, 1, 0, 0)


def _layout(schema, without):
    return replace(LAYOUT, schema=pa.schema([field for field in schema if field.name != without]))


def test_logs_that_cannot_be_told_have_none():
    storage = MemoryStorage()
    hfile = NewBlock(kind=BlockKind.HFILE, headers={HeaderKey.INSTANT_TIME: SECOND, HeaderKey.SCHEMA: "{}"})
    storage.put("hfile", encode_blocks([hfile]))
    storage.put("command", encode_blocks([rollback_block(SECOND, SECOND)]))
    assert log_stats(storage, "hfile", COLUMNS, 9) == log_stats(storage, "command", COLUMNS, 9) == []


def test_an_all_null_column_has_counts_and_no_bounds():
    rows = keyed(trip("a", rider=None))
    assert stats_of(*written(changes_of(rows)))["rider"] == ((None, None), (1, 1, 0, 0))
    assert np.isfinite(stats_of(*written(changes_of(rows)))["fare"][0][0])
