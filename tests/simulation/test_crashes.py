"""A writer that dies anywhere leaves a table that reads as before or as after, and that the next writer puts right."""

import os

import pyarrow as pa
import pytest
from tests.building import trip
from tests.simulation.world import DEAD_MS, OPTIONS, World, require_clean

from pyhudi.storage.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash

CRASHES = (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER)
IS_FULL = bool(os.environ.get("PYHUDI_SIMULATE_ALL"))


@pytest.fixture(autouse=True)
def _one_thread():
    """Make the order of operations the same every time."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(before)


@pytest.fixture(scope="module")
def worlds():
    return {version: World.new(version) for version in (6, 9)}


def upsert(table):
    table.upsert([trip("k2", "a", ts=2, fare=22.0), trip("k7", "b", fare=7.0), trip("k8", "c")], options=OPTIONS)


def insert_overwrite(table):
    table.insert_overwrite([trip("k5", "a", fare=5.0), trip("k6", "d", fare=6.0)], options=OPTIONS)


def delete(table):
    table.delete(keys=["k1", "k2"], options=OPTIONS)


VERBS = {"upsert": upsert, "insert_overwrite": insert_overwrite, "delete": delete}


def next_write(table):
    """Be the next writer, who recovers first."""
    table.upsert([trip("next", "n", fare=1.0)], options=OPTIONS)


def died(world, verb, at, kind):
    """Copy a world and die in it at one operation; None where the verb was over before."""
    victim = world.copy()
    storage = FaultyStorage(victim.storage, plan=[Fault(kind=kind, at=at)], env=victim.env)
    try:
        verb(victim.table(storage))
    except SimulatedCrash:
        return victim
    return None


def deaths(world, verb, last=10_000):
    """Give every state, once, in which a crash up to the last operation leaves the table."""
    seen = set()
    for at in range(1, last + 1):
        left = [died(world, verb, at, kind) for kind in CRASHES]
        for victim in left:
            if victim is not None and victim.fingerprint() not in seen:
                seen.add(victim.fingerprint())
                yield victim
        if left[0] is None:
            return


def recovered(victim, before, after):
    """Let the next writer in, and hold the table to every invariant."""
    seen = victim.rows()
    assert seen in (before, after)
    world = victim.copy(DEAD_MS)
    next_write(world.table())
    assert world.rows() == {**seen, ("next", "n"): 1.0}
    require_clean(world.table())
    return world


def rows_after(world, verb):
    done = world.copy()
    verb(done.table())
    return done.rows()


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("name", VERBS)
def test_a_writer_may_die_at_any_operation(worlds, version, name):
    world, verb = worlds[version], VERBS[name]
    before, after = world.rows(), rows_after(world, verb)
    assert before != after
    outcomes = set()
    for victim in deaths(world, verb):
        recovered(victim, before, after)
        outcomes.add(victim.rows() == after)
    assert outcomes == {True, False}


@pytest.mark.parametrize("version", [6, 9])
def test_a_rollback_may_die_at_any_operation(worlds, version):
    world = worlds[version]
    before = world.rows()
    pending = dead_writers_world(world)
    instant = next(one.requested_time for one in pending.table().timeline.instants if not one.is_completed)
    for victim in deaths(pending, lambda table: table.rollback(instant)):
        recovered(victim, before, before)


@pytest.mark.parametrize("version", [6, 9])
def test_recovery_may_die_at_any_operation_and_be_recovered(worlds, version):
    world = worlds[version]
    before, after = world.rows(), rows_after(world, upsert)
    for victim in deaths(world, upsert) if IS_FULL else [dead_writers_world(world)]:
        seen, later = victim.rows(), victim.copy(DEAD_MS)
        for second in deaths(later, next_write, last=number_of(later, next_write, ".commit.requested") + 1):
            assert second.rows() in (seen, {**seen, ("next", "n"): 1.0})
            third = second.copy(DEAD_MS)
            third.table().upsert([trip("last", "z", fare=1.0)], options=OPTIONS)
            require_clean(third.table())
            assert third.rows() == {**second.rows(), ("last", "z"): 1.0}
        assert seen in (before, after)


@pytest.mark.parametrize("version", [6, 9])
def test_recovering_twice_changes_nothing(worlds, version):
    from pyhudi.actions.rollback import recover
    from pyhudi.options import Settings
    from pyhudi.timeline.active import load_timeline

    world = dead_writers_world(worlds[version]).copy(DEAD_MS)
    state = world.table().state
    recover(state, load_timeline(state), Settings())
    once = world.files()
    recover(state, load_timeline(state), Settings())
    assert world.files() == once
    require_clean(world.table())


def dead_writers_world(world):
    """Let a writer die when all its files are there, but before it could publish."""
    victim = died(world, upsert, number_of(world, upsert, ".commit"), FaultKind.CRASH_BEFORE)
    assert victim is not None
    return victim


def number_of(world, verb, ending):
    """Give the number of the first operation of a verb that puts such a file."""
    copy = world.copy()
    storage = FaultyStorage(copy.storage, env=copy.env)
    verb(copy.table(storage))
    return next(one.number for one in storage.operations if one.name == "put" and one.path.endswith(ending))
