"""A writer that dies anywhere leaves a table that reads as before or as after, and that the next writer puts right."""

import pytest
from tests.amounts import IS_FULL, amount
from tests.building import trip
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.simulation.watching import watched
from tests.simulation.world import DEAD_MS, OPTIONS, World, require_clean

CRASHES = (FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER)
KINDS = ("6", "8", "9", "9 fenced")
"""Table versions; with a fence, a commit is decided before its file is there."""
SHORT = ("6", "9", "9 fenced")


pytestmark = pytest.mark.usefixtures("quick_process")


@pytest.fixture(scope="module")
def worlds():
    return {kind: new_world(kind) for kind in KINDS}


def new_world(kind):
    """Make a table of this version, with a fence if that is asked for."""
    version, _, fence = kind.partition(" ")
    world = World.new(int(version))
    if fence:
        world.table().upsert([trip("k9", "b", ts=3, fare=9.0)], options={**OPTIONS, "pyhudi.fence": "on"})
    return world


def upsert(table):
    table.upsert([trip("k2", "a", ts=2, fare=22.0), trip("k7", "b", fare=7.0), trip("k8", "c")], options=OPTIONS)


def insert(table):
    table.insert([trip("k7", "b", fare=7.0), trip("k8", "c")], options=OPTIONS)


def insert_new(table):
    table.insert([trip("k2", "a", fare=22.0), trip("k7", "b", fare=7.0)], options=OPTIONS, duplicates="drop")


def bulk_insert(table):
    table.bulk_insert([trip("k7", "b", fare=7.0), trip("k8", "c")], options=OPTIONS)


def insert_overwrite(table):
    table.insert_overwrite([trip("k5", "a", fare=5.0), trip("k6", "d", fare=6.0)], options=OPTIONS)


def insert_overwrite_table(table):
    table.insert_overwrite_table([trip("k5", "a", fare=5.0), trip("k6", "d", fare=6.0)], options=OPTIONS)


def delete(table):
    table.delete(keys=["k1", "k2"], options=OPTIONS)


def delete_where(table):
    table.delete(where="fare > 2", options=OPTIONS)


def delete_partitions(table):
    table.delete_partitions(["a"], options=OPTIONS)


def update(table):
    table.update(set={"fare": "fare + 1"}, where="uuid in ('k1', 'k2')", options=OPTIONS)


def merge(table):
    source = [trip("k1", "b", ts=5, fare=55.0), trip("k7", "c", fare=7.0)]
    merging = table.merge(source, "t.uuid = s.uuid and t.city = s.city", options=OPTIONS)
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


VERBS = {
    verb.__name__: verb
    for verb in (
        upsert,
        insert,
        insert_new,
        bulk_insert,
        insert_overwrite,
        insert_overwrite_table,
        delete,
        delete_where,
        delete_partitions,
        update,
        merge,
    )
}


def next_write(table):
    """Be the next writer, which recovers first."""
    table.upsert([trip("next", "n", fare=1.0)], options=OPTIONS)


def last_write(table):
    """Be the writer after the next."""
    table.upsert([trip("last", "z", fare=1.0)], options=OPTIONS)


def died(world, verb, at, kind):
    """Copy a world and die in it at one operation; None where the verb was over before."""
    victim = world.copy()
    storage = FaultyStorage(victim.storage, plan=[Fault(kind=kind, at=at)], env=victim.env)
    try:
        verb(victim.table(storage))
    except SimulatedCrash:
        return victim
    return None


def recovered(victim, before, after):
    """Let the next writer in, and hold the table to every invariant."""
    seen = victim.rows()
    assert seen in (before, after)
    world = victim.copy(DEAD_MS)
    is_fenced = world.table().config.is_fenced
    next_write(world.table())
    may_be = (before, after) if is_fenced and seen == before else (seen,)
    assert world.rows() in [{**rows, ("next", "n"): 1.0} for rows in may_be]
    require_clean(world.table())
    return world


@pytest.mark.everyday
@pytest.mark.parametrize("kind", KINDS if IS_FULL else SHORT)
@pytest.mark.parametrize("name", VERBS)
def test_a_writer_may_die_at_any_operation(worlds, figure, kind, name):
    storage, done = watched(worlds[kind], VERBS[name])
    before, after = worlds[kind].rows(), done.rows()
    assert before != after
    outcomes = set()
    for moment in storage.moments:
        recovered(moment.world(), before, after)
        outcomes.add(moment.world().rows() == after)
    assert outcomes == {True, False}
    figure("crash points", storage.points)
    figure("states after a crash, recovered", len(storage.moments))


def test_the_moments_are_all_that_a_crash_can_leave(worlds):
    start = watched(worlds["9"], upsert)[0].moments[0]
    storage, _ = watched(start.world(), upsert)
    found = set()
    for operation in storage.operations:
        for kind in CRASHES:
            if victim := died(start.world(), upsert, operation.number, kind):
                found.add(victim.fingerprint())
            else:
                assert operation.name in {"guard", "head"}, "a lock, or a file that is not there: nothing happened"
    assert found <= {moment.world().fingerprint() for moment in storage.moments}
    assert len(found) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_may_die_at_any_operation(worlds, figure, kind):
    pending = dead_writers_world(worlds[kind])
    before = pending.rows()
    instant = next(one.requested_time for one in pending.table().timeline.instants if not one.is_completed)
    storage, _ = watched(pending, lambda table: table.rollback(instant))
    for moment in storage.moments:
        recovered(moment.world(), before, before)
    figure("crash points", storage.points)
    figure("states after a crash, recovered", len(storage.moments))


@pytest.mark.parametrize("kind", KINDS if IS_FULL else SHORT)
@pytest.mark.parametrize("name", amount(*[list(VERBS)] * 3, everyday=["upsert", "insert_overwrite", "merge"]))
def test_recovery_may_die_at_any_operation_and_be_recovered(worlds, figure, kind, name):
    verb = VERBS[name]
    storage, done = watched(worlds[kind], verb)
    before, after = worlds[kind].rows(), done.rows()
    chosen = storage.moments if IS_FULL else [storage.moments[len(storage.moments) * 2 // 3]]
    for moment in chosen:
        points, states = recovered_twice(moment.world(DEAD_MS), before, after)
        figure("crash points inside recovery", points)
        figure("states after a crash inside recovery, recovered", states)


def recovered_twice(world, before, after):
    """Let the next writer die at any moment, and one after that put the table right."""
    is_fenced = world.table().config.is_fenced
    storage, _ = watched(world, next_write)
    for moment in storage.moments:
        seen = moment.world().rows()
        without = {place: fare for place, fare in seen.items() if place != ("next", "n")}
        assert without in (before, after)
        third = moment.world(DEAD_MS)
        last_write(third.table())
        require_clean(third.table())
        settled = third.rows()
        assert settled.pop(("last", "z")) == 1.0
        if not is_fenced:
            assert settled == seen
        settled.pop(("next", "n"), None)
        assert settled in (before, after)
    return storage.points, len(storage.moments)


@pytest.mark.parametrize("kind", KINDS)
def test_recovering_twice_changes_nothing(worlds, kind):
    from pyhudi.options import Settings
    from pyhudi.timeline.active import load_timeline
    from pyhudi.txn.locks.api import ProcessLease
    from pyhudi.txn.recovery.rollback import recover_failed_writes

    world = dead_writers_world(worlds[kind]).copy(DEAD_MS)
    state = world.table().state
    recover_failed_writes(state, load_timeline(state), Settings(), ProcessLease())
    once = world.files()
    recover_failed_writes(state, load_timeline(state), Settings(), ProcessLease())
    assert world.files() == once
    require_clean(world.table())


def dead_writers_world(world):
    """Let a writer die when all its files are there, but before it could publish."""
    ending = ".fence/*" if world.table().config.is_fenced else "*.commit"
    victim = world.copy()
    fault = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=f"*{ending}", at=1)
    with pytest.raises(SimulatedCrash):
        upsert(victim.table(FaultyStorage(victim.storage, plan=[fault], env=victim.env)))
    return victim
