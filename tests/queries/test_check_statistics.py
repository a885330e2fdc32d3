"""What `Table.check` finds in statistics."""

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.metadata.column_stats import read_column_stats
from pyhudi.metadata.definitions import DEFINITIONS_PATH, define_column_stats
from pyhudi.metadata.logs import group_logs, write_logs
from pyhudi.metadata.partitions import MetadataPartition
from pyhudi.metadata.records import stats_records
from pyhudi.metadata.stats_merging import partition_stats
from pyhudi.metadata.stats_values import encode_values


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
    logs = group_logs(stats_records(partition, stats), groups, newest, state.config.table_version, 65536)
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
