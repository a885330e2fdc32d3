"""The changes of a slice's logs, all at once or, where memory does not hold them, some keys at a time.

A pass has every change of its keys, so that it is merged as if there were no other. Start at `passes`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.filegroup.log_records import Chooser, ReadSpec, estimated_bytes, read_chosen, read_parts
from pyhudi.formats.log import LogBlock
from pyhudi.hashing import java_hash
from pyhudi.kernels.changes import RowChanges
from pyhudi.options import between, option

__all__ = ["MERGE_MEMORY", "Pass", "Share", "passes"]

MERGE_MEMORY: Final = option(
    "hoodie.memory.merge.max.size",
    1 << 30,
    "Bytes of memory in which the rows of one file slice's logs are merged; more are merged in several passes, which"
    " each read the logs and the base file anew.",
    parse=between(1, (1 << 63) - 1),
)
_COPIES: Final = 4
"""Rows are there as they were read, folded, and in the batch in which they end; beside them what is being read."""
_MOST_PASSES: Final = 256
"""More would only read the same bytes again and again."""
_PARTS: Final = 8
"""Of the memory of a pass, what is read at a time beside it."""
_LEAST_PART_BYTES: Final = 128 << 10
_MOST_PART_BYTES: Final = 8 << 20
"""Larger parts save nothing."""
_MOST_GROWTH: Final = 4
"""From the bytes of blocks to their rows, where it is not looked at: if they do not fit, that is found on the way."""
_HASHED_ROWS: Final = 2048
"""A hash needs several times the memory of its text."""
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The keys of a hash bucket have like hashes; their product's upper half has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The keys of one pass, by their hash."""

    number: int
    count: int

    def holds(self, keys: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Return which keys belong to this pass."""
        some = (keys.slice(start, _HASHED_ROWS) for start in range(0, len(keys), _HASHED_ROWS))
        found = [self._holds(java_hash(one)) for one in some]
        return np.concatenate(found) if found else np.zeros(0, np.bool_)

    def _holds(self, hashes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        spread = (hashes.astype(np.uint32).astype(np.uint64) * _SPREAD) >> np.uint64(32)
        is_held: npt.NDArray[np.bool_] = spread % np.uint64(self.count) == self.number
        return is_held


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The changes of some keys."""

    changes: list[RowChanges]
    """Oldest first; of some there may be none. Let go of them as soon as they are folded."""
    share: Share | None
    """Which keys; None: all."""
    part_bytes: int
    """How much more may be read at a time where memory is short."""


def passes(
    blocks: Sequence[LogBlock], spec: ReadSpec, memory_bytes: int, is_asked: Chooser | None = None
) -> Iterator[Pass]:
    """Read blocks into as many passes as it takes for each to fit into memory; `is_asked` leaves keys out of all.

    Shape:  blocks oldest first -> at least one pass.
    Cost:   each block is read once where they fit together, else once a pass and some once more; beside a pass, a part
            of a block is in memory.
    """
    budget = max(1, memory_bytes // _COPIES)
    expected = _expected_bytes(blocks, spec, budget)
    changes = _all_at_once(blocks, spec, budget, is_asked) if expected <= budget else None
    if changes is not None:
        yield Pass(changes=changes, share=None, part_bytes=budget)
        return
    count = min(_MOST_PASSES, max(2, -(-expected // budget)))
    part_bytes = min(_MOST_PART_BYTES, max(_LEAST_PART_BYTES, budget // _PARTS))
    for number in range(count):
        share = Share(number=number, count=count)
        chosen = partial(_is_chosen, share=share, is_asked=is_asked)
        found: list[RowChanges] = []
        for block in blocks:
            pa.default_memory_pool().release_unused()  # what Arrow keeps counts, too
            found.extend(read_chosen(block, spec, chosen, part_bytes))
        yield Pass(changes=found, share=share, part_bytes=part_bytes)


def _expected_bytes(blocks: Sequence[LogBlock], spec: ReadSpec, budget: int) -> int:
    """Estimate what the rows of all blocks take in memory, by the largest; 0 where they surely fit."""
    total = sum(block.content_bytes for block in blocks)
    if total * _MOST_GROWTH <= budget:
        return 0
    largest = max(blocks, key=lambda block: block.content_bytes)
    return estimated_bytes(largest, spec) * total // largest.content_bytes


def _all_at_once(
    blocks: Sequence[LogBlock], spec: ReadSpec, budget: int, is_asked: Chooser | None
) -> list[RowChanges] | None:
    """Read everything; None as soon as it does not fit."""
    changes: list[RowChanges] = []
    left = budget
    for block in blocks:
        for part in read_parts(block, spec, max(1, left)):
            changes.append(part if is_asked is None else part.filter(is_asked(part.keys)))
            left -= _size_bytes(changes[-1])
            if left < 0:
                return None
    return changes


def _is_chosen(keys: pa.ChunkedArray, *, share: Share, is_asked: Chooser | None) -> npt.NDArray[np.bool_]:
    return share.holds(keys) if is_asked is None else share.holds(keys) & is_asked(keys)


def _size_bytes(changes: RowChanges) -> int:
    return int(changes.rows.nbytes + changes.keys.nbytes)
