"""Announce an action: its heartbeat, then its requested file. Start at `announce`."""

from contextlib import ExitStack, suppress

from pyhudi.errors import HudiError, PreconditionFailed
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import remove_pending, request
from pyhudi.timeline.instant import Instant
from pyhudi.txn.recovery.heartbeat import Heartbeat, run_heartbeat, stop_heartbeat

__all__ = ["announce"]


def announce(
    state: TableState, wanted: Instant, plan: bytes, settings: Settings, alive: ExitStack
) -> tuple[Instant, Heartbeat] | None:
    """Heartbeat, then request, so that no request of ours is ever taken for a foreign one; None if the time is taken.

    A heartbeat is never left at another writer's instant: without beats it would count as dead.
    """
    with suppress(PreconditionFailed):
        heartbeat = alive.enter_context(run_heartbeat(state, wanted.requested_time, settings))
        try:
            return request(state, wanted, plan), heartbeat
        except PreconditionFailed:
            alive.close()
            stop_heartbeat(state, wanted.requested_time)
        except HudiError:
            with suppress(HudiError):  # it may be there; one that comes later still has a heartbeat that counts as dead
                remove_pending(state, wanted)
            raise
    return None
