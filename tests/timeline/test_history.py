import io
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.new_states import new_state
from tests.simulation.world import World
from tests.txn.writing import begun, committed, data_files, metadata_of, path_of, through

from pyhudi.actions.rollback import rollback_instant
from pyhudi.actions.unfinished import resolve
from pyhudi.errors import CorruptData
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.timeline.active import complete, load_timeline, request, start
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.codec import encode_commit, encode_rollback_metadata
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.rollback import RollbackMetadata
from pyhudi.timeline.view import completion_of, find_instant, is_committed

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
HISTORY = pa.schema(
    [(name, pa.string()) for name in ("instantTime", "completionTime", "action")]
    + [("metadata", pa.binary()), ("plan", pa.binary()), ("version", pa.int32())]
)
OLD, UNDONE = "20250101000000000", "20250102000000000"
NONCE = b"n" * 16


@pytest.fixture
def state():
    return new_state()


def rolled_back_first(state):
    """Let the first writer of a table be rolled back by name, and a second commit; give the first's instant."""
    zombie = begun(state)
    zombie.start(None)
    rollback_instant(state, zombie.time, Settings())
    committed(state, "g2")
    state.storage.put(path_of(zombie.time, "late"), b"data")
    assert path_of(zombie.time, "late") in data_files(state)
    assert zombie.time < load_timeline(state).first_write
    return zombie.time


def archive(state, *rows, version=1, directory=None):
    """Write a history as Apache Hudi does: rows, manifest, version."""
    directory = directory or state.layout.history_path
    columns = list(zip(*rows, strict=True))
    buffer = io.BytesIO()
    table = pa.table(dict(zip(HISTORY.names, columns, strict=True)), schema=HISTORY)
    pq.write_table(table, buffer)
    name = f"{min(columns[0])}_{max(columns[0])}_{version}.parquet"
    state.storage.put(f"{directory}/{name}", buffer.getvalue())
    manifest = {"files": [{"fileName": name, "fileLen": len(buffer.getvalue())}]}
    state.storage.put(f"{directory}/manifest_{version}", json.dumps(manifest).encode())
    state.storage.put(f"{directory}/_version_", str(version).encode())


def row(time, action, metadata=b""):
    return time, time, action, metadata, b"", 1


def undoing(target, action="commit"):
    return row("20250103000000000", "rollback", rollback_of(target, action))


def rollback_of(target, action):
    metadata = RollbackMetadata(start_time="20250103000000000", time_taken_ms=1, rolled_back=((target, action),))
    return encode_rollback_metadata(metadata, NONCE)


@VERSIONS
def test_a_late_file_of_a_first_instant_that_was_rolled_back_stays_out_of_sight(version):
    state = new_state(version)
    undone = rolled_back_first(state)
    timeline = load_timeline(state)
    assert not is_committed(timeline, undone)
    assert is_committed(timeline, OLD)


@pytest.mark.parametrize("version", [6, 9])
def test_readers_do_not_see_it(version):
    world = World.new(version)
    state = world.table().state
    first = load_timeline(state).instants[0]
    state.storage.delete(f"{state.layout.timeline_path}/{first.file_name}")  # as if it had never completed
    zombie = {path: data for path, data in world.files().items() if f"_{first.requested_time}." in path}
    rollback_instant(state, first.requested_time, Settings())
    before = world.rows()
    for path, data in zombie.items():
        if path.endswith(".parquet"):
            state.storage.put(path, data)
    assert world.rows() == before
    assert before


def test_a_rollback_that_was_archived_still_counts(state):
    committed(state)
    assert is_committed(load_timeline(state), UNDONE)
    archive(state, row(OLD, "commit", b"not looked at"), undoing(UNDONE))
    timeline = load_timeline(state)
    assert is_committed(timeline, OLD)
    assert not is_committed(timeline, UNDONE)


@pytest.mark.parametrize("action", ["compaction", "logcompaction", "clustering"])
def test_a_plan_that_was_rolled_back_and_run_again_is_committed_once_the_history_has_it(state, action):
    """Apache Hudi leaves the plan, and completes it under the same instant."""
    committed(state)
    archive(state, row(OLD, "commit"), undoing(UNDONE, action))
    assert not is_committed(load_timeline(state), UNDONE)
    done = row(UNDONE, "replacecommit" if action == "clustering" else "commit")
    archive(state, row(OLD, "commit"), done, undoing(UNDONE, action), version=2)
    assert is_committed(load_timeline(state), UNDONE)


@pytest.mark.parametrize(
    ("action", "operation", "counts"),
    [
        ("commit", WriteOperation.COMPACT, True),
        ("deltacommit", WriteOperation.LOG_COMPACT, True),
        ("replacecommit", WriteOperation.CLUSTER, True),
        ("commit", WriteOperation.UPSERT, False),  # which landed when it was rolled back already
        ("replacecommit", WriteOperation.INSERT_OVERWRITE, False),
    ],
)
def test_a_service_that_was_completed_and_taken_back_and_run_again_is_committed(state, action, operation, counts):
    committed(state)
    said = encode_commit(replace(metadata_of(), operation=operation), 2, NONCE)
    archive(state, row(OLD, "commit"), row(UNDONE, action, said), undoing(UNDONE, action))
    assert is_committed(load_timeline(state), UNDONE) is counts


@VERSIONS
def test_a_compaction_that_was_rolled_back_and_run_again_is_there(version):
    state = new_state(version)
    wanted = Instant(requested_time=UNDONE, action=Action.COMPACTION, state=State.REQUESTED)
    running = start(state, request(state, wanted, b"plan"))
    done = ".rollback" if version == 6 else "_20250103000000001.rollback"
    state.storage.put(f"{state.layout.timeline_path}/20250103000000000{done}", rollback_of(UNDONE, "compaction"))
    complete(state, running, encode_commit(metadata_of(), state.layout.timeline_layout, NONCE), "20250104000000000")
    assert is_committed(load_timeline(state), UNDONE)


@pytest.mark.parametrize("version", [8, 9])
def test_a_commit_that_lands_when_its_rollback_was_archived_is_not_counted(version):
    state = new_state(version)
    committed(state)
    archive(state, undoing("20270102000000000"))
    assert lands(state, "20270102000000000") == "not committed"
    assert lands(state, "20270103000000000") == "committed"


def lands(state, time):
    """Publish a commit of which nothing else is there, and tell what became of it."""
    name = f"{time}.commit" if state.layout.timeline_layout == 1 else f"{time}_{time[:-1]}9.commit"
    state.storage.put(f"{state.layout.timeline_path}/{name}", encode_commit(metadata_of(), 2, NONCE))
    return resolve(state, time)


@VERSIONS
def test_what_a_rollback_that_is_not_over_has_taken_off_the_timeline_is_not_counted(version):
    state = new_state(version)
    zombie = begun(state)
    zombie.start(None)
    state.storage.put(path_of(zombie.time, "late"), b"data")
    stop = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path="*.rollback")
    with pytest.raises(SimulatedCrash):
        rollback_instant(through(state, FaultyStorage(state.storage, plan=[stop])), zombie.time, Settings())
    assert find_instant(load_timeline(state), zombie.time) is None
    assert lands(state, zombie.time) == "not committed"
    committed(state, "g2")
    assert lands(state, zombie.time) == "not committed"


def test_the_newest_manifest_counts_while_the_version_is_being_replaced(state):
    committed(state)
    archive(state, row(OLD, "commit"), version=1)
    archive(state, undoing(UNDONE), version=2)
    state.storage.delete(f"{state.layout.history_path}/_version_")
    assert not is_committed(load_timeline(state), UNDONE)


def test_the_history_is_where_the_table_says(state):
    committed(state)
    update_properties(state.storage, state.env, {"hoodie.timeline.history.path": "elsewhere"})
    archive(state, undoing(UNDONE))
    moved = open_state(state.storage, state.env)
    assert moved.layout.history_path == ".hoodie/timeline/elsewhere"
    assert is_committed(load_timeline(moved), UNDONE)
    archive(moved, undoing(UNDONE))
    assert not is_committed(load_timeline(moved), UNDONE)


def test_a_history_that_says_nothing_hides_nothing(state):
    committed(state)
    archive(state, row("20250101000000001", "commit"), row("20250103000000000", "clean"))
    assert is_committed(load_timeline(state), UNDONE)


def test_a_history_is_read_only_for_an_instant_that_is_older(state):
    done = committed(state)
    state.storage.put(f"{state.layout.history_path}/_version_", b"not a number")
    timeline = load_timeline(state)
    assert is_committed(timeline, done.requested_time)
    with pytest.raises(CorruptData, match="history"):
        is_committed(timeline, OLD)


def test_a_manifest_that_is_none_is_said(state):
    committed(state)
    state.storage.put(f"{state.layout.history_path}/manifest_3", b"{}")
    with pytest.raises(CorruptData, match="manifest"):
        is_committed(load_timeline(state), OLD)


@pytest.mark.parametrize("version", [8, 9])
def test_a_history_says_when_archived_writes_were_completed(version):
    state = new_state(version)
    committed(state)
    late = "20250105000000000"
    cleaned = "20250101000000001"
    archive(state, (OLD, late, "deltacommit", b"", b"", 1), (cleaned, late, "clean", b"", b"", 1))
    timeline = load_timeline(state)
    assert completion_of(timeline, OLD) == late
    assert completion_of(timeline, cleaned) is None
    assert completion_of(timeline, "20240101000000000") is None


def test_only_files_of_a_history_that_may_hold_the_instant_are_read(state):
    committed(state)
    archive(state, row(OLD, "commit"))
    [path] = [one.path for one in state.storage.list(state.layout.history_path) if one.path.endswith(".parquet")]
    state.storage.put(path, b"no parquet")
    timeline = load_timeline(state)
    assert completion_of(timeline, "20240101000000000") is None
    assert completion_of(timeline, "20250103000000000") is None
    with pytest.raises(CorruptData):
        completion_of(timeline, OLD)


def test_the_archive_of_version_6_says_no_completions():
    state = new_state(6)
    committed(state)
    archive(state, row(OLD, "commit"))
    assert completion_of(load_timeline(state), OLD) is None


# what was taken back, by name


@VERSIONS
def test_what_a_rollback_names_was_taken_back_also_once_the_rollback_is_archived(version):
    state = new_state(version)
    undone = rolled_back_first(state)
    past = load_timeline(state).archive
    assert past.was_taken_back(undone)
    assert not past.was_taken_back(OLD)
    [rollback] = [one for one in load_timeline(state).instants if one.action is Action.ROLLBACK]
    archive_instants(state, [rollback], Settings(), lambda: None)
    past = load_timeline(state).archive
    assert past.was_taken_back(undone)
    assert not past.was_taken_back(OLD)


@VERSIONS
def test_what_an_archived_commit_said_is_found_by_its_time(version):
    state = new_state(version)
    done = [committed(state, f"g{number}") for number in range(3)]
    archive_instants(state, done[:2], Settings(), lambda: None)
    past = load_timeline(state).archive
    for one in done[:2]:
        assert [stat.path for stat in past.commit(one.requested_time).stats["sf"]] == [
            f"sf/g{done.index(one)}_0-0-0_{one.requested_time}.parquet"
        ]
    assert past.commit(done[2].requested_time) is None
    assert past.commit(OLD) is None
