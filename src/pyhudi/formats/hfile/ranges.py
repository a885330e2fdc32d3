"""Ranges of keys: what a look-up asks for, and which of some sorted keys it finds.

A key is the range from it to its successor, a prefix the range of all keys that begin with it. Order is that of
unsigned bytes. Start at `key_ranges` and `prefix_ranges`.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.formats.hfile.entries import offsets_and_bytes

__all__ = ["KeyRanges", "covered_blocks", "covered_keys", "every_key", "key_ranges", "prefix_ranges"]

_Mask: TypeAlias = npt.NDArray[np.bool_]
_Index: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyRanges:
    """Half-open ranges, in any order; they may overlap."""

    lows: pa.Array
    highs: pa.Array
    """The first key behind each range; null: there is none."""
    are_points: bool = False
    """Each has one key, the low one."""


@cache
def every_key() -> KeyRanges:
    """Return the range of all keys.

    Cost: made when it is first asked for, because to make an array loads pandas.
    """
    return KeyRanges(lows=pa.array([b""], pa.binary()), highs=pa.array([None], pa.binary()))


def key_ranges(keys: pa.Array) -> KeyRanges:
    """Return the ranges that hold one key each.

    Shape: n keys -> n ranges.
    Nulls: none.
    """
    highs = pc.binary_join_element_wise(keys, pa.scalar(b"\0"), pa.scalar(b""))
    return KeyRanges(lows=keys, highs=highs, are_points=True)


def prefix_ranges(prefixes: pa.Array) -> KeyRanges:
    """Return the ranges of the keys that begin with each prefix; an empty one is that of all keys.

    Shape: n prefixes -> n ranges.
    Nulls: none.
    """
    offsets, content = offsets_and_bytes(prefixes)
    content = content if len(content) else np.zeros(1, np.uint8)
    begins, ends = offsets[:-1], offsets[1:].copy()
    # behind a prefix comes the one whose last byte is one higher, where that byte is not yet the highest
    while (full := (ends > begins) & (content[np.maximum(ends, 1) - 1] == 0xFF)).any():
        ends -= full
    lengths = ends - begins
    successors = content.copy()
    successors[ends[lengths > 0] - 1] += 1
    pieces = np.stack([begins, ends], 1).reshape(-1).astype(np.int32)
    every_second = pa.array(np.arange(0, 2 * len(prefixes), 2))
    behind = pa.Array.from_buffers(
        pa.binary(),
        2 * len(prefixes),
        [None, pa.py_buffer(np.append(pieces, offsets[-1:].astype(np.int32))), pa.py_buffer(successors)],
    ).take(every_second)
    return KeyRanges(lows=prefixes, highs=pc.if_else(pa.array(lengths > 0), behind, pa.scalar(None, pa.binary())))


def covered_keys(keys: pa.Array, ranges: KeyRanges) -> _Mask:
    """Return which of some sorted keys are in a range.

    Shape: n keys -> n booleans.
    Cost:  a look at each key for points, log2(n) steps over the ranges else.
    """
    if not len(keys):
        return np.zeros(0, np.bool_)
    ranges = _near(keys, ranges)
    if ranges.are_points:
        found: _Mask = pc.is_in(keys, value_set=ranges.lows).to_numpy(zero_copy_only=False)
        return found
    return _covered(_count_below(keys, ranges.lows), _count_below(keys, ranges.highs), len(keys))


def covered_blocks(firsts: pa.Array, ranges: KeyRanges) -> _Mask:
    """Return which blocks, in the order of their keys, may have keys in a range.

    A block has keys from its first on, which need not be there, up to that of the next block.

    Shape: n first keys -> n booleans.
    """
    behind = _count_below(firsts, ranges.lows, inclusive=True)
    begins = np.maximum(behind - 1, 0)
    return _covered(begins, behind if ranges.are_points else _count_below(firsts, ranges.highs), len(firsts))


def _near(keys: pa.Array, ranges: KeyRanges) -> KeyRanges:
    """Leave out ranges that end before the first key or begin behind the last."""
    reaches = pc.and_(
        pc.less_equal(ranges.lows, keys[-1]), pc.fill_null(pc.greater(ranges.highs, keys[0]), pa.scalar(True))
    )
    return replace(ranges, lows=ranges.lows.filter(reaches), highs=ranges.highs.filter(reaches))


def _covered(begins: _Index, ends: _Index, count: int) -> _Mask:
    depth = np.zeros(count + 1, np.int64)
    np.add.at(depth, begins, 1)
    np.add.at(depth, np.maximum(ends, begins), -1)
    return np.cumsum(depth)[:count] > 0


def _count_below(keys: pa.Array, probes: pa.Array, *, inclusive: bool = False) -> _Index:
    """Count, for each probe, the sorted keys that are lower, or equal to it; a null is above all."""
    low, high = np.zeros(len(probes), np.int64), np.full(len(probes), len(keys), np.int64)
    is_below = pc.less_equal if inclusive else pc.less
    while (open_ := low < high).any():
        middle = (low + high) // 2
        candidates = keys.take(pa.array(np.minimum(middle, len(keys) - 1)))
        below = pc.fill_null(is_below(candidates, probes), pa.scalar(True)).to_numpy(zero_copy_only=False)
        low = np.where(open_ & below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return low
