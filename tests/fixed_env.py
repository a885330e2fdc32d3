"""A world that only moves when it is told to."""

import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo

__all__ = ["FixedEnv"]


class FixedEnv:
    """A world that only moves when it is told to: tests and simulations.

    Each reading of the wall clock is one `tick_ms` later than the one before; `sleep` moves both clocks and returns at
    once; ids come from `seed`. Beats run only when `sleep` passes them.
    """

    def __init__(self, start_ms: int = 1_767_225_600_000, *, tick_ms: int = 1, seed: int = 0) -> None:
        """Start at `start_ms` (2026-01-01 UTC)."""
        self._now_ms = start_ms
        self._tick_ms = tick_ms
        self._random = random.Random(seed)

    def now_ms(self) -> int:
        """Return the clock and advance it by one tick."""
        self._now_ms += self._tick_ms
        return self._now_ms

    def monotonic_s(self) -> float:
        """Return the same clock in seconds, without advancing it."""
        return self._now_ms / 1000

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self._now_ms += int(seconds * 1000)

    def set_now_ms(self, now_ms: int) -> None:
        """Jump, also backwards."""
        self._now_ms = now_ms

    @contextmanager
    def every(self, seconds: float, function: Callable[[], None]) -> Iterator[None]:
        """Run no beat: nothing here lives long enough to need one."""
        yield

    def uuid(self) -> uuid.UUID:
        """Return the next id of the seed."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    def nonce(self) -> bytes:
        """Return the next bytes of the seed."""
        return self._random.randbytes(16)

    def zone(self) -> tzinfo:
        """Be in UTC."""
        return UTC
