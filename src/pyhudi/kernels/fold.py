"""Fold the changes of a file group's log blocks into one row a key, ready to meet its base file.

Pure Arrow kernels. Start at `fold`; `merge.merge_batch` takes what it makes.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import (
    Deletes,
    Indices,
    MergeSpec,
    Probe,
    decisive_columns,
    deleted_rows,
    key_codes,
    newest_rows,
    probe,
)

__all__ = ["fold"]


def fold(parts: Sequence[RowChanges], spec: MergeSpec) -> Probe:
    """Fold changes into one row a key.

    In commit-time order the last change of a key counts, in event-time order the one with the greatest ordering value
    and of equal ones the last. A delete without ordering value beats every earlier change and loses to every later row;
    of the base file it beats any row, but a row that follows it meets the base file by its own ordering value.

    Shape:  at least one part, oldest first, with the same columns in `rows` -> rows in the order of the input.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text.
    Cost:   one hash of all keys; one gather of the rows, none where no key is there twice.
    Raises: SchemaMismatch if the columns of the parts differ.
    Spec:   format/files 6.2-6.4.
    """
    rows = _concatenated(parts)
    keys = pa.chunked_array([chunk for part in parts for chunk in part.keys.chunks], pa.string())
    positions = _positions(parts)
    by_key = np.concatenate([part.is_delete for part in parts])
    unordered = np.concatenate([part.is_unordered for part in parts])
    flagged = deleted_rows(rows, spec)
    deletes = Deletes(flags=by_key | flagged, unordered=unordered, by_key=by_key & ~flagged)
    kept = newest_rows(key_codes(keys), decisive_columns(rows, spec), deletes)
    is_delete = deletes.flags
    if kept is not None:
        taken = pa.array(kept)
        rows, keys = rows.take(taken), keys.take(taken)
        is_delete, unordered = is_delete[kept], unordered[kept]
        positions = None if positions is None else positions[kept]
    return replace(probe(rows, keys, is_delete, spec, unordered=unordered), positions=positions)


def _concatenated(parts: Sequence[RowChanges]) -> pa.Table:
    first = parts[0].rows.schema
    for part in parts[1:]:
        if part.rows.schema.names != first.names:
            raise SchemaMismatch("log blocks have different columns", one=first.names, other=part.rows.column_names)
    return pa.concat_tables([part.rows for part in parts])


def _positions(parts: Sequence[RowChanges]) -> Indices | None:
    """Return the base-file row of every change; None unless all are known."""
    known = [part.positions for part in parts if part.positions is not None]
    if len(known) < len(parts):
        return None
    positions = np.concatenate(known)
    return positions if not len(positions) or positions.min() >= 0 else None
