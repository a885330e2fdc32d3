"""Read the keys of file slices in tasks: of the rows that a reader sees, merged with their logs.

Start at `stored_rows`; `may_delete` says cheaply whether the logs of a slice can take rows away.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.engine.row_parts import with_rows
from pyhudi.engine.scanning import naming_file, read_columns
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import BaseFile, FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.formats.log import BlockKind, LogBlock
from pyhudi.formats.parquet import read_footer
from pyhudi.kernels.keys import record_keys
from pyhudi.kernels.rules import DELETE_COLUMNS, MergeSpec
from pyhudi.predicate import Between, column, literal
from pyhudi.schema.evolution import project
from pyhudi.schema.types import avro_to_arrow
from pyhudi.storage.api import Storage

__all__ = [
    "batches_with_keys",
    "keys_of_rows",
    "last_keys",
    "may_delete",
    "rows_around",
    "rows_with_keys",
    "stored_rows",
]


def stored_rows(one: FileSlice, *, keys: pa.Array, storage: Storage, spec: SliceSpec, stored: pa.Schema) -> pa.Table:
    """Read the rows that a slice has of some keys.

    Shape: KEY and the `stored` columns, a row a stored row.
    Cost:  the key column and the stored columns of the row groups around the keys, and of the logs.
    """
    known = rows_with_keys(one, storage=storage, spec=rows_around(keys, spec), stored=stored)
    return known.filter(pc.is_in(known[KEY], value_set=keys))


def rows_with_keys(one: FileSlice, *, storage: Storage, spec: SliceSpec, stored: pa.Schema) -> pa.Table:
    """Read KEY and the `stored` columns of a slice's rows.   Cost: these columns and those that decide a merge."""
    batches = list(batches_with_keys(one, storage=storage, spec=spec, stored=stored))
    return pa.Table.from_batches(
        batches, pa.schema([(KEY, pa.string()), *zip(stored.names, stored.types, strict=True)])
    )


def batches_with_keys(
    one: FileSlice, *, storage: Storage, spec: SliceSpec, stored: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield what `rows_with_keys` returns, as it is read.   Cost: as it; in memory a batch, and the rows of logs."""
    wanted = _in_file((*spec.layout.key_columns, *stored.names), spec)
    for batch in read_slice(one, storage=storage, spec=replace(spec, columns=wanted)):
        rows = pa.Table.from_batches([batch])
        table = pa.table([keys_of_rows(rows, spec), *project(rows, stored).columns], names=[KEY, *stored.names])
        yield from table.combine_chunks().to_batches()


def last_keys(file: BaseFile, count: int, *, storage: Storage, spec: SliceSpec) -> pa.ChunkedArray:
    """Return the keys of the last rows of a base file: where a file group is written anew, those that are new to it.

    Cost: the key columns of the row groups with these rows, or of the pages where they are few.
    """
    names = _in_file(spec.layout.key_columns, spec)
    wanted = pa.schema([spec.layout.file_schema.field(name) for name in names])
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
        first = max(0, footer.rows_count - count)
        parts = with_rows(footer, (), np.arange(first, footer.rows_count))
        rows = read_columns(source, wanted, footer, parts)
    return keys_of_rows(rows.slice(max(0, rows.num_rows - count)), spec)


def rows_around(keys: pa.Array, spec: SliceSpec) -> SliceSpec:
    """Read rows between the least and the greatest key only, where rows carry their keys."""
    if not len(keys) or not spec.layout.has_meta_values:
        return spec
    bounds = pc.min_max(keys)
    low, high = (literal(str(bounds[end])) for end in ("min", "max"))
    return replace(spec, predicate=Between(value=column(KEY), lower=low, upper=high))


def may_delete(one: FileSlice, *, storage: Storage, spec: SliceSpec) -> bool:
    """Return whether the logs of a slice may delete rows of it.

    Cost: a read a log.
    """
    blocks = blocks_to_merge(storage, one.logs, spec.counts, spec.instants)
    return bool(blocks) and (spec.merge.merger is not None or any(_may_delete(block, spec.merge) for block in blocks))


def _may_delete(block: LogBlock, merge: MergeSpec) -> bool:
    if block.kind is BlockKind.DELETE:
        return True
    marks = {*DELETE_COLUMNS, merge.delete_field}
    return bool(marks & {*avro_to_arrow(block.schema, wide_unions=True).names})


def keys_of_rows(rows: pa.Table, spec: SliceSpec) -> pa.ChunkedArray:
    """Return the keys of stored rows: those that they carry, or made of the columns that make them."""
    return rows[KEY] if spec.layout.has_meta_values else record_keys(spec.layout.key_spec, rows)


def _in_file(names: Sequence[str], spec: SliceSpec) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name in spec.layout.file_schema.names)
