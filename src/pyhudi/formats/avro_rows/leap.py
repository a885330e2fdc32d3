"""The items of few long arrays or maps: their bytes are cut into stretches, and all stretches are walked at once.

Where a stretch's first item begins is not known, but a walk from a wrong place soon meets bytes that are no item, while
the walk from a right one goes on. What was found this way counts only as far as each stretch's walk arrives exactly
where the next one began. Start at `find_far_items`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyhudi.formats.avro_rows.source import Ints, Source

__all__ = ["Skipper", "find_far_items"]

_SAMPLE_ITEMS = 16
_STRETCH_ITEMS = 48
_TRIALS = 8
"""Items that a wrong walk must pass to be taken for right: few pass one."""
_MOST_LANES = 1 << 19
_MOST_FAILURES = 2
"""Leaps that find less than half of the items; then bytes are such that walking is sooner."""


class Skipper(Protocol):
    """Moves over the values of one type."""

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places."""
        ...


@dataclass(slots=True)
class _Blocks:
    """Blocks of items under way: the place of each one's next item, how many are left, and the sizes of the last."""

    at: Ints
    left: Ints
    mean: npt.NDArray[np.float64]
    widest: int


def find_far_items(source: Source, item: Skipper, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Find the items of blocks: (places of all items, block by block, places behind the blocks).

    Raises: CorruptData, IndexError as walking from item to item does.
    Cost:   some two steps an item of a stretch, and a try at each byte of an item's length in each stretch.
    """
    blocks = _Blocks(at.copy(), counts.copy(), np.ones(len(at)), 1)
    found: list[Ints] = []
    leaps_left = _MOST_FAILURES
    while len(live := np.flatnonzero(blocks.left)):
        found += _walk(source, item, blocks, live)
        far = np.flatnonzero(blocks.left > 4 * _STRETCH_ITEMS)
        if leaps_left and len(far):
            wanted = int(blocks.left[far].sum())
            found.append(_leap(source.loose(), item, blocks, far))
            leaps_left -= 2 * len(found[-1]) < wanted
    return np.sort(np.concatenate(found)), blocks.at


def _walk(source: Source, item: Skipper, blocks: _Blocks, live: Ints) -> list[Ints]:
    """Walk over the next items of all blocks, and remember their sizes."""
    begun, found = blocks.at[live], []
    blocks.widest = 1
    for _ in range(min(_SAMPLE_ITEMS, int(blocks.left[live].min()))):
        now = blocks.at[live]
        blocks.at[live] = item.skip(source, now)
        blocks.widest = max(blocks.widest, int((blocks.at[live] - now).max()))
        found.append(now)
    blocks.left[live] -= len(found)
    blocks.mean[live] = (blocks.at[live] - begun) / len(found)
    return found


def _leap(loose: Source, item: Skipper, blocks: _Blocks, far: Ints) -> Ints:
    """Find as many items of those blocks as the walks of stretches prove, and move the blocks behind them."""
    try:
        owners, seams = _seams(loose, item, blocks, far)
        lanes, places = _join(loose, item, owners, seams)
    except IndexError:  # a value too wide for the zeros behind the bytes
        return np.empty(0, np.int64)
    order = np.lexsort((places, owners[lanes]))
    owners, places = owners[lanes[order]], places[order]
    first = np.searchsorted(owners, far)
    rank = np.arange(len(owners)) - first[np.searchsorted(far, owners)]
    sums = np.diff(np.append(first, len(owners)))
    taken = np.minimum(sums - 1, blocks.left[far])  # the one behind them is where the block goes on
    blocks.at[far] = places[first + taken]
    blocks.left[far] -= taken
    kept: Ints = places[rank < taken[np.searchsorted(far, owners)]]
    return kept


def _seams(loose: Source, item: Skipper, blocks: _Blocks, far: Ints) -> tuple[Ints, Ints]:
    """Guess an item of each stretch: (blocks, places), beginning with the place that each block is at."""
    sizes, window = blocks.left[far] * blocks.mean[far], blocks.widest + blocks.widest // 4 + 8
    stretch = np.maximum(blocks.mean[far] * _STRETCH_ITEMS, sizes.sum() * window / _MOST_LANES) + 1
    counts = np.maximum(sizes // stretch, 0).astype(np.int64)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    edges = np.repeat(blocks.at[far], counts) + (number * np.repeat(stretch, counts)).astype(np.int64)
    inside = edges < loose.size - window
    edges, owners = edges[inside], np.repeat(far, counts)[inside]
    places, edge = (edges[:, None] + np.arange(window)).ravel(), np.repeat(np.arange(len(edges)), window)
    for _ in range(_TRIALS):
        places = item.skip(loose, places)
        alive = places <= loose.size
        places, edge = places[alive], edge[alive]
    keys, votes = np.unique(edge * (loose.size + 1) + places, return_counts=True)
    best = keys[np.lexsort((votes, keys // (loose.size + 1)))]
    edge, places = best // (loose.size + 1), best % (loose.size + 1)
    chosen = np.append(edge[1:] != edge[:-1], True)[: len(edge)]
    owners, places = np.append(far, owners[edge[chosen]]), np.append(blocks.at[far], places[chosen])
    order = np.lexsort((places, owners))
    owners, places = owners[order], places[order]
    fresh = np.append(True, (owners[1:] != owners[:-1]) | (places[1:] != places[:-1]))
    return owners[fresh], places[fresh]


def _join(loose: Source, item: Skipper, owners: Ints, seams: Ints) -> tuple[Ints, Ints]:
    """Walk each stretch to the next seam of its block: (seams, places of items) as far as seams were met in turn."""
    is_last = np.append(owners[1:] != owners[:-1], True)
    targets = np.where(is_last, loose.size + 1, np.append(seams[1:], 0))
    places, lanes = seams.copy(), np.arange(len(seams))
    steps: list[tuple[Ints, Ints]] = []
    while len(lanes) and len(steps) < 2 * _STRETCH_ITEMS:
        steps.append((lanes, places[lanes]))
        places[lanes] = item.skip(loose, places[lanes])
        lanes = lanes[places[lanes] < targets[lanes]]
    missed = np.cumsum(np.append(0, (places != targets)[:-1]))  # by the lanes before
    begins = np.searchsorted(owners, owners)
    is_proven = missed == missed[begins]
    every, found = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    kept = is_proven[every] & (found <= loose.size)
    return every[kept], found[kept]
