"""Statistics of columns as actions change them."""

import pytest
from tests.metadata.checking import metadata_of, new_table

from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import Clean
from pyhudi.metadata.partitions.column_stats import ColumnStatsKind, columns_with_stats

KIND = ColumnStatsKind()


@pytest.mark.parametrize(("columns", "count"), [((), None), (("fare", "ts"), 2)])
def test_a_clean_of_known_columns_takes_statistics_away_but_not_of_change_logs(columns, count):
    deleted = {"sf": ["a.parquet", ".a_1.log.1_0-0-0.cdc"]}
    found = KIND.records_of_clean(Clean(deleted=deleted, dropped=(), columns=columns, table_version=9))
    assert (found and len(found.keys)) == count


def test_a_rollback_adds_no_rows():
    assert KIND.records_of_rollback({"sf": {".a.log.1_0-0-0": 1}}) is None


def test_columns_that_have_statistics_are_named():
    opened = metadata_of(new_table())
    assert {"fare", "_hoodie_record_key"} <= set(columns_with_stats(opened))
    opened.partitions = (MetadataPartition.FILES,)
    assert columns_with_stats(opened) is None
