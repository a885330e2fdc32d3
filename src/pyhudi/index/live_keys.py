"""Which of the keys that base files hold are alive there, and not deleted by the logs on top of them.

A key that was deleted and put in again stands in two base files, of which one has it no more. Runs in tasks. Start at
`dead_keys`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, LOCATED
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import may_delete, stored_rows
from pyhudi.index.merged_keys import slice_keys
from pyhudi.storage.api import Storage

__all__ = ["Suspect", "dead_keys", "dead_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A slice with a base file and logs, and keys that its base file has."""

    index: int
    """Its place in the list of slices."""
    slice: FileSlice
    keys: pa.Array


def dead_keys(suspect: Suspect, *, storage: Storage, spec: SliceSpec) -> pa.Table:
    """Find which of some keys of a base file its logs delete.

    Shape: LOCATED, a row a key that is deleted.
    Cost:  a read a log; where there are deletes, the keys and the ordering columns of the row groups around the keys,
           and those of the logs.
    """
    one, keys = suspect.slice, suspect.keys
    if not len(keys) or not may_delete(one, storage=storage, spec=spec):
        return LOCATED.empty_table()
    alive = stored_rows(one, keys=keys, storage=storage, spec=spec, stored=pa.schema([]))
    gone = pc.filter(keys, pc.invert(pc.is_in(keys, value_set=alive[KEY])))
    places = [pa.repeat(one.group.partition, len(gone)), pa.repeat(pa.scalar(suspect.index, pa.int32()), len(gone))]
    return pa.table([gone, *places], schema=LOCATED)


def dead_rows(numbered: tuple[int, FileSlice], *, storage: Storage, spec: SliceSpec) -> Iterator[pa.RecordBatch]:
    """Yield the keys that the base file of a slice has and its logs delete, given its place in the list.

    Shape: LOCATED, a row a key.
    Cost:  the keys and the ordering columns of the base file and of the logs.
    """
    index, one = numbered
    batches = slice_keys((index, replace(one, logs=())), storage=storage, spec=spec, stored=pa.schema([]))
    keys = pc.unique(pa.Table.from_batches(batches, LOCATED)[KEY])
    yield from dead_keys(Suspect(index=index, slice=one, keys=keys), storage=storage, spec=spec).to_batches()
