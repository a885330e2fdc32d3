"""The metadata table as a table: what counts of it, and what is missing."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import BUILT, metadata_of, new_table, rows

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.state import has_other_layout, metadata_properties
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.rooted import rooted
from pyhudi.timeline.active import start_savepoint

STATISTICS = {**BUILT, "hoodie.metadata.index.column.stats.enable": True}
TWO_GROUPS = {**STATISTICS, "hoodie.metadata.index.column.stats.file.group.count": 2}


@pytest.mark.parametrize("version", [8, 9])
def test_a_file_group_that_is_missing_is_damage(version):
    """Its keys would be looked for in another."""
    table = TableBuilder().create(version=version)
    table.upsert(rows("a", "b"), options=TWO_GROUPS)
    assert len(metadata_of(table).file_groups(MetadataPartition.COLUMN_STATS)) == 2
    for one in table.state.storage.list(".hoodie/metadata/column_stats"):
        if "-0000-" in one.path:
            table.state.storage.delete(one.path)
    with pytest.raises(CorruptData, match="missing"):
        metadata_of(table).file_groups(MetadataPartition.COLUMN_STATS)


@pytest.mark.parametrize(
    ("version", "history", "layout"), [(6, "archived", "1"), (8, "history", "2"), (9, "history", "2")]
)
def test_its_timeline_lies_where_the_version_has_it(version, history, layout):
    said = metadata_properties(new_table(version).state.config)
    assert said["hoodie.archivelog.folder"] == history
    assert said["hoodie.timeline.layout.version"] == layout
    assert ("hoodie.timeline.history.path" in said) == (version > 6)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_metadata_table_that_is_being_dropped_tells_nothing(version):
    """Its properties go first: what is left of its files is less than was there."""
    table = new_table(version)
    opened = metadata_of(table)
    opened.state.storage.delete(".hoodie/hoodie.properties")
    with pytest.raises(FileMissing):
        opened.file_groups(MetadataPartition.FILES)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_counts_was_completed_on_both_timelines(version):
    table = new_table(version)
    done = table.upsert(rows("a", ts=2), options=TINY_FILTERS)
    path = ".hoodie/[0-9]*.commit" if version == 6 else ".hoodie/timeline/*_*.commit"
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=path)
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, FaultyStorage(table.state.storage, plan=[stuck])).upsert(rows("c"))
    found = metadata_of(table)
    [waiting] = found.hidden
    assert waiting in found.timeline.completed
    assert found.is_valid(done.instant)
    assert not found.is_valid(waiting)
    assert not found.is_valid("99990101000000000")


def test_at_version_6_a_later_one_is_told_by_its_properties():
    table = new_table(6)
    assert not has_other_layout(table.state), "opened before it had one"
    state = open_state(table.state.storage, table.state.env)
    assert not has_other_layout(state)
    inner = rooted(table.state.storage, ".hoodie/metadata")
    update_properties(inner, table.state.env, {"hoodie.timeline.layout.version": "2"})
    assert has_other_layout(state)
    inner.delete(".hoodie/hoodie.properties")
    assert not has_other_layout(state)
    newer = new_table(9)
    update_properties(
        rooted(newer.state.storage, ".hoodie/metadata"), newer.state.env, {"hoodie.timeline.layout.version": "1"}
    )
    assert not has_other_layout(open_state(newer.state.storage, newer.state.env))


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_savepoint_that_its_process_left_pending_hides_nothing_of_its_commit(version):
    """It has the instant of the commit: a key of that had no row in the record index, and got a second one."""
    table = TableBuilder().create(version=version)
    table.upsert(rows("a"), options=BUILT)
    table.create_index("record_index", options=BUILT)
    newest = table.upsert(rows("b", "c"), options=BUILT).instant
    start_savepoint(table.state, newest)
    assert table.inspect.pending()["action"].to_pylist() == ["savepoint"]
    assert table.lookup(["a", "b", "c"]).num_rows == 3
    assert table.check(all_keys=True).problems["kind"].to_pylist() == ["unfinished instant"]
    table.upsert(rows("b", ts=2), options={**BUILT, "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"})
    assert table.count() == 3
