"""Where the items of arrays and maps begin: each item's place depends on the one before it.

Items of one size, and items of whole numbers only, are found without walking. Start at `find_items`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows.source import Ints, Source, require_room

__all__ = ["Stride", "find_items"]


@dataclass(frozen=True, slots=True)
class Stride:
    """What is known of a type's bytes: their number, or how many numbers they are; None where values differ."""

    size: int | None
    numbers: int | None


class _Skipper(Protocol):
    """Moves over the values of one type."""

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places."""
        ...


def find_items(source: Source, item: _Skipper, stride: Stride, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Find the items of blocks: (places of all items, block by block, places behind the blocks).

    Raises: CorruptData if a block cannot have so many: an item has at least one byte, so what is allocated here is
            never more than the bytes account for.
    """
    require_room(source, at, at + counts * (stride.size or 1))
    first = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(first, counts)
    if stride.size is not None:
        return np.repeat(at, counts) + within * stride.size, at + counts * stride.size
    if stride.numbers is not None:
        return _find_numbers(source, stride.numbers, at, counts)
    return _walk(source, item, at, counts)


def _find_numbers(source: Source, numbers: int, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Find items of so many numbers each by the bytes that end a number."""
    ends = np.flatnonzero(source.data[at[0] : source.size] < 0x80) + at[0]
    first = np.searchsorted(ends, at)
    last = first + counts * numbers
    if last.max() > len(ends):
        raise CorruptData("Avro array reaches beyond its record; the bytes are cut off or damaged")
    before = np.concatenate([[-1], ends])  # the end of the number before: an item begins behind it
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = before[np.repeat(first, counts) + within * numbers] + 1
    starts[np.cumsum(counts) - counts] = at
    return starts, ends[last - 1] + 1


def _walk(source: Source, item: _Skipper, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Walk through all blocks in step, an item of each at a time; longer blocks go on as shorter ones end."""
    starts, after = np.empty(int(counts.sum()), np.int64), np.empty_like(at)
    live, places, done = np.arange(len(at)), at, 0
    slots = np.cumsum(counts) - counts
    for count in np.unique(counts).tolist():
        for step in range(done, count):
            starts[slots + step] = places
            places = item.skip(source, places)
        after[live] = places
        going = counts[live] > count
        live, places, slots, done = live[going], places[going], slots[going], count
    return starts, after
