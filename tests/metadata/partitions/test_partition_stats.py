"""Bounds of partitions as actions change them."""

import pyarrow as pa
from tests.building import TINY_FILTERS
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.metadata.partitions.api import Clean, FilesTold
from pyhudi.metadata.partitions.partition_stats import PartitionStatsKind
from pyhudi.metadata.reader import slice_entries
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats

KIND = PartitionStatsKind()


def test_a_fold_makes_bounds_tight_where_files_have_statistics():
    table = new_table()
    table.upsert(rows("a", ts=4), options=TINY_FILTERS)
    opened = metadata_of(table)
    (group,) = opened.file_groups(KIND.name)
    values = KIND.fold(opened, slice_entries(opened, group)).values
    assert all(values.field("isTightBound").to_pylist())
    opened.partitions = (KIND.name,)
    values = KIND.fold(opened, slice_entries(opened, group)).values
    assert not all(values.field("isTightBound").to_pylist())


def test_files_without_values_widen_nothing():
    assert len(KIND.records(column_stats_schema(9).empty_table()).keys) == 0


def test_cleans_and_rollbacks_leave_bounds_as_they_are():
    clean = Clean(deleted={"sf": ["a.parquet"]}, dropped=(), columns=("fare",), table_version=9)
    assert KIND.records_of_clean(clean) is None
    assert KIND.records_of_rollback({"sf": {".a.log.1_0-0-0": 1}}) is None


def test_a_check_takes_the_newest_files_only():
    table = new_table()
    paths = [one.path for where in ("sf", "rio") for one in table.state.storage.list(where) if ".parquet" in one.path]
    footers = read_column_stats(table.state.storage, [tuple(path.split("/")) for path in paths], ["fare"], 9)
    opened = metadata_of(table)
    for newest in (paths, paths[:1]):
        found = KIND.check(opened, FilesTold(footers=footers, newest=pa.array(newest)))
        assert len(found.actual_keys) == len(newest)
        assert set(found.actual_keys.to_pylist()) <= set(found.stored_keys.to_pylist())
