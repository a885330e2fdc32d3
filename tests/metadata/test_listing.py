"""The metadata table as the list of a table's files: of golden tables, and where it is broken."""

import logging

import pytest
from tests.building import TINY_FILTERS
from tests.faulty import FaultyStorage
from tests.golden.catalogue import kept_tables
from tests.metadata.checking import files_by, listed_as_stored, metadata_of, new_table, rows

from pyhudi.filegroup.file_index import storage_index
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.state.properties_file import open_state
from pyhudi.table import open_table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import is_committed

GOLDEN = [one for one in kept_tables() if one.script.name.startswith(("cow_metadata", "cow_upgraded_metadata"))]
COPY, MERGE = "COPY_ON_WRITE", "MERGE_ON_READ"
FILES = MetadataPartition.FILES
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda one: one.name)
def test_what_apache_hudi_wrote_tells_the_committed_files(tmp_path, golden):
    state = open_table(str(golden.unpack(tmp_path))).state
    timeline = load_timeline(state)
    told, listed = file_index(state, timeline), storage_index(state, timeline)
    committed = [
        file for file in files_by(listed) if is_committed(timeline, file[1].rsplit("_", 1)[-1].partition(".")[0])
    ]
    assert files_by(told) == committed
    assert not told.is_listed
    assert tuple(told.partitions()) == tuple(listed.partitions())


@VERSIONS
def test_a_partition_is_not_listed_to_know_its_files(version):
    table = new_table(version)
    seen = FaultyStorage(table.state.storage)
    state = open_state(seen, table.state.env)
    files_by(file_index(state, load_timeline(state)))
    listed = {one.path for one in seen.operations if one.name.startswith("list")}
    assert listed
    assert all(path.startswith(".hoodie") for path in listed)


@VERSIONS
def test_partitions_are_known_from_the_read_of_their_files(version):
    table = new_table(version)
    seen = FaultyStorage(table.state.storage)
    state = open_state(seen, table.state.env)
    index = file_index(state, load_timeline(state))
    assert index.files(["sf"]).column("partition").to_pylist() == ["sf"]
    asked = len(seen.operations)
    assert index.is_partition("sf")
    assert not index.is_partition("oslo")
    assert tuple(index.partitions()) == ("rio", "sf")
    assert len(seen.operations) == asked


@VERSIONS
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_broken_metadata_table_is_said_and_storage_answers(version, damage, caplog):
    table = new_table(version)
    storage = table.state.storage
    base = next(one.path for one in storage.list(".hoodie/metadata/files") if one.path.endswith(".hfile"))
    data = storage.get(base)
    storage.delete(base) if damage == "gone" else storage.put(base, data[: len(data) // 2])
    for log in storage.list(".hoodie/metadata/files"):
        if damage == "gone" and ".log." in log.path:
            storage.delete(log.path)
    with caplog.at_level(logging.WARNING, logger="pyhudi"):
        assert not listed_as_stored(table)
    assert "files are listed" in caplog.text
    assert table.count() == 2


@VERSIONS
def test_a_write_that_is_pending_is_not_told(version):
    table = new_table(version)
    before = files_by(file_index(table.state, load_timeline(table.state)))
    timeline = load_timeline(table.state)
    table.upsert(rows("c"))
    told = file_index(table.state, timeline)
    assert set(before) <= set(files_by(told))
    assert table.count() == 3


def without_its_commit(table, done):
    """Take a write off the metadata table's timeline, as Apache Hudi 1.2.0 leaves one out at version 6."""
    folder = metadata_of(table).state.layout.timeline_path
    storage = table.state.storage
    for name in storage.list_names(f".hoodie/metadata/{folder}"):
        if name.startswith(done.instant):
            storage.delete(f".hoodie/metadata/{folder}/{name}")


@VERSIONS
@pytest.mark.parametrize(
    ("kind", "is_compacted"), [(COPY, False), (COPY, True), (MERGE, False), (MERGE, True)], ids=str
)
def test_a_metadata_table_that_lacks_a_commit_is_said_and_storage_answers(version, kind, is_compacted, caplog):
    table = new_table(version, table_type=kind)
    without_its_commit(table, table.upsert(rows("a", ts=2), options=TINY_FILTERS))
    if is_compacted:  # what names the commit is gone
        merged = {**TINY_FILTERS, "hoodie.metadata.compact.max.delta.commits": "1"}
        table.upsert(rows("b", ts=2), options=merged)
        table.upsert(rows("b", ts=3), options=merged)
        assert any(time > "2" for time in (one.base_instant for one in metadata_of(table).file_groups(FILES)))
    caplog.clear()
    found = [(row["uuid"], row["ts"]) for row in table.scan(["uuid", "ts"]).to_arrow().sort_by("uuid").to_pylist()]
    assert found == [("a", 2), ("b", 3 if is_compacted else 1)]
    assert "files are listed" in caplog.text
    table.upsert(rows("a", ts=9), options=TINY_FILTERS)
    assert table.scan(filter="ts = 9").count() == 1
    assert table.count() == 2
    table.repair("files")
    caplog.clear()
    assert table.count() == 2
    assert listed_as_stored(table)
    assert not caplog.text


MERGED = {**TINY_FILTERS, "hoodie.metadata.compact.max.delta.commits": "1"}
SHORT = {"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1}


def newest(table):
    """Return the ordering value of each row."""
    return {row["uuid"]: row["ts"] for row in table.scan(["uuid", "ts"]).to_arrow().to_pylist()}


@VERSIONS
@pytest.mark.parametrize("verb", ["compact", "log_compact", "clean"])
def test_a_log_that_the_metadata_table_lacks_is_seen_by_every_service(version, verb):
    table = new_table(version, table_type=MERGE)
    without_its_commit(table, table.upsert(rows("a", ts=2), options=TINY_FILTERS))
    for ts in (2, 3):
        table.upsert(rows("b", ts=ts), options=MERGED)
    assert "unlisted file" in str(table.check())
    assert table.check().to_repair == ("files",)
    getattr(table, verb)(options={"hoodie.log.compaction.blocks.threshold": 1, **SHORT})
    assert newest(table) == {"a": 2, "b": 3}
    table.repair("files")
    for part in table.check().to_repair:  # statistics of what was left out
        table.repair(part)
    assert newest(table) == {"a": 2, "b": 3}
    assert table.check().ok


@VERSIONS
def test_check_finds_a_log_that_the_metadata_table_lacks_behind_a_planned_compaction(version):
    table = new_table(version, table_type=MERGE)
    table.upsert(rows("a", ts=2), options=TINY_FILTERS)
    table.compact(schedule=True)
    without_its_commit(table, table.upsert(rows("a", ts=3), options=TINY_FILTERS))
    assert "files" in table.check().to_repair
    assert newest(table) == {"a": 3, "b": 1}
    table.compact()
    assert newest(table) == {"a": 3, "b": 1}


@VERSIONS
def test_commits_whose_files_the_metadata_table_lacks_are_not_archived(version, caplog):
    table = new_table(version)
    without_its_commit(table, table.upsert(rows("a", ts=2), options=TINY_FILTERS))
    for ts in (2, 3, 4, 5):
        table.upsert(rows("b", ts=ts), options=MERGED)
    table.clean(options=SHORT)
    caplog.clear()
    assert table.archive(options=SHORT).instants == ()
    assert "archived until `table.repair()`" in caplog.text
    table.repair("files")
    assert table.archive(options=SHORT).instants
    assert newest(table) == {"a": 2, "b": 5}
