# ruff: noqa: PT012 - writes that end by an error inside are the subject

import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.new_states import new_state
from tests.txn.writing import begun, committed, data_files, leftovers, path_of, proposal_of, states_of, through, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.env import SystemEnv
from pyhudi.errors import CorruptData, FileMissing, HeartbeatExpired, InstantNotFound, InvalidInput, StorageUnavailable
from pyhudi.filegroup.names import markers_directory
from pyhudi.options import Settings
from pyhudi.storage.api import PutMode
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import load_timeline, request, start
from pyhudi.timeline.clock import format_instant, instant_ms
from pyhudi.timeline.codec import decode_rollback_metadata, decode_rollback_plan, encode_rollback_plan
from pyhudi.timeline.instant import Action, Instant, State, file_name
from pyhudi.timeline.rollback import RollbackPlan, RollbackRequest
from pyhudi.txn.fence import remember_fence
from pyhudi.txn.locks import remember_lock
from pyhudi.txn.locks.api import ProcessLease
from pyhudi.txn.locks.guard import UnsharedLock
from pyhudi.txn.recovery.rollback import plan_rollback, recover_failed_writes, roll_back_own

SETTINGS = Settings()
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
HOUR_S = 3_600
FILE_LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"}


@pytest.fixture
def state():
    return new_state()


def left_behind(state, *groups):
    """Let a pyhudi writer die with files written; give its instant."""
    with pytest.raises(KeyboardInterrupt), begun(state) as txn:
        txn.start(None)
        for group in groups or ("g",):
            write(txn, group)
        raise KeyboardInterrupt
    return txn.instant


def foreign(state, group="java", *, is_started=True):
    """Let a writer without heartbeat and markers die; give its instant."""
    time = format_instant(state.env.now_ms(), state.env.zone())
    instant = request(state, Instant(requested_time=time, action=Action.COMMIT, state=State.REQUESTED))
    if is_started:
        instant = start(state, instant)
        state.storage.put("sf/.hoodie_partition_metadata", b"")
        state.storage.put(path_of(time, group), b"data")
    state.env.sleep(0.01)
    return instant


def recovered(state):
    return recover_failed_writes(state, load_timeline(state), SETTINGS, ProcessLease())


def rollbacks(state):
    return [one for one in load_timeline(state).instants if one.action is Action.ROLLBACK]


def rollback_files(state):
    names = [status.name for status in state.storage.list_directory(state.layout.timeline_path).files]
    return [name for name in names if ".rollback" in name]


# what a rollback does and says


@VERSIONS
def test_a_rollback_deletes_the_files_and_takes_the_instant_off_the_timeline(version):
    state = new_state(version)
    kept = committed(state, "kept")
    left_behind(state, "a", "b")
    state.env.sleep(121)
    recovered(state)
    assert data_files(state) == [path_of(kept.requested_time, "kept")]
    assert states_of(state) == [("commit", "completed"), ("rollback", "completed")]
    assert leftovers(state) == []


@VERSIONS
def test_it_leaves_plan_and_result_as_hudi_writes_them(version):
    state = new_state(version)
    instant = left_behind(state, "a", "b")
    rollback_instant(state, instant.requested_time, SETTINGS)
    [done] = rollbacks(state)
    folder = state.layout.timeline_path
    plan = decode_rollback_plan(state.storage.get(f"{folder}/{done.requested_time}.rollback.requested"), "plan")
    assert (plan.instant, plan.action) == (instant.requested_time, "commit")
    assert [len(one.files_to_delete) for one in plan.requests] == [1, 1]
    assert plan.requests[0].files_to_delete == (f"{state.storage.url}/{path_of(instant.requested_time, 'a')}",)
    assert state.storage.get(f"{folder}/{done.requested_time}.rollback.inflight") == b""
    result = decode_rollback_metadata(state.storage.get(f"{folder}/{done.file_name}"), "result")
    assert result.rolled_back == ((instant.requested_time, "commit"),)
    assert len(result.partitions["sf"].deleted) == 2


def test_local_paths_in_a_plan_have_no_scheme(tmp_path):
    state = new_state(storage=LocalStorage(str(tmp_path)))
    instant = left_behind(state)
    plan = rollback_instant(state, instant.requested_time, SETTINGS, is_dry_run=True)
    assert plan.requests[0].files_to_delete == (f"{tmp_path}/{path_of(instant.requested_time)}",)


def test_a_dry_run_gives_the_plan_and_does_nothing(state):
    instant = left_behind(state)
    before = state.storage.list("")
    plan = rollback_instant(state, instant.requested_time, SETTINGS, is_dry_run=True)
    assert plan.instant == instant.requested_time
    assert state.storage.list("") == before


def test_only_writes_can_be_rolled_back_by_name(state):
    committed(state)
    rollback_instant(state, left_behind(state).requested_time, SETTINGS)
    [done] = rollbacks(state)
    with pytest.raises(InvalidInput, match="only a pending write"):
        rollback_instant(state, done.requested_time, SETTINGS)
    with pytest.raises(InstantNotFound):
        rollback_instant(state, "20200101000000000", SETTINGS)


def test_rolling_back_twice_finds_nothing_the_second_time(state):
    instant = left_behind(state)
    rollback_instant(state, instant.requested_time, SETTINGS)
    with pytest.raises(InstantNotFound):
        rollback_instant(state, instant.requested_time, SETTINGS)
    roll_back_own(state, instant, SETTINGS)
    assert len(rollbacks(state)) == 1


# which files


def test_without_markers_files_are_found_by_their_names(state):
    committed(state, "kept")
    instant = foreign(state)
    plan = plan_rollback(state, load_timeline(state), instant, SETTINGS)
    assert [one.files_to_delete[0].rsplit("/", 1)[-1] for one in plan.requests] == [
        path_of(instant.requested_time, "java").rsplit("/", 1)[-1]
    ]


def test_nothing_is_looked_for_under_an_instant_that_never_started(state):
    instant = foreign(state, is_started=False)
    counting = FaultyStorage(state.storage)
    assert plan_rollback(through(state, counting), load_timeline(state), instant, SETTINGS).requests == ()
    assert counting.count("list_directory") == 0


@pytest.mark.parametrize(
    ("partition", "name"),
    [
        ("sf", path_of("20200101000000000").rsplit("/", 1)[-1]),
        (".hoodie", "hoodie.properties"),
        ("sf", ".hoodie_partition_metadata"),
        ("../other", "g_0-0-0_{time}.parquet"),
        ("/etc", "g_0-0-0_{time}.parquet"),
    ],
)
def test_a_plan_that_names_what_its_instant_cannot_have_written_deletes_nothing(state, partition, name):
    instant = left_behind(state)
    bad = RollbackRequest(partition_path=partition, files_to_delete=(f"/x/{name.format(time=instant.requested_time)}",))
    good = RollbackRequest(partition_path="sf", files_to_delete=(f"/x/{path_of(instant.requested_time)}",))
    store_plan(state, RollbackPlan(instant=instant.requested_time, action="commit", requests=(good, bad)))
    with pytest.raises((CorruptData, InvalidInput)):
        rollback_instant(state, instant.requested_time, SETTINGS)
    assert len(data_files(state)) == 1
    assert state.storage.head(".hoodie/hoodie.properties")


def store_plan(state, plan):
    """Let another writer request a rollback; give its instant."""
    time = format_instant(state.env.now_ms() + 1, state.env.zone())
    rollback = Instant(requested_time=time, action=Action.ROLLBACK, state=State.REQUESTED)
    state.env.sleep(0.01)
    return request(state, rollback, encode_rollback_plan(plan, b"n" * 16))


# whose


def test_a_dead_writer_is_rolled_back_and_a_living_one_is_left_alone(state):
    left_behind(state, "dead")
    state.env.sleep(121)
    with begun(state) as txn:
        txn.start(None)
        alive = write(txn, "alive")
        recovered(state)
        assert data_files(state) == [alive]
        txn.commit(proposal_of(alive))


def test_a_foreign_instant_is_left_alone_for_an_hour(state):
    instant = foreign(state)
    state.env.sleep(HOUR_S - 60)
    recovered(state)
    assert load_timeline(state).instants == (instant,)
    state.env.sleep(120)
    recovered(state)
    assert states_of(state) == [("rollback", "completed")]
    assert data_files(state) == []


def test_a_foreign_instant_can_be_rolled_back_by_name_at_once(state):
    instant = foreign(state)
    rollback_instant(state, instant.requested_time, SETTINGS)
    assert data_files(state) == []


def test_other_actions_are_left_alone(state):
    time = format_instant(state.env.now_ms(), state.env.zone())
    request(state, Instant(requested_time=time, action=Action.CLEAN, state=State.REQUESTED))
    state.env.sleep(2 * HOUR_S)
    recovered(state)
    assert states_of(state) == [("clean", "requested")]


# half-done


def die_rolling_back(state, instant, path, operation):
    plan = [Fault(kind=FaultKind.CRASH_AFTER, path=path, operations=frozenset({operation}), at=1)]
    with pytest.raises(SimulatedCrash):
        rollback_instant(through(state, FaultyStorage(state.storage, plan=plan)), instant.requested_time, SETTINGS)


@VERSIONS
@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("*.rollback.requested", "put"),
        ("*.rollback.inflight", "put"),
        ("*.parquet", "delete"),
        ("*.inflight", "delete"),
    ],
)
def test_a_rollback_that_died_is_finished_under_its_own_instant(version, path, operation):
    state = new_state(version)
    instant = left_behind(state, "a", "b")
    die_rolling_back(state, instant, path, operation)
    [pending] = rollbacks(state)
    state.env.sleep(121)
    recovered(state)
    [done] = rollbacks(state)
    assert done.requested_time == pending.requested_time
    assert len(rollback_files(state)) == 3
    assert data_files(state) == leftovers(state) == []


@VERSIONS
@pytest.mark.parametrize("is_fenced", [False, True])
def test_a_rollback_that_died_before_it_started_leaves_what_was_committed_since(version, is_fenced):
    """Nothing of it is gone yet; the writer that commits does not look at rollbacks."""
    state = new_state(version)
    if is_fenced:
        state = remember_fence(state, Settings({"pyhudi.fence": "on"}))
    instant = left_behind(state, "a")
    die_rolling_back(state, instant, "*.rollback.requested", "put")
    done = format_instant(state.env.now_ms() + 5, UTC)
    named = replace(instant, state=State.COMPLETED, completion_time=done)
    name = file_name(named, state.layout.timeline_layout)
    state.storage.put(f"{state.layout.timeline_path}/{name}", b"{}")
    state.env.sleep(121)
    recovered(state)
    assert states_of(state) == [("commit", "completed")]
    assert data_files(state) == [path_of(instant.requested_time, "a")]


def test_a_stored_plan_is_carried_out_and_files_written_after_it_go_too(state):
    with begun(state) as zombie:
        zombie.start(None)
        planned = write(zombie, "planned")
        die_rolling_back(state, zombie.instant, planned, "delete")
        write(zombie, "later")
        state.env.sleep(121)
        recovered(state)
        assert data_files(state) == []
    assert len(rollbacks(state)) == 1


def test_a_foreign_rollback_that_may_be_going_on_is_not_disturbed(state):
    instant = left_behind(state)
    theirs = store_plan(state, plan_rollback(state, load_timeline(state), instant, SETTINGS))
    state.env.sleep(121)
    recovered(state)
    assert rollbacks(state) == [theirs]
    assert len(data_files(state)) == 1
    state.env.sleep(HOUR_S)
    recovered(state)
    [done] = rollbacks(state)
    assert (done.requested_time, done.is_completed) == (theirs.requested_time, True)
    assert data_files(state) == []


@VERSIONS
def test_a_rollback_that_somebody_else_finished_meanwhile_is_not_completed_twice(version, monkeypatch):
    """The lock ended under the first, in the middle of its deletes."""
    state = new_state(version)
    instant = left_behind(state, "a", "b")
    monkeypatch.setattr(
        "pyhudi.actions.rollback.lock_for", lambda *_: UnsharedLock(storage=MemoryStorage(), env=state.env)
    )

    class Slow(FaultyStorage):
        def delete(self, path):
            if path.endswith(".parquet") and not any(one.is_completed for one in rollbacks(state)):
                rollback_instant(state, instant.requested_time, SETTINGS)
            super().delete(path)

    rollback_instant(through(state, Slow(state.storage, env=state.env)), instant.requested_time, SETTINGS)
    assert states_of(state) == [("rollback", "completed")]
    assert len([name for name in rollback_files(state) if name.endswith(".rollback")]) == 1
    assert data_files(state) == []
    state.env.sleep(121)
    recovered(state)
    assert leftovers(state) == []


def test_a_foreign_rollback_is_finished_by_name_with_its_own_plan(state):
    instant = left_behind(state)
    theirs = store_plan(state, plan_rollback(state, load_timeline(state), instant, SETTINGS))
    rollback_instant(state, instant.requested_time, SETTINGS)
    [done] = rollbacks(state)
    assert (done.requested_time, done.is_completed) == (theirs.requested_time, True)


def test_a_rollback_whose_outcome_is_unknown_is_no_unknown_commit(state):
    left_behind(state)
    state.env.sleep(121)
    plan = [Fault(kind=FaultKind.LOST_REQUEST, path="*_*.rollback", operations=frozenset({"put"}))]
    with pytest.raises(StorageUnavailable, match="rollback could not be finished"):
        begun(through(state, FaultyStorage(state.storage, plan=plan)))
    state.env.sleep(121)
    committed(state)
    assert len(rollbacks(state)) == 1


def test_a_file_published_while_somebody_else_rolls_back_goes_although_its_marker_is_gone(state):
    with pytest.raises(HeartbeatExpired), begun(state) as txn:
        txn.start(None)
        rollback_instant(state, txn.time, SETTINGS)
        path = write(txn, "late")
        state.storage.put("sf/.hoodie_partition_metadata", b"")
        state.storage.delete_tree(markers_directory(txn.time))
        txn.commit(proposal_of(path))
    assert data_files(state) == []


def test_a_write_that_starts_while_it_is_rolled_back_is_not_rolled_back_twice(state):
    class Late(FaultyStorage):
        """Let the rollback come between the look at the request and the start."""

        def put(self, path, data, mode=PutMode.OVERWRITE):
            if path.endswith(".inflight") and ".rollback" not in path and not rollbacks(state):
                rollback_instant(state, txn.time, SETTINGS)
            super().put(path, data, mode)

    with pytest.raises(HeartbeatExpired), begun(through(state, Late(state.storage, env=state.env))) as txn:
        txn.start(None)
        txn.commit(proposal_of(write(txn)))
    assert len(rollbacks(state)) == 1
    assert data_files(state) == []
    assert [one for one in load_timeline(state).instants if not one.is_completed] == []


def test_a_writer_that_misses_its_files_is_told_that_they_were_rolled_back(state):
    with pytest.raises(HeartbeatExpired, match="for dead") as caught, begun(state) as txn:
        txn.start(None)
        path = write(txn)
        rollback_instant(state, txn.time, SETTINGS)
        state.storage.get(path)
    assert isinstance(caught.value.__cause__, FileMissing)
    kept = weakref.ref(caught.value)
    del caught
    assert kept() is None, "an error that holds the frame which holds it stays in memory"
    assert len(rollbacks(state)) == 1


def test_a_writer_that_misses_another_file_is_told_so(state):
    with pytest.raises(FileMissing), begun(state) as txn:
        txn.start(None)
        state.storage.get("sf/nowhere")


# times


def pending_write(state):
    """Let a pyhudi writer die before it wrote; give its time."""
    with pytest.raises(KeyboardInterrupt), begun(state) as txn:
        raise KeyboardInterrupt
    return txn.time


@VERSIONS
def test_beside_apache_hudi_a_rollback_keeps_the_lock_until_its_times_are_past_on_every_clock(version):
    state = remember_lock(new_state(version), Settings(FILE_LOCK))
    time = pending_write(state)
    rollback_instant(state, time, SETTINGS)
    [done] = rollbacks(state)
    last = done.requested_time if version == 6 else done.completion_time
    assert state.env.now_ms() - instant_ms(last, UTC) > 200


def test_among_pyhudis_own_writers_a_rollback_waits_for_no_clock(state):
    time = pending_write(state)
    state.env.sleep(1)
    ahead = format_instant(state.env.now_ms() + 500, UTC)
    request(state, Instant(requested_time=ahead, action=Action.CLEAN, state=State.REQUESTED))
    before_ms = state.env.now_ms()
    rollback_instant(state, time, SETTINGS)
    [done] = rollbacks(state)
    assert ahead < done.requested_time < done.completion_time
    assert state.env.now_ms() - before_ms < 100


# policies


def policy(name):
    return Settings({"hoodie.clean.failed.writes.policy": name})


def settle(state, settings):
    recover_failed_writes(state, load_timeline(state), settings, ProcessLease())
    return states_of(state)


@VERSIONS
def test_eagerly_a_writer_without_heartbeat_is_taken_back_at_once_and_a_living_one_never(version):
    state = new_state(version)
    foreign(state)
    with begun(state) as alive:
        alive.start(None)
        assert settle(state, policy("LAZY")) == [("commit", "inflight")] * 2
        assert sorted(settle(state, policy("EAGER"))) == [("commit", "inflight"), ("rollback", "completed")]
        alive.commit(proposal_of(write(alive)))
    assert data_files(state) == [path_of(alive.time)]


def test_a_policy_of_never_touches_nothing(state):
    left_behind(state)
    state.env.sleep(2 * HOUR_S)
    before = {one.path for one in state.storage.list("")}
    assert settle(state, policy("NEVER")) == [("commit", "inflight")]
    assert {one.path for one in state.storage.list("")} == before
    assert settle(state, policy("LAZY")) == [("rollback", "completed")]


def test_the_old_name_of_the_policy_is_understood():
    assert Settings.of({"hoodie.cleaner.policy.failed.writes": "NEVER"}).values == policy("NEVER").values


# how files are found


def batched(state, instant, *paths):
    """Mark as Hudi's timeline server does: lines of a few files, and the kind beside them."""
    directory = f".hoodie/.temp/{instant.requested_time}"
    state.storage.delete_tree(directory)
    state.storage.put(f"{directory}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    for number, path in enumerate(paths):
        state.storage.put(f"{directory}/MARKERS{number}", f"{path}.marker.CREATE\n".encode())


@VERSIONS
@pytest.mark.parametrize("how", ["direct", "batched", "listing", "markers that are not to be used"])
def test_every_file_of_a_dead_writer_is_found(version, how):
    state = new_state(version)
    kept = committed(state, "kept")
    instant = left_behind(state, "a", "b")
    state.storage.put("sf/.hoodie_partition_metadata", b"")
    if how == "batched":
        batched(state, instant, path_of(instant.requested_time, "a"), path_of(instant.requested_time, "b"))
    if how == "listing":
        state.storage.delete_tree(f".hoodie/.temp/{instant.requested_time}")
    uses = Settings({"hoodie.rollback.using.markers": str(how != "markers that are not to be used").lower()})
    state.env.sleep(121)
    assert len(plan_rollback(state, load_timeline(state), instant, uses).requests) == 2
    settle(state, uses)
    assert data_files(state) == [path_of(kept.requested_time, "kept")]
    assert leftovers(state) == []


def test_log_files_that_carry_the_instant_are_found_by_listing(state):
    instant = left_behind(state, "a")
    time = instant.requested_time
    state.storage.put("sf/.hoodie_partition_metadata", b"")
    state.storage.put(f"sf/.g_{time}.log.1_0-0-0", b"log")
    state.storage.delete_tree(f".hoodie/.temp/{time}")
    found = [
        one.files_to_delete[0].rsplit("/", 1)[-1]
        for one in plan_rollback(state, load_timeline(state), instant, SETTINGS).requests
    ]
    assert sorted(found) == [f".g_{time}.log.1_0-0-0", path_of(time, "a").rsplit("/", 1)[-1]]


def test_of_many_who_roll_one_instant_back_one_does(tmp_path):
    state = new_state(storage=LocalStorage(str(tmp_path)), env=SystemEnv())
    instant = left_behind(state, *(f"g{n}" for n in range(5)))

    def roll_back(_):
        try:
            rollback_instant(state, instant.requested_time, SETTINGS)
        except InstantNotFound:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(roll_back, range(6))) == 1
    assert states_of(state) == [("rollback", "completed")]
    assert data_files(state) == leftovers(state) == []


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (b"no plan", "neither JSON nor Avro"),
        ({"requests": (RollbackRequest(partition_path="../x", files_to_delete=("f",)),)}, "below the table"),
        (
            {"requests": (RollbackRequest(partition_path="sf", files_to_delete=(path_of("20200101000000000"),)),)},
            "file",
        ),
        ({"action": "bommit"}, "no instant to roll back"),
        ({"instant": "2026p101000000004"}, "no instant to roll back"),
    ],
)
@pytest.mark.parametrize("version", [6, 9])
def test_a_damaged_plan_is_named_with_the_way_on(version, plan, says):
    state = new_state(version)
    dead = foreign(state).requested_time
    state.env.sleep(2 * HOUR_S)
    if not isinstance(plan, bytes):
        said = {"instant": dead, "action": Action.COMMIT, **plan}
        plan = encode_rollback_plan(RollbackPlan(**said), b"n" * 16)
    time = format_instant(state.env.now_ms(), state.env.zone())
    rollback = Instant(requested_time=time, action=Action.ROLLBACK, state=State.REQUESTED)
    path = f"{state.layout.timeline_path}/{file_name(rollback, state.layout.timeline_layout)}"
    state.storage.put(path, plan)
    state.env.sleep(2 * HOUR_S)
    for _ in range(2):
        with pytest.raises(CorruptData, match=f"every write needs it: .*{says}.*delete {time}.rollback") as told:
            committed(state, group="h")
        assert told.value.values["file"] == path
    state.storage.delete(path)
    committed(state, group="i")
    assert path_of(dead, "java") not in data_files(state)
