"""Rows whose keys the logs of a file slice have deleted: whether readers would see them.

Runs in tasks. Start at `are_buried`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.storage.api import Storage

__all__ = ["are_buried"]


def are_buried(one: FileSlice, rows: pa.Table, keys: pa.ChunkedArray, *, storage: Storage, spec: SliceSpec) -> bool:
    """Return whether some of the rows, put behind the logs of a slice, would lose to deletes in these.

    Shape: n rows with the ordering columns, one a key, and their n keys.
    Cost:  the keys and the ordering columns of the logs.
    Raises: CorruptData.
    """
    merge, schema = spec.merge, spec.layout.file_schema
    if not merge.orders_log:
        return False
    wanted = ReadSpec(
        schema=pa.schema([schema.field(name) for name in merge.ordering]),
        key_spec=spec.layout.key_spec,
        merge=merge,
        has_meta_values=spec.layout.has_meta_values,
    )
    blocks = blocks_to_merge(storage, one.logs, spec.counts, spec.instants.committed_bytes)
    changes = [read_changes(block, wanted) for block in blocks]
    known = [part.filter(np.asarray(pc.is_in(part.keys, value_set=keys), np.bool_)) for part in changes]
    if not any(part.is_delete.any() for part in known):
        return False
    folded = fold([*known, RowChanges.of_rows(rows.select(wanted.schema.names), keys)], merge)
    return bool(folded.is_delete.any())
