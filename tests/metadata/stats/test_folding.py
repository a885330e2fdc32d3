"""Layers folded as a compaction stores them."""

import pytest
from tests.building import TINY_FILTERS
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.metadata.file_listing import read_files
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.reader import Wanted, read_entries, slice_entries
from pyhudi.metadata.stats.folding import folded_stats


@pytest.mark.parametrize("version", [6, 8, 9])
def test_files_fold_to_what_a_reader_finds(version):
    table = new_table(version)
    table.upsert(rows("a", "c", ts=4), options=TINY_FILTERS)
    opened = metadata_of(table)
    (group,) = opened.file_groups(MetadataPartition.FILES)
    records = kind_of("files").fold(opened, slice_entries(opened, group))
    told = read_files(opened)
    assert records.keys.to_pylist() == sorted(set(told.column("key").to_pylist()))
    assert len(records.values.items) == told.num_rows


@pytest.mark.parametrize("version", [8, 9])
def test_statistics_of_a_partition_enclose_all_its_commits(version):
    table = new_table(version)
    for ts in (7, 3):
        table.upsert(rows("a", ts=ts), options=TINY_FILTERS)
    entries = read_entries(metadata_of(table), MetadataPartition.PARTITION_STATS, Wanted())
    _, stats = folded_stats(entries, version)
    (found,) = (row for row in stats.to_pylist() if (row["fileName"], row["columnName"]) == ("sf", "ts"))
    assert found["minValue"]["LongWrapper"]["value"] == 1
    assert found["maxValue"]["LongWrapper"]["value"] == 7


def test_no_entries_fold_to_none():
    entries = read_entries(metadata_of(new_table()), MetadataPartition.COLUMN_STATS, Wanted(keys=()))
    keys, stats = folded_stats(entries, 9)
    assert len(keys) == stats.num_rows == 0
