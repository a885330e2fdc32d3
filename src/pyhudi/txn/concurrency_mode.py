"""How many writers a table's store bears, and what follows where it is only one.

A mode says how they are kept apart, on top of the checks that every commit makes. Our own local and memory stores are
held to racing creators by tests; every other store is asked once. Start at `require_single_writer`.
"""

import logging
from functools import cache
from typing import Final

from pyhudi.errors import LockNotAcquired, NotBuilt, OptionError, Unsupported
from pyhudi.options import Settings, one_of, option
from pyhudi.state.model import TableState
from pyhudi.storage.probe import probe_writes
from pyhudi.timeline.view import Timeline, pending_instants
from pyhudi.txn.recovery.heartbeat import FailedWrites, failed_writes, is_abandoned

__all__ = ["is_non_blocking", "is_pessimistic", "require_single_writer", "require_supported_mode"]

_SINGLE: Final = "SINGLE_WRITER"
_PESSIMISTIC: Final = "PESSIMISTIC_CONCURRENCY_CONTROL"
_NON_BLOCKING: Final = "NON_BLOCKING_CONCURRENCY_CONTROL"
CONCURRENCY_MODE: Final = option(
    "hoodie.write.concurrency.mode",
    _SINGLE,
    "Concurrent writers are always checked when they commit. PESSIMISTIC_CONCURRENCY_CONTROL, which only pyhudi knows, "
    "also locks the file groups before they are read. Any mode but SINGLE_WRITER is refused on a store that keeps no "
    "two writers apart; NON_BLOCKING_CONCURRENCY_CONTROL is not built yet.",
    parse=one_of(_SINGLE, "OPTIMISTIC_CONCURRENCY_CONTROL", _PESSIMISTIC, _NON_BLOCKING),
)
_log = logging.getLogger("pyhudi.txn")


def is_pessimistic(settings: Settings) -> bool:
    """Return whether file groups are locked before they are read."""
    return settings.get(CONCURRENCY_MODE) == _PESSIMISTIC


def is_non_blocking(settings: Settings) -> bool:
    """Return whether writes may append to the same file groups at once."""
    return settings.get(CONCURRENCY_MODE) == _NON_BLOCKING


def require_supported_mode(settings: Settings) -> None:
    """Refuse a mode that is not built, and one that contradicts what is done about failed writes.

    Raises: NotBuilt, OptionError.
    """
    if is_non_blocking(settings):
        raise NotBuilt(
            "pyhudi does not write without blocking yet; choose OPTIMISTIC_CONCURRENCY_CONTROL",
            key=CONCURRENCY_MODE.key,
            value=_NON_BLOCKING,
        )
    if settings.get(CONCURRENCY_MODE) != _SINGLE and failed_writes(settings) is FailedWrites.EAGER:
        raise OptionError(
            "several writers must not roll each other back at once; choose the policy LAZY for failed writes",
            mode=settings.get(CONCURRENCY_MODE),
            policy="EAGER",
        )


def require_single_writer(state: TableState, snapshot: Timeline, settings: Settings) -> None:
    """Do nothing where the store keeps several writers apart; elsewhere let one write, and warn.

    Locks:  the table lock is held, such as it is.
    Raises: Unsupported if the options ask for several writers; LockNotAcquired while another write is under way.
    """
    if state.storage.traits.has_guard:
        return
    capability = probe_writes(state.storage, state.env)
    if capability.has_many_writers:
        return
    if settings.get(CONCURRENCY_MODE) != _SINGLE:
        raise Unsupported(
            "this store cannot keep several writers apart; let one writer at a time write, in mode SINGLE_WRITER",
            mode=settings.get(CONCURRENCY_MODE),
            reason=capability.reason,
        )
    others = [
        one.requested_time
        for one in pending_instants(snapshot)
        if not is_abandoned(state, one.requested_time, settings)
    ]
    if others:
        raise LockNotAcquired(
            "another write is under way, and this store bears one writer at a time",
            pending=others,
            reason=capability.reason,
        )
    _warn(state.storage.url, capability.reason)


@cache
def _warn(url: str, reason: str) -> None:
    _log.warning("%s: only one writer at a time may write this table: %s", url, reason)
