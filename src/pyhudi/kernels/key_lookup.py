"""Find keys among those of a file group's updates, batch after batch of the base file.

Arrow hashes the set anew for each look-up; here it is prepared once. Pure kernel. Start at `KeyLookup.of`.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.kernels.rules import Bools, Indices, to_bools

__all__ = ["KeyLookup"]

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

_WORD_BYTES: Final = 8
_MASKS: Final = np.array([(1 << (8 * length)) - 1 for length in range(_WORD_BYTES + 1)], dtype=np.uint64)
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
_PLACES_PER_KEY_BITS: Final = 4
"""The first look is into a table of about 16 flags a key."""


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Distinct keys, by a number made of each one's length and a few of its bytes."""

    keys: pa.Array
    _numbers: Words
    """Ascending, all different."""
    _order: Indices
    """Which key each number is of."""
    _flags: Bools
    """Whether there is a number with these uppermost bits."""

    @staticmethod
    def of(keys: pa.Array) -> "KeyLookup | None":
        """Prepare n distinct keys; None where their numbers do not tell them apart, or they are no plain texts.

        Cost: sorts n numbers.
        """
        numbers = _numbers_of(keys)
        if numbers is None or not len(numbers):
            return None
        order = np.argsort(numbers)
        ascending = numbers[order]
        if (ascending[1:] == ascending[:-1]).any():
            return None
        flags = np.zeros(1 << (len(numbers).bit_length() + _PLACES_PER_KEY_BITS), dtype=np.bool_)
        flags[_places(numbers, flags)] = True
        return KeyLookup(keys, ascending, order, flags)

    def find(self, keys: pa.Array) -> tuple[Indices, Indices] | None:
        """Return which of m keys are there, ascending, and which one each of them is; None if they are no plain texts.

        Cost: a few passes over m numbers; texts are compared only where they are equal.
        """
        numbers = _numbers_of(keys)
        if numbers is None:
            return None
        rows = np.flatnonzero(self._flags[_places(numbers, self._flags)])
        wanted = numbers[rows]
        found = np.searchsorted(self._numbers, wanted)
        found[found == len(self._numbers)] = 0
        is_found = self._numbers[found] == wanted
        rows, hits = rows[is_found], self._order[found[is_found]]
        is_same = to_bools(pc.equal(keys.take(pa.array(rows)), self.keys.take(pa.array(hits))))
        return (rows, hits) if is_same.all() else (rows[is_same], hits[is_same])


def _places(numbers: Words, flags: Bools) -> Words:
    return numbers >> np.uint64(65 - len(flags).bit_length())


def _numbers_of(keys: pa.Array) -> Words | None:
    """Make a number of a text's length and of its first, middle and last eight bytes."""
    if not pa.types.is_string(keys.type) or keys.null_count:
        return None
    _, offsets, data = keys.buffers()
    if data is None or data.size < _WORD_BYTES:
        return None
    ends = np.frombuffer(offsets, dtype=np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    starts, lengths = ends[:-1], np.diff(ends)
    words = np.ndarray((data.size - _WORD_BYTES + 1,), dtype="<u8", buffer=data, strides=(1,))
    masks = _MASKS[np.minimum(lengths, _WORD_BYTES)]
    spare = np.maximum(lengths - _WORD_BYTES, 0)
    numbers: Words = lengths.astype(np.uint64)
    for place, factor in zip((0 * spare, spare // 2, spare), _FACTORS, strict=True):
        numbers = (numbers ^ (_words_at(words, starts + place) & masks)) * factor
        numbers ^= numbers >> np.uint64(32)
    numbers *= _FACTORS[0]
    return numbers


def _words_at(words: Words, places: Indices) -> Words:
    """Read eight bytes at each place; behind the end of the texts there are zeros."""
    last = len(words) - 1
    if len(places) and places.max() <= last:
        return words[places]
    behind = np.maximum(places - last, 0)
    shifts = (8 * np.minimum(behind, _WORD_BYTES - 1)).astype(np.uint64)
    return np.where(behind < _WORD_BYTES, words[np.minimum(places, last)] >> shifts, np.uint64(0))
