"""Liveness of a writer: `.hoodie/.heartbeat/<instant>`, touched on a beat.

A local writer also holds a lock tied to its process beside it, so that a dead one is known at once. A pending instant
without any heartbeat is foreign (a Java single writer has none). Start at `beating`; `liveness` asks about others.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Final

from pyhudi.errors import FileMissing, HudiError, LockNotAcquired
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import InstantTime

__all__ = ["Liveness", "beating", "heartbeat_path", "liveness", "stop_beating"]

INTERVAL_MS: Final = option("hoodie.client.heartbeat.interval_in_ms", 60_000, "How often a writer shows it is alive.")
MISSES: Final = option(
    "hoodie.client.heartbeat.tolerable.misses", 2, "How many beats may be missed before a writer counts as dead."
)


class Liveness(StrEnum):
    """What is known of an instant's writer."""

    ALIVE = "alive"
    DEAD = "dead"
    FOREIGN = "foreign"
    """It never had a heartbeat: not a pyhudi writer."""


def heartbeat_path(instant: InstantTime) -> str:
    """Spell the heartbeat file.   Spec: format/timeline 8.3."""
    return f".hoodie/.heartbeat/{instant}"


def _guard_path(instant: InstantTime) -> str:
    return f".hoodie/.locks/heartbeat-{instant}"


@contextmanager
def beating(state: TableState, instant: InstantTime, settings: Settings) -> Iterator[None]:
    """Beat until the context is left; the file stays for whoever has to judge a writer that died inside."""

    def beat() -> None:
        try:
            state.storage.put(heartbeat_path(instant), b"")
        except HudiError:
            return  # one miss is tolerable; the next beat tries again

    with _guard(state, instant):
        state.storage.put(heartbeat_path(instant), b"")
        with state.env.every(settings.get(INTERVAL_MS) / 1000, beat):
            yield


def stop_beating(state: TableState, instant: InstantTime) -> None:
    """Remove the heartbeat of an instant that is settled."""
    state.storage.delete(heartbeat_path(instant))
    state.storage.delete(_guard_path(instant))


def liveness(state: TableState, instant: InstantTime, settings: Settings) -> Liveness:
    """Judge another writer by its heartbeat."""
    try:
        beat = state.storage.head(heartbeat_path(instant))
    except FileMissing:
        return Liveness.FOREIGN
    if state.storage.traits.has_guard and _is_there(state, _guard_path(instant)):
        return _guarded_liveness(state, instant)
    limit_ms = settings.get(INTERVAL_MS) * settings.get(MISSES)
    return Liveness.DEAD if state.env.now_ms() - beat.modified_ms > limit_ms else Liveness.ALIVE


def _is_there(state: TableState, path: str) -> bool:
    try:
        state.storage.head(path)
    except FileMissing:
        return False
    return True


def _guarded_liveness(state: TableState, instant: InstantTime) -> Liveness:
    try:
        with state.storage.guard(_guard_path(instant), 0):
            return Liveness.DEAD
    except LockNotAcquired:
        return Liveness.ALIVE


def _guard(state: TableState, instant: InstantTime) -> AbstractContextManager[None]:
    if state.storage.traits.has_guard:
        return state.storage.guard(_guard_path(instant), 1)
    return nullcontext()
