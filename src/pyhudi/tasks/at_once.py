"""Do several small pieces of work at once: they wait for storage, and not for a processor. Start at `done_at_once`.

A small file costs a few syncs or requests, each of them a wait that is longer than what encoding it takes.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

__all__ = ["MOST_BYTES", "Portion", "done_at_once"]

Result = TypeVar("Result")

MOST_BYTES: Final = 32 << 20
"""What the pieces that are done at once take in memory, together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion(Generic[Result]):
    """Something to do that needs nothing of the others. Units: bytes."""

    size_bytes: int
    """What it takes in memory, roughly."""
    work: Callable[[], Result]


def done_at_once(pieces: Iterable[Portion[Result]], most: int, most_bytes: int = MOST_BYTES) -> Iterator[Result]:
    """Do pieces of work, up to `most` at once while they are small, and yield what they give in their order.

    A large piece is done alone, in this thread, before the next one is asked for; so is a small one that comes alone.
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
            else:
                running.add(piece)
        while running.count:
            yield running.take()
    finally:
        running.stop()


class _Running(Generic[Result]):
    """Pieces that have begun, in their order; the first one begins when there is another."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: ThreadPoolExecutor | None = None
        self._first: Portion[Result] | None = None
        self._begun: deque[tuple[int, Future[Result]]] = deque()
        self._held_bytes = 0

    @property
    def count(self) -> int:
        return len(self._begun) + (self._first is not None)

    def is_full(self, size_bytes: int, most_bytes: int) -> bool:
        return self.count > self._most or self._held_bytes + size_bytes > most_bytes

    def add(self, piece: Portion[Result]) -> None:
        self._held_bytes += piece.size_bytes
        if self._pool is None and self._first is None:
            self._first = piece
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="pyhudi-file")
        together = [piece] if self._first is None else [self._first, piece]
        self._begun.extend((one.size_bytes, self._pool.submit(one.work)) for one in together)
        self._first = None

    def take(self) -> Result:
        if self._first is not None:
            piece, self._first = self._first, None
            self._held_bytes -= piece.size_bytes
            return piece.work()
        size_bytes, future = self._begun.popleft()
        self._held_bytes -= size_bytes
        return future.result()

    def stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
