"""The changes of a slice's logs, all at once or, where memory does not hold them, some keys at a time.

A pass has every change of its keys, so that it is merged as if there were no other. Start at `passes`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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
_COPIES: Final = 3
"""Rows are there as they were read, folded, and in the batch in which they end."""
_MOST_PASSES: Final = 256
"""More would only read the same bytes again and again."""
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The keys of a hash bucket have like hashes; their product's upper half has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The keys of one pass, by their hash."""

    number: int
    count: int

    def holds(self, keys: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Return which keys belong to this pass."""
        spread = (java_hash(keys).astype(np.uint32).astype(np.uint64) * _SPREAD) >> np.uint64(32)
        is_held: npt.NDArray[np.bool_] = spread % np.uint64(self.count) == self.number
        return is_held


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The changes of some keys."""

    changes: Sequence[RowChanges]
    """By block, oldest first; of some there may be none."""
    share: Share | None
    """Which keys; None: all."""


def passes(blocks: Sequence[LogBlock], read: Callable[[LogBlock], RowChanges], memory_bytes: int) -> Iterator[Pass]:
    """Read blocks into as many passes as it takes for each to fit into memory.

    Shape:  blocks oldest first -> at least one pass.
    Cost:   each block is read once where they fit together, else once a pass and some once more; of one block all rows
            are in memory when it is read.
    """
    budget = max(1, memory_bytes // _COPIES)
    changes: list[RowChanges] = []
    taken, seen = 0, 0
    for block in blocks:
        changes.append(read(block))
        taken += _size_bytes(changes[-1])
        seen += block.content_bytes
        if taken > budget:
            break
    else:
        yield Pass(changes=changes, share=None)
        return
    del changes
    expected = taken * sum(block.content_bytes for block in blocks) / max(1, seen)
    count = min(_MOST_PASSES, max(2, int(-(-expected // budget))))
    for number in range(count):
        share = Share(number=number, count=count)
        yield Pass(changes=[_held(read(block), share) for block in blocks], share=share)


def _held(changes: RowChanges, share: Share) -> RowChanges:
    return changes.filter(share.holds(changes.keys))


def _size_bytes(changes: RowChanges) -> int:
    return int(changes.rows.nbytes + changes.keys.nbytes)
