"""Clocks that are skewed, jump or go back: nothing acknowledged is lost, and a writer that cannot go on is told why."""

from datetime import UTC

import pytest
from tests.amounts import IS_COUNTED, IS_EVERYDAY, IS_FULL, amount
from tests.building import trip
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.simulation.clocks import (
    DAY_MS,
    HOUR_MS,
    SECOND_MS,
    YEAR_MS,
    Interrupted,
    WrongEnv,
    copied,
    new_bucket,
    opened,
    rows_in,
)
from tests.simulation.test_crashes import VERBS, new_world, recovered, upsert
from tests.simulation.watching import watched
from tests.simulation.world import DEAD_MS, OPTIONS, require_clean
from tests.txn.clocks import World as Hosts

from pyhudi.errors import ClockBehindTimeline, HudiError, OutcomeUnknown
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.view import pending_instants

SOME = 1 if IS_EVERYDAY else 2
JUMPS = (-YEAR_MS, -HOUR_MS, -SECOND_MS, -1, SECOND_MS, HOUR_MS, YEAR_MS) if IS_FULL else (-HOUR_MS, YEAR_MS)[:SOME]
KINDS = amount(("9 fenced",), ("9", "9 fenced"), ("6", "9", "9 fenced"))
APART = (-HOUR_MS, -SECOND_MS, 0, SECOND_MS, HOUR_MS) if IS_COUNTED else (-HOUR_MS, SECOND_MS)[:SOME]
OFFSETS = (-DAY_MS, -10 * SECOND_MS, -SECOND_MS, -1, 1, SECOND_MS, 10 * SECOND_MS, DAY_MS)
REACH_MS = 1_900
"""How far the timeline may be ahead of a writer that still writes: it issues 0.9 s ahead, and waits for a second."""


@pytest.fixture(scope="module")
def worlds():
    return {kind: new_world(kind) for kind in ("6", "9", "9 fenced")}


def told(write):
    """Do it; give what the caller was told."""
    try:
        write()
    except OutcomeUnknown:
        return "unknown"
    except HudiError as error:
        return type(error).__name__
    return "done"


# a clock that jumps in the middle of a write


@pytest.mark.usefixtures("quick_process")
@pytest.mark.parametrize("jump_ms", JUMPS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VERBS if IS_FULL else ("upsert",))
def test_a_clock_may_jump_before_any_operation(worlds, figure, name, kind, jump_ms):
    storage, done = watched(worlds[kind], VERBS[name])
    before, after = worlds[kind].rows(), done.rows()
    answers = set()
    for operation in storage.operations:
        world = worlds[kind].copy()
        env = WrongEnv(world.env)
        jumping = Interrupted(world.storage, env, operation.number, lambda host=env: jumped(host, jump_ms))
        answer = told(lambda through=jumping, host=env: VERBS[name](opened(through, host)))
        answers.add(answer)
        assert world.rows() == (after if answer == "done" else before), f"told {answer} at {operation}"
        recovered(world.copy(DEAD_MS + max(jump_ms, 0)), before, after)
    figure("clock jumps in the middle of a write", len(storage.operations))
    if jump_ms < -REACH_MS:
        assert answers == {"done", "ClockBehindTimeline"}
    else:
        assert answers == {"done"}


def jumped(env, ms):
    env.offset_ms += ms


# clocks that are wrong all the time


@pytest.mark.parametrize("kind", ["6", "9", "9 fenced"])
@pytest.mark.parametrize("offset_ms", OFFSETS)
def test_writers_with_right_and_wrong_clocks_take_turns(worlds, kind, offset_ms):
    world = worlds[kind].copy(10 * SECOND_MS)
    expected, answers = world.rows(), {"right": [], "wrong": []}
    for turn in range(6):
        is_wrong = turn % 2
        env = WrongEnv(world.env, offset_ms if is_wrong else 0)
        row = trip(f"turn{turn}", "c", fare=float(turn))
        answer = told(lambda rows=(row,), host=env: opened(world.storage, host).upsert(list(rows), options=OPTIONS))
        answers["wrong" if is_wrong else "right"].append(answer)
        if answer == "done":
            expected[f"turn{turn}", "c"] = float(turn)
        assert world.rows() == expected
    require_clean(world.copy(DEAD_MS + DAY_MS).table())
    refused = {"right": offset_ms > REACH_MS, "wrong": offset_ms < -REACH_MS}
    for name, is_refused in refused.items():
        assert set(answers[name][1:]) == {"ClockBehindTimeline" if is_refused else "done"}, answers


def test_a_clock_a_year_ahead_stops_the_others_and_loses_nothing(worlds):
    world = worlds["9"].copy()
    ahead = WrongEnv(world.env, YEAR_MS)
    opened(world.storage, ahead).upsert([trip("future", "c", fare=1.0)], options=OPTIONS)
    rows, files = world.rows(), world.files()
    assert rows["future", "c"] == 1.0
    for _ in range(3):
        with pytest.raises(ClockBehindTimeline, match="check the clock"):
            upsert(world.table())
    assert world.files() == files
    assert world.rows() == rows
    upsert(opened(world.storage, ahead))
    require_clean(world.table())


def die(world, ahead_ms, fault):
    """Let a writer die whose clock is ahead, and which leaves the other dead alone; give its instant."""
    options = {**OPTIONS, "hoodie.clean.failed.writes.policy": "NEVER"}
    table = opened(FaultyStorage(world.storage, plan=[fault]), WrongEnv(world.env, ahead_ms))
    with pytest.raises(SimulatedCrash):
        table.upsert([trip("future", "c")], options=options)
    return max(pending_instants(world.table().timeline), key=lambda one: one.requested_time).requested_time


def heartbeats(world):
    return sorted(path.rpartition("/")[2] for path in world.files() if path.startswith(".hoodie/.heartbeat/"))


BEFORE_IT_WROTE = Fault(kind=FaultKind.CRASH_BEFORE, path="*.inflight")
WHEN_IT_WROTE = Fault(kind=FaultKind.CRASH_AFTER, path="c/*.parquet")


@pytest.mark.parametrize("fault", [BEFORE_IT_WROTE, WHEN_IT_WROTE], ids=["requested", "written"])
@pytest.mark.parametrize("kind", ["6", "9", "9 fenced"])
def test_who_dies_with_a_clock_that_is_ahead_stops_nobody(worlds, kind, fault):
    world = worlds[kind].copy()
    before = world.rows()
    dead = [die(world, ahead_ms, fault) for ahead_ms in (HOUR_MS, YEAR_MS)]
    after = world.copy(DEAD_MS)
    upsert(after.table())
    assert pending_instants(after.table().timeline) == ()
    assert max(one.requested_time for one in after.table().timeline.instants) < dead[0]
    assert after.rows() == before | {("k2", "a"): 22.0, ("k7", "b"): 7.0, ("k8", "c"): 1.0}
    assert heartbeats(after) == dead
    upsert(after.table())
    assert heartbeats(after) == dead
    later = after.copy(YEAR_MS + DEAD_MS)
    upsert(later.table())
    upsert(later.table())
    require_clean(later.table())


def test_a_foreign_instant_that_is_ahead_can_be_rolled_back_by_name(worlds):
    world = worlds["9"].copy()
    dead = die(world, HOUR_MS, WHEN_IT_WROTE)
    world.storage.delete(f".hoodie/.heartbeat/{dead}")
    after = world.copy(DEAD_MS)
    with pytest.raises(ClockBehindTimeline):
        upsert(after.table())
    after.table().rollback(dead)
    upsert(after.table())
    assert pending_instants(after.table().timeline) == ()
    assert heartbeats(after) == [dead]


def test_the_time_of_who_died_ahead_is_given_to_nobody_else(worlds):
    world = worlds["9"].copy()
    dead = die(world, HOUR_MS, BEFORE_IT_WROTE)
    after = world.copy(DEAD_MS)
    upsert(after.table())
    for early_ms in range(8):  # the clock moves on a little until a time is issued
        met = after.copy(instant_ms(dead, UTC) - after.env.now_ms() - early_ms)
        upsert(met.table())
        assert dead not in {one.requested_time for one in met.table().timeline.instants}


@pytest.mark.parametrize("offset_ms", [-YEAR_MS, -SECOND_MS, SECOND_MS, YEAR_MS])
@pytest.mark.parametrize("kind", ["6", "9"])
def test_a_reader_with_a_wrong_clock_reads_the_same(worlds, kind, offset_ms):
    world = worlds[kind].copy()
    upsert(world.table())
    wrong = opened(world.storage, WrongEnv(world.env, offset_ms))
    right = world.table()
    assert said_by(wrong) == said_by(right)
    assert len(said_by(right)[0]) == 7


def said_by(table):
    """Return all that readers ask for: the rows now, as of every commit, and what changed since each."""
    columns = ["uuid", "city", "fare"]
    instants = sorted(one.requested_time for one in table.timeline.completed.values())
    found = [table.scan(columns)]
    found += [table.scan(columns, as_of=instant) for instant in instants]
    return [sorted(scan.to_arrow().to_pylist(), key=repr) for scan in found]


# which writer is dead, and which holds the lock, by a wrong clock


def add(table, where="uuid = 'k1'"):
    """Change one row in a way that shows how often it was done."""
    table.update(set={"fare": "fare + 1"}, where=where, options=ONE_ATTEMPT)


ONE_ATTEMPT = {**OPTIONS, "hoodie.write.num.retries.on.conflict.failures": 0}
K1 = ("k1", "b")


class Meeting:
    """A writer that is interrupted before one operation by a whole write of another one, whose clock is wrong."""

    def __init__(self, start, hosts_ms, offset_ms, at):
        self.hosts = Hosts(hosts_ms)
        self.storage = copied(start, self.hosts.host())
        self.first, self.other = self.hosts.host(), self.hosts.host(offset_ms)
        self.answers = []
        through = Interrupted(self.storage, self.first, at, self._meanwhile)
        self.answers.append(told(lambda: add(opened(through, self.first))))
        self.is_met = through.has_happened

    def _meanwhile(self):
        self.answers.append(told(lambda: add(opened(self.storage, self.other))))

    def counted(self):
        """Return how often the row was changed."""
        return rows_in(self.storage, self.first)[K1] - 1.0


def meetings(offset_ms, options=None):
    """Interrupt a writer before each of its operations."""
    hosts = Hosts()
    start, at = new_bucket(hosts.host(), options), 0
    while (met := Meeting(start, hosts.now_ms + 5_000, offset_ms, at := at + 1)).is_met:
        yield met


@pytest.mark.parametrize("offset_ms", APART)
def test_a_fence_holds_whatever_the_clocks_say(figure, offset_ms):
    ends = set()
    for number, met in enumerate(meetings(offset_ms, {"pyhudi.fence": "on"}), 1):
        assert met.counted() == met.answers.count("done"), (number, met.answers)
        late = met.hosts.host()
        met.hosts.pass_ms(DEAD_MS + HOUR_MS)
        opened(met.storage, late).upsert([trip("next", "n")], options=OPTIONS)
        require_clean(opened(met.storage, late))
        assert met.counted() == met.answers.count("done"), "recovery changed what was told"
        ends.add(tuple(met.answers))
        figure("meetings of writers with different clocks", 1)
    assert len(ends) > 2 or offset_ms < 0


def test_without_a_fence_a_clock_that_is_off_by_a_lease_may_lose_an_update():
    """It is why there is a fence; no writer can keep a lease by a clock that is an hour ahead."""
    assert any(met.counted() < met.answers.count("done") for met in meetings(HOUR_MS))


@pytest.mark.parametrize("offset_ms", [*(one for one in APART if one < HOUR_MS), 200 * SECOND_MS])
def test_without_a_fence_clocks_may_be_off_by_less_than_a_lease(offset_ms):
    for met in meetings(offset_ms):
        assert met.counted() == met.answers.count("done")


def test_a_living_writer_that_a_wrong_clock_takes_for_dead_is_told():
    assert any("HeartbeatExpired" in met.answers[-1] for met in meetings(HOUR_MS, {"pyhudi.fence": "on"}))


@pytest.mark.parametrize(("offset_ms", "is_settled"), [(-HOUR_MS, False), (0, True), (HOUR_MS, True)])
def test_a_dead_writer_waits_for_a_clock_that_shows_it(offset_ms, is_settled):
    hosts = Hosts()
    storage = new_bucket(hosts.host(), {"pyhudi.fence": "on"})
    fault = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path="*.fence/*", at=1)
    with pytest.raises(SimulatedCrash):
        add(opened(FaultyStorage(storage, plan=[fault]), hosts.host()))
    hosts.pass_ms(6 * 60 * SECOND_MS)
    answer = told(lambda: add(opened(storage, hosts.host(offset_ms)), "uuid = 'k2'"))
    is_pending = [one for one in opened(storage, hosts.host()).timeline.instants if not one.is_completed]
    assert bool(is_pending) != is_settled, answer
    assert rows_in(storage, hosts.host())[K1] == 1.0
