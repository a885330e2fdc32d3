"""Changes to the rows of one file group: what a log holds, what a task writes.

Pure values; `kernels.merge` puts them together.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

__all__ = ["RowChanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """Rows to be stored and keys to be deleted, in the order in which they count.   Spec: format/files 2, 6."""

    keys: pa.ChunkedArray
    """n texts: the record keys, never null."""
    rows: pa.Table
    """n rows. Of a delete only the ordering columns may have values: null in all of them is no ordering value."""
    is_delete: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """n flags."""
    is_unordered: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """n flags: deletes that win whatever ordering value is stored."""
    is_by_key: bool = False
    """The deletes among these have no row, as those of a delete block."""
    columns: tuple[str, ...] | None = None
    """The columns that these rows set, of a partial update; None: all of them."""
    positions: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    """n numbers: the row of the base file that each one replaces, from 0; None where they are not known."""

    @staticmethod
    def of_rows(rows: pa.Table, keys: pa.ChunkedArray) -> "RowChanges":
        """Return rows that are stored, with no delete among them."""
        none = np.zeros(rows.num_rows, dtype=np.bool_)
        return RowChanges(keys=keys, rows=rows, is_delete=none, is_unordered=none)

    def filter(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "RowChanges":
        """Return the changes that are flagged, in order.   Shape: n flags."""
        if chosen.all():
            return self
        mask = pa.array(chosen)
        return replace(
            self,
            keys=self.keys.filter(mask),
            rows=self.rows.filter(mask),
            is_delete=self.is_delete[chosen],
            is_unordered=self.is_unordered[chosen],
            positions=None if self.positions is None else self.positions[chosen],
        )
