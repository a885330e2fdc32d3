"""Roll one instant back by name: a pending write, or the newest completed commit. Start at `rollback_instant`.

Spec: format/timeline 10.2.
"""

import logging
from dataclasses import replace
from typing import Final

from pyhudi.actions.moments import require_readable_at
from pyhudi.errors import InstantNotFound, InvalidInput, SnapshotExpired
from pyhudi.metadata.state import has_other_layout
from pyhudi.options import Settings
from pyhudi.queries.expired import archived_after
from pyhudi.services.metadata_table import build_metadata_table_again, without_metadata_table
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import PLANNED_SERVICES, WRITE_ACTIONS, Action, Instant, InstantTime, State
from pyhudi.timeline.rollback import RollbackPlan
from pyhudi.timeline.view import Timeline, find_instant, latest_write, pending_instants
from pyhudi.txn.checks import require_no_restore
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import lock_for, require_lease
from pyhudi.txn.outcomes import nothing_committed
from pyhudi.txn.recovery.rollback import plan_rollback, run_rollback

__all__ = ["rollback_instant"]

_log = logging.getLogger("pyhudi.actions")

_UNFINISHED: Final = "a rollback could not be finished; try again"


def rollback_instant(
    state: TableState,
    time: InstantTime,
    settings: Settings,
    *,
    is_dry_run: bool = False,
    takes_completed: bool = False,
) -> RollbackPlan:
    """Roll back one instant by name; a dry run returns the plan only.

    That is a pending write, whichever writer it belongs to; one that was committed meanwhile stays. Where
    `takes_completed`, it may also be the completed commit that became visible last: it is invisible from one delete on,
    before any of its files goes. A writer that has seen it cannot commit.

    Locks:  takes the table lock.
    Cost:   of a completed commit two listings of every directory.
    Raises: InstantNotFound; InvalidInput for a completed instant that is not to be taken, that is not the newest, has a
            savepoint, or is no write, and for a write that was committed while this rollback was on its way;
            SnapshotExpired where files of the moment before it were cleaned; WriteConflict while the table is restored;
            NotBuilt; LockNotAcquired; StorageUnavailable where it could not be finished.
    """
    before = state
    with nothing_committed(_UNFINISHED), lock_for(state, settings).hold() as lease:
        require_lease(lease)
        timeline = decided_timeline(state)
        target = find_instant(timeline, time)
        if target is None:
            raise InstantNotFound("no such instant on the timeline", instant=time)
        is_completed = takes_completed and target.is_completed and target.action in WRITE_ACTIONS
        if is_completed:
            _require_newest(state, timeline, target)
        elif target.is_completed or target.action not in WRITE_ACTIONS | {Action.CLUSTERING}:
            raise _not_pending(target)
        plan = plan_rollback(state, timeline, target, settings)
        if is_dry_run:
            return plan
        is_rebuilt = is_completed or has_other_layout(state)
        state = without_metadata_table(state) if is_rebuilt else state
        is_done = run_rollback(state, timeline, plan, settings, lease, takes_completed=is_completed)
    if is_rebuilt:
        build_metadata_table_again(before, settings)
    if not is_done:
        raise _not_pending(replace(target, state=State.COMPLETED))
    _log.info("table %s: rollback of %s %s", state.config.name, target.action, time)
    return plan


def _require_newest(state: TableState, timeline: Timeline, target: Instant) -> None:
    """Check that nothing was built upon a commit, and that what was there before it still is."""
    require_no_restore(state, timeline)
    time = target.requested_time
    newest = latest_write(timeline)
    if newest is None or newest.requested_time != time:
        raise InvalidInput(
            "later commits build upon this one; roll these back first, newest first, or go back to the commit before it"
            " with table.restore(...)",
            instant=time,
            newest=newest and newest.requested_time,
        )
    if any(one.action is Action.SAVEPOINT and one.requested_time == time for one in timeline.instants):
        raise InvalidInput("this commit has a savepoint; delete it first", instant=time)
    planned = [
        one for one in pending_instants(timeline) if one.action in PLANNED_SERVICES and one.requested_time > time
    ]
    if planned:
        raise InvalidInput(
            "a table service is planned upon this commit; let it finish first: table.compact() runs a compaction",
            instant=time,
            planned=planned[0].requested_time,
            action=str(planned[0].action),
        )
    before = [one for one in timeline.completed.values() if one.requested_time != time]
    last = max(before, key=lambda one: (timeline.point(one), one.requested_time), default=None)
    since = InstantTime("") if last is None else last.requested_time
    # Where a savepoint kept older commits, those between were archived: their rows are in the table, and would go out
    # of sight with the only commit behind them.
    if any(one > since for one in archived_after(timeline, since)):
        raise SnapshotExpired("the commits before this one were archived", instant=time)
    if last is not None:
        require_readable_at(state, timeline, last)


def _not_pending(target: Instant) -> InvalidInput:
    is_commit = target.is_completed and target.action in WRITE_ACTIONS
    text = (
        "this write is committed, so it is not rolled back; table.rollback(instant, completed=True) takes the newest"
        " commit back"
        if is_commit
        else "only a pending write or the newest commit can be rolled back"
    )
    return InvalidInput(text, instant=target.requested_time, action=str(target.action), state=str(target.state))
