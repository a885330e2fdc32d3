"""Read the keys of file slices with logs in tasks: those of the rows that a reader sees, not of base files.

A key of the base file may be deleted by a log, and of a bucket index a log may have keys that no base file has. Start
at `find_in_slice`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.index.stored_keys import common_keys, located_schema
from pyhudi.kernels.keys import record_keys
from pyhudi.predicate import Between, column, literal
from pyhudi.schema.evolution import project
from pyhudi.storage.api import Storage

__all__ = ["MergedSlices", "find_in_slice", "slice_keys", "stored_rows"]


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
    known = _keyed(one, storage, _around(keys, spec), stored)
    found, rows = common_keys(keys, known[KEY])
    return _located(index, one, found, known.take(rows), stored)


def stored_rows(one: FileSlice, *, keys: pa.Array, storage: Storage, spec: SliceSpec, stored: pa.Schema) -> pa.Table:
    """Read the rows that a slice has of some keys.

    Shape: KEY and the `stored` columns, a row a stored row.
    Cost:  as `find_in_slice`.
    """
    known = _keyed(one, storage, _around(keys, spec), stored)
    return known.filter(pc.is_in(known[KEY], value_set=keys))


def slice_keys(
    numbered: tuple[int, FileSlice], *, storage: Storage, spec: SliceSpec, stored: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the key of every row of one slice, as a look-up would give it.   Shape, Cost: as `find_in_slice`."""
    index, one = numbered
    known = _keyed(one, storage, spec, stored)
    yield from _located(index, one, known[KEY].combine_chunks(), known, stored).to_batches()


def _around(keys: pa.Array, spec: SliceSpec) -> SliceSpec:
    """Read rows between the least and the greatest key only, where rows carry their keys."""
    if not len(keys) or not spec.layout.has_meta_values:
        return spec
    bounds = pc.min_max(keys)
    low, high = (literal(str(bounds[end])) for end in ("min", "max"))
    return replace(spec, predicate=Between(value=column(KEY), lower=low, upper=high))


def _located(index: int, one: FileSlice, keys: pa.Array, rows: pa.Table, stored: pa.Schema) -> pa.Table:
    count = len(keys)
    columns = [
        keys,
        pa.repeat(pa.scalar(one.group.partition, pa.string()), count),
        pa.repeat(pa.scalar(index, pa.int32()), count),
        *(rows.column(name) for name in stored.names),
    ]
    return pa.table(columns, schema=located_schema(stored))


def _keyed(one: FileSlice, storage: Storage, spec: SliceSpec, stored: pa.Schema) -> pa.Table:
    """Read KEY and the stored columns of a slice's rows."""
    wanted = _in_file((*spec.key_columns, *stored.names), spec)
    batches = list(read_slice(one, storage=storage, spec=replace(spec, columns=wanted)))
    rows = pa.Table.from_batches(batches, pa.schema([spec.layout.file_schema.field(name) for name in wanted]))
    values = project(rows, stored)
    keys = rows[KEY] if spec.layout.has_meta_values else record_keys(spec.layout.key_spec, rows)
    return pa.table([keys, *values.columns], names=[KEY, *stored.names])


def _in_file(names: Sequence[str], spec: SliceSpec) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name in spec.layout.file_schema.names)
