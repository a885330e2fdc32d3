"""Roll an instant back: delete what it wrote, take it off the timeline, say so on the timeline.

The plan is stored before the first delete, and a rollback found half-done is finished with its stored plan, so that
doing it twice gives the same state. Start at `recover_failed_writes`; `roll_back_own` is what a
writer does about its own.

Spec: format/timeline 3.7, 10.2; reliability 1.6.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from pyhudi.errors import (
    ClockBehindTimeline,
    CorruptData,
    PreconditionFailed,
)
from pyhudi.metadata.partitions.changes import records_of_rollback
from pyhudi.metadata.table.commit import publish_changes
from pyhudi.metadata.table.rollback import roll_back_metadata
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import check_path
from pyhudi.timeline.active import (
    damaged_rollback_plan,
    load_timeline,
    read_rollback_plan,
    remove_pending,
    return_to_requested,
    rollback_target,
    start,
    take_off,
)
from pyhudi.timeline.codec import encode_rollback_metadata, encode_rollback_plan
from pyhudi.timeline.instant import PLANNED_SERVICES, WRITE_ACTIONS, Action, Instant, InstantTime, State
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest
from pyhudi.timeline.view import Timeline, find_instant, newest_time, pending_instants
from pyhudi.txn.completion import complete_once
from pyhudi.txn.fence import Verdict, decide_rollback, decided_timeline
from pyhudi.txn.locks import Lease, lock_for, require_lease
from pyhudi.txn.recovery.announce import announce
from pyhudi.txn.recovery.heartbeat import FailedWrites, Liveness, failed_writes, is_abandoned, liveness, stop_heartbeat
from pyhudi.txn.recovery.logs import appended_files, logs_of_request, logs_with_blocks, requests_of, take_back_logs
from pyhudi.txn.recovery.markers import (
    delete_markers,
    is_file_of,
    marked_files,
    marked_logs,
    named_files,
    remove_files,
    remove_marked,
)
from pyhudi.txn.recovery.orphans import clean_up_orphans, is_rolled_back, release_heartbeat
from pyhudi.txn.times import times_for

__all__ = [
    "plan_rollback",
    "recover_failed_writes",
    "roll_back_own",
    "run_rollback",
    "spelled_path",
]

USES_MARKERS: Final = option(
    "hoodie.rollback.using.markers",
    True,
    "A rollback deletes what the markers name, and lists where there are none; false: it lists every partition.",
)


def roll_back_own(state: TableState, instant: Instant, settings: Settings) -> bool:
    """Roll our own failed instant back; true if another writer had done so, which missed what was written later.

    A file that was published after the rollback has looked for it may have no marker any more, so files are looked for
    by name too.

    Locks: takes the table lock.
    """
    time = instant.requested_time
    with lock_for(state, settings).hold() as lease:
        require_lease(lease)
        timeline = decided_timeline(state)
        mine = find_instant(timeline, time)
        if mine is not None and mine.is_completed:
            return False
        if mine is None or is_rolled_back(state, timeline, time, is_later=True):
            _clear(state, time, instant.action)
            return True
        run_rollback(state, timeline, plan_rollback(state, timeline, mine, settings), settings, lease)
        return False


def recover_failed_writes(state: TableState, timeline: Timeline, settings: Settings, lease: Lease) -> Timeline:
    """Finish rollbacks found half-done, roll back writes whose writer is dead, sweep what the dead left.

    A writer that beats is left alone; one that never did is foreign, and left alone for an hour, unless the policy is
    EAGER. The same goes for a rollback: a foreign one may be going on, because others do not hold the lock all the
    while. Under the policy NEVER nothing is done.

    Locks:  the table lock is held; nothing is begun or completed once its lease is about to end.
    Raises: LockNotAcquired; StorageUnavailable where a rollback cannot be finished now.
    """
    if failed_writes(settings) is FailedWrites.NEVER:
        return timeline
    left_alone = set()
    for rollback in [one for one in pending_instants(timeline) if one.action is Action.ROLLBACK]:
        if is_abandoned(state, rollback.requested_time, settings):
            _resume(state, rollback, _plan_of(state, rollback), settings, lease)
            timeline = load_timeline(state)
        else:
            left_alone.add(rollback_target(state, rollback))
    for instant in pending_instants(timeline):
        if instant.action not in WRITE_ACTIONS or instant.requested_time in left_alone:
            continue
        if is_abandoned(state, instant.requested_time, settings):
            run_rollback(state, timeline, plan_rollback(state, timeline, instant, settings), settings, lease)
            timeline = load_timeline(state)
    clean_up_orphans(state, timeline, settings)
    return timeline


def plan_rollback(state: TableState, timeline: Timeline, target: Instant, settings: Settings) -> RollbackPlan:
    """List the files an instant may have left: by its markers, or, where it has none, by name in every partition.

    Nothing is written under an instant that was only requested. A rollback that was begun already keeps its plan.
    """
    time = target.requested_time
    running = _running(state, timeline, time)
    if running is not None:
        return _plan_of(state, running)
    uses_markers = settings.get(USES_MARKERS)
    paths, logs = (marked_files(state, time), marked_logs(state, time)) if uses_markers else (set[str](), [])
    has_logs = target.comparable_action is Action.DELTACOMMIT
    if target.is_completed or (not paths and not logs and target.state is State.INFLIGHT):
        paths |= named_files(state, time, has_logs=has_logs)  # a commit's markers are gone, or going
        logs = logs_with_blocks(state, [time])[time] if has_logs else []
    requests = [
        RollbackRequest(partition_path=path.rpartition("/")[0], files_to_delete=(spelled_path(state, path),))
        for path in sorted(paths)
    ]
    requests += requests_of(state, logs)
    is_planned = target.action is Action.CLUSTERING and state.layout.has_clustering_action
    action = target.action if is_planned else target.comparable_action
    return RollbackPlan(instant=time, action=action, requests=tuple(requests))


def _plan_of(state: TableState, rollback: Instant) -> RollbackPlan:
    plan = read_rollback_plan(state, rollback)
    with damaged_rollback_plan(state, rollback):
        _checked(state, plan)
    return plan


def _running(state: TableState, timeline: Timeline, time: str) -> Instant | None:
    """Find the pending rollback of an instant: it is finished as it was planned, never planned again."""
    rollbacks = [one for one in pending_instants(timeline) if one.action is Action.ROLLBACK]
    return next((one for one in rollbacks if rollback_target(state, one) == time), None)


def run_rollback(
    state: TableState,
    timeline: Timeline,
    plan: RollbackPlan,
    settings: Settings,
    lease: Lease,
    *,
    takes_completed: bool = False,
) -> bool:
    """Request the rollback with its plan, then do it; false if the target was committed first.

    `takes_completed` is for a target that is committed, and is to be taken back all the same.

    What was rolled back before, and came back because its writer was late, is only taken away once more. A service that
    was run again after that is completed, and is rolled back like any other.
    """
    if not takes_completed and is_rolled_back(state, timeline, InstantTime(plan.instant), is_later=True):
        _clear(state, InstantTime(plan.instant), Action(plan.action))
        return True
    running = _running(state, timeline, plan.instant)
    if running is not None:
        return _resume(state, running, plan, settings, lease, takes_completed=takes_completed)
    newest = None
    encoded = encode_rollback_plan(plan, state.env.nonce())
    with ExitStack() as alive:
        announced = None
        while announced is None:
            newest = _issue(state, timeline, settings, after=newest, target=plan.instant)
            require_lease(lease)
            wanted = Instant(requested_time=newest, action=Action.ROLLBACK, state=State.REQUESTED)
            announced = announce(state, wanted, encoded, settings, alive)
        return _finish(state, announced[0], plan, settings, lease, takes_completed=takes_completed)


def _resume(
    state: TableState,
    rollback: Instant,
    plan: RollbackPlan,
    settings: Settings,
    lease: Lease,
    *,
    takes_completed: bool = False,
) -> bool:
    """Finish a rollback that another process requested.

    Without a fence nothing tells whether one that was started was to take a commit back, or how far it got: files may
    be gone already, so it is finished whatever became of its target.
    """
    is_sure = takes_completed or (rollback.state is State.INFLIGHT and not state.config.is_fenced)
    return _finish(state, rollback, plan, settings, lease, takes_completed=is_sure)


def _clear(state: TableState, time: InstantTime, action: Action) -> None:
    """Take away what the writer of an instant did when that was rolled back already: it may also have started it."""
    remove_pending(state, Instant(requested_time=time, action=action, state=State.INFLIGHT))
    remove_files(state, time)
    delete_markers(state, time)


def _issue(
    state: TableState, timeline: Timeline, settings: Settings, *, after: InstantTime | None, target: str = ""
) -> InstantTime:
    """Issue a time of a rollback: later than everything, or, where only the dead are ahead of the clock, than the rest.

    A writer that died with a clock that was ahead would else keep all others from writing until its time has come.

    Raises: ClockBehindTimeline where something that stays is ahead of the clock.
    """
    times = times_for(state, settings)
    try:
        return times.issue(max(filter(None, (newest_time(timeline), after)), default=None))
    except ClockBehindTimeline:
        writes = {one.requested_time for one in pending_instants(timeline) if one.action in WRITE_ACTIONS}
        dead = {time for time in writes if time == target or is_abandoned(state, time, settings)}
        rest = replace(timeline, instants=tuple(one for one in timeline.instants if one.requested_time not in dead))
        return times.issue(max(filter(None, (newest_time(rest), after)), default=None))


def _finish(
    state: TableState,
    rollback: Instant,
    plan: RollbackPlan,
    settings: Settings,
    lease: Lease,
    *,
    takes_completed: bool = False,
) -> bool:
    """Do a requested rollback; every step may have been done before.

    One whose target was committed, or is another rollback's, is given up; false if it was committed. A commit that is
    taken back all the same goes off the timeline before any of its files does: readers see all of it or nothing.

    The lock is kept, as after a commit, until the rollback's times cannot be issued again.
    """
    started_s = state.env.monotonic_s()
    inflight = replace(rollback, state=State.INFLIGHT)
    with suppress(PreconditionFailed):  # begun before
        start(state, rollback)
    target = InstantTime(plan.instant)
    was_alive = liveness(state, target, settings) is Liveness.ALIVE
    decided = decide_rollback(state, target, rollback.requested_time, takes_completed=takes_completed)
    if decided is not Verdict.OURS:
        remove_pending(state, inflight)
        stop_heartbeat(state, rollback.requested_time)
        return decided is not Verdict.COMMITTED
    take_off(state, [target], is_completed=True)
    partitions = _take_back(state, plan, target, rollback.requested_time)
    _roll_back_metadata(state, target, rollback.requested_time, partitions, settings)
    remove_pending(state, Instant(requested_time=target, action=Action(plan.action), state=State.INFLIGHT))
    _give_plan_back(state, target)
    metadata = RollbackMetadata(
        start_time=rollback.requested_time,
        time_taken_ms=int((state.env.monotonic_s() - started_s) * 1000),
        rolled_back=((plan.instant, plan.action),),
        partitions=partitions,
    )
    last = _complete_rollback(state, inflight, metadata, settings, lease)
    delete_markers(state, target)
    if not was_alive:  # else a file may have come, or may still come, for which no rollback has looked
        release_heartbeat(state, target, rollback.requested_time)
    stop_heartbeat(state, rollback.requested_time)
    times_for(state, settings).settle(last)
    return True


def _give_plan_back(state: TableState, target: InstantTime) -> None:
    """Return the plan of a service, which stays, to the state before its run: the next call runs it."""
    left = find_instant(load_timeline(state), target)
    if left is not None and left.action in PLANNED_SERVICES and left.state is State.INFLIGHT:
        return_to_requested(state, left)


def _roll_back_metadata(
    state: TableState,
    target: InstantTime,
    rollback: InstantTime,
    partitions: Mapping[str, RollbackPartition],
    settings: Settings,
) -> None:
    """Take what the target wrote to the metadata table away, while it is pending and no reader counts it.

    What the rollback left of logs is written there: they are files of the table.
    """
    fresh = open_state(state.storage, state.env)
    if not fresh.config.metadata_partitions:
        return
    timeline = load_timeline(state)
    completion = _issue(state, timeline, settings, after=rollback, target=target)
    roll_back_metadata(fresh, timeline, target, rollback, completion)
    if left := appended_files(partitions):
        issue = partial(_issue, state, timeline, settings, after=completion, target=target)
        publish_changes(fresh, rollback, lambda told: records_of_rollback(told, left), settings, issue)


def _complete_rollback(
    state: TableState, inflight: Instant, metadata: RollbackMetadata, settings: Settings, lease: Lease
) -> InstantTime:
    """Complete the rollback, unless another writer did, and return the last time that was issued for it."""

    def issue(timeline: Timeline, after: InstantTime) -> InstantTime:
        return _issue(state, timeline, settings, after=after)

    done = complete_once(state, inflight, partial(encode_rollback_metadata, metadata), issue, lease)
    issued = done.completion_time if state.layout.has_completion_times else None
    return issued or inflight.requested_time


def _take_back(
    state: TableState, plan: RollbackPlan, target: InstantTime, rollback: InstantTime
) -> dict[str, RollbackPartition]:
    """Delete the files of a plan, and take blocks in logs back; also what came after the plan was made.

    Files are found by name inside the partition, wherever the plan's paths point.

    Raises: CorruptData for a file that the instant cannot have written.
    """
    deleted: dict[str, list[str]] = defaultdict(list)
    for path, one, stored in _checked(state, plan):
        state.storage.delete(path)
        deleted[one.partition_path].append(stored)
    logs = [log for one in plan.requests if one.log_blocks_to_delete for log in logs_of_request(one)]
    done = take_back_logs(state, [*logs, *marked_logs(state, target)], target, rollback)
    remove_marked(state, target)  # of a writer that was taken for dead
    return {
        partition: replace(
            done.get(partition, RollbackPartition(partition_path=partition)), deleted=tuple(deleted[partition])
        )
        for partition in sorted({*deleted, *done})
    }


def _checked(state: TableState, plan: RollbackPlan) -> list[tuple[str, RollbackRequest, str]]:
    """Return (path, request, path as stored) of all files of a plan; all are judged before one is deleted.

    Raises: CorruptData. In layout 1 the logs named by a compaction are of later writes.
    """
    has_logs = state.layout.logs_name_their_instant or plan.action == Action.DELTACOMMIT
    has_blocks = state.layout.rollbacks_write_commands and plan.action == Action.DELTACOMMIT
    found = []
    for one in plan.requests:
        if one.log_blocks_to_delete and not has_blocks:
            raise CorruptData("a rollback plan asks for log blocks of an action that writes none", action=plan.action)
        for stored in one.files_to_delete:
            name = stored.rsplit("/", 1)[-1]
            path = f"{one.partition_path}/{name}" if one.partition_path else name
            if not is_file_of(check_path(path), plan.instant) or (name.startswith(".") and not has_logs):
                raise CorruptData("a rollback plan names a file of another instant", instant=plan.instant, file=stored)
            found.append((path, one, stored))
    return found


def spelled_path(state: TableState, path: str) -> str:
    """Format a file's path as Hudi spells it in rollback plans: absolute, without a `file:` scheme."""
    return f"{state.storage.url.removeprefix('file://').rstrip('/')}/{path}"
