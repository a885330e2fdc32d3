"""One shape for every table service: due, plan, run, commit.

A service is planned from a snapshot under the table lock, and its plan is its requested instant: from then on any
process may run it, as often as it takes, and one completes it. `run_service` owns lock, heartbeat, adoption of what
others left and completion; a service is only what is in `Service`. Nothing here knows which services there are: that is
`services.due`. Start at `run_service`.

Spec: reliability 1.2, 1.5; format/timeline 2.6.
"""

import logging
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from pyhudi.engine.api import Engine
from pyhudi.engine.progress import progress_for
from pyhudi.engine.registry import engine_for
from pyhudi.errors import (
    FileMissing,
    HeartbeatExpired,
    HudiError,
    InstantNotFound,
    OptionError,
    PreconditionFailed,
    WriteConflict,
)
from pyhudi.options import Option, Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_plan, remove_pending, return_to_requested, start
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import Timeline, find_action, newest_time, pending_instants
from pyhudi.txn.checks import require_same_table
from pyhudi.txn.completion import complete_once
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import Lease, lock_for, require_lease
from pyhudi.txn.recovery.announce import announce
from pyhudi.txn.recovery.heartbeat import Heartbeat, Liveness, is_abandoned, liveness, run_heartbeat, stop_heartbeat
from pyhudi.txn.times import Times, times_for

__all__ = [
    "Service",
    "ServiceCall",
    "ServiceRun",
    "plan_service",
    "require_unchanged",
    "run_or_planned",
    "run_service",
    "schedule_service",
    "service_call",
]

Plan = TypeVar("Plan")
Done = TypeVar("Done")

_Begin = Callable[["ServiceCall", "Service[Plan, Done]", ExitStack], "ServiceRun[Plan] | None"]

_log = logging.getLogger("pyhudi.actions")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """What every service is given: a table, and how its lock is taken and its times are issued.

    Of a metadata table these are the data table's: see `service_call`.
    """

    state: TableState
    settings: Settings
    hold: Callable[[], AbstractContextManager[Lease]]
    times: Times
    engine: Engine
    """Where the work on files is done."""
    owner: TableState | None = None
    """Of a metadata table: the table that it belongs to."""


class Service(Protocol[Plan, Done]):
    """What makes one kind of service; nothing in it takes a lock."""

    @property
    def action(self) -> Action:
        """Return the action of its pending instants."""
        ...

    @property
    def is_shareable(self) -> bool:
        """Return whether two processes may run one plan at once, so that a plan without a heartbeat is not waited for.

        Of a service that is not, one that was only requested is taken by the process that starts it, and one that was
        started is left to its writer as a failed write is.
        """
        ...

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether a plan may have something to do.   Cost: small, for it is asked after every commit."""
        ...

    def plan(self, call: ServiceCall, timeline: Timeline) -> Plan | None:
        """Decide what to do, from a snapshot; None where there is nothing.   Locks: the table lock, or a dry run."""
        ...

    def encode_plan(self, call: ServiceCall, plan: Plan, nonce: bytes) -> bytes:
        """Format the requested file."""
        ...

    def decode_plan(self, data: bytes, file_name: str) -> Plan:
        """Read the requested file of any writer.   Raises: CorruptData."""
        ...

    def run(self, call: ServiceCall, instant: Instant, plan: Plan) -> Done:
        """Carry a plan out; every step may have been done before, or is being done by another process."""
        ...

    def commit(self, call: ServiceCall, instant: Instant, plan: Plan, done: Done) -> Callable[[bytes], bytes]:
        """Do what belongs to completion, and return what formats the completed file with a nonce.

        Locks: the table lock is held.
        """
        ...

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Remove what was written for a plan and its commit does not name: all of it where there is none, None.

        Nothing, where others may run the plan at the same time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRun(Generic[Plan]):
    """A plan that was carried out, or only stored, and its instant."""

    instant: Instant
    plan: Plan
    heartbeat: Heartbeat | None = field(default=None, repr=False, compare=False)


def service_call(state: TableState, settings: Settings, engine: Engine | None = None) -> ServiceCall:
    """Make the call of a table with a lock of its own; without an engine the work is done in this process.

    Raises: as `lock_for`.
    """
    return ServiceCall(
        state=state,
        settings=settings,
        hold=lock_for(state, settings).hold,
        times=times_for(state, settings),
        engine=engine or engine_for(None, state.storage, progress_for(state.env)),
    )


def run_or_planned(settings: Settings, runs: Option[bool], plans: Option[bool]) -> tuple[bool, bool]:
    """Return whether a writer runs a service that is due, and whether it only plans it.

    Raises: OptionError for both.
    """
    is_run, is_planned = settings.get(runs), settings.get(plans)
    if is_run and is_planned:
        raise OptionError("choose one: to run the service in writes, or only to plan it", keys=[runs.key, plans.key])
    return is_run, is_planned


def require_unchanged(call: ServiceCall) -> None:
    """Check that a table is still what it was opened as; of a metadata table, the table that it belongs to.

    Locks:  the table lock is held.
    Raises: WriteConflict; NotBuilt for a table that is not written.
    """
    fresh = require_same_table(call.owner or call.state)
    if call.owner is not None and not fresh.config.metadata_partitions:
        raise WriteConflict("the table's metadata table was dropped meanwhile", path=call.state.storage.url)


def plan_service(call: ServiceCall, service: Service[Plan, Done]) -> Plan | None:
    """Return what a service would do now; changes nothing."""
    return service.plan(call, load_timeline(call.state))


def schedule_service(call: ServiceCall, service: Service[Plan, Done]) -> ServiceRun[Plan] | None:
    """Plan a service now, for any process to run later; None where there is nothing to do.

    Locks:  takes the table lock.
    Raises: WriteConflict (another table than was opened), LockNotAcquired, ClockBehindTimeline.
    """
    with ExitStack() as alive:
        scheduled = _request(call, service, alive)
        if scheduled is not None:
            _let_go(call, alive, scheduled.instant)
        return scheduled


def run_service(
    call: ServiceCall,
    service: Service[Plan, Done],
    *,
    is_planned_too: bool = True,
    times: Container[str] | None = None,
) -> list[ServiceRun[Plan]]:
    """Run what is planned already and left by its process, then plan anew and run that; returns what was completed.

    Of what is planned, only the instants of `times` are run, where they are given.

    A failure leaves the plan on the timeline, for the next process. What a living process runs is left to it.

    Locks:  takes the table lock to adopt or plan, and again to complete; while it runs nothing is held.
    Raises: as `schedule_service`; StorageUnavailable where it could not be finished.
    """
    begins: list[_Begin[Plan, Done]] = [
        partial(_adopt, one.requested_time)
        for one in _left(call, service, load_timeline(call.state))
        if times is None or one.requested_time in times
    ]
    if is_planned_too:
        begins.append(_request)
    done = []
    for begin in begins:
        with ExitStack() as alive:
            planned = begin(call, service, alive)
            if planned is not None:
                done.append(_run(call, service, planned, alive))
    return [one for one in done if one is not None]


def _request(call: ServiceCall, service: Service[Plan, Done], alive: ExitStack) -> ServiceRun[Plan] | None:
    """Plan under the lock, and store the plan as a requested instant with a heartbeat that ends with `alive`."""
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        timeline = decided_timeline(call.state)
        plan = service.plan(call, timeline)
        if plan is None:
            return None
        announced, newest = None, newest_time(timeline)
        data = service.encode_plan(call, plan, call.state.env.nonce())
        while announced is None:
            newest = call.times.issue(newest)
            require_lease(lease)
            wanted = Instant(requested_time=newest, action=service.action, state=State.REQUESTED)
            announced = announce(call.state, wanted, data, call.settings, alive)
        call.times.settle(announced[0].requested_time)
        return ServiceRun(instant=announced[0], plan=plan, heartbeat=announced[1])


def _adopt(
    time: InstantTime, call: ServiceCall, service: Service[Plan, Done], alive: ExitStack
) -> ServiceRun[Plan] | None:
    """Take over a plan that no living process runs, with a heartbeat of ours; None if there is none any more.

    A plan without content is none: its process died while it was stored.
    """
    state = call.state
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        found = [one for one in _left(call, service, decided_timeline(state)) if one.requested_time == time]
        if not found:
            return None
        data = _stored_plan(state, found[0])
        if not data:
            remove_pending(state, found[0])
        stop_heartbeat(state, time)
        if not data:
            return None
        heartbeat = alive.enter_context(run_heartbeat(state, time, call.settings))
    plan = service.decode_plan(data, found[0].file_name)
    return ServiceRun(instant=found[0], plan=plan, heartbeat=heartbeat)


def _left(call: ServiceCall, service: Service[Plan, Done], timeline: Timeline) -> list[Instant]:
    """Return the pending instants of a service that may be adopted, oldest first."""
    pending = [one for one in pending_instants(timeline) if one.action is service.action]
    return [one for one in pending if _is_left(call, service, one)]


def _is_left(call: ServiceCall, service: Service[Plan, Done], one: Instant) -> bool:
    if service.is_shareable or one.state is State.REQUESTED:
        return liveness(call.state, one.requested_time, call.settings) is not Liveness.ALIVE
    return is_abandoned(call.state, one.requested_time, call.settings)


def _run(
    call: ServiceCall, service: Service[Plan, Done], planned: ServiceRun[Plan], alive: ExitStack
) -> ServiceRun[Plan] | None:
    """Carry a plan out and complete it; None if another process completed it first, or took it away."""
    state, instant = call.state, planned.instant
    inflight, started_s = replace(instant, state=State.INFLIGHT), state.env.monotonic_s()
    with _ending(call, service, instant, alive):
        try:
            start(state, instant, _inflight_data(state, instant))
        except InstantNotFound:
            return None
        except PreconditionFailed:  # started before
            if not service.is_shareable and instant.state is State.REQUESTED:
                return None  # by another process, since it was looked at
        done = _carry_out(call, service, planned, inflight)
        with call.hold() as lease:
            require_lease(lease)
            there = find_action(load_timeline(state), instant.requested_time, instant.comparable_action)
            if there is None or there.is_completed:
                service.tidy(call, inflight, there)
                return None
            if not service.is_shareable:
                _require_own(planned)
            encode = service.commit(call, inflight, planned.plan, done)
            completed = complete_once(state, inflight, encode, partial(_issue, call.times), lease)
            if completed.completion_time is not None and state.layout.has_completion_times:
                call.times.settle(completed.completion_time)
        with suppress(HudiError):  # else the next write does it
            service.tidy(call, completed, completed)
    if call.owner is None:
        took_s = state.env.monotonic_s() - started_s
        _log.info("table %s: %s %s, %.1f s", state.config.name, service.action, completed.requested_time, took_s)
    return ServiceRun(instant=completed, plan=planned.plan)


def _issue(times: Times, timeline: Timeline, after: InstantTime) -> InstantTime:
    return times.issue(max(newest_time(timeline) or after, after))


def _inflight_data(state: TableState, instant: Instant) -> bytes:
    """Return what the inflight file holds: in layout 1 a clean's plan once more, else nothing."""
    if instant.action is not Action.CLEAN or not state.layout.cleans_repeat_their_plan:
        return b""
    return _stored_plan(state, instant)


def _stored_plan(state: TableState, instant: Instant) -> bytes:
    try:
        return read_plan(state, instant)
    except FileMissing:
        return b""


def _carry_out(call: ServiceCall, service: Service[Plan, Done], planned: ServiceRun[Plan], inflight: Instant) -> Done:
    """Run a plan. One that fails is made to look as if it had only been requested, so that any process may start it.

    One that another process took over, because our beats did not get through, is that process's.
    """
    own = call if service.is_shareable else replace(call, hold=partial(_hold_own, call, planned))
    try:
        with call.engine.describe(f"pyhudi {service.action} {call.state.config.name}"):
            return service.run(own, inflight, planned.plan)
    except Exception:
        if not (service.is_shareable or planned.heartbeat is None or planned.heartbeat.may_be_replaced()):
            with suppress(HudiError):
                service.tidy(call, inflight, None)
                return_to_requested(call.state, inflight)
        raise


@contextmanager
def _hold_own(call: ServiceCall, planned: ServiceRun[Plan]) -> Iterator[Lease]:
    """Take the table lock for a plan that no other process may have adopted.   Raises: as `_require_own`."""
    with call.hold() as lease:
        _require_own(planned)
        yield lease


def _require_own(planned: ServiceRun[Plan]) -> None:
    """Check that no other process may run the plan.

    A write that stood still and beats again finds its instant rolled back where it was taken for dead. What a service
    finds is a plan that looks as its own did, so that one late beat is enough.

    Locks:  the table lock is held.
    Raises: HeartbeatExpired.
    """
    if planned.heartbeat is not None and planned.heartbeat.may_be_replaced():
        time = planned.instant.requested_time
        raise HeartbeatExpired("no heartbeat of this service got through for too long; run it again", instant=time)


@contextmanager
def _ending(call: ServiceCall, service: Service[Plan, Done], instant: Instant, alive: ExitStack) -> Iterator[None]:
    """End the heartbeat, also where a service fails: then the next process adopts the plan.

    Of a plan that stays started its file stays: without beats it says that no process runs it.
    """
    try:
        yield
    except Exception:
        with suppress(HudiError):
            there = find_action(load_timeline(call.state), instant.requested_time, instant.comparable_action)
            if service.is_shareable or there is None or there.state is not State.INFLIGHT:
                _let_go(call, alive, instant)
        alive.close()
        raise
    _let_go(call, alive, instant)


def _let_go(call: ServiceCall, alive: ExitStack, instant: Instant) -> None:
    """End a heartbeat; a service that was completed stays so, whatever becomes of its heartbeat's file."""
    alive.close()
    try:
        stop_heartbeat(call.state, instant.requested_time)
    except HudiError as error:
        _log.warning("the next write removes the heartbeat of %s: %s", instant.requested_time, error)
