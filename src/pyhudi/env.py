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
from typing import Final, Protocol, TypeVar

__all__ = ["Env", "SystemEnv", "timed"]

Result = TypeVar("Result")

_NONCE_BYTES: Final = 16


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

    def nonce(self) -> bytes:
        """Return 16 bytes that no other process draws: the sync marker of an Avro file, by which its writer is told."""
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

    def nonce(self) -> bytes:
        """Return random bytes of the operating system."""
        return random.SystemRandom().randbytes(_NONCE_BYTES)

    def zone(self) -> tzinfo:
        """Return the time of the operating system."""
        return datetime.now(UTC).astimezone().tzinfo or UTC


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what some work gives, and how many times the processor time of this thread it took: about 1 if no wait."""
    began_s, began_cpu_s = time.perf_counter(), time.thread_time()
    result = work()
    cpu_s = time.thread_time() - began_cpu_s
    return result, (time.perf_counter() - began_s) / max(cpu_s, 1e-9)
