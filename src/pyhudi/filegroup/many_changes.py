"""Changes of one file group that are more than memory is for: keys are here, rows on disk until they are written.

Start at `ManyChanges`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.key_lookup import KeyLookup
from pyhudi.kernels.rules import Bools, Indices
from pyhudi.storage.spill import SpilledBatch, SpilledBatches

__all__ = ["ManyChanges", "RowsOnDisk"]


class RowsOnDisk:
    """Rows of one schema, in the order in which they were added."""

    def __init__(self, schema: pa.Schema, directory: str = "") -> None:
        """Begin with none, in a directory of a local disk; "": where the system has temporary files."""
        self.schema = schema
        self._batches = SpilledBatches(schema, directory)
        self._places: list[SpilledBatch] = []
        self._ends: list[int] = [0]

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self._ends[-1]

    @property
    def size_bytes(self) -> int:
        """Return about what all of them take in memory."""
        return sum(place.size_bytes for place in self._places)

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        self._places.append(self._batches.add(batch))
        self._ends.append(self._ends[-1] + batch.num_rows)

    def take(self, numbers: Indices) -> Iterator[pa.RecordBatch]:
        """Yield the rows of these numbers, which ascend.   Cost: one batch, of those that have any, in memory."""
        cuts = np.searchsorted(numbers, self._ends)
        for place, first, low, high in zip(self._places, self._ends, cuts, cuts[1:], strict=False):
            if low < high:
                yield self._batches.read(place).take(pa.array(numbers[low:high] - first))


@dataclass(frozen=True, kw_only=True)
class ManyChanges:
    """Changes, one a key, as `RowChanges` has them."""

    keys: pa.Array
    """n keys."""
    is_delete: Bools
    is_unordered: Bools
    rows: RowsOnDisk
    numbers: Indices
    """Which of the rows on disk each change is, ascending."""
    positions: Indices | None = None
    most_bytes: int
    """So many bytes of rows are in memory at once, more or less."""

    @cached_property
    def _lookup(self) -> KeyLookup | None:
        return KeyLookup.of(self.keys)

    def meet(self, keys: pa.Array) -> Indices:
        """Return which changes are of any of m keys, ascending."""
        found = None if self._lookup is None else self._lookup.find(keys)
        if found is not None:
            return np.unique(found[1])
        met: Indices = pc.index_in(keys, value_set=self.keys).drop_null().to_numpy().astype(np.int64)
        return np.unique(met)

    def take(self, which: Indices) -> RowChanges:
        """Return some changes, ascending, with their rows."""
        return self._with(which, list(self.rows.take(self.numbers[which])))

    def parts(self, which: Bools, most_bytes: int | None = None) -> Iterator[RowChanges]:
        """Yield those of the changes that are chosen, in their order, so many together, or as many as memory is for."""
        most_bytes = most_bytes or self.most_bytes
        chosen, held, held_bytes, first = np.flatnonzero(which), list[pa.RecordBatch](), 0, 0
        for batch in self.rows.take(self.numbers[chosen]):
            held.append(batch)
            held_bytes += batch.nbytes
            if held_bytes > most_bytes:
                count = sum(one.num_rows for one in held)
                yield self._with(chosen[first : first + count], held)
                held, held_bytes, first = [], 0, first + count
        if held:
            yield self._with(chosen[first:], held)

    def _with(self, which: Indices, batches: list[pa.RecordBatch]) -> RowChanges:
        return RowChanges(
            keys=pa.chunked_array([self.keys.take(pa.array(which))], pa.string()),
            rows=pa.Table.from_batches(batches, schema=self.rows.schema),
            is_delete=self.is_delete[which],
            is_unordered=self.is_unordered[which],
            positions=None if self.positions is None else self.positions[which],
        )
