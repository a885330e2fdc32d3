"""Statistics read back from the metadata table, and reads that are pruned by them."""

import pytest
from tests.building import trip, trips
from tests.metadata.checking import BUILT

from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import as_of

FILES, PARTITIONS = MetadataPartition.COLUMN_STATS, MetadataPartition.PARTITION_STATS


@pytest.fixture
def table(engine, version):
    """A table with two cities, whose rows are a file each, and times of their own."""
    found = engine.create(version=version)
    options = {**BUILT, "hoodie.metadata.index.column.stats.enable": True}
    found.upsert(engine.rows(trips(trip("a", "a", ts=1), trip("b", "b", ts=100))), options=options)
    return engine.reopen(found)


def index_of(table, **more):
    return file_index(table.state, load_timeline(table.state), **more)


def test_statistics_are_read_of_the_columns_and_partitions_that_are_asked_for(table):
    index = index_of(table)
    found = index.stats(FILES, ["ts", "uuid", "gone"])
    assert sorted(found.column("columnName").to_pylist()) == ["ts", "ts", "uuid", "uuid"]
    assert index.stats(FILES, ["ts"], ["b"]).num_rows == 1
    assert index.stats(FILES, ["gone"]).num_rows == 0
    if table.state.config.table_version > 6:
        assert sorted(index.stats(PARTITIONS, ["ts"]).column("fileName").to_pylist()) == ["a", "b"]


def test_statistics_of_partitions_are_of_the_newest_moment_only(engine, table):
    if table.state.config.table_version == 6:
        pytest.skip("version 6 has none")
    before = index_of(table)
    assert before.stats(PARTITIONS, ["ts"]) is not None
    earlier = index_of(table)
    table.upsert(engine.rows(trips(trip("c", "a", ts=5))), options=BUILT)
    assert earlier.stats(PARTITIONS, ["ts"]) is None
    assert earlier.stats(FILES, ["ts"]) is not None
    timeline = load_timeline(table.state)
    first = min(timeline.point(one) for one in timeline.completed.values())
    assert file_index(table.state, as_of(timeline, first)).stats(PARTITIONS, ["ts"]) is None
    assert index_of(table).stats(PARTITIONS, ["ts"]) is not None


def test_a_read_opens_only_files_in_which_a_row_may_match(table):
    scan = table.scan(["uuid"], filter="ts > 50")
    assert [file.partition for file in scan.plan.files] == ["b"]
    assert scan.to_arrow()["uuid"].to_pylist() == ["b"]
    text = scan.explain()
    if table.state.config.table_version == 6:
        assert "partitions: 2 of 2 read, 0 left out by their paths, 0 by statistics" in text
        assert "file groups: 1 of 2 read, 1 left out by statistics" in text
    else:
        assert "partitions: 1 of 2 read, 0 left out by their paths, 1 by statistics" in text
    assert table.scan(filter="ts > 500").plan.files == ()
    assert table.scan(filter="ts > 50 or fare >= 0").count() == 2


def test_a_broken_metadata_table_prunes_nothing(table, caplog):
    storage = table.state.storage
    for file in storage.list(".hoodie/metadata/column_stats"):
        storage.delete(file.path)
    assert table.scan(filter="ts > 50").to_arrow()["uuid"].to_pylist() == ["b"]
    assert "cannot be read" in caplog.text
