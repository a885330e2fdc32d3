"""Random reads over ranged requests, for Arrow: few requests for many small reads.

Holds one block ahead and the file's tail, where Parquet keeps its footer. Start at `RangedInput`.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass

from pyhudi.errors import CorruptData

__all__ = ["BLOCK_BYTES", "RangedInput"]

BLOCK_BYTES = 1 << 20
"""What a small read fetches ahead, and what is read from the end of a file when it is opened."""

RangeReader = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    data: bytes

    def cut(self, start: int, length: int) -> bytes | None:
        """Return the range if it lies inside."""
        inside = self.start <= start and start + length <= self.start + len(self.data)
        return self.data[start - self.start : start - self.start + length] if inside else None


class RangedInput(io.RawIOBase):
    """A read-only file of known size; one reader at a time (Arrow takes turns)."""

    def __init__(self, path: str, fetch: RangeReader, size_bytes: int, tail: bytes) -> None:
        """Take how to read a range, and the last bytes if they are known."""
        super().__init__()
        self._path = path
        self._fetch = fetch
        self._size_bytes = size_bytes
        self._tail = _Block(size_bytes - len(tail), tail)
        self._ahead = _Block(0, b"")
        self._position = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def size(self) -> int:
        """Return the size. Units: bytes."""
        return self._size_bytes

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is read."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Read at the position.

        Raises: CorruptData for a short answer; what the store raises.
        """
        rest = max(0, self._size_bytes - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._range(self._position, length)
        self._position += length
        return data

    def readall(self) -> bytes:
        """Read to the end."""
        return self.read()

    def readinto(self, buffer: object) -> int:
        """Read into a buffer."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # any buffer
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _range(self, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        for block in (self._tail, self._ahead):
            if (held := block.cut(start, length)) is not None:
                return held
        wanted = min(max(length, BLOCK_BYTES), self._size_bytes - start)
        data = self._fetch(start, wanted)
        if len(data) != wanted:
            raise CorruptData("the file is shorter than it should be", path=self._path, offset=start, length=wanted)
        if length < BLOCK_BYTES:
            self._ahead = _Block(start, data)
            return data[:length]
        return data
