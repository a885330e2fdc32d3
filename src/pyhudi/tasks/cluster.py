"""What a clustering does inside a task: file slices in, new base files of their rows out.

Data plane: runs in this process or in a Spark worker, and sees frozen values only. The rows are those that a reader of
the slices sees. The same slices give the same files, whichever process runs the task. Start at `cluster_slices`.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.copying import copy_base_files
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.rows import base_file_rows, decoded
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.filegroup.writer import store_base_file
from pyhudi.kernels.curves import Curve, curve_order
from pyhudi.kernels.order import named_columns, row_order
from pyhudi.schema.meta_fields import FILE_NAME
from pyhudi.storage.api import Storage

__all__ = ["ClusteringTask", "RowOrder", "cluster_slices"]

_PIECE_ROWS = 1 << 17
_ORDERED_GROUP_ROWS = 1 << 16
"""Rows of a row group where rows are put in order: statistics of smaller groups leave more of them out."""
_LEAST_COPIED_BYTES = 1 << 20
"""Row groups that are smaller are encoded anew, as larger ones: readers pay for each."""
_WIDE_TYPES = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_MOST_NARROW_BYTES = 1 << 30
"""Columns of more text than this are gathered with offsets of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """How rows are put in order."""

    columns: tuple[str, ...]
    curve: Curve = Curve.LINEAR
    sampled_rows: int

    def of(self, rows: pa.Table) -> pa.Array:
        """Return the row numbers in order; rows that are equal keep theirs.   Raises: InvalidInput."""
        if self.curve is Curve.LINEAR or len(self.columns) == 1:
            return row_order(rows, self.columns)
        columns = named_columns(rows, self.columns).columns
        return curve_order(columns, self.curve, sampled_rows=self.sampled_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringTask:
    """File slices of one partition, and the files that take their rows."""

    slices: tuple[FileSlice, ...]
    files: tuple[FileTask, ...]
    """One, or where rows are put in order any number: each takes as many rows as the others."""
    order: RowOrder | None = None
    """None: the rows stay in the order of the slices."""
    copies: bool = False
    """Column chunks are copied wherever that can be, also of small row groups."""
    keeps_commits: bool = True
    """Rows keep their meta columns; else they are of the clustering's own instant."""


def cluster_slices(task: ClusteringTask, *, storage: Storage, reads: SliceSpec, writes: WriteSpec) -> list[WriteStatus]:
    """Write the rows of some slices into new base files; no file where there is no row for it.

    Cost:   without an order one batch in memory, with one all rows.
    """
    stored = chain.from_iterable(read_slice(one, storage=storage, spec=reads) for one in task.slices)
    if task.order is None:
        [file] = task.files
        copied = _copied(task, file, storage, writes)
        if copied is not None:
            return [copied]
        return _written(storage, writes, [(file, stored)], task)
    writes = _in_small_groups(writes)
    rows = _in_memory(stored, writes)
    numbers = task.order.of(rows)
    share = max(1, math.ceil(rows.num_rows / len(task.files)))
    parts = ((file, _gathered(rows, numbers.slice(at * share, share))) for at, file in enumerate(task.files))
    return _written(storage, writes, parts, task)


def _in_small_groups(writes: WriteSpec) -> WriteSpec:
    rows_count = min(writes.parquet.row_group_rows, _ORDERED_GROUP_ROWS)
    return replace(writes, parquet=replace(writes.parquet, row_group_rows=rows_count))


def _copied(task: ClusteringTask, file: FileTask, storage: Storage, writes: WriteSpec) -> WriteStatus | None:
    """Copy the column chunks of base files, where they hold the rows of their slices as they are to be."""
    bases = [one.base for one in task.slices if one.base is not None and not one.logs]
    if len(bases) < len(task.slices) or not (task.keeps_commits and writes.layout.has_meta_values) or file.base:
        return None
    return copy_base_files(storage, writes, file, bases, least_bytes=0 if task.copies else _LEAST_COPIED_BYTES)


def _written(
    storage: Storage,
    writes: WriteSpec,
    parts: Iterable[tuple[FileTask, Iterator[pa.RecordBatch]]],
    task: ClusteringTask,
) -> list[WriteStatus]:
    statuses = []
    for file, batches in parts:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            continue
        rows = chain([first], filled)
        laid_out = rows if task.keeps_commits else _as_new(rows, writes, file)
        status = store_base_file(storage, writes, file, _unnamed(laid_out))
        statuses.append(_as_inserted(status))
    return statuses


def _as_new(rows: Iterator[pa.RecordBatch], writes: WriteSpec, file: FileTask) -> Iterator[pa.RecordBatch]:
    """Return rows with the meta columns of this instant."""
    count = 0
    for batch in rows:
        plain = pa.Table.from_batches([decoded(batch)])
        laid_out = base_file_rows(plain, writes.layout, writes.instant, file.number, "", first_row=count)
        count += batch.num_rows
        yield from laid_out.combine_chunks().to_batches()


def _unnamed(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the names of the files away in which rows lay: their new file has them all from elsewhere."""
    for batch in rows:
        at = batch.schema.get_field_index(FILE_NAME)
        yield batch.set_column(at, FILE_NAME, pa.nulls(batch.num_rows, pa.string()))


def _as_inserted(status: WriteStatus) -> WriteStatus:
    """Count as Apache Hudi's clusterings do: every row of a file is one that was put in."""
    return replace(status, inserts_count=status.rows_count, updates_count=0, deletes_count=0)


def _in_memory(batches: Iterator[pa.RecordBatch], writes: WriteSpec) -> pa.Table:
    """Gather rows; text that every batch brings as codes stays so."""
    found = list(batches)
    schema = writes.layout.file_schema
    columns = []
    for at, field in enumerate(schema):
        chunks = [batch.column(at) for batch in found]
        if not all(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            chunks = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
        columns.append(pa.chunked_array(chunks, chunks[0].type if chunks else field.type))
    return pa.table(columns, names=schema.names).unify_dictionaries()


def _gathered(rows: pa.Table, numbers: pa.Array) -> Iterator[pa.RecordBatch]:
    """Yield rows by their numbers, some at a time."""
    columns = [_one_piece(column) for column in rows.columns]
    for start in range(0, len(numbers), _PIECE_ROWS):
        piece = numbers.slice(start, _PIECE_ROWS)
        taken = [
            column.take(piece).cast(was.type) if column.type != was.type else column.take(piece)
            for column, was in zip(columns, rows.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(taken, names=rows.column_names)


def _one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, from which rows are taken fastest."""
    wide = _WIDE_TYPES.get(column.type)
    if wide is not None and column.nbytes > _MOST_NARROW_BYTES:
        column = column.cast(wide)
    whole = column.combine_chunks()
    return pc.take(whole, pa.array([], pa.int64())) if isinstance(whole, pa.ChunkedArray) else whole
