"""Roll an instant back: delete what it wrote, take it off the timeline, say so on the timeline.

The plan is stored before the first delete, and a rollback found half-done is finished with its stored plan, so that
doing it twice gives the same state. Start at `rollback_instant`; `recover` settles what dead writers left.

Spec: format/timeline 3.7, 10.2; reliability 1.6.
"""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pyhudi.errors import CorruptData, InstantNotFound, InvalidInput, PreconditionFailed
from pyhudi.filegroup.listing import list_partitions, storage_listing
from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import check_path
from pyhudi.timeline.active import (
    complete,
    load_timeline,
    read_plan,
    remove_pending,
    request,
    start,
    timeline_zone,
)
from pyhudi.timeline.clock import instant_ms, next_instant_time, wait_until_past
from pyhudi.timeline.codec import decode_rollback_plan, encode_rollback_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest
from pyhudi.timeline.view import Timeline, find_instant, newest_time, pending
from pyhudi.txn.heartbeat import Liveness, liveness, stop_beating
from pyhudi.txn.locks import lock_for
from pyhudi.txn.markers import delete_markers, has_markers, marked_files

__all__ = ["plan_rollback", "recover", "rollback_instant", "undo", "writer_of"]

_GRACE_MS: Final = 3_600_000
"""How long a pending instant without a heartbeat is left to whoever it belongs to."""
_NONCE_BYTES: Final = 16
_ROLLED_BACK: Final = frozenset({Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT})


def rollback_instant(
    state: TableState, time: InstantTime, settings: Settings, *, is_dry_run: bool = False
) -> RollbackPlan:
    """Roll back one pending instant by name, whoever it belongs to.

    Locks:  takes the table lock.
    Raises: InstantNotFound; InvalidInput for an instant that is completed.
    """
    with lock_for(state, settings).hold():
        timeline = load_timeline(state)
        target = find_instant(timeline, time)
        if target is None:
            raise InstantNotFound("no such instant on the timeline", instant=time)
        if target.is_completed or target.action not in _ROLLED_BACK:
            raise InvalidInput(
                "only a pending write can be rolled back here", instant=time, action=target.action, state=target.state
            )
        plan = plan_rollback(state, target)
        if not is_dry_run:
            _run(state, timeline, plan)
        return plan


def undo(state: TableState, instant: Instant, settings: Settings) -> None:
    """Roll our own failed instant back.

    Locks: takes the table lock.
    """
    with lock_for(state, settings).hold():
        timeline = load_timeline(state)
        mine = find_instant(timeline, instant.requested_time)
        if mine is not None and not mine.is_completed:
            _run(state, timeline, plan_rollback(state, mine))
    stop_beating(state, instant.requested_time)


def recover(state: TableState, timeline: Timeline, settings: Settings) -> Timeline:
    """Finish rollbacks found half-done and roll back writes whose writer is dead.

    A writer that beats is left alone; one that never did is foreign, and left alone for an hour.

    Locks: the table lock is held.
    """
    changed = False
    for instant in pending(timeline):
        if instant.action is Action.ROLLBACK:
            _finish(state, instant, decode_rollback_plan(read_plan(state, instant), instant.file_name))
            changed = True
        elif instant.action in _ROLLED_BACK and _is_abandoned(state, instant, settings):
            _run(state, load_timeline(state), plan_rollback(state, instant))
            changed = True
    return load_timeline(state) if changed else timeline


def writer_of(state: TableState, instant: Instant, settings: Settings) -> tuple[str, str]:
    """Tell who writes a pending instant, and what to do about it."""
    judged = liveness(state, instant.requested_time, settings)
    advice = {
        Liveness.ALIVE: "wait for it",
        Liveness.DEAD: "nothing: the next write rolls it back",
        Liveness.FOREIGN: "leave it to its writer; table.rollback(instant) if that is gone",
    }
    return judged, advice[judged]


def plan_rollback(state: TableState, target: Instant) -> RollbackPlan:
    """List the files an instant may have left: by its markers, or, where it has none, by name in every partition."""
    time = target.requested_time
    paths = marked_files(state, time) if has_markers(state, time) else set(_files_of(state, time))
    by_partition: dict[str, list[str]] = defaultdict(list)
    for path in sorted(paths):
        by_partition[path.rpartition("/")[0]].append(path)
    requests = [
        RollbackRequest(partition_path=partition, files_to_delete=(f"{_absolute(state)}/{path}",))
        for partition, found in by_partition.items()
        for path in found
    ]
    return RollbackPlan(instant=time, action=target.comparable_action, requests=tuple(requests))


def _is_abandoned(state: TableState, instant: Instant, settings: Settings) -> bool:
    judged = liveness(state, instant.requested_time, settings)
    if judged is Liveness.FOREIGN:
        return state.env.now_ms() - instant_ms(instant.requested_time, timeline_zone(state)) > _GRACE_MS
    return judged is Liveness.DEAD


def _run(state: TableState, timeline: Timeline, plan: RollbackPlan) -> None:
    """Request the rollback with its plan, then do it."""
    running = [one for one in pending(timeline) if one.action is Action.ROLLBACK]
    for other in running:
        stored = decode_rollback_plan(read_plan(state, other), other.file_name)
        if stored.instant == plan.instant:
            _finish(state, other, stored)
            return
    newest = newest_time(timeline)
    encoded = encode_rollback_plan(plan, state.env.random_bytes(_NONCE_BYTES))
    while True:
        newest = next_instant_time(state.env, newest, timeline_zone(state))
        instant = Instant(requested_time=newest, action=Action.ROLLBACK, state=State.REQUESTED)
        try:
            requested = request(state, instant, encoded)
        except PreconditionFailed:
            continue
        _finish(state, requested, plan)
        return


def _finish(state: TableState, rollback: Instant, plan: RollbackPlan) -> None:
    """Do a requested rollback; every step may have been done before."""
    started_s = state.env.monotonic_s()
    inflight = replace(rollback, state=State.INFLIGHT)
    with suppress(PreconditionFailed):  # begun before
        start(state, rollback)
    partitions = _delete(state, plan.requests)
    target = InstantTime(plan.instant)
    remove_pending(state, Instant(requested_time=target, action=Action(plan.action), state=State.INFLIGHT))
    metadata = RollbackMetadata(
        start_time=rollback.requested_time,
        time_taken_ms=int((state.env.monotonic_s() - started_s) * 1000),
        rolled_back=((plan.instant, plan.action),),
        partitions=partitions,
    )
    completion = _publish(state, inflight, metadata)
    wait_until_past(state.env, completion, timeline_zone(state))
    delete_markers(state, target)
    stop_beating(state, target)


def _publish(state: TableState, inflight: Instant, metadata: RollbackMetadata) -> InstantTime:
    """Complete the rollback and give its completion time."""
    completion = inflight.requested_time
    while True:
        newest = max(newest_time(load_timeline(state)) or completion, completion)
        completion = next_instant_time(state.env, newest, timeline_zone(state))
        try:
            complete(state, inflight, metadata, completion, state.env.random_bytes(_NONCE_BYTES))
        except PreconditionFailed:
            if state.layout.has_completion_times:
                continue
            return completion  # the one name it can have is there: somebody finished this rollback
        return completion


def _delete(state: TableState, requests: Iterable[RollbackRequest]) -> dict[str, RollbackPartition]:
    """Delete the files of a plan: by name inside the partition, wherever the plan's paths point."""
    deleted: dict[str, list[str]] = defaultdict(list)
    for one in requests:
        if one.log_blocks_to_delete:
            raise CorruptData("a rollback plan asks for log blocks, which copy-on-write tables do not have")
        for stored in one.files_to_delete:
            name = stored.rsplit("/", 1)[-1]
            path = check_path(f"{one.partition_path}/{name}" if one.partition_path else name)
            state.storage.delete(path)
            deleted[one.partition_path].append(stored)
    return {
        partition: RollbackPartition(partition_path=partition, deleted=tuple(names))
        for partition, names in deleted.items()
    }


def _files_of(state: TableState, time: InstantTime) -> list[str]:
    listing = storage_listing(state)
    found = []
    for partition in list_partitions(state):
        for status in listing(PartitionPath(partition)):
            file = parse_file(PartitionPath(partition), status)
            if isinstance(file, BaseFile) and file.instant == time:
                found.append(file.path)
    return found


def _absolute(state: TableState) -> str:
    """Give the base path as Hudi spells it in rollback plans: without a `file:` scheme."""
    return state.storage.url.removeprefix("file://").rstrip("/")
