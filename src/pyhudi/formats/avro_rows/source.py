"""The bytes of many Avro records, and what is read at many places of them at once.

A place is an offset into the bytes; one array of places, ascending, is moved through all records together. Zeros stand
behind the bytes, so that a place at the very end can be read as far as the widest number goes; a place beyond them is
an IndexError of numpy, which `decode_rows` turns into CorruptData. Start at `Source`, then `read_longs`.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData

__all__ = ["Ints", "Source", "read_lengths", "read_longs", "require_room", "skip_lengths", "skip_longs"]

Ints: TypeAlias = npt.NDArray[np.int64]

_PADDING = 16
_LOOSE_PADDING = 1 << 16
_WORD_BYTES = 8
_ZIGZAG = (np.arange(128, dtype=np.int64) >> 1) ^ -(np.arange(128, dtype=np.int64) & 1)
_ONE = np.uint64(1)
_STOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_FOLDS = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(shift))
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)


class Source:
    """Bytes of records, padded with zeros, and the same bytes seen as numbers from each offset on."""

    __slots__ = ("buffer", "data", "is_loose", "loosened", "size")

    def __init__(self, raw: npt.NDArray[np.uint8], padding: int = _PADDING) -> None:
        self.size, self.is_loose = len(raw), padding > _PADDING
        self.loosened: Source | None = None
        self.data = np.empty(self.size + padding, np.uint8)
        self.data[: self.size] = raw
        self.data[self.size :] = 0
        self.buffer = pa.py_buffer(self.data)

    def loose(self) -> "Source":
        """Return the same bytes for walks that may be wrong.

        What is no value ends such a walk: it goes on among the zeros behind the bytes, and raises nothing.
        """
        if self.loosened is None:
            self.loosened = Source(self.data[: self.size], _LOOSE_PADDING)
        return self.loosened

    def settle(self, after: Ints, wrong: npt.NDArray[np.bool_]) -> Ints:
        """Send wrong walks, and those that went beyond the bytes, behind the bytes."""
        return np.where(wrong | (after > self.size), self.size + 1, after)

    def gather(self, at: Ints, kind: str) -> npt.NDArray[Any]:
        """Return the little-endian values that begin at those places."""
        width = np.dtype(kind).itemsize
        shape = (max(len(self.data) - width + 1, 0),)
        seen: npt.NDArray[Any] = np.ndarray(shape, kind, self.data, strides=(1,))
        return seen[at]


def read_longs(source: Source, at: Ints) -> tuple[Ints, Ints]:
    """Read the zigzag number at each place: (values, places behind them).

    Raises: CorruptData for a number of more than 64 bits.
    Cost:   where all numbers have one byte, a look-up in a table; else eight bytes of each lane at a time.
    """
    head = source.data[at]
    if not len(head) or head.max() < 0x80:
        return _ZIGZAG[head], at + 1
    wide = np.flatnonzero(head >= 0x80)
    if 2 * len(wide) > len(head):
        raw, sizes = _read_wide(source, at)
    else:
        raw, sizes = head.astype(np.uint64), np.ones(len(at), np.int64)
        raw[wide], sizes[wide] = _read_wide(source, at[wide])
    values: Ints = ((raw >> _ONE) ^ (np.uint64(0) - (raw & _ONE))).view(np.int64)
    return values, at + sizes


def skip_longs(source: Source, at: Ints) -> Ints:
    """Return the places behind the numbers at these places.

    Raises: CorruptData for a number of more than 64 bits.
    """
    head = source.data[at]
    if not len(head) or head.max() < 0x80:
        return at + 1
    word = source.gather(at, "<u8")
    sizes = _stop(word)[1]
    beyond = sizes > _WORD_BYTES
    if source.is_loose:
        return source.settle(at + sizes, beyond)
    if beyond.any():
        sizes[beyond] = _read_longest(source, at[beyond], word[beyond])[1]
    places: Ints = at + sizes
    return places


def read_lengths(source: Source, at: Ints) -> tuple[Ints, Ints]:
    """Read the length before strings or bytes: (lengths, places of their first bytes).

    Raises: CorruptData for a length below zero or beyond all bytes there are.
    """
    lengths, after = read_longs(source, at)
    if len(lengths) and lengths.view(np.uint64).max() > source.size:
        raise CorruptData("Avro value has an impossible length", length=int(lengths[_worst(lengths)]))
    return lengths, after


def skip_lengths(source: Source, at: Ints) -> Ints:
    """Return the places behind the strings or bytes at these places.

    Raises: CorruptData as `read_lengths` does.
    """
    if source.is_loose:
        head = source.gather(at, "<u4")
        short, two = (head & 0x80) == 0, (head & 0x8000) == 0
        raw = np.where(short, head & 0x7F, (head & 0x7F) | (head >> 1 & 0x3F80)).astype(np.int64)
        return source.settle(at + np.where(short, 1, 2) + (raw >> 1), (raw & 1 > 0) | ~(short | two))
    lengths, after = read_lengths(source, at)
    return after + lengths


def require_room(source: Source, starts: Ints, ends: Ints) -> None:
    """Raise unless ranges at ascending places end before the next begins: they cannot sum up to more than is there.

    Raises: CorruptData.
    """
    if len(ends) and (ends[-1] > source.size or (starts[1:] < ends[:-1]).any()):
        raise CorruptData("Avro value reaches beyond its record; the bytes are cut off or damaged")


def _worst(lengths: Ints) -> np.intp:
    return lengths.view(np.uint64).argmax()


def _stop(word: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Find the first byte of each word that ends a number: (its top bit, bytes up to it; 9 where there is none)."""
    stops = ~word & _STOPS
    low = stops & (np.uint64(0) - stops)
    exponent = low.astype(np.float64).view(np.int64) >> 52  # 1023 + the number of the bit; 0 for none
    return low, np.where(low, (exponent - 1022) >> 3, _WORD_BYTES + 1)


def _read_wide(source: Source, at: Ints) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Read numbers of any size: (value before zigzag, bytes)."""
    word = source.gather(at, "<u8")
    low, sizes = _stop(word)
    raw = _fold(word & ((low << _ONE) - _ONE))
    if (beyond := sizes > _WORD_BYTES).any():
        raw[beyond], sizes[beyond] = _read_longest(source, at[beyond], word[beyond])
    return raw, sizes


def _fold(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Close the gaps that the top bits of eight bytes leave."""
    word = word & _SEVENS
    for low, high, shift in _FOLDS:
        word = (word & low) | ((word & high) >> shift)
    return word


def _read_longest(source: Source, at: Ints, word: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Read numbers of nine and ten bytes."""
    ninth, tenth = source.data[at + 8], source.data[at + 9]
    is_ten = ninth >= 0x80
    if (is_ten & (tenth > 1)).any():
        raise CorruptData("Avro number has more than 64 bits")
    raw = _fold(word) | (ninth.astype(np.uint64) & np.uint64(0x7F)) << np.uint64(56)
    raw |= np.where(is_ten, tenth, 0).astype(np.uint64) << np.uint64(63)
    return raw, np.where(is_ten, 10, 9).astype(np.int64)
