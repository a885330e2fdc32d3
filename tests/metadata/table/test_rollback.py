"""What a failed action wrote to the metadata table is taken back, by name or by command."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import BUILT, listed_as_stored, metadata_of, new_table, rows
from tests.txn.writing import through

from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.formats.log import BlockKind, HeaderKey
from pyhudi.metadata.names import MetadataPartition
from pyhudi.table import Table
from pyhudi.timeline.codec import decode_rollback_metadata
from pyhudi.timeline.instant import Action

PUBLISHED = {6: ".hoodie/[0-9]*.commit", 8: ".hoodie/timeline/*_*.commit", 9: ".hoodie/timeline/*_*.commit"}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_delta_commit_whose_action_was_not_published_is_rolled_back_with_it(version):
    table = new_table(version)
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[version])
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[crash]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    (stuck,) = metadata_of(table).hidden
    assert stuck in metadata_of(table).timeline.completed
    assert table.count() == 2
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    timeline = metadata_of(table).timeline
    assert stuck not in timeline.completed
    assert [one.action for one in timeline.instants].count(Action.ROLLBACK) == 1
    assert listed_as_stored(table)


def test_a_table_without_a_metadata_table_has_nothing_to_take_back():
    table = new_table()
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
    refused = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[9])
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[refused]))).upsert(rows("e"))
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    assert table.state.storage.list(".hoodie/metadata") == []


def blocks_of(table, partition="files"):
    """Return (kind, instant, target) of the blocks in the logs of a partition's newest slices."""
    own = metadata_of(table)
    logs = [log for group in own.file_groups(MetadataPartition(partition)) for log in group.logs]
    return [
        (block.kind, block.instant, block.headers.get(HeaderKey.TARGET_INSTANT_TIME))
        for _, block in log_blocks(own.state.storage, logs)
    ]


@pytest.mark.parametrize("partition", ["files", "column_stats"])
def test_at_version_6_a_command_takes_the_blocks_back(partition):
    """Other readers go by it: the blocks stay in the log."""
    table = TableBuilder().create(version=6)
    table.upsert(rows("a", "b"), options={**BUILT, "hoodie.metadata.index.column.stats.enable": True})
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[6])
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, FaultyStorage(table.state.storage, plan=[crash])).upsert(
            rows("c"), options=TINY_FILTERS
        )
    (stuck,) = metadata_of(table).hidden
    assert stuck in {instant for _, instant, _ in blocks_of(table, partition)}
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    kinds = [kind for kind, _, target in blocks_of(table, partition) if target == stuck]
    assert set(kinds) == {BlockKind.COMMAND}
    [rollback] = [one for one in metadata_of(table).timeline.instants if one.action is Action.ROLLBACK]
    data = table.state.storage.get(f".hoodie/metadata/.hoodie/{rollback.file_name}")
    said = decode_rollback_metadata(data, rollback.file_name)
    assert said.rolled_back == ((stuck, "deltacommit"),)
    assert said.partitions[partition].rollback_log_files


@pytest.mark.parametrize("version", [8, 9])
def test_from_version_8_on_its_log_files_are_deleted_and_named(version):
    table = new_table(version)
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[version])
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, FaultyStorage(table.state.storage, plan=[crash])).upsert(
            rows("c"), options=TINY_FILTERS
        )
    (stuck,) = metadata_of(table).hidden
    named = [one.path for one in table.state.storage.list(".hoodie/metadata/files") if stuck in one.path]
    assert named
    table.rollback(stuck)
    assert not [one.path for one in table.state.storage.list(".hoodie/metadata/files") if stuck in one.path]
    [rollback] = [one for one in metadata_of(table).timeline.instants if one.action is Action.ROLLBACK]
    names = table.state.storage.list_names(".hoodie/metadata/.hoodie/timeline")
    ours = sorted(name.partition(".")[2] for name in names if name.startswith(rollback.requested_time))
    assert ours == ["rollback", "rollback.inflight", "rollback.requested"]
    data = table.state.storage.get(f".hoodie/metadata/.hoodie/timeline/{rollback.file_name}")
    said = decode_rollback_metadata(data, rollback.file_name).partitions["files"]
    assert {path.rsplit("/", 1)[-1] for path in said.deleted} == {path.rsplit("/", 1)[-1] for path in named}
