# ruff: noqa: PT012 - writes that end by an error inside are the subject

from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.fixed_env import FixedEnv
from tests.new_states import new_state
from tests.storage.settled import SettledStorage
from tests.txn.clocks import World
from tests.txn.writing import (
    begun,
    committed,
    data_files,
    leftovers,
    metadata_of,
    path_of,
    proposal_of,
    states_of,
    through,
    write,
)

from pyhudi.actions import rollback
from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import (
    ClockBehindTimeline,
    CommitUnknown,
    FileMissing,
    HeartbeatExpired,
    LockNotAcquired,
    PermissionDenied,
    PutUnknown,
    StorageFull,
    StorageUnavailable,
    WriteConflict,
)
from pyhudi.options import Settings
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.api import PutMode, StorageTraits
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import complete, load_timeline, request, start
from pyhudi.timeline.codec import decode_commit, encode_commit
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import completed_writes
from pyhudi.txn import checks, commit
from pyhudi.txn.checks import Proposal
from pyhudi.txn.commit import Committed, Superseded, begin
from pyhudi.txn.locks import GUARD_PATH
from pyhudi.txn.locks.api import ProcessLease

NONCE = b"n" * 16
START = InstantTime("20260101000000000")
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


@pytest.fixture
def state():
    return new_state()


def timeline_files(state):
    return [status.name for status in state.storage.list_directory(state.layout.timeline_path).files]


def completed_name(state):
    return "*.commit" if state.layout.timeline_layout == 1 else "*_*.commit"


def faulty(state, kind, path, at=None, operations=("put",)):
    plan = [Fault(kind=kind, path=path, at=at, operations=frozenset(operations))]
    return through(state, FaultyStorage(state.storage, plan=plan))


# what a write leaves


@VERSIONS
def test_a_commit_is_visible_and_leaves_nothing_else(version):
    state = new_state(version)
    with begun(state) as txn:
        assert states_of(state) == [("commit", "requested")]
        txn.start(None)
        assert states_of(state) == [("commit", "inflight")]
        done = txn.commit(proposal_of(write(txn))).instant
    assert done.is_completed
    assert completed_writes(load_timeline(state)) == (done,)
    assert leftovers(state) == []


def test_times_only_go_up_and_nobody_gets_one_twice(state):
    done = [committed(state, f"g{n}") for n in range(5)]
    times = [time for one in done for time in (one.requested_time, one.completion_time)]
    assert times == sorted(set(times))


@VERSIONS
def test_a_failed_write_is_rolled_back_by_its_owner(version):
    state = new_state(version)
    with pytest.raises(KeyError), begun(state) as txn:
        txn.start(None)
        write(txn)
        raise KeyError
    assert states_of(state) == [("rollback", "completed")]
    assert data_files(state) == leftovers(state) == []


def test_a_write_that_is_left_without_commit_is_rolled_back_too(state):
    with begun(state) as txn:
        txn.start(None)
        write(txn)
    assert states_of(state) == [("rollback", "completed")]


def test_a_write_whose_begin_cannot_let_go_of_the_lock_does_not_live_on(monkeypatch):
    class Stuck:
        @contextmanager
        def hold(self):
            yield ProcessLease()
            raise StorageUnavailable("the lock cannot be let go")

    world = World()
    monkeypatch.setattr(commit, "lock_for", lambda *_: Stuck())
    with pytest.raises(StorageUnavailable) as caught:  # which keeps all that is still open from being collected
        begun(new_state(env=world.host()))
    assert world.beats == []
    assert caught.tb


def test_a_dying_process_undoes_nothing(state):
    with pytest.raises(KeyboardInterrupt), begun(state) as txn:
        txn.start(None)
        write(txn)
        raise KeyboardInterrupt
    assert states_of(state) == [("commit", "inflight")]
    assert len(data_files(state)) == 1


def test_an_undo_that_fails_does_not_hide_the_error(state):
    broken = FaultyStorage(state.storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE, path="*rollback*")])
    with pytest.raises(KeyError) as caught, begun(through(state, broken)) as txn:
        txn.start(None)
        raise KeyError
    assert "could not be rolled back now" in caught.value.__notes__[0]
    assert states_of(state) == [("commit", "inflight")]


def test_strays_of_failed_attempts_are_deleted_before_publishing(state):
    with begun(state) as txn:
        txn.start(None)
        kept, stray = write(txn, "g"), write(txn, "stray")
        txn.commit(proposal_of(kept))
    assert data_files(state) == [kept]
    assert stray not in data_files(state)


# which other writers were there


def test_writers_of_different_file_groups_both_commit(state):
    with begun(state) as first, begun(state) as second:
        for txn, group in ((first, "g1"), (second, "g2")):
            txn.start(None)
            txn.commit(proposal_of(write(txn, group)))
    assert len(completed_writes(load_timeline(state))) == 2


def test_of_two_writers_of_one_file_group_the_second_is_told(state):
    with begun(state) as slow:
        slow.start(None)
        theirs = committed(state)
        with pytest.raises(WriteConflict) as caught:
            slow.commit(proposal_of(write(slow)))
        assert caught.value.values["other"] == theirs.requested_time
        assert caught.value.values["file_groups"] == ["sf/g"]
    assert data_files(state) == [path_of(theirs.requested_time)]


def test_a_writer_that_began_later_and_finished_first_is_seen(state):
    with begun(state) as early:
        early.start(None)
        with begun(state) as late:
            late.start(None)
            late.commit(proposal_of(write(late)))
        assert late.time > early.time
        with pytest.raises(WriteConflict):
            early.commit(proposal_of(write(early)))


def test_a_write_that_was_rolled_back_by_name_cannot_commit_and_leaves_nothing(state):
    with begun(state) as zombie:
        zombie.start(None)
        write(zombie)
        rollback_instant(state, zombie.time, Settings())
        written_later = write(zombie, "later")
        with pytest.raises(HeartbeatExpired):
            zombie.commit(proposal_of(written_later))
        assert data_files(state) == [written_later]
        raise_in = HeartbeatExpired("as the caller sees it")
        zombie.__exit__(HeartbeatExpired, raise_in, None)
    assert data_files(state) == leftovers(state) == []


def test_a_write_whose_request_is_gone_does_not_start(state):
    with pytest.raises(HeartbeatExpired), begun(state) as txn:
        rollback_instant(state, txn.time, Settings())
        txn.start(None)
    assert leftovers(state) == []


def test_a_write_that_a_pending_rollback_names_cannot_commit(state):
    with pytest.raises(HeartbeatExpired), begun(state) as txn:
        txn.start(None)
        path = write(txn)
        stopped = faulty(state, FaultKind.CRASH_BEFORE, path, operations=("delete",))
        with pytest.raises(SimulatedCrash):
            rollback_instant(stopped, txn.time, Settings())
        assert ("rollback", "inflight") in states_of(state)
        txn.commit(proposal_of(path))
    assert data_files(state) == []


def test_a_write_that_rests_on_a_commit_that_was_taken_back_cannot_commit(state):
    first = committed(state)
    with pytest.raises(WriteConflict, match="taken back"), begun(state) as txn:
        txn.start(None)
        take_back(state, first)
        txn.commit(proposal_of(write(txn, "g2"), previous=first.requested_time))


def take_back(state, instant):
    """Roll a completed commit back, as other tools can."""
    state.storage.delete(f"{state.layout.timeline_path}/{instant.file_name}")
    rollback_instant(state, instant.requested_time, Settings())


def test_a_clustering_that_is_planned_meanwhile_stops_the_write(state):
    with pytest.raises(WriteConflict, match="table service"), begun(state) as txn:
        txn.start(None)
        env = state.env
        time = f"{int(txn.time) + 500:017d}"
        request(state, Instant(requested_time=time, action=Action.CLUSTERING, state=State.REQUESTED))
        env.sleep(1)
        txn.commit(proposal_of(write(txn)))


def test_a_commit_that_is_archived_while_it_is_looked_at_is_a_conflict(state, monkeypatch):
    with begun(state) as txn:
        other = committed(state, "h")

        def archived(state, instant):
            raise FileMissing("gone", path=instant.file_name)

        monkeypatch.setattr(checks, "read_commit_metadata", archived)
        txn.start(None)
        with pytest.raises(WriteConflict, match="archived") as raised:
            txn.commit(proposal_of(write(txn)))
    assert raised.value.values["other"] == other.requested_time


# keys of others


class Finding:
    """Looks keys up in others' files, and lets another writer commit after the first look."""

    def __init__(self, state, meddle=None):
        self._state, self._meddle, self.looks = state, meddle, []

    def __call__(self, files):
        is_locked = True
        with suppress(LockNotAcquired), self._state.storage.guard(GUARD_PATH, 0):
            is_locked = False
        self.looks.append(([file.file_id for file in files], is_locked))
        if self._meddle is not None:
            meddle, self._meddle = self._meddle, None
            meddle()
        return {}


def inserted(state, group):
    """Commit a file group with new rows."""
    with begun(state) as txn:
        txn.start(None)
        found = metadata_of(write(txn, group))
        [(partition, (stat,))] = found.stats.items()
        txn.commit(Proposal(metadata=replace(found, stats={partition: (replace(stat, num_inserts=1),)})))


def test_keys_are_looked_for_before_the_lock_and_inside_it_only_in_what_came_after(state):
    find = Finding(state, lambda: inserted(state, "came-after"))
    with begun(state) as txn:
        inserted(state, "came-before")
        txn.start(None)
        txn.commit(proposal_of(write(txn, "ours"), find_keys=find))
    assert find.looks == [(["came-before"], False), (["came-after"], True)]


def test_nobody_elses_files_are_nothing_to_look_into(state):
    inserted(state, "seen")
    find = Finding(state)
    with begun(state) as txn:
        txn.start(None)
        txn.commit(proposal_of(write(txn, "ours"), find_keys=find))
    assert find.looks == []


def test_what_superseded_a_write_once_counts_as_seen(state):
    early = begun(state)
    early.start(None)
    with begun(state) as late:
        late.start(None)
        early.commit(proposal_of(write(early)))
        proposal = proposal_of(write(late))
        superseded = late.commit(proposal)
        assert isinstance(superseded, Superseded)
        assert (sorted(one.file_id for one in superseded.groups), superseded.revision) == (["g"], 1)
        assert early.time in superseded.timeline.completed
        assert superseded.conflict.values["other"] == early.time
        assert isinstance(late.commit(proposal), Committed)


def test_a_commit_that_began_later_asks_for_a_new_instant(state):
    with pytest.raises(WriteConflict), begun(state) as early:
        early.start(None)
        committed(state)
        early.commit(proposal_of(write(early)))


# the table itself


def test_properties_that_change_during_a_write_stop_it(state):
    with pytest.raises(WriteConflict, match="properties changed"), begun(state) as txn:
        txn.start(None)
        update_properties(
            state.storage, state.env, {"hoodie.table.precombine.field": "", "hoodie.table.cdc.enabled": "true"}
        )
        txn.commit(proposal_of(write(txn)))
    assert data_files(state) == []


def test_another_name_that_comes_during_a_write_stops_it(state):
    with pytest.raises(WriteConflict), begun(state) as txn:
        txn.start(None)
        update_properties(state.storage, state.env, {"hoodie.table.name": "other"})
        txn.commit(proposal_of(write(txn)))
    assert completed_writes(load_timeline(state)) == ()


def test_a_property_that_means_nothing_may_change(state):
    with begun(state) as txn:
        txn.start(None)
        update_properties(state.storage, state.env, {"some.note": "x"})
        txn.commit(proposal_of(write(txn)))


def test_a_handle_that_is_out_of_date_does_not_begin(state):
    update_properties(state.storage, state.env, {"hoodie.table.name": "other"})
    with pytest.raises(WriteConflict, match="open it again"):
        begun(state)
    assert timeline_files(state) == []


# locks and clocks


def test_begin_and_commit_hold_the_lock_and_nothing_in_between_does(state):
    with state.storage.guard(GUARD_PATH, 0), pytest.raises(LockNotAcquired):
        begun(state)
    with begun(state) as txn:
        with state.storage.guard(GUARD_PATH, 0):
            txn.start(None)
        path = write(txn)
        with state.storage.guard(GUARD_PATH, 0), pytest.raises(LockNotAcquired):
            txn.commit(proposal_of(path))
        txn.commit(proposal_of(path))


class Remote(MemoryStorage):
    """Memory that is locked as an object store is."""

    @property
    def traits(self):
        return StorageTraits(is_shared=True, is_picklable=False, has_atomic_create=True, has_cas=True, has_guard=False)


def test_a_lease_that_is_lost_before_the_commit_is_published_stops_it():
    world = World()
    env = world.host()
    state = new_state(storage=Remote(env=env), env=env)
    with pytest.raises(LockNotAcquired, match="lost"), begun(state) as txn:
        txn.start(None)
        path = write(txn)
        slow = through(state, _Stalling(state.storage, world, env))
        txn.state = slow
        txn.commit(proposal_of(path))
    assert completed_writes(load_timeline(state)) == ()


def test_a_writer_that_others_may_take_for_dead_does_not_commit():
    env = FixedEnv()
    state = new_state(storage=Remote(env=env), env=env)
    with begun(state) as txn:
        txn.start(None)
        path = write(txn)
        env.sleep(121)
        with pytest.raises(HeartbeatExpired, match="heartbeat"):
            txn.commit(proposal_of(path))
    assert completed_writes(load_timeline(state)) == ()


def test_a_lease_that_ran_out_while_it_was_waited_for_takes_nothing_back(state, monkeypatch):
    pending = request(state, Instant(requested_time=START, action=Action.COMMIT, state=State.REQUESTED), b"")
    monkeypatch.setattr(rollback, "lock_for", lambda *_: _Late())
    with pytest.raises(LockNotAcquired, match="lost"):
        rollback_instant(state, START, Settings({}))
    assert load_timeline(state).instants == (pending,)


def test_a_lease_that_ran_out_while_it_was_waited_for_recovers_nothing(state, monkeypatch):
    monkeypatch.setattr(commit, "lock_for", lambda *_: _Late())
    monkeypatch.setattr(commit, "recover_failed_writes", _never)
    with pytest.raises(LockNotAcquired, match="lost"):
        begin(state, Action.COMMIT, Settings({}))


def _never(*_):
    pytest.fail("the lock was not held any more")


class _Late:
    """A lock whose lease is over when it is given."""

    @contextmanager
    def hold(self):
        yield self

    def remaining_ms(self):
        return 0


class _Stalling(FaultyStorage):
    """A host that stands still for longer than its lease, while it holds it."""

    def __init__(self, inner, world, env):
        super().__init__(inner)
        self._world, self._host = world, env

    def list_directory(self, prefix):
        if prefix == ".hoodie/timeline" and not self._host.is_frozen:
            self._host.is_frozen = True
            self._world.pass_ms(296_000)
        return super().list_directory(prefix)


def test_a_clock_behind_the_timeline_is_refused_before_anything_is_written(state):
    committed(state)
    before = timeline_files(state)
    state.env.set_now_ms(state.env.now_ms() - 10_000)
    with pytest.raises(ClockBehindTimeline):
        begun(state)
    assert timeline_files(state) == before
    assert leftovers(state) == []


def test_a_clock_that_is_a_little_behind_is_waited_for(state):
    first = committed(state)
    state.env.set_now_ms(state.env.now_ms() - 500)
    assert committed(state, "g2").requested_time > first.completion_time


def test_a_clock_that_falls_back_after_publishing_does_not_unmake_the_commit():
    env = _FallsBack()
    state = new_state(storage=MemoryStorage(env=FixedEnv()), env=env)
    with begun(state) as txn:
        txn.start(None)
        path = write(txn)
        env.watched = state.storage
        done = txn.commit(proposal_of(path)).instant
    assert completed_writes(load_timeline(state)) == (done,)


class _FallsBack(FixedEnv):
    """A clock that loses an hour as soon as a commit is published."""

    watched = None

    def now_ms(self):
        if self.watched is not None and any(path.path.endswith(".commit") for path in self.watched.list(".hoodie")):
            self.watched = None
            self.set_now_ms(super().now_ms() - 3_600_000)
        return super().now_ms()


# begin


def test_a_time_that_is_taken_is_left_to_its_owner(state):
    taken = []

    class Meddling(FaultyStorage):
        def put(self, path, data, mode=PutMode.OVERWRITE):
            if path.endswith(".commit.requested") and not taken:
                taken.append(path)
                self.inner.put(path, b"", mode)
            super().put(path, data, mode)

    with begun(through(state, Meddling(state.storage))) as txn:
        time = taken[0].rsplit("/", 1)[-1].split(".")[0]
        assert txn.time > time
        assert f".hoodie/.heartbeat/{time}" not in leftovers(state)
        txn.start(None)
        txn.commit(proposal_of(write(txn)))
    assert states_of(state) == [("commit", "requested"), ("commit", "completed")]


@VERSIONS
@pytest.mark.parametrize("pending", ["*.commit.requested", "*.inflight"])
@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST])
def test_a_pending_file_whose_put_got_no_answer_is_ours_by_our_heartbeat(version, pending, kind):
    """On an object store: empty files of two writers look the same, and only one writer beats for an instant."""
    state = new_state(version)
    plan = [Fault(kind=kind, operations=frozenset({"put"}), path=pending, at=1)]
    with begun(through(state, SettledStorage(state.storage, plan=plan, env=state.env))) as txn:
        txn.start(None)
        txn.commit(proposal_of(write(txn)))
    assert states_of(state) == [("commit", "completed")]
    assert leftovers(state) == []


def test_a_request_that_comes_to_nothing_is_taken_back():
    class Jumping(FixedEnv):
        storage = None

        def now_ms(self):
            now_ms = super().now_ms()
            is_requested = self.storage is not None and self.storage.list(".hoodie/timeline")
            return now_ms - 10_000 if is_requested else now_ms

    env = Jumping()
    env.storage = MemoryStorage(env=FixedEnv())
    state = new_state(storage=env.storage, env=env)
    with pytest.raises(ClockBehindTimeline):
        begun(state, **{"hoodie.time.generator.type": "WAIT_TO_ADJUST_SKEW"})
    assert timeline_files(state) == leftovers(state) == []


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.ERROR_BEFORE, StorageUnavailable),
        (FaultKind.NO_SPACE, StorageFull),
        (FaultKind.DENIED, PermissionDenied),
    ],
)
def test_a_store_that_fails_when_a_write_begins_raises_its_error(state, kind, error):
    with pytest.raises(error):
        begun(faulty(state, kind, "*.requested"))
    assert timeline_files(state) == []
    with state.storage.guard(GUARD_PATH, 0):
        pass


# lost replies


@VERSIONS
def test_a_lost_reply_to_the_publishing_put_is_recognised_as_success(version):
    state = new_state(version)
    shaky = faulty(state, FaultKind.LOST_REPLY, completed_name(state), at=1)
    assert committed(shaky).is_completed
    assert leftovers(state) == []
    assert states_of(state) == [("commit", "completed")]


@VERSIONS
def test_a_lost_request_is_an_unknown_outcome_and_nothing_is_undone(version):
    state = new_state(version)
    with pytest.raises(CommitUnknown) as caught:
        committed(faulty(state, FaultKind.LOST_REQUEST, completed_name(state), at=1))
    assert caught.value.values["instant"] == load_timeline(state).instants[0].requested_time
    assert states_of(state) == [("commit", "inflight")]
    assert len(data_files(state)) == 1
    state.env.sleep(130)
    committed(state, "g2")
    assert ("commit", "inflight") not in states_of(state)
    assert len(data_files(state)) == 1


def test_a_name_that_somebody_else_has_means_the_next_millisecond(state):
    names = []

    class Meddling(FaultyStorage):
        def put(self, path, data, mode=PutMode.OVERWRITE):
            if path.endswith(".commit") and not names:
                names.append(path)
                self.inner.put(path, b"other", mode)
                raise PutUnknown("no answer", path=path)
            super().put(path, data, mode)

    with begun(through(state, Meddling(state.storage))) as txn:
        txn.start(None)
        done = txn.commit(proposal_of(write(txn))).instant
    assert not names[0].endswith(done.file_name)


def test_in_layout_1_somebody_elses_commit_in_our_place_costs_us_our_files():
    state = new_state(6)
    with pytest.raises(WriteConflict, match="same time"), begun(state) as txn:
        txn.start(None)
        write(txn, "ours")
        publish_for_another(txn)
        txn.commit(proposal_of(write(txn, "also-ours")))
    assert data_files(state) == []
    assert states_of(state) == [("commit", "completed")]


def publish_for_another(txn):
    """Let a writer that ignores the lock complete our instant just before we do."""
    inner = txn.state.storage

    class Meddling(FaultyStorage):
        is_done = False

        def put(self, path, data, mode=PutMode.OVERWRITE):
            if path.endswith(".commit") and not self.is_done:
                self.is_done = True
                env = self.state.env
                layout = self.state.layout.timeline_layout
                data = encode_commit(metadata_of(), layout, env.nonce())
                complete(self.state, txn.instant, data, txn.time)
            super().put(path, data, mode)

    meddling = Meddling(inner)
    meddling.state = txn.state
    txn.state = through(txn.state, meddling)


@pytest.mark.parametrize("kind", [FaultKind.NO_SPACE, FaultKind.DENIED])
def test_a_store_that_refuses_the_publishing_put_leaves_nothing(state, kind):
    with pytest.raises((StorageFull, PermissionDenied)):
        committed(faulty(state, kind, "*_*.commit", at=1))
    assert states_of(state) == [("rollback", "completed")]
    assert data_files(state) == leftovers(state) == []


def test_a_store_that_dies_after_publishing_does_not_unmake_the_commit(state):
    plan = [Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"delete", "delete_tree"}))]
    done = committed(through(state, FaultyStorage(state.storage, plan=plan)))
    assert completed_writes(load_timeline(state)) == (done,)
    assert leftovers(state)
    committed(state, "g2")
    assert leftovers(state) == []


def test_the_heartbeat_ends_with_the_write(tmp_path):
    state = new_state(storage=LocalStorage(str(tmp_path)))
    with begun(state) as txn:
        assert {path.split("/")[1] for path in leftovers(state)} == {".heartbeat", ".locks"}
        txn.start(None)
        txn.commit(proposal_of(write(txn)))
        assert leftovers(state) == []
    with pytest.raises(KeyError), begun(state):
        raise KeyError
    assert leftovers(state) == []


def test_an_inflight_file_of_version_6_has_no_nonce():
    state = new_state(6)
    with begun(state) as txn:
        txn.start(metadata_of())
        inflight = state.storage.get(f".hoodie/{txn.time}.inflight")
        assert "pyhudi.nonce" not in decode_commit(inflight, "x").extra
        txn.commit(proposal_of(write(txn)))


def test_starting_twice_is_refused(state):
    with pytest.raises(HeartbeatExpired), begun(state) as txn:
        start(state, txn.instant)
        txn.start(None)
