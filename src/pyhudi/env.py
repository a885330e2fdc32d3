"""Time, sleep, threads on a beat and random ids: every source of nondeterminism but storage.

Nothing else in pyhudi calls `time`, `random`, `uuid` or `datetime.now`, so that a test or a simulation which passes
its own `Env` decides everything. Start at `Env`; `SystemEnv` is what runs in production.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, tzinfo
from typing import Protocol

__all__ = ["Env", "FixedEnv", "SystemEnv"]


class Env(Protocol):
    """What the outside world decides."""

    def now_ms(self) -> int:
        """Return the wall clock. Units: ms since 1970 UTC."""
        ...

    def monotonic_s(self) -> float:
        """Return a clock that never goes back. Units: s since an arbitrary start."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def every(self, seconds: float, function: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `function` on a beat while the context is open."""
        ...

    def uuid(self) -> uuid.UUID:
        """Return a new random id."""
        ...

    def random_bytes(self, size_bytes: int) -> bytes:
        """Return bytes nobody else will draw: nonces and sync markers."""
        ...

    def zone(self) -> tzinfo:
        """Return this process's local time zone, for timelines that are kept in local time."""
        ...


class SystemEnv:
    """The real world."""

    def now_ms(self) -> int:
        """Read the system clock."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Read the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)

    @contextmanager
    def every(self, seconds: float, function: Callable[[], None]) -> Iterator[None]:
        """Call `function` from a daemon thread until the context is left."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(seconds):
                function()

        thread = threading.Thread(target=beat, name="pyhudi-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def uuid(self) -> uuid.UUID:
        """Return a version-4 UUID."""
        return uuid.uuid4()

    def random_bytes(self, size_bytes: int) -> bytes:
        """Return random bytes of the operating system."""
        return random.SystemRandom().randbytes(size_bytes)

    def zone(self) -> tzinfo:
        """Return the time of the operating system."""
        return datetime.now(UTC).astimezone().tzinfo or UTC


class FixedEnv:
    """A world that only moves when it is told to: tests and simulations.

    Each reading of the wall clock is one `tick_ms` later than the one before; `sleep` moves both clocks and returns at
    once; ids come from `seed`. Beats run only when `sleep` passes them.
    """

    def __init__(self, start_ms: int = 1_767_225_600_000, *, tick_ms: int = 1, seed: int = 0) -> None:
        """Start at `start_ms` (2026-01-01 UTC)."""
        self._now_ms = start_ms
        self._tick_ms = tick_ms
        self._random = random.Random(seed)  # noqa: S311 - a simulation must repeat itself

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

    def random_bytes(self, size_bytes: int) -> bytes:
        """Return the next bytes of the seed."""
        return self._random.randbytes(size_bytes)

    def zone(self) -> tzinfo:
        """Be in UTC."""
        return UTC
