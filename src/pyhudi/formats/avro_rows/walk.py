"""Where the items of arrays and maps begin: each item's place depends on the one before it.

Items of one size, and items of whole numbers only, are found without walking. Start at `find_items`.
"""

from dataclasses import dataclass

import numpy as np

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows.leap import Skipper, find_far_items
from pyhudi.formats.avro_rows.source import Ints, Source, require_room

__all__ = ["Stride", "find_items"]

_FEW_BLOCKS = 32
_MANY_ITEMS = 512


@dataclass(frozen=True, slots=True)
class Stride:
    """What is known of a type's bytes: their number, or how many numbers they are; None where values differ."""

    size: int | None
    numbers: int | None
    is_flat: bool = True
    """No arrays and maps are in it."""


def find_items(source: Source, item: Skipper, stride: Stride, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Find the items of blocks: (places of all items, block by block, places behind the blocks).

    Raises: CorruptData if a block cannot have so many: an item has at least one byte, so what is allocated here is
            never more than the bytes account for.
    """
    require_room(source, at, at + counts * (stride.size or 1))
    if stride.size is not None:
        return np.repeat(at, counts) + _within(counts) * stride.size, at + counts * stride.size
    if stride.numbers is not None:
        return _find_numbers(source, stride.numbers, at, counts)
    return _walk(source, item, at, counts, is_flat=stride.is_flat)


def _find_numbers(source: Source, numbers: int, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Find items of so many numbers each by the bytes that end a number."""
    ends = np.flatnonzero(source.data[at[0] : source.size] < 0x80) + at[0]
    first = np.searchsorted(ends, at)
    last = first + counts * numbers
    if last.max() > len(ends):
        raise CorruptData("Avro array reaches beyond its record; the bytes are cut off or damaged")
    before = np.concatenate([[-1], ends])  # the end of the number before: an item begins behind it
    starts = before[np.repeat(first, counts) + _within(counts) * numbers] + 1
    starts[np.cumsum(counts) - counts] = at
    return starts, ends[last - 1] + 1


def _walk(source: Source, item: Skipper, at: Ints, counts: Ints, *, is_flat: bool) -> tuple[Ints, Ints]:
    """Walk through all blocks in step, an item of each at a time; longer blocks go on as shorter ones end."""
    starts, after = np.empty(int(counts.sum()), np.int64), np.empty_like(at)
    live, places, done = np.arange(len(at)), at, 0
    slots = np.cumsum(counts) - counts
    for count in np.unique(counts).tolist():
        if is_flat and not source.is_loose and len(live) <= _FEW_BLOCKS and count - done > _MANY_ITEMS:
            break
        for step in range(done, count):
            starts[slots + step] = places
            places = item.skip(source, places)
        after[live] = places
        going = counts[live] > count
        live, places, slots, done = live[going], places[going], slots[going], count
    if len(live):
        left = counts[live] - done
        far, after[live] = find_far_items(source, item, places, left)
        starts[np.repeat(slots + done, left) + _within(left)] = far
    return starts, after


def _within(counts: Ints) -> Ints:
    """Number the items of each block from 0."""
    numbers: Ints = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return numbers
