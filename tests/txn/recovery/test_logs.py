# ruff: noqa: PT012 - writes that end by an error inside are the subject

from dataclasses import replace

import pytest
from tests.filegroup.slices import EVERYTHING
from tests.metadata.checking import files_by, listed_as_stored, new_table
from tests.new_states import new_state
from tests.txn.writing import begun, leftovers, metadata_of, states_of

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.filegroup.log_commands import slice_logs
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileId, LogFile, PartitionPath
from pyhudi.filegroup.names import log_token
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import decode_rollback_metadata
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.rollback import RollbackPlan, RollbackRequest
from pyhudi.txn.checks import Proposal
from pyhudi.txn.locks.api import ProcessLease
from pyhudi.txn.recovery.logs import logs_of_request, logs_with_blocks, take_back_logs
from pyhudi.txn.recovery.markers import marked_files, marked_logs, reconcile, remove_marked
from pyhudi.txn.recovery.rollback import plan_rollback, recover_failed_writes, run_rollback

SETTINGS = Settings()
BASE = InstantTime("20260101000000000")
LISTING = Settings({"hoodie.rollback.using.markers": "false"})


@pytest.fixture
def state():
    made = new_state(6)
    made.storage.put("sf/.hoodie_partition_metadata", b"")
    return made


def log(time, version=1, group="g-0", instant=BASE, token=""):
    return LogFile(
        partition=PartitionPath("sf"),
        file_id=FileId(group),
        instant=instant,
        version=version,
        write_token=token or log_token("0-0-0", time),
        suffix="",
        size_bytes=0,
    )


def put(state, one, *times, is_marked=True):
    """Mark and put a log with a block of each instant; returns its path."""
    if is_marked:
        state.storage.put(f".hoodie/.temp/{times[0]}/{one.path}.marker.APPEND", b"")
    blocks = [
        NewBlock(kind=BlockKind.DELETE, headers={HeaderKey.INSTANT_TIME: time}, content=b"\0\0\0\3\0\0\0\1\0")
        for time in times
    ]
    state.storage.put(one.path, encode_blocks(blocks))
    return one.path


def committed(state, version=1, group="g-0"):
    """Commit a delta commit with one log."""
    with begun(state, Action.DELTACOMMIT) as txn:
        txn.start(None)
        path = put(state, log(txn.time, version, group), txn.time)
        return txn.commit(proposal(path)).instant.requested_time


def proposal(*paths):
    return Proposal(metadata=metadata_of(*paths))


def left_behind(state, *logs):
    with pytest.raises(KeyboardInterrupt), begun(state, Action.DELTACOMMIT) as txn:
        txn.start(None)
        for make in logs:
            put(state, make(txn.time), txn.time)
        raise KeyboardInterrupt
    return txn.time


def visible(state, group="g-0"):
    """Return the instants whose blocks of a slice count."""
    every = slice_logs(state.storage, log(BASE, group=group))
    return [block.instant for block in blocks_to_merge(state.storage, every, lambda *_: True, EVERYTHING)]


def commands(state):
    return sorted(one.path for one in state.storage.list("sf") if one.path.endswith("_1-0-1"))


def test_a_failed_delta_commit_is_taken_back_by_a_command_in_each_slice(state):
    kept = committed(state)
    time = left_behind(state, lambda time: log(time, 2), lambda time: log(time, 1, "h-0"))
    state.env.sleep(121)
    recover_failed_writes(state, load_timeline(state), SETTINGS, ProcessLease())
    assert commands(state) == [f"sf/.g-0_{BASE}.log.3_1-0-1", f"sf/.h-0_{BASE}.log.2_1-0-1"]
    assert (visible(state), visible(state, "h-0")) == ([kept], [])
    assert states_of(state) == [("deltacommit", "completed"), ("rollback", "completed")]
    assert leftovers(state) == []
    [done] = [one for one in load_timeline(state).instants if one.action is Action.ROLLBACK]
    said = decode_rollback_metadata(state.storage.get(f".hoodie/{done.file_name}"), "").partitions["sf"]
    assert sorted(said.rollback_log_files.values()) == [105, 105]
    assert {path.rsplit("/", 1)[-1] for path in said.failed_log_files} == {log(time, 2).name, log(time, 1, "h-0").name}


@pytest.mark.parametrize("settings", [SETTINGS, LISTING], ids=["markers", "listing"])
def test_it_is_found_by_markers_and_by_its_blocks(state, settings):
    committed(state)
    time = left_behind(state, lambda time: log(time, 2, token="3-4-5"))
    plan = rollback_instant(state, time, settings, is_dry_run=True)
    [request] = plan.requests
    assert (request.partition_path, request.file_id, request.latest_base_instant) == ("sf", "g-0", BASE)
    [(path, size)] = request.log_blocks_to_delete.items()
    assert path.endswith(f".g-0_{BASE}.log.2_3-4-5")
    assert size == (1 if settings is SETTINGS else state.storage.head(log(time, 2, token="3-4-5").path).size_bytes)


def test_a_rollback_that_is_done_twice_leaves_one_command(state):
    time = left_behind(state, log)
    timeline = load_timeline(state)
    [target] = timeline.instants
    plan = plan_rollback(state, timeline, target, SETTINGS)
    take_back_logs(state, logs_of_request(plan.requests[0]), time, InstantTime("20270101000000000"))
    assert run_rollback(state, timeline, plan, SETTINGS, ProcessLease())
    assert len(commands(state)) == 1
    assert visible(state) == []


def test_the_log_that_begins_a_slice_is_deleted(state):
    left_behind(state, lambda time: log(time, instant=time))
    rollback_instant(state, load_timeline(state).instants[0].requested_time, SETTINGS)
    assert [one.path for one in state.storage.list("sf")] == ["sf/.hoodie_partition_metadata"]


def test_a_completed_delta_commit_is_taken_back_by_its_blocks(state):
    first, second = committed(state), committed(state, 2)
    rollback_instant(state, second, SETTINGS, takes_completed=True)
    assert visible(state) == [first]
    assert commands(state) == [f"sf/.g-0_{BASE}.log.3_1-0-1"]


def test_a_log_that_came_after_the_rollback_is_deleted_where_no_command_is_behind_it(state):
    time = left_behind(state, log)
    rollback_instant(state, time, SETTINGS)
    late = put(state, log(time, 1, "late-0"), time)
    commanded = put(state, log(time), time)
    assert remove_marked(state, time) == [late]
    assert state.storage.head(commanded).size_bytes
    assert visible(state) == []


def test_reconciling_deletes_our_earlier_attempt_and_no_log_of_another(state):
    time = InstantTime("20260202000000000")
    kept, stray = put(state, log(time, 2), time), put(state, log(time), time)
    foreign = put(state, log(time, 3, token="5-6-7"), time)
    assert reconcile(state, time, metadata_of(kept)) == [stray]
    assert marked_files(state, time) == set()
    assert [one.path for one in marked_logs(state, time)] == [stray, kept, foreign]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_change_logs_that_the_commit_names_are_kept(version):
    state, time = new_state(version), InstantTime("20260202000000000")
    name = f"sf/.g-0_{time}.log.1_0-0-0.cdc"
    state.storage.put(f".hoodie/.temp/{time}/{name}.marker.CREATE", b"")
    state.storage.put(name, b"x")
    metadata = metadata_of(f"sf/g-0_0-0-0_{time}.parquet")
    [stat] = metadata.stats["sf"]
    metadata = replace(metadata, stats={"sf": (replace(stat, cdc_stats={name: 1}),)})
    assert reconcile(state, time, metadata) == []
    assert reconcile(state, time, metadata_of(f"sf/g-0_0-0-0_{time}.parquet")) == [name]


def test_markers_of_old_releases_name_a_slice_only(state):
    time = left_behind(state)
    put(state, log(time, 4, token="2-3-4"), time, is_marked=False)
    state.storage.put(f".hoodie/.temp/{time}/sf/g-0_2-3-4_{BASE}.parquet.marker.APPEND", b"")
    rollback_instant(state, time, SETTINGS)
    assert commands(state) == [f"sf/.g-0_{BASE}.log.5_1-0-1"]
    assert visible(state) == []


def test_a_compaction_is_never_rolled_back_with_the_logs_of_its_slice(state):
    plan = RollbackPlan(
        instant=BASE,
        action="commit",
        requests=(RollbackRequest(partition_path="sf", files_to_delete=(log(BASE).path,)),),
    )
    with pytest.raises(CorruptData, match="another instant"):
        run_rollback(state, load_timeline(state), plan, SETTINGS, ProcessLease())


def test_blocks_are_looked_for_in_slices_that_were_there_only(state):
    first, second = InstantTime("20260202000000000"), InstantTime("20260203000000000")
    put(state, log(first), first, second)
    put(state, log(second, instant=second), second)
    found = logs_with_blocks(state, [first, second])
    assert {time: [one.path for one in logs] for time, logs in found.items()} == {
        first: [log(first).path],
        second: [log(first).path],
    }
    assert logs_with_blocks(new_state(9), [first]) == {first: []}


def test_the_metadata_table_is_told_what_a_rollback_leaves_of_logs():
    table = new_table(6)
    state = open_state(table.state.storage, table.state.env)
    [group, _] = [name.split("_")[0] for name in files_of(state) if name.endswith(".parquet")]
    base = load_timeline(state).instants[0].requested_time
    time = left_behind(state, lambda time: log(time, 1, group, base, "1-2-3"))
    rollback_instant(state, time, SETTINGS)
    assert [name for name in files_of(state) if name.startswith(".")] == [
        f".{group}_{base}.log.1_1-2-3",
        f".{group}_{base}.log.2_1-0-1",
    ]
    assert listed_as_stored(table)


def files_of(state):
    return [name for _, name, _ in files_by(file_index(state, load_timeline(state)))]


@pytest.mark.parametrize("partition", ["../outside", "/etc", "sf/../.."])
def test_a_plan_that_names_a_log_outside_the_table_is_not_carried_out(partition):
    request = RollbackRequest(
        partition_path=partition, file_id="g-0", latest_base_instant=BASE, log_blocks_to_delete={log(BASE).name: 1}
    )
    with pytest.raises((CorruptData, InvalidInput)):
        logs_of_request(request)


def test_only_markers_of_logs_name_logs(state):
    time = "20260202000000000"
    for name in (f"{log(time).path}.marker.APPEND", f"sf/g-0_0-0-0_{time}.parquet.marker.CREATE"):
        state.storage.put(f".hoodie/.temp/{time}/{name}", b"")
    assert [one.path for one in marked_logs(state, InstantTime(time))] == [log(time).path]
