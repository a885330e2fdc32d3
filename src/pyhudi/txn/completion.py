"""Complete an action that any process may finish: exactly once, whichever process comes first.

Rollbacks and table services are done from their stored plans, by the process that planned them or by another one.
Start at `complete_once`.
"""

from collections.abc import Callable

from pyhudi.errors import CommitUnknown, PreconditionFailed, StorageUnavailable, WriteConflict
from pyhudi.state.model import TableState
from pyhudi.timeline.active import complete, load_timeline
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, find_action
from pyhudi.txn.fence import fence_of
from pyhudi.txn.locks import Lease, require_lease

__all__ = ["complete_once"]


def complete_once(
    state: TableState,
    inflight: Instant,
    encode: Callable[[bytes], bytes],
    issue: Callable[[Timeline, InstantTime], InstantTime],
    lease: Lease,
) -> Instant:
    """Complete an instant unless another process did; returns it as the timeline shows it.

    `encode` makes the metadata's bytes with a nonce; `issue` makes a time later than the timeline and than a time.

    Locks:  the table lock is held; nothing is completed once its lease is about to end.
    Raises: StorageUnavailable where storage does not say whether it was completed: try again. LockNotAcquired.
    """
    after = inflight.requested_time
    while True:
        fence, timeline = fence_of(state), load_timeline(state)
        done = find_action(timeline, inflight.requested_time, inflight.comparable_action)
        if done is not None and done.is_completed:
            return done
        after = issue(timeline, after)
        claim = None if fence is None else fence.claim_commit
        require_lease(lease)
        try:
            return complete(state, inflight, encode(state.env.nonce()), after, claim=claim)
        except (WriteConflict, PreconditionFailed):
            continue  # another writer got the slot of the fence, or the name
        except CommitUnknown as error:  # of this action, not of the caller's write
            text = f"a {inflight.action} could not be finished; try again"
            raise StorageUnavailable(text, instant=inflight.requested_time) from error
