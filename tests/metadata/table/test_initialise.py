"""A metadata table built from what is stored."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder
from tests.metadata.checking import BUILT, listed_as_stored, metadata_of, new_table, rows
from tests.txn.writing import begun, write

from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
FIRST = {6: "00000000000000010", 8: "00000000000000000", 9: "00000000000000000"}


@VERSIONS
def test_partitions_are_built_one_by_one_before_all_instants(version):
    times = sorted(one.requested_time for one in metadata_of(new_table(version)).timeline.instants)
    assert times[0] == FIRST[version]
    assert len(times) == {6: 3, 8: 4, 9: 4}[version]


@VERSIONS
def test_a_table_with_a_history_is_told_whole(version):
    table = TableBuilder().create(version=version)
    for ts in range(3):
        table.upsert(rows("a", "b", ts=ts), options=TINY_FILTERS)
    table.insert_overwrite(rows("b", ts=9), options=TINY_FILTERS)
    table.upsert(rows("c"), options=BUILT)
    assert listed_as_stored(table)
    assert table.count() == 3


@pytest.mark.parametrize("version", [8, 9])
def test_statistics_of_what_was_there_are_built_too(version):
    table = TableBuilder().create(version=version)
    table.upsert(rows("a", "b"), options=TINY_FILTERS)
    table.upsert(rows("c"), options=BUILT)
    entries = read_entries(metadata_of(table), MetadataPartition.COLUMN_STATS, Wanted())
    told = entries.decoded("ColumnStatsMetadata", version).column("ColumnStatsMetadata").to_pylist()
    stored = {one.name for one in table.state.storage.list("") if one.name.endswith(".parquet")}
    assert {one["fileName"] for one in told} == stored


@VERSIONS
def test_files_of_a_write_that_is_pending_are_left_to_it(version):
    table = TableBuilder().create(version=version)
    table.upsert(rows("a", "b"), options=TINY_FILTERS)
    with begun(table.state) as pending:
        pending.start(None)
        path = write(pending)
        table.upsert(rows("c"), options=BUILT)
        told = read_entries(metadata_of(table), MetadataPartition.FILES, Wanted()).decoded(
            "filesystemMetadata", version
        )
        names = {name for record in told.column("filesystemMetadata").to_pylist() for name, _ in record}
        assert path.rsplit("/", 1)[-1] not in names
