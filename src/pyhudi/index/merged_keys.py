"""Read the keys of file slices with logs in tasks: those of the rows that a reader sees, not of base files.

A key of the base file may be deleted by a log, and of a bucket index a log may have keys that no base file has. Start
at `find_in_slice`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.engine.api import KEY
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import rows_around, rows_with_keys
from pyhudi.index.stored_keys import common_keys, located_schema
from pyhudi.storage.api import Storage

__all__ = ["MergedSlices", "find_in_slice", "slice_keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSlices:
    """File slices whose keys are read with their logs merged, and how."""

    slices: tuple[FileSlice, ...]
    spec: SliceSpec


def find_in_slice(
    numbered: tuple[int, FileSlice], *, keys: pa.Array, storage: Storage, spec: SliceSpec, stored: pa.Schema
) -> pa.Table:
    """Find which of some distinct keys one slice holds, given its place in the list.

    Shape: as `stored_keys.find_in_file`.
    Cost:  the key column and the stored columns of the row groups around the keys, and of the logs.
    """
    index, one = numbered
    known = rows_with_keys(one, storage=storage, spec=rows_around(keys, spec), stored=stored)
    found, rows = common_keys(keys, known[KEY])
    return _located(index, one, found, known.take(rows), stored)


def slice_keys(
    numbered: tuple[int, FileSlice], *, storage: Storage, spec: SliceSpec, stored: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the key of every row of one slice, as a look-up would give it.   Shape, Cost: as `find_in_slice`."""
    index, one = numbered
    known = rows_with_keys(one, storage=storage, spec=spec, stored=stored)
    yield from _located(index, one, known[KEY].combine_chunks(), known, stored).to_batches()


def _located(index: int, one: FileSlice, keys: pa.Array, rows: pa.Table, stored: pa.Schema) -> pa.Table:
    count = len(keys)
    columns = [
        keys,
        pa.repeat(pa.scalar(one.group.partition, pa.string()), count),
        pa.repeat(pa.scalar(index, pa.int32()), count),
        *(rows.column(name) for name in stored.names),
    ]
    return pa.table(columns, schema=located_schema(stored))
