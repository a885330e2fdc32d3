"""Rows whose keys the logs of a file slice have deleted: whether readers would see them.

Runs in tasks. Start at `are_buried`; `hidden_keys` finds rows that are in the logs and are not seen.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.rules import Bools, Fill
from pyhudi.storage.api import Storage

__all__ = ["are_buried", "hidden_keys"]

_NUMBER: Final = "_pyhudi_number"
"""Of a change in its log, from 0."""
_NO_KEYS: Final = pa.nulls(0, pa.string())


def are_buried(one: FileSlice, rows: pa.Table, keys: pa.ChunkedArray, *, storage: Storage, spec: SliceSpec) -> bool:
    """Return whether some of the rows, put behind the logs of a slice, would lose to deletes in these.

    Shape: n rows with the ordering columns, one a key, and their n keys.
    Cost:  the keys and the ordering columns of the logs.
    Raises: CorruptData.
    """
    if not spec.merge.orders_log:
        return False
    known = [part.filter(_are_in(part.keys, keys)) for part in _logged(one, storage, spec)]
    if not any(part.is_delete.any() for part in known):
        return False
    folded = fold([*known, RowChanges.of_rows(rows.select(list(spec.merge.ordering)), keys)], spec.merge)
    return bool(folded.is_delete.any())


def hidden_keys(one: FileSlice, keys: pa.Array | None = None, *, storage: Storage, spec: SliceSpec) -> pa.Array:
    """Return keys that the logs of a slice delete, and of which a row came behind that delete, by which it is hidden.

    Readers do not see such a row until a compaction takes the delete and leaves the row: one that was planned between
    both does. Only keys among `keys` are returned, where these are given, each once.

    Cost:   the keys and the ordering columns of the logs, where they have deletes.
    Raises: CorruptData.
    """
    merge = replace(spec.merge, fill=Fill.NOTHING)
    if not merge.orders_log or merge.merger is not None:
        return _NO_KEYS
    changes = list(_logged(one, storage, spec))
    known = changes if keys is None else [part.filter(_are_in(part.keys, keys)) for part in changes]
    if not any(part.is_delete.any() for part in known):
        return _NO_KEYS
    numbered = list(_numbered(known))
    folded = fold(numbered, merge)
    deletes = pa.array(folded.is_delete)
    deleted, winners = folded.keys.filter(deletes), folded.rows[_NUMBER].filter(deletes)
    rows = pa.concat_tables(
        [pa.table({KEY: one.keys, _NUMBER: one.rows[_NUMBER]}).filter(pa.array(~one.is_delete)) for one in numbered]
    )
    newest = rows.group_by(KEY).aggregate([(_NUMBER, "max")])
    last = newest[f"{_NUMBER}_max"].take(pc.index_in(deleted, value_set=newest[KEY].combine_chunks()))
    return deleted.filter(pc.fill_null(pc.greater(last, winners), fill_value=False).combine_chunks())


def _logged(one: FileSlice, storage: Storage, spec: SliceSpec) -> Iterator[RowChanges]:
    """Yield the changes of each block with the ordering columns alone."""
    schema = spec.layout.file_schema
    wanted = ReadSpec(
        schema=pa.schema([schema.field(name) for name in spec.merge.ordering]),
        layout=spec.layout,
        merge=spec.merge,
    )
    for block in blocks_to_merge(storage, one.logs, spec.counts, spec.instants):
        yield read_changes(block, wanted)


def _numbered(parts: list[RowChanges]) -> Iterator[RowChanges]:
    first = 0
    for part in parts:
        numbers = np.arange(first, first := first + part.rows.num_rows)
        yield replace(part, rows=part.rows.append_column(_NUMBER, pa.array(numbers, pa.int64())))


def _are_in(keys: pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> Bools:
    flags: Bools = np.asarray(pc.is_in(keys, value_set=among), np.bool_)
    return flags
