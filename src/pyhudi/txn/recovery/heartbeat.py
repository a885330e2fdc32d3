"""Liveness of a writer: `.hoodie/.heartbeat/<instant>`, touched on a beat; for people it holds our process's name.

A local writer also holds a lock tied to its process beside it, so that a dead one is known at once. A pending instant
without any heartbeat is foreign (a Java single writer has none). Start at `run_heartbeat`; `liveness` judges others.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import FileMissing, HudiError, LockNotAcquired, PreconditionFailed
from pyhudi.options import MOST, Settings, between, one_of, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode
from pyhudi.storage.process import process_name
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "GUARD_PREFIX",
    "HEARTBEATS",
    "FailedWrites",
    "Heartbeat",
    "Liveness",
    "failed_writes",
    "guard_path",
    "heartbeat_path",
    "is_abandoned",
    "liveness",
    "reserve_time",
    "run_heartbeat",
    "stop_heartbeat",
]

INTERVAL_MS: Final = option(
    "hoodie.client.heartbeat.interval_in_ms", 60_000, "How often a writer shows it is alive.", parse=between(1, MOST)
)
MISSES: Final = option(
    "hoodie.client.heartbeat.tolerable.misses", 2, "How many beats may be missed before a writer counts as dead."
)

FAILED_WRITES: Final = option(
    "hoodie.clean.failed.writes.policy",
    "LAZY",
    "What a write does about others that failed. LAZY: roll those back whose heartbeat is dead, and after an hour "
    "those that never had one. EAGER: these at once, which is for a table with a single writer. NEVER: nothing.",
    parse=one_of("EAGER", "LAZY", "NEVER"),
    old_keys=("hoodie.cleaner.policy.failed.writes",),
)

HEARTBEATS: Final = ".hoodie/.heartbeat"
GUARD_PREFIX: Final = "heartbeat-"
_GRACE_MS: Final = 3_600_000
"""How long a pending instant without a heartbeat is left to its writer."""


class Liveness(StrEnum):
    """What is known of an instant's writer."""

    ALIVE = "alive"
    DEAD = "dead"
    FOREIGN = "foreign"
    """It has no heartbeat: not a pyhudi writer."""


class FailedWrites(StrEnum):
    """What is done about writes that failed.   Spec: format/timeline 8.4."""

    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """When our own heartbeat last got through. Units: s on the monotonic clock."""

    env: Env
    limit_s: float | None
    """None: a lock of this host says whether we live, and it ends with us only."""
    last_s: float
    was_late: bool = False
    """One of our beats came so late that others may have taken us for dead before."""

    def is_expired(self) -> bool:
        """Return whether others may take us for dead."""
        return self.limit_s is not None and self.env.monotonic_s() - self.last_s > self.limit_s

    def may_be_replaced(self) -> bool:
        """Return whether others may have taken our work over, though we beat again."""
        return self.was_late or self.is_expired()


def failed_writes(settings: Settings) -> FailedWrites:
    """Read the policy."""
    return FailedWrites(settings.get(FAILED_WRITES))


def heartbeat_path(instant: InstantTime) -> str:
    """Format the heartbeat file.   Spec: format/timeline 8.3."""
    return f"{HEARTBEATS}/{instant}"


def guard_path(instant: InstantTime) -> str:
    """Format the file that a writer on this host keeps locked."""
    return f".hoodie/.locks/{GUARD_PREFIX}{instant}"


@contextmanager
def run_heartbeat(state: TableState, instant: InstantTime, settings: Settings) -> Iterator[Heartbeat]:
    """Beat until the context is left; the file stays for those that have to judge a writer that died inside.

    Raises: PreconditionFailed if another writer beats for this instant.
    """
    limit_s = settings.get(INTERVAL_MS) * settings.get(MISSES) / 1000
    owner = process_name().encode()
    is_guarded = state.storage.traits.has_guard
    heartbeat = Heartbeat(env=state.env, limit_s=None if is_guarded else limit_s, last_s=state.env.monotonic_s())

    def beat() -> None:
        started_s = state.env.monotonic_s()
        try:
            state.storage.put(heartbeat_path(instant), owner)
        except HudiError:
            return  # one miss is tolerable; the next beat tries again
        heartbeat.was_late |= heartbeat.is_expired()
        heartbeat.last_s = started_s

    with _guard(state, instant):
        try:
            state.storage.put(heartbeat_path(instant), owner, PutMode.CREATE)
        except PreconditionFailed:
            _leave(state, instant)
            raise
        with state.env.every(settings.get(INTERVAL_MS) / 1000, beat):
            yield heartbeat


def stop_heartbeat(state: TableState, instant: InstantTime) -> None:
    """Remove the heartbeat of an instant that is settled."""
    state.storage.delete(heartbeat_path(instant))
    if state.storage.traits.has_guard:
        state.storage.delete(guard_path(instant))


def reserve_time(state: TableState, instant: InstantTime) -> None:
    """Leave a heartbeat without beats, so that no other writer is given this time; one that is there grows older."""
    with suppress(PreconditionFailed):
        state.storage.put(heartbeat_path(instant), b"", PutMode.CREATE)
    if state.storage.traits.has_guard:
        state.storage.delete(guard_path(instant))


def liveness(state: TableState, instant: InstantTime, settings: Settings) -> Liveness:
    """Judge another writer: by the lock it holds on this host, else by the age of its last beat."""
    if state.storage.traits.has_guard and _modified_ms(state, guard_path(instant)) is not None:
        return _guarded_liveness(state, instant)
    beat_ms = _modified_ms(state, heartbeat_path(instant))
    if beat_ms is None:
        return Liveness.FOREIGN
    limit_ms = settings.get(INTERVAL_MS) * settings.get(MISSES)
    return Liveness.DEAD if state.env.now_ms() - beat_ms > limit_ms else Liveness.ALIVE


def is_abandoned(state: TableState, instant: InstantTime, settings: Settings) -> bool:
    """Return whether no writer works on an instant; a foreign one is left an hour, unless the policy is eager."""
    judged = liveness(state, instant, settings)
    if judged is Liveness.FOREIGN and failed_writes(settings) is not FailedWrites.EAGER:
        return state.env.now_ms() - instant_ms(instant, timeline_zone(state)) > _GRACE_MS
    return judged is not Liveness.ALIVE


def _leave(state: TableState, instant: InstantTime) -> None:
    """Take our guard away from beside another program's heartbeat, which would count as dead with it.

    Beside one that has a name the guard stays: it is pyhudi's, and the writer that let go of it is dead.
    """
    with suppress(FileMissing):
        if not state.storage.get(heartbeat_path(instant)):
            state.storage.delete(guard_path(instant))


def _modified_ms(state: TableState, path: str) -> int | None:
    try:
        return state.storage.head(path).modified_ms
    except FileMissing:
        return None


def _guarded_liveness(state: TableState, instant: InstantTime) -> Liveness:
    try:
        with state.storage.guard(guard_path(instant), 0):
            return Liveness.DEAD
    except LockNotAcquired:
        return Liveness.ALIVE


def _guard(state: TableState, instant: InstantTime) -> AbstractContextManager[None]:
    if state.storage.traits.has_guard:
        return state.storage.guard(guard_path(instant), 1)
    return nullcontext()
