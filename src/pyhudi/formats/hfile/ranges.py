"""Ranges of keys: what a look-up asks for, and which of some sorted keys it finds.

A key is the range from it to its successor, a prefix the range of all keys that begin with it. Order is that of
unsigned bytes. numpy sorts and searches texts of one width several times as fast as Arrow does bytes of any, or hashes
them, so keys that are looked up are such texts where they can be. Start at `key_ranges` and `prefix_ranges`.
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
_Texts: TypeAlias = npt.NDArray[np.bytes_]

_MOST_WIDTH = 256
_MOST_FILLED = 4
"""How many times the bytes of keys texts of one width may take."""
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyRanges:
    """Half-open ranges, in any order; they may overlap."""

    lows: pa.Array
    highs: pa.Array
    """The first key behind each range; null: there is none."""
    are_points: bool = False
    """Each has one key, the low one."""
    texts: _Texts | None = None
    """Of points: the keys, sorted; None where they are not to be had so."""


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
    texts = _texts(keys)
    return KeyRanges(lows=keys, highs=highs, are_points=True, texts=None if texts is None else np.sort(texts))


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
    Cost:  log2(n) steps for each range.
    """
    if not len(keys):
        return np.zeros(0, np.bool_)
    if ranges.texts is not None and (texts := _texts(keys)) is not None:
        return _having(texts, ranges.texts)
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
    if ranges.texts is not None and (texts := _texts(firsts)) is not None:
        below = np.searchsorted(ranges.texts, texts)
        return np.diff(np.append(below, len(ranges.texts))) > 0
    behind = _count_below(firsts, ranges.lows, inclusive=True)
    begins = np.maximum(behind - 1, 0)
    return _covered(begins, behind if ranges.are_points else _count_below(firsts, ranges.highs), len(firsts))


def _texts(keys: pa.Array) -> _Texts | None:
    """Return keys as texts of one width; None where these are too wide, or could not tell one key from another.

    numpy takes null bytes at the end of a text for none.
    """
    offsets, content = offsets_and_bytes(keys)
    lengths = np.diff(offsets)
    width = int(lengths.max(initial=0))
    taken = width * len(lengths)
    if not 0 < width <= _MOST_WIDTH or taken > min(_MOST_BYTES, _MOST_FILLED * int(offsets[-1] - offsets[0])):
        return None
    if not content[np.maximum(offsets[1:], 1) - 1].all():  # of an empty key: what is before it
        return None
    if taken > offsets[-1] - offsets[0]:
        padded = pc.ascii_rpad(keys.view(pa.string()), width, "\0")
        offsets, content = offsets_and_bytes(padded)
    return content[offsets[0] : offsets[-1]].view(f"S{width}")


def _having(keys: _Texts, points: _Texts) -> _Mask:
    """Return which sorted keys are among sorted points."""
    first, last = np.searchsorted(points, keys[:1]), np.searchsorted(points, keys[-1:], side="right")
    near = points[int(first[0]) : int(last[0])]  # none of them is behind the last key
    places = np.searchsorted(keys, near)
    places = places[keys[places] == near]
    found = np.zeros(len(keys), np.bool_)
    while len(places):
        found[places] = True
        behind = places[places + 1 < len(keys)] + 1
        places = behind[keys[behind] == keys[behind - 1]]  # a key may come twice
    return found


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
