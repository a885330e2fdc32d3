"""Roll one pending instant back by name. Start at `rollback_instant`."""

from dataclasses import replace
from typing import Final

from pyhudi.errors import InstantNotFound, InvalidInput
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Instant, InstantTime, State
from pyhudi.timeline.rollback import RollbackPlan
from pyhudi.timeline.view import find_instant
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import lock_for, require_lease
from pyhudi.txn.outcomes import nothing_committed
from pyhudi.txn.recovery.rollback import ROLLED_BACK, plan_rollback, run_rollback

__all__ = ["rollback_instant"]

_UNFINISHED: Final = "a rollback could not be finished; try again"


def rollback_instant(
    state: TableState, time: InstantTime, settings: Settings, *, is_dry_run: bool = False
) -> RollbackPlan:
    """Roll back one pending instant by name, whichever writer it belongs to; a dry run returns the plan only.

    Locks:  takes the table lock.
    Raises: InstantNotFound; InvalidInput for an instant that is completed, also if its commit was decided while this
            rollback was on its way; LockNotAcquired; StorageUnavailable where it could not be finished.
    """
    with nothing_committed(_UNFINISHED), lock_for(state, settings).hold() as lease:
        require_lease(lease)
        timeline = decided_timeline(state)
        target = find_instant(timeline, time)
        if target is None:
            raise InstantNotFound("no such instant on the timeline", instant=time)
        if target.is_completed or target.action not in ROLLED_BACK:
            raise _not_pending(target)
        plan = plan_rollback(state, timeline, target, settings)
        if not is_dry_run and not run_rollback(state, timeline, plan, settings, lease):
            raise _not_pending(replace(target, state=State.COMPLETED))
        return plan


def _not_pending(target: Instant) -> InvalidInput:
    return InvalidInput(
        "only a pending write can be rolled back here",
        instant=target.requested_time,
        action=target.action,
        state=target.state,
    )
