"""Ranged reads of one file, of which the two newest stretches are kept.

A log file is read from place to place: the head of a block, its end with the head of the next. Start at `FileRanges`.
"""

from pyhudi.errors import CorruptData
from pyhudi.formats.read_at import ReadAt

__all__ = ["FileRanges", "small_file_at_once"]

_SMALL_BYTES = 1 << 20
_AHEAD_BYTES = 64 << 10
_SEARCH_BYTES = 1 << 20
_KEPT = 2


def small_file_at_once(read_at: ReadAt, size: int) -> ReadAt:
    """Read a small file in one request; a larger one is read as it is asked for.

    Units:  bytes.   Cost: files up to 1 MiB are kept in memory for as long as what reads them.
    Raises: CorruptData for a file that is shorter than `size`, on every read.
    """

    def checked(offset: int, length: int) -> bytes:
        data = read_at(offset, length)
        if len(data) != length:
            raise CorruptData("log file is shorter than its listing says", offset=offset, missing=length - len(data))
        return data

    if size > _SMALL_BYTES:
        return checked
    whole = checked(0, size) if size else b""
    return lambda offset, length: whole[offset : offset + length]


class FileRanges:
    """Reads a file in stretches, and keeps the two that were read last."""

    def __init__(self, read_at: ReadAt, size: int) -> None:
        """Read nothing yet."""
        self._read_at = read_at
        self._size = size
        self._stretches: list[tuple[int, bytes]] = []

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes that are inside the file, and a few behind them if they are not at hand."""
        start, data = self._stretch(offset, length, _AHEAD_BYTES)
        return data[offset - start : offset - start + length]

    def find(self, pattern: bytes, offset: int) -> int:
        """Return where a pattern comes next, or the end of the file.

        Cost: what lies between is read once, but for the overlap of two stretches.
        """
        while self._size - offset >= len(pattern):
            start, data = self._stretch(offset, len(pattern), _SEARCH_BYTES)
            found = data.find(pattern, offset - start)
            if found >= 0:
                return start + found
            offset = start + len(data) - len(pattern) + 1
        return self._size

    def _stretch(self, offset: int, length: int, ahead: int) -> tuple[int, bytes]:
        for start, data in self._stretches:
            if start <= offset and offset + length <= start + len(data):
                return start, data
        data = self._read_at(offset, min(max(length, ahead), self._size - offset))
        self._stretches = [*self._stretches[1 - _KEPT :], (offset, data)]
        return offset, data
