"""Do several small pieces of work at once: they wait for storage, and not for a processor. Start at `done_at_once`.

A small file costs a few syncs or requests. Where each of them is a wait that is longer than what encoding the file
takes, as with object stores and most disks, several are worth it; where syncs are quick, threads only get into each
other's way.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from pyhudi.env import timed

__all__ = ["MOST_BYTES", "Portion", "done_at_once"]

Result = TypeVar("Result")

MOST_BYTES: Final = 32 << 20
"""What the pieces that are done at once take in memory, together."""
_WAITING: Final = 3.0
"""A piece waits if it takes so many times its processor time: another thread of the engine may double that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion(Generic[Result]):
    """Something to do that needs nothing of the others. Units: bytes."""

    size_bytes: int
    """What it takes in memory, roughly."""
    work: Callable[[], Result]


def done_at_once(pieces: Iterable[Portion[Result]], most: int, most_bytes: int = MOST_BYTES) -> Iterator[Result]:
    """Do pieces of work, up to `most` at once while they are small, and yield what they give in their order.

    A piece is done alone, in this thread, before the next one is asked for, if it is large, and until one has waited.
    The first error is raised when those pieces that have begun are over; no other begins.

    Cost: `most_bytes` of memory beside what one piece alone takes.
    """
    running = _Running[Result](most)
    try:
        for piece in pieces:
            is_large = piece.size_bytes > most_bytes
            while running.count and (is_large or running.is_full(piece.size_bytes, most_bytes)):
                yield running.take()
            if is_large:
                yield piece.work()
            elif running.are_waiting:
                running.add(piece)
            else:
                yield running.do(piece)
        while running.count:
            yield running.take()
    finally:
        running.stop()


class _Running(Generic[Result]):
    """Pieces that have begun, in their order; the first ones are done alone, to see whether they wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None
        self._begun: deque[tuple[int, Future[Result]]] = deque()
        self._held_bytes = 0

    @property
    def count(self) -> int:
        return len(self._begun)

    @property
    def are_waiting(self) -> bool:
        return self._pool is not None

    def is_full(self, size_bytes: int, most_bytes: int) -> bool:
        return self.count > self._most or self._held_bytes + size_bytes > most_bytes

    def do(self, piece: Portion[Result]) -> Result:
        result, times = timed(piece.work)
        if times > _WAITING:
            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="pyhudi-file")
        return result

    def add(self, piece: Portion[Result]) -> None:
        assert self._pool is not None, "pieces that do not wait are done alone"
        self._held_bytes += piece.size_bytes
        self._begun.append((piece.size_bytes, self._pool.submit(piece.work)))

    def take(self) -> Result:
        size_bytes, future = self._begun.popleft()
        self._held_bytes -= size_bytes
        return future.result()

    def stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
