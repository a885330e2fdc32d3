"""The shape of a service, on one that keeps a list of what it did in a file."""

import json
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.fixed_env import FixedEnv
from tests.new_states import new_state
from tests.simulation.watching import deaths
from tests.simulation.world import FarStorage
from tests.txn.writing import begun, committed, leftovers, states_of, through

from pyhudi.errors import HeartbeatExpired, LockNotAcquired, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.services.service import plan_service, run_service, schedule_service, service_call
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, request, start
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
FOREIGN = Instant(requested_time=InstantTime("20250101000000000"), action=Action.CLEAN, state=State.REQUESTED)


@dataclass
class Noting:
    """Writes two files that its plan names, and says so."""

    names: tuple[str, ...] = ("one", "two")
    is_shareable: bool = True
    action: Action = Action.CLEAN
    ran: list[str] = field(default_factory=list)

    def is_due(self, call, timeline):
        return bool(self.names)

    def plan(self, call, timeline):
        return list(self.names) or None

    def encode_plan(self, call, plan, nonce):
        return json.dumps(plan).encode()

    def decode_plan(self, data, file_name):
        return json.loads(data)

    def run(self, call, instant, plan):
        self.ran.append(instant.requested_time)
        for name in plan:
            call.state.storage.put(f"notes/{name}", b"done")
        return len(plan)

    def commit(self, call, instant, plan, done):
        return partial(self._encode, done)

    def _encode(self, done, nonce):
        return json.dumps([done, nonce.hex()]).encode()

    def tidy(self, call, instant, completed):
        if completed is None and not self.is_shareable:
            call.state.storage.delete_tree("notes")


@pytest.fixture(params=[6, 8, 9])
def state(request):
    return new_state(request.param)


def call_of(state, **options):
    return service_call(state, Settings(options))


def notes(state):
    return [status.path for status in state.storage.list("notes")]


def at_rest(state):
    return states_of(state) == [("clean", "completed")] and len(notes(state)) == 2 and leftovers(state) == []


def test_a_service_is_planned_run_and_completed(state):
    [run] = run_service(call_of(state), Noting())
    assert run.instant == load_timeline(state).instants[0]
    assert run.plan == ["one", "two"]
    assert at_rest(state)


def test_a_dry_run_changes_nothing(state):
    before = state.storage.list("")
    assert plan_service(call_of(state), Noting()) == ["one", "two"]
    assert state.storage.list("") == before


def test_where_there_is_nothing_to_do_no_instant_is_made(state):
    assert run_service(call_of(state), Noting(names=())) == []
    assert schedule_service(call_of(state), Noting(names=())) is None
    assert states_of(state) == leftovers(state) == []


def test_what_is_scheduled_now_is_run_later_by_another_process_as_it_was_planned(state):
    scheduled = schedule_service(call_of(state), Noting())
    assert states_of(state) == [("clean", "requested")]
    assert notes(state) == leftovers(state) == []
    [run] = run_service(call_of(state), Noting(names=()))
    assert (run.plan, run.instant.requested_time) == (scheduled.plan, scheduled.instant.requested_time)
    assert at_rest(state)


def test_only_what_is_planned_is_run_where_that_is_asked_for(state):
    assert run_service(call_of(state), Noting(), is_planned_too=False) == []
    schedule_service(call_of(state), Noting())
    assert len(run_service(call_of(state), Noting(), is_planned_too=False)) == 1
    assert at_rest(state)


@VERSIONS
def test_a_process_that_dies_at_any_put_or_delete_leaves_what_the_next_one_finishes(version):
    found = deaths(Table(new_state(version)), lambda table: run_service(call_of(table.state), Noting()))
    for at, table in enumerate(found):
        state = table.state
        state.env.sleep(121)
        left = states_of(state)
        again = Noting(names=()) if left else Noting()
        run_service(call_of(state), again)
        committed(state)  # sweeps the heartbeat of a process that died after it had completed
        assert states_of(state)[0] == ("clean", "completed"), (at, left)
        assert len(notes(state)) == 2
        assert leftovers(state) == []
        assert sum(action == "clean" for action, _ in states_of(state)) == 1
    assert len(found) > 6


def test_a_failure_leaves_the_plan_for_the_next_process_and_ends_the_heartbeat(state):
    broken = FaultyStorage(state.storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE, path="notes/two")])
    with pytest.raises(StorageUnavailable):
        run_service(call_of(through(state, broken)), Noting())
    assert states_of(state) == [("clean", "inflight")]
    assert leftovers(state) == []
    run_service(call_of(state), Noting(names=()))
    assert at_rest(state)


def test_what_a_living_process_runs_is_left_to_it(state):
    other = Noting(names=())

    class Meeting(Noting):
        def run(self, call, instant, plan):
            assert run_service(call_of(state), other) == []
            return super().run(call, instant, plan)

    run_service(call_of(state), Meeting())
    assert other.ran == []
    assert at_rest(state)


@VERSIONS
def test_of_two_that_run_one_plan_one_completes_it(version):
    env = FixedEnv()
    state = new_state(version, FarStorage("memory://far", env=env), env)
    schedule_service(call_of(state), Noting())

    class Overtaken(Noting):
        def run(self, call, instant, plan):
            done = super().run(call, instant, plan)
            state.env.sleep(121)  # it stands still for so long that it is taken for dead
            assert len(run_service(call_of(state), Noting(names=()))) == 1
            return done

    assert run_service(call_of(state), Overtaken(names=())) == []
    assert at_rest(state)


def test_a_plan_that_was_taken_away_is_not_run(state):
    schedule_service(call_of(state), Noting())

    class Withdrawn(Noting):
        def decode_plan(self, data, file_name):
            for name in state.storage.list_names(state.layout.timeline_path):
                if ".clean" in name:
                    state.storage.delete(f"{state.layout.timeline_path}/{name}")
            return super().decode_plan(data, file_name)

    assert run_service(call_of(state), Withdrawn(names=())) == []
    assert notes(state) == leftovers(state) == []


def test_a_plan_of_another_program_is_run_at_once_only_where_two_may_run_it(state):
    recent = load_timeline(state).instants or committed(state)
    foreign = Instant(requested_time=_next(recent.requested_time), action=Action.CLEAN, state=State.REQUESTED)
    start(state, request(state, foreign, b'["one", "two"]'))
    assert run_service(call_of(state), Noting(names=(), is_shareable=False)) == []
    [run] = run_service(call_of(state), Noting(names=()))
    assert run.instant.requested_time == foreign.requested_time


def test_an_old_plan_of_another_program_is_run_though_two_must_not(state):
    start(state, request(state, FOREIGN, b'["one", "two"]'))
    assert len(run_service(call_of(state), Noting(names=(), is_shareable=False))) == 1
    assert at_rest(state)


def test_what_two_must_not_run_is_taken_back_where_it_fails_and_the_plan_may_be_started_anew(state):
    broken = FaultyStorage(state.storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE, path="notes/two")])
    with pytest.raises(StorageUnavailable):
        run_service(call_of(through(state, broken)), Noting(is_shareable=False))
    assert states_of(state) == [("clean", "requested")]
    assert notes(state) == leftovers(state) == []
    assert len(run_service(call_of(state), Noting(names=(), is_shareable=False))) == 1
    assert at_rest(state)


def test_what_failed_while_it_was_completed_stays_for_the_next_process_to_complete(state):
    """Nothing is taken back: it may be completed, and storage did not say so."""

    class Failing(Noting):
        def commit(self, call, instant, plan, done):
            raise StorageUnavailable("no reply")

    with pytest.raises(StorageUnavailable):
        run_service(call_of(state), Failing(is_shareable=False))
    assert states_of(state) == [("clean", "inflight")]
    assert len(notes(state)) == 2
    state.env.sleep(121)
    assert len(run_service(call_of(state), Noting(names=(), is_shareable=False))) == 1
    assert at_rest(state)


def test_a_plan_that_another_program_only_requested_is_run_by_the_process_that_starts_it(state):
    recent = committed(state)
    foreign = Instant(requested_time=_next(recent.requested_time), action=Action.CLEAN, state=State.REQUESTED)
    requested = request(state, foreign, b'["one", "two"]')

    class Slower(Noting):
        def decode_plan(self, data, file_name):
            start(state, requested)
            return super().decode_plan(data, file_name)

    slower = Slower(names=(), is_shareable=False)
    assert run_service(call_of(state), slower) == []
    assert slower.ran == []
    assert states_of(state)[-1] == ("clean", "inflight")


@VERSIONS
def test_what_two_must_not_run_is_not_completed_by_a_process_that_was_taken_for_dead(version):
    env = FixedEnv()
    state = new_state(version, FarStorage("memory://far", env=env), env)
    schedule_service(call_of(state), Noting())

    class Overtaken(Noting):
        def run(self, call, instant, plan):
            done = super().run(call, instant, plan)
            state.env.sleep(121)
            return done

    with pytest.raises(HeartbeatExpired):
        run_service(call_of(state), Overtaken(names=(), is_shareable=False))
    assert states_of(state) == [("clean", "inflight")]
    assert len(notes(state)) == 2
    assert len(run_service(call_of(state), Noting(names=(), is_shareable=False))) == 1
    assert at_rest(state)


def test_a_plan_without_content_is_taken_away(state):
    request(state, FOREIGN, b"")
    assert run_service(call_of(state), Noting(names=())) == []
    assert states_of(state) == []


def test_a_clean_of_layout_1_repeats_its_plan_when_it_starts():
    for version, held in ((6, b'["one", "two"]'), (9, b"")):
        state = new_state(version)
        run_service(call_of(state), Noting())
        [name] = [one for one in state.storage.list_names(state.layout.timeline_path) if one.endswith("clean.inflight")]
        assert state.storage.get(f"{state.layout.timeline_path}/{name}") == held


def test_a_lock_that_the_caller_holds_is_not_taken_again(state):
    """As for a metadata table, whose services run under the data table's lock."""
    outer = call_of(state)
    with outer.hold() as lease:

        class Held:
            def __enter__(self):
                return lease

            def __exit__(self, *error):
                return None

        inner = replace(outer, hold=Held)
        assert len(run_service(inner, Noting())) == 1
    assert at_rest(state)


def test_a_write_goes_on_beside_a_service(state):
    class Meeting(Noting):
        def run(self, call, instant, plan):
            committed(state)
            return super().run(call, instant, plan)

    with begun(state) as txn:
        run_service(call_of(state), Meeting())
        txn.start(None)
    assert ("clean", "completed") in states_of(state)
    assert ("commit", "completed") in states_of(state)


def _next(time):
    return InstantTime(str(int(time) + 1))


@dataclass
class Ending:
    """A lease that is about to end when it is asked for the so-many-th time."""

    left: int

    def remaining_ms(self):
        self.left -= 1
        return 100_000 if self.left >= 0 else 10


@pytest.mark.parametrize("asked", [0, 1])
def test_nothing_is_planned_once_the_lease_is_about_to_end(state, asked):
    call = replace(call_of(state), hold=lambda: nullcontext(Ending(asked)))
    for do in (schedule_service, run_service):
        with pytest.raises(LockNotAcquired, match="lost"):
            do(call, Noting())
    assert states_of(state) == []
    assert notes(state) == []


def test_nothing_is_taken_over_once_the_lease_is_about_to_end(state):
    schedule_service(call_of(state), Noting())
    service = Noting()
    with pytest.raises(LockNotAcquired, match="lost"):
        run_service(replace(call_of(state), hold=lambda: nullcontext(Ending(0))), service, is_planned_too=False)
    assert service.ran == []
    assert states_of(state) == [("clean", "requested")]


def test_nothing_is_completed_once_the_lease_is_about_to_end(state):
    schedule_service(call_of(state), Noting())
    leases = iter([Ending(9), Ending(0)])
    with pytest.raises(LockNotAcquired, match="lost"):
        run_service(replace(call_of(state), hold=lambda: nullcontext(next(leases))), Noting(), is_planned_too=False)
    assert ("clean", "completed") not in states_of(state)
    [run] = run_service(call_of(state), Noting(), is_planned_too=False)
    assert run.instant.is_completed
