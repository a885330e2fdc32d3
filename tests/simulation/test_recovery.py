"""What the dead leave is found in more than one way; a write that is saved in place may die at any step of that."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.building import trip
from tests.commit.test_retry import Stopping
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.simulation.test_crashes import dead_writers_world, last_write, next_write, recovered
from tests.simulation.watching import WatchedStorage, watched
from tests.simulation.world import DEAD_MS, OPTIONS, World, require_clean

from pyhudi.errors import CommitUnknown, InstantNotFound, LockNotAcquired, PutUnknown, StorageUnavailable
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


@pytest.fixture(autouse=True)
def _one_thread():
    """Make the order of operations the same every time."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(before)


@pytest.fixture(scope="module")
def worlds():
    return {version: World.new(version) for version in (6, 8, 9)}


def pending_instant(world):
    return next(one for one in load_timeline(world.table().state).instants if not one.is_completed)


# how files are found


def batch_markers(world):
    """Put the markers as Hudi's timeline server does."""
    directory = f".hoodie/.temp/{pending_instant(world).requested_time}"
    names = [status.path.removeprefix(f"{directory}/") for status in world.storage.list(directory)]
    world.storage.delete_tree(directory)
    world.storage.put(f"{directory}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    world.storage.put(f"{directory}/MARKERS0", "".join(f"{name}\n" for name in names).encode())


def lose_markers(world):
    """Leave only the files."""
    world.storage.delete_tree(f".hoodie/.temp/{pending_instant(world).requested_time}")


FOUND_BY = {"direct markers": lambda world: None, "batched markers": batch_markers, "listing": lose_markers}


@VERSIONS
@pytest.mark.parametrize("how", FOUND_BY)
def test_recovery_finds_the_files_and_may_die_at_any_step_of_it(worlds, version, how):
    world = dead_writers_world(worlds[version])
    FOUND_BY[how](world)
    before, instant = world.rows(), pending_instant(world).requested_time
    storage, _ = watched(world, lambda table: table.rollback(instant))
    assert len(storage.moments) > 5
    for moment in storage.moments:
        recovered(moment.world(), before, before)


@VERSIONS
def test_a_rollback_that_died_is_finished_with_its_stored_plan(worlds, version):
    world = dead_writers_world(worlds[version])
    instant = pending_instant(world).requested_time
    fault = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"delete"}), path="*.parquet", at=1)
    with pytest.raises(SimulatedCrash):
        world.table(FaultyStorage(world.storage, plan=[fault], env=world.env)).rollback(instant)
    lose_markers(world)  # nothing but the plan tells what to delete
    [rollback] = [one for one in load_timeline(world.table().state).instants if one.action == "rollback"]
    later = world.copy(DEAD_MS)
    next_write(later.table())
    require_clean(later.table())
    assert rollback.requested_time in {one.requested_time for one in load_timeline(later.table().state).instants}


@VERSIONS
def test_many_recover_at_once_and_it_is_done_once(worlds, version):
    world = dead_writers_world(worlds[version]).copy(DEAD_MS)
    before, instant = world.rows(), pending_instant(world).requested_time

    def roll_back(number):
        try:
            world.table().rollback(instant)
        except (InstantNotFound, LockNotAcquired):  # time flies in this world, so that a wait may be over at once
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(roll_back, range(4))) == 1
    require_clean(world.table())
    assert world.rows() == before


# a write that is saved in place


def earlier_writer(world):
    """Let a writer begin and stop before its first data file; give the function that lets it finish."""
    pool, began, may_go = ThreadPoolExecutor(1), threading.Event(), threading.Event()

    def stop():
        began.set()
        assert may_go.wait(60)

    table = world.table(Stopping(world.storage, stop))
    done = pool.submit(table.upsert, [trip("k1", "b", ts=3, fare=33.0)], options=OPTIONS)
    assert began.wait(60)

    def finish():
        may_go.set()
        done.result(60)
        pool.shutdown()

    return finish


class Overtaken(WatchedStorage):
    """A store where an earlier writer finishes just before this one's first data file."""

    def __init__(self, inner, finish, env):
        super().__init__(inner, env)
        self._finish = finish

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if path.endswith(".inflight") and ".rollback" not in path:
            self._finish()
            self.moments.clear()
        super().put(path, data, mode)


@pytest.mark.parametrize("version", [6, 9])
def test_a_write_that_is_saved_in_place_may_die_at_any_step(worlds, version):
    done = worlds[version].copy()
    storage = Overtaken(done.storage, earlier_writer(done), done.env)
    mine = [trip("k9", "b", ts=9, fare=99.0), trip("k2", "a", ts=9, fare=22.0)]
    done.table(storage).upsert(mine, options=OPTIONS)
    storage.keep()
    after = done.rows()
    before = {**worlds[version].rows(), ("k1", "b"): 33.0}
    assert (after["k9", "b"], after["k1", "b"], after["k2", "a"]) == (99.0, 33.0, 22.0)
    assert any("-1-0_" in path for path in done.files())
    assert len(storage.moments) > 10
    for moment in storage.moments:
        recovered(moment.world(), before, after)
    assert [moment.world().rows() == after for moment in storage.moments[:: len(storage.moments) - 1]] == [False, True]


# unknown outcomes


class Mute(FaultyStorage):
    """A store that stops answering about commits when one is published, whether that landed or not."""

    def __init__(self, inner, env, lands):
        super().__init__(inner, env=env)
        self._lands, self._is_mute = lands, False

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if path.endswith(".commit"):
            self._is_mute = True
            if self._lands:
                super().put(path, data, mode)
            raise PutUnknown("no answer", path=path)
        super().put(path, data, mode)

    def get(self, path):
        if self._is_mute and path.endswith(".commit"):
            raise StorageUnavailable("no answer", path=path)
        return super().get(path)


@VERSIONS
@pytest.mark.parametrize("lands", [True, False])
def test_an_unknown_outcome_is_told_later_and_settled_by_the_next_writer(worlds, version, lands):
    world = worlds[version].copy()
    before = world.rows()
    with pytest.raises(CommitUnknown) as caught:
        world.table(Mute(world.storage, world.env, lands)).upsert([trip("k1", "b", ts=9, fare=99.0)], options=OPTIONS)
    instant = caught.value.values["instant"]
    assert world.table().resolve(instant) == ("committed" if lands else "pending")
    later = world.copy(DEAD_MS)
    next_write(later.table())
    assert later.table().resolve(instant) == ("committed" if lands else "not committed")
    expected = {**before, ("k1", "b"): 99.0} if lands else before
    assert later.rows() == {**expected, ("next", "n"): 1.0}
    require_clean(later.table())


class Late(FaultyStorage):
    """A store that keeps a commit for later, and says nothing of it until it lands."""

    def __init__(self, inner, env):
        super().__init__(inner, env=env)
        self._kept = None

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if path.endswith("commit"):
            self._kept = path, data, mode
            raise PutUnknown("no answer", path=path)
        super().put(path, data, mode)

    def land(self):
        self.inner.put(*self._kept)


VERBS = {
    "upsert": lambda table: table.upsert([trip("k1", "b", ts=9, fare=99.0), trip("late", "c")], options=OPTIONS),
    "overwrite": lambda table: table.insert_overwrite([trip("late", "b")], options=OPTIONS),
}


@VERSIONS
@pytest.mark.parametrize("verb", VERBS)
def test_a_commit_that_lands_after_it_was_rolled_back_is_never_counted(worlds, version, verb):
    world = worlds[version].copy()
    late = Late(world.storage, world.env)
    with pytest.raises(CommitUnknown) as caught:
        VERBS[verb](world.table(late))
    instant = caught.value.values["instant"]
    later = world.copy(DEAD_MS)
    next_write(later.table())
    expected = {**world.rows(), ("next", "n"): 1.0}
    assert later.table().resolve(instant) == "not committed"
    late.inner = later.storage
    late.land()
    assert any(instant in path and path.endswith("commit") for path in later.files())
    assert later.table().resolve(instant) == "not committed"
    assert later.rows() == expected
    assert {row["uuid"] for row in later.table().changes().to_arrow().to_pylist()} == {key for key, _ in expected}
    last_write(later.table())
    assert later.rows() == {**expected, ("last", "z"): 1.0}
    assert later.table().resolve(instant) == "not committed"
