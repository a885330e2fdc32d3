"""What must still be true before an action is begun or published; each check raises if it is not.

Called with the table lock held, on a timeline read under it. Start at `require_alive`.

Spec: Writer Expectations 3.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pyhudi.errors import FileMissing, HeartbeatExpired, InternalError, LockNotAcquired, WriteConflict
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import read_commit_metadata, read_plan
from pyhudi.timeline.codec import decode_rollback_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, completed_after, find_instant, pending
from pyhudi.txn.conflicts import find_conflict, footprint
from pyhudi.txn.locks import Lease

__all__ = [
    "require_alive",
    "require_lease",
    "require_no_conflict",
    "require_no_service",
    "require_same_table",
    "rollback_target",
]

_LEASE_MARGIN_MS: Final = 5_000
_SERVICES: Final = frozenset(
    {Action.CLUSTERING, Action.COMPACTION, Action.LOGCOMPACTION, Action.INDEXING, Action.RESTORE}
)
"""Pending actions that change what a commit may do."""


def require_alive(state: TableState, time: InstantTime, before: Timeline, now: Timeline) -> None:
    """C1: our pending instant is still there, nobody rolls it back, and what we read was not taken back.

    Raises: HeartbeatExpired, WriteConflict.
    """
    mine = find_instant(now, time)
    targets = dict(_taken_back(state, before, now))
    if mine is None or mine.is_completed or time in targets:
        raise HeartbeatExpired(
            "this write was rolled back by another writer that took it for dead; write again", instant=time
        )
    for target in sorted(targets.keys() & before.completed.keys()):
        raise WriteConflict(
            "a commit that this write rests on was taken back; write again", instant=time, other=targets[target]
        )


def rollback_target(state: TableState, rollback: Instant) -> InstantTime | None:
    """Read which instant a rollback takes back; None where its plan is gone."""
    try:
        plan = decode_rollback_plan(read_plan(state, rollback), rollback.file_name)
    except FileMissing:
        return None
    return InstantTime(plan.instant)


def require_same_table(state: TableState, time: InstantTime | None = None) -> None:
    """C7: the table is still what it was opened as: nobody changed its properties in a way that matters.

    Raises: WriteConflict; NotBuilt.
    """
    fresh = open_state(state.storage, state.env)
    if fresh.layout != state.layout or replace(state.config, properties={}) != replace(fresh.config, properties={}):
        raise WriteConflict("the table's properties changed since it was opened; open it again", instant=time)
    require_writable(fresh.config, fresh.layout)


def require_no_service(time: InstantTime, before: Timeline, now: Timeline) -> None:
    """C3, C4 as far as they are built: no service that moves or takes back rows was planned meanwhile.

    Raises: WriteConflict.
    """
    known = {(one.requested_time, one.action) for one in before.instants}
    for one in pending(now):
        if one.action in _SERVICES and (one.requested_time, one.action) not in known:
            raise WriteConflict(
                "a table service was planned during this write; write again when it is over",
                instant=time,
                other=one.requested_time,
                action=str(one.action),
            )


def require_no_conflict(
    state: TableState, time: InstantTime, before: Timeline, now: Timeline, metadata: CommitMetadata
) -> None:
    """C2 and C6: nobody wrote our file groups, and every base file we merged with is older than we are.

    Raises: WriteConflict.
    """
    concurrent = {
        other.requested_time: footprint(read_commit_metadata(state, other))
        for other in completed_after(now, frozenset(before.completed))
    }
    overlap = find_conflict(footprint(metadata), concurrent)
    if overlap is not None:
        raise WriteConflict(
            "another commit touched the same file groups; write again",
            instant=time,
            other=overlap.instant,
            file_groups=[f"{group.partition}/{group.file_id}" for group in overlap.groups],
            partitions=list(overlap.partitions),
        )
    for stats in metadata.stats.values():
        for stat in stats:
            if stat.prev_commit not in {None, "null"} and str(stat.prev_commit) >= time:
                raise InternalError("merged with a base file that is not older", instant=time, stat=stat.path)


def require_lease(lease: Lease) -> None:
    """C8, as far as it can be known: stop before the lock may have ended.

    Raises: LockNotAcquired.
    """
    remaining_ms = lease.remaining_ms()
    if remaining_ms is not None and remaining_ms < _LEASE_MARGIN_MS:
        raise LockNotAcquired("the table lock was lost, or is about to end; write again", remaining_ms=remaining_ms)


def _taken_back(state: TableState, before: Timeline, now: Timeline) -> Iterator[tuple[InstantTime, InstantTime]]:
    """Give (what is taken back, by which instant) of rollbacks and restores that an earlier reading did not show."""
    done = {(one.requested_time, one.action) for one in before.instants if one.is_completed}
    for one in now.instants:
        if (one.requested_time, one.action) in done:
            continue
        if one.action is Action.ROLLBACK and (target := rollback_target(state, one)) is not None:
            yield target, one.requested_time
        if one.action is Action.RESTORE and one.is_completed:
            yield from ((time, one.requested_time) for time in before.completed if time not in now.completed)
