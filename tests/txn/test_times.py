# ruff: noqa: PT012 - writes that end by an error inside are the subject

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixed_env import FixedEnv
from tests.new_states import new_state
from tests.txn.clocks import World
from tests.txn.writing import begun, committed, data_files, leftovers, metadata_of, proposal_of, write

from pyhudi.errors import ClockBehindTimeline, OptionError
from pyhudi.options import Settings
from pyhudi.storage.api import StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import load_timeline, remove_pending
from pyhudi.timeline.clock import format_instant, instant_ms
from pyhudi.timeline.codec import encode_commit
from pyhudi.txn.locks import remember_lock
from pyhudi.txn.times import HybridTimes, WallTimes, times_for

GENERATOR = "hoodie.time.generator.type"
SKEW = "hoodie.time.generator.max_expected_clock_skew_ms"
FILE_LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"}


@pytest.fixture
def world():
    return World()


def hybrid(env):
    return HybridTimes(env=env, zone=UTC)


class TestHybrid:
    def test_more_than_a_thousand_are_issued_in_a_second(self, world):
        """On a clock that only moves when it is waited for."""
        times, started_ms, newest = hybrid(world.host()), world.now_ms, None
        for _ in range(1_800):
            issued = times.issue(newest)
            assert newest is None or issued > newest
            times.settle(issued)
            newest = issued
        assert world.now_ms - started_ms <= 1_000

    @given(st.lists(st.integers(-3_000, 900), min_size=1, max_size=20))
    def test_a_time_is_later_than_the_timeline_and_little_ahead_of_the_clock(self, leads):
        world = World()
        env = world.host()
        for lead_ms in leads:
            newest = format_instant(world.now_ms + lead_ms, UTC)
            issued = hybrid(env).issue(newest)
            assert issued > newest
            assert instant_ms(issued, UTC) <= world.now_ms + 900

    @pytest.mark.parametrize(("ahead_ms", "waited_ms"), [(-1, 0), (0, 0), (899, 0), (900, 1), (1_800, 901)])
    def test_a_clock_behind_apache_hudis_waits_only_for_what_is_too_far_ahead(self, world, ahead_ms, waited_ms):
        env, started_ms = world.host(), world.now_ms
        hybrid(env).issue(format_instant(world.now_ms + ahead_ms, UTC))
        assert world.now_ms - started_ms == waited_ms

    def test_a_clock_far_behind_is_an_error_at_once(self, world):
        started_ms = world.now_ms
        with pytest.raises(ClockBehindTimeline):
            hybrid(world.host()).issue(format_instant(world.now_ms + 2_000, UTC))
        assert world.now_ms == started_ms

    def test_the_hour_that_is_repeated_in_autumn_counts_as_a_clock_behind(self):
        berlin = ZoneInfo("Europe/Berlin")
        env = FixedEnv(int(datetime(2025, 10, 26, 0, 59, 59, 998_000, tzinfo=UTC).timestamp() * 1000))
        newest = HybridTimes(env=env, zone=berlin).issue(None)
        with pytest.raises(ClockBehindTimeline):
            HybridTimes(env=env, zone=berlin).issue(newest)


class TestWall:
    def test_the_lock_is_kept_for_the_skew(self, world):
        times, started_ms = WallTimes(env=world.host(), zone=UTC, skew_ms=200), world.now_ms
        issued = times.issue(None)
        assert instant_ms(issued, UTC) == started_ms
        times.settle(issued)
        assert world.now_ms - started_ms == 200

    def test_a_writer_whose_clock_is_behind_by_less_than_the_skew_comes_later(self, world):
        """It looks at no writer's times, as Apache Hudi does not."""
        behind, times = world.host(skew_ms=-199), WallTimes(env=world.host(), zone=UTC, skew_ms=200)
        issued = times.issue(None)
        times.settle(issued)
        assert format_instant(behind.now_ms(), UTC) > issued

    def test_without_a_skew_the_next_millisecond_is_waited_for(self, world):
        times, started_ms = WallTimes(env=world.host(), zone=UTC), world.now_ms
        times.settle(times.issue(None))
        assert world.now_ms - started_ms == 1

    def test_a_clock_that_went_back_is_not_waited_for_as_a_skew(self, world):
        times = WallTimes(env=world.host(), zone=UTC, skew_ms=200)
        with pytest.raises(ClockBehindTimeline):
            times.settle(format_instant(world.now_ms + 5_000, UTC))


class Bucket(MemoryStorage):
    """A memory store that says it is an object store."""

    @property
    def traits(self):
        return StorageTraits(is_shared=True, is_picklable=False, has_atomic_create=True, has_cas=True, has_guard=False)


class TestChoice:
    def test_where_only_pyhudi_knows_the_lock_times_are_hybrid(self):
        assert isinstance(times_for(new_state(), Settings()), HybridTimes)

    def test_where_apache_hudi_may_write_times_are_the_clocks(self):
        times = times_for(new_state(storage=Bucket()), Settings())
        assert (type(times), times.skew_ms) == (WallTimes, 0)
        times = times_for(new_state(), Settings(FILE_LOCK))
        assert (type(times), times.skew_ms) == (WallTimes, 0)

    def test_where_the_table_declares_that_apache_hudi_writes_the_skew_is_waited_out(self):
        state = new_state()
        state.config.lock.update(FILE_LOCK)
        assert times_for(state, Settings()).skew_ms == 200
        assert times_for(state, Settings({SKEW: "30"})).skew_ms == 30

    def test_the_option_decides(self):
        assert times_for(new_state(), Settings({GENERATOR: "wait_to_adjust_skew", SKEW: "7"})).skew_ms == 7
        assert isinstance(times_for(new_state(storage=Bucket()), Settings({GENERATOR: "HYBRID_CLOCK"})), HybridTimes)
        with pytest.raises(OptionError, match="expected one of"):
            times_for(new_state(), Settings({GENERATOR: "COUNTER"}))


@pytest.mark.parametrize("generator", ["", "HYBRID_CLOCK"])
def test_commits_within_one_millisecond_have_times_in_their_order(world, generator):
    env = world.host()
    state = new_state(storage=MemoryStorage(env=env), env=env)
    started_ms, points = world.now_ms, []
    for _ in range(20):
        with begun(state, **({GENERATOR: generator} if generator else {})) as txn:
            points.append(txn.time)
    assert points == sorted(set(points))
    assert world.now_ms - started_ms < 100
    newest = max(points)
    committed(state)
    (done,) = [one for one in load_timeline(state).instants if str(one.action) == "commit" and one.is_completed]
    assert newest < done.requested_time < done.completion_time


def java_commit(state, at_ms):
    """Complete an instant as a writer does whose clock shows this time."""
    requested = format_instant(at_ms, UTC)
    action, layout = "commit", state.layout.timeline_path
    name = f"{requested}_{format_instant(at_ms + 1, UTC)}.{action}"
    state.storage.put(f"{layout}/{requested}.{action}.requested", b"")
    state.storage.put(f"{layout}/{requested}.inflight", b"")
    state.storage.put(f"{layout}/{name}", encode_commit(metadata_of(), 2, bytes(16)))
    return requested


@pytest.mark.parametrize("ahead_ms", [0, 500, 890])
@pytest.mark.parametrize("is_declared", [True, False])
def test_a_commit_beside_a_clock_that_is_ahead_comes_after_its_commits(world, ahead_ms, is_declared):
    """With a declared lock not before our own clock is past them, so that the other's next instant is later still."""
    env = world.host()
    state = new_state(storage=MemoryStorage(env=env), env=env)
    state = remember_lock(state, Settings(FILE_LOCK if is_declared else {}))
    theirs = java_commit(state, world.now_ms + ahead_ms)
    with begun(state) as txn:
        assert txn.time > theirs
        is_past = format_instant(world.now_ms, UTC) > txn.time
        assert is_past or not is_declared


def test_more_than_a_thousand_writes_begin_in_a_second(world):
    """Whole begins, under the lock, on a clock that only moves when it is waited for."""
    env = world.host()
    state = new_state(storage=MemoryStorage(env=env), env=env)
    started_ms, times, last = world.now_ms, [], None
    for _ in range(1_200):
        txn = begun(state, **{GENERATOR: "HYBRID_CLOCK", "hoodie.clean.failed.writes.policy": "NEVER"})
        if last is not None:
            remove_pending(state, last)  # as if it were archived: the timeline stays small, and its newest instant
        last = txn.instant
        times.append(txn.time)
    assert times == sorted(set(times))
    assert world.now_ms - started_ms <= 1_000


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_timeline_too_far_ahead_is_an_error_and_nothing_is_left(world, is_declared):
    env = world.host()
    state = new_state(storage=MemoryStorage(env=env), env=env)
    state = remember_lock(state, Settings(FILE_LOCK if is_declared else {}))
    java_commit(state, world.now_ms + 5_000)
    before = {one.path for one in state.storage.list("")}
    with pytest.raises(ClockBehindTimeline):
        begun(state)
    assert {one.path for one in state.storage.list("")} == before
    world.pass_ms(5_000)
    committed(state)


@pytest.mark.parametrize("generator", ["HYBRID_CLOCK", "WAIT_TO_ADJUST_SKEW"])
def test_a_clock_that_goes_back_a_little_while_a_write_works_changes_no_order(world, generator):
    env = world.host()
    state = new_state(storage=MemoryStorage(env=env), env=env)
    points = []
    for back_ms in (0, 300, 600):
        with begun(state, **{GENERATOR: generator, SKEW: "20"}) as txn:
            txn.start(None)
            path = write(txn, f"g{back_ms}")
            env.skew_ms -= back_ms
            done = txn.commit(proposal_of(path)).instant
        points += [txn.time, done.completion_time]
    assert points == sorted(set(points))


@pytest.mark.parametrize("generator", ["HYBRID_CLOCK", "WAIT_TO_ADJUST_SKEW"])
def test_a_clock_that_goes_back_far_while_a_write_works_fails_it_and_the_next_writer_rolls_it_back(world, generator):
    env, options = world.host(), {GENERATOR: generator, SKEW: "20"}
    state = new_state(storage=MemoryStorage(env=env), env=env)
    committed(state, "kept")
    with pytest.raises(ClockBehindTimeline), begun(state, **options) as txn:
        txn.start(None)
        path = write(txn)
        env.skew_ms = -10_000
        txn.commit(proposal_of(path))
    assert sum(one.is_completed for one in load_timeline(state).instants) == 1
    env.skew_ms = 0
    world.pass_ms(130_000)
    done = committed(state, "later")
    assert [one.rsplit("/", 1)[-1].split("_")[0] for one in data_files(state)] == ["kept", "later"]
    assert done.requested_time > txn.time
    assert leftovers(state) == []
