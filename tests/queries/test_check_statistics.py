"""What `Table.check` finds in statistics."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip, trips
from tests.metadata.checking import BUILT, metadata_of, new_table, rows

from pyhudi.formats.parquet import statistics
from pyhudi.metadata.definitions import DEFINITIONS_PATH, define_column_stats
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.stats.column_stats import read_column_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.metadata.stats.told_stats import StatsMeasures
from pyhudi.metadata.stats.values import encode_values
from pyhudi.metadata.table.logs import group_logs, write_logs


def base_of(table, partition="sf"):
    return next(one.path for one in table.state.storage.list(partition) if one.path.endswith(".parquet"))


def wrong(table, partition, least):
    """Write of the column `fare` in sf what is not so, as a commit that is about another partition."""
    newest = table.upsert(rows("c"), options=TINY_FILTERS).instant
    state, told = table.state, metadata_of(table)
    stats = read_column_stats(state.storage, [tuple(base_of(table).split("/"))], ["fare"], state.config.table_version)
    values = encode_values(pa.array([least]), state.config.table_version)
    for name in ("minValue", "maxValue"):
        at = stats.schema.get_field_index(name)
        stats = stats.set_column(at, stats.schema.field(at), values)
    if partition is MetadataPartition.PARTITION_STATS:
        stats = partition_stats(stats, state.config.table_version)
    groups = len(told.file_groups(partition))
    kind, version = kind_of(partition), state.config.table_version
    logs = group_logs(kind, kind.records(stats), groups, time=newest, table_version=version, block_bytes=65536)
    write_logs(told, logs, newest, 7)


@pytest.mark.parametrize("kind", [MetadataPartition.COLUMN_STATS, MetadataPartition.PARTITION_STATS])
def test_statistics_that_do_not_hold_are_said_with_what_the_footer_says(kind):
    table = new_table()
    wrong(table, kind, 7.0)
    found = table.check().problems.to_pylist()
    word = "partition statistics" if kind is MetadataPartition.PARTITION_STATS else "column statistics"
    if kind is MetadataPartition.PARTITION_STATS:
        assert [(one["kind"], one["path"]) for one in found] == [(word, "sf: fare")]
        assert found[0]["found"].startswith("7.0 to 7.0")
        assert found[0]["expected"].startswith("1.0 to 1.0")
    else:  # it widens what was there
        assert [(one["kind"], one["path"]) for one in found] == [(word, f"{base_of(table)}: fare")]
        assert "2 values" in found[0]["found"]


def test_columns_and_indexes_that_are_not_defined_as_they_are_kept_are_said():
    table = new_table()
    define_column_stats(table.state, ["fare"])
    found = table.check().problems.to_pylist()
    assert [(one["kind"], one["path"]) for one in found] == [("index definitions", DEFINITIONS_PATH)]
    table.state.storage.delete(DEFINITIONS_PATH)
    assert "none of" in table.check().problems.to_pylist()[0]["found"]


DECIMALS = pa.schema([*TRIPS.remove(TRIPS.get_field_index("fare")), ("fare", pa.decimal128(30, 15))])
"""Of all digits that have statistics at every table version."""
WIDE = Decimal("123456789012345.123456789012345")
INDEXED = {**BUILT, "hoodie.metadata.index.column.stats.enable": True}


def rounded(unscaled, kind):
    return Decimal(unscaled).scaleb(-kind.scale)


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_bounds_of_decimals_that_were_rounded_are_said_and_built_anew(version, table_type, monkeypatch):
    table = TableBuilder(table_type).create(DECIMALS, version=version)
    rows = trips(trip("a", fare=Decimal(1)), trip("b", "rio", fare=Decimal(2)), schema=DECIMALS)
    table.upsert(rows, options=INDEXED)
    with monkeypatch.context() as patched:
        patched.setattr(statistics, "_decimal", rounded)
        patched.setattr(StatsMeasures, "told_of_log", lambda *_: b"")  # the log is read
        table.upsert(trips(trip("a", ts=2, fare=WIDE), schema=DECIMALS), options=TINY_FILTERS)
    assert table.scan(filter=[("fare", "=", WIDE)]).count() == 0
    report = table.check()
    kinds = {"column statistics", "partition statistics"} if version > 6 else {"column statistics"}
    assert set(report.problems["kind"].to_pylist()) == kinds
    assert str(WIDE) in report.problems["expected"][0].as_py()
    table.repair()
    assert table.check().ok
    assert table.scan(filter=[("fare", "=", WIDE)]).count() == 1


def test_blocks_that_no_completed_instant_wrote_are_not_compared():
    """A version-6 log may go on with those of a writer that died."""
    [(table, logs), (other, further)] = [with_logs(2), with_logs(2, 99)]
    [own] = logs
    more = other.state.storage.get(further[-1])
    table.state.storage.put(own, table.state.storage.get(own) + more)
    assert set(table.check().problems["kind"].to_pylist()) == {"file size"}


def with_logs(*moments):
    table = TableBuilder("mor").create(version=6)
    table.upsert(rows("a"), options=INDEXED)
    for ts in moments:
        table.upsert(rows("a", ts=ts), options=TINY_FILTERS)
    return table, sorted(one.path for one in table.state.storage.list("sf") if ".log." in one.path)
