"""What a write does inside a task: rows of its buckets in, one status row a file out.

Data plane: runs in this process or in a Spark worker, sees Arrow batches and frozen values only, and holds one bucket's
rows at a time, or what memory is for where these are more. Start at `write_buckets`.
"""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import chain, groupby
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BASE_ROW, IS_MOVED, KEY, Attempt, RowsMemory
from pyhudi.engine.routing import bucket_runs
from pyhudi.errors import CorruptData
from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.key_filter import apart
from pyhudi.filegroup.many_changes import ManyChanges, RowsOnDisk
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import stored_rows
from pyhudi.filegroup.write_task import WRITE_STATUS, FileTask, Sink, WriteSpec, WriteStatus, unwritten
from pyhudi.filegroup.writer import Rewritten, create_base_file, merge_many_changes, rewrite_base_file
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, deleted_rows, newer_rows
from pyhudi.kernels.order import sort_rows
from pyhudi.kernels.rules import Bools, Fill, Indices, LogRule
from pyhudi.storage.api import Storage
from pyhudi.tasks.at_once import MOST_BYTES, Portion, done_at_once
from pyhudi.tasks.sink import gives_ordering, slice_of, with_inserts, write_changes

__all__ = [
    "RowsKind",
    "bucket_bytes",
    "new_file",
    "status_batch",
    "to_statuses",
    "without_deletes",
    "write_bucket",
    "write_buckets",
    "written",
]

_DECODED: Final = 4
"""How many times as large a stored file's rows are in memory, roughly."""
_PARTS: Final = 4
"""Rows that go to a base file are laid out, and gathered by its writer, so many parts of what is held at a time."""
_MADE_ROWS: Final = 10_000
"""Rows that are made of several are put on disk so many at a time."""


class RowsKind(StrEnum):
    """What a bucket's rows mean."""

    UPSERT = "upsert"
    """One row a key; merged with the stored rows."""
    INSERT = "insert"
    """Put beside the stored rows, whatever their keys."""
    INSERT_ONE = "insert_one"
    """As INSERT, but one row a key of the input."""
    DELETE = "delete"
    """Stored rows of these keys go."""


def write_buckets(
    attempt: Attempt,
    batches: Iterator[pa.RecordBatch],
    *,
    storage: Storage,
    spec: WriteSpec,
    files: tuple[FileTask, ...],
    kind: RowsKind,
    sort_columns: tuple[str, ...] = (),
    only: frozenset[int] | None = None,
    reads: SliceSpec | None = None,
) -> Iterator[pa.RecordBatch]:
    """Write every bucket of one task, or those of `only`; `reads` says how stored rows are read that are deleted.

    Shape: batches with the table's columns, KEY, PARTITION, ORDER, BUCKET, IS_MOVED, ordered by BUCKET and ORDER
           -> one WRITE_STATUS row a file.
    """
    spec = spec.with_threads(attempt.threads)
    spec = spec if attempt.memory is None else spec.with_row_groups(attempt.memory.rows_bytes)
    memory = None if sort_columns or kind is RowsKind.DELETE else attempt.memory

    def portions() -> Iterator[Portion[list[WriteStatus]]]:
        for bucket, run in groupby(bucket_runs(batches), key=lambda one: one[0]):
            if only is not None and bucket not in only:
                continue
            file, parts = files[bucket], (rows for _, rows in run)
            if kind is RowsKind.INSERT and file.sink is Sink.BASE and not sort_columns:
                yield _streamed(storage, spec, file, parts)
                continue
            held, is_more = _held(parts, math.inf if memory is None else memory.rows_bytes)
            if memory is not None and is_more:
                given = chain(_given_up(held), parts)
                work = partial(_write_many, storage, spec, file, given, kind=kind, memory=memory)
                yield Portion(size_bytes=MOST_BYTES + 1, work=work)
                continue
            rows = pa.Table.from_batches(_given_up(held))
            rows = sort_rows(rows, sort_columns) if sort_columns else rows
            work = partial(write_bucket, storage, spec, file, rows, kind, reads=reads)
            yield Portion(size_bytes=bucket_bytes(file, rows.nbytes), work=work)

    return written(portions(), attempt)


def _held(parts: Iterator[pa.RecordBatch], most_bytes: float) -> tuple[deque[pa.RecordBatch], bool]:
    """Take parts until they are more than so many bytes; returns them, and whether there are more than that."""
    held, held_bytes = deque[pa.RecordBatch](), 0
    for part in parts:
        held.append(part)
        if held_bytes > most_bytes:
            return held, True
        held_bytes += part.nbytes
    return held, False


def _given_up(held: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield parts, and hold none that was given."""
    while held:
        yield held.popleft()


def written(portions: Iterator[Portion[list[WriteStatus]]], attempt: Attempt) -> Iterator[pa.RecordBatch]:
    """Write files, small ones at once where the task may, and return the status rows of each."""
    most = attempt.files_at_once
    done = done_at_once(portions, most, MOST_BYTES) if most > 1 else (one.work() for one in portions)
    return (status_batch(*statuses) for statuses in done)


def new_file(
    storage: Storage, spec: WriteSpec, file: FileTask, rows: pa.Table | Iterator[pa.Table]
) -> list[WriteStatus]:
    """Write rows that are no deletes to a new file."""
    return [create_base_file(storage, spec, file, rows)]


def _write_many(
    storage: Storage,
    spec: WriteSpec,
    file: FileTask,
    parts: Iterator[pa.RecordBatch],
    *,
    kind: RowsKind,
    memory: RowsMemory,
) -> list[WriteStatus]:
    """Write one bucket's rows to its file group as `write_bucket` does, where they are more than memory is for."""
    if kind is RowsKind.INSERT:  # into logs: a base file reads them as it is written
        some = _of_size(without_deletes(parts, spec.merge), memory.rows_bytes)
        return _logged(storage, spec, file, (RowChanges.of_rows(rows, rows.column(KEY)) for rows in some), are_new=True)
    is_insert = kind is RowsKind.INSERT_ONE
    changes = _chosen(spec.merge, parts, kind, memory)
    if is_insert or not file.is_as_tagged:
        changes = replace(changes, positions=None)
    kept = ~changes.is_delete
    if file.sink is Sink.LOG:
        chosen = changes.parts(kept if is_insert else np.ones_like(kept), memory.rows_bytes)
        return _logged(storage, spec, file, chosen, are_new=is_insert)
    if is_insert or file.base is None:
        return _added(storage, spec, file, (some.rows for some in changes.parts(kept)))
    return [merge_many_changes(storage, spec, file, changes)]


def _logged(
    storage: Storage, spec: WriteSpec, file: FileTask, parts: Iterator[RowChanges], *, are_new: bool
) -> list[WriteStatus]:
    """Append changes that come in parts to logs."""
    statuses, count = list[WriteStatus](), 0
    for some in parts:
        statuses += append_changes(storage, spec, file, some, earlier=statuses)
        count += len(some.keys)
    statuses = statuses or [unwritten(file)]
    return with_inserts(statuses, count) if are_new else statuses


def _of_size(parts: Iterator[pa.Table], size_bytes: int) -> Iterator[pa.Table]:
    """Put neighbours together until they take so much."""
    held, held_bytes = list[pa.Table](), 0
    for part in parts:
        held.append(part)
        held_bytes += part.nbytes
        if held_bytes > size_bytes:
            yield pa.concat_tables(held)
            held, held_bytes = [], 0
    if held:
        yield pa.concat_tables(held)


def _chosen(merge: MergeSpec, parts: Iterator[pa.RecordBatch], kind: RowsKind, memory: RowsMemory) -> ManyChanges:
    """Put rows on disk, and choose one of each key by narrow columns; where rows fill each other, make one of them."""
    held = deque([next(parts)])
    wanted = {KEY, IS_MOVED, BASE_ROW, *merge.ordering, *DELETE_COLUMNS, merge.delete_field}
    names = [name for name in held[0].schema.names if name in wanted]
    rows, narrow = RowsOnDisk(held[0].schema, memory.spill_directory), list[pa.Table]()
    for part in chain(_given_up(held), parts):
        rows.add(part)
        narrow.append(_narrow(part, names))
    table = pa.concat_tables(narrow)
    deletes = deleted_rows(table, merge) | _moved(table)
    if _makes_rows(merge, kind):
        numbers, made, deletes = _folded(rows, table, deletes, merge, memory)
        table = pa.concat_tables([table.take(pa.array(numbers)), made.select(names)])
        numbers = np.append(numbers, np.arange(rows.count - made.num_rows, rows.count))
    else:
        kept = newer_rows(table.column(KEY), _ordering_values(table, merge), deletes, keeps_first=merge.keeps_first)
        numbers = np.arange(table.num_rows, dtype=np.int64) if kept is None else kept
        if kept is not None:
            table, deletes = table.take(pa.array(numbers)), deletes[numbers]
    return ManyChanges(
        keys=table.column(KEY).combine_chunks(),
        is_delete=deletes,
        is_unordered=_moved(table),
        rows=rows,
        numbers=numbers,
        positions=_base_rows(table),
        most_bytes=max(1, memory.rows_bytes // _PARTS),
    )


def _folded(
    rows: RowsOnDisk, narrow: pa.Table, deletes: Bools, merge: MergeSpec, memory: RowsMemory
) -> tuple[Indices, pa.Table, Bools]:
    """Make one row of those of one key, and put it behind the others.

    Returns the numbers of the rows that stay as they are, the narrow columns of those that are made, and which of all
    of these delete. Cost: of rows whose keys come several times, as many as memory is for together.
    """
    codes = narrow.column(KEY).combine_chunks().dictionary_encode().indices.to_numpy()
    is_one_of_several = np.bincount(codes)[codes] > 1
    alone, several = np.flatnonzero(~is_one_of_several), np.flatnonzero(is_one_of_several)
    rounds = 1 + rows.size_bytes * len(several) // (len(codes) * memory.rows_bytes)
    made, gone = [narrow.slice(0, 0)], [deletes[alone]]
    for number in range(rounds):
        some = several[codes[several] % rounds == number]
        if not len(some):
            continue
        given = pa.Table.from_batches(list(rows.take(some)), schema=rows.schema)
        ones, of_ones = _filled(given, deletes[some], merge)
        for batch in ones.cast(rows.schema).to_batches(max_chunksize=_MADE_ROWS):
            rows.add(batch)
            made.append(_narrow(batch, narrow.column_names))
        gone.append(of_ones)
    return alone, pa.concat_tables(made), np.concatenate(gone)


def _narrow(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    """Return some columns, without holding the others."""
    return pa.table({name: apart(batch.column(name)) for name in names})


def _makes_rows(merge: MergeSpec, kind: RowsKind) -> bool:
    """Return whether rows of one key become a row that none of them is."""
    is_filled = merge.fill is not Fill.NOTHING and kind is RowsKind.UPSERT
    return is_filled or (merge.merger is not None and kind in {RowsKind.UPSERT, RowsKind.INSERT_ONE})


def _moved(rows: pa.Table) -> Bools:
    flags: Bools = rows.column(IS_MOVED).to_numpy().astype(np.bool_)
    return flags


def _streamed(
    storage: Storage, spec: WriteSpec, file: FileTask, parts: Iterator[pa.RecordBatch]
) -> Portion[list[WriteStatus]]:
    """Return the work of adding rows that come to a file; where they are many, it reads them as it writes."""
    first, size_bytes = list[pa.RecordBatch](), 0
    for part in parts:
        first.append(part)
        size_bytes += part.nbytes
        if size_bytes > MOST_BYTES:
            break
    rows = without_deletes(chain(first, parts), spec.merge)
    return Portion(size_bytes=bucket_bytes(file, size_bytes), work=partial(_added, storage, spec, file, rows))


def bucket_bytes(file: FileTask, rows_bytes: int) -> int:
    """Return what writing a bucket takes in memory, roughly."""
    stored = [one.size_bytes for one in (file.base, *file.logs) if one is not None]
    return rows_bytes + _DECODED * sum(stored)


def without_deletes(parts: Iterator[pa.RecordBatch], merge: MergeSpec) -> Iterator[pa.Table]:
    """Leave out rows that delete, as there is nothing stored: those that say so, and those that are moved from here."""
    for part in parts:
        rows = pa.Table.from_batches([part])
        deletes = deleted_rows(rows, merge)
        if IS_MOVED in part.schema.names:
            deletes |= part.column(IS_MOVED).to_numpy(zero_copy_only=False).astype(np.bool_)
        yield rows.filter(pa.array(~deletes)) if deletes.any() else rows


def write_bucket(
    storage: Storage, spec: WriteSpec, file: FileTask, rows: pa.Table, kind: RowsKind, *, reads: SliceSpec | None = None
) -> list[WriteStatus]:
    """Write one bucket's rows to its file group: one status a file."""
    if kind is RowsKind.DELETE and reads is not None and _looks_at_rows(spec, file):
        return _delete_stored(storage, spec, file, rows, reads)
    moved = _moved(rows)
    deletes = deleted_rows(rows, spec.merge) | moved | (kind is RowsKind.DELETE)
    if _makes_rows(spec.merge, kind):
        rows, deletes = _filled(rows, deletes, spec.merge)
        moved = _moved(rows)
    elif kind is not RowsKind.INSERT:
        ordering = () if kind is RowsKind.DELETE else _ordering_values(rows, spec.merge)
        kept = newer_rows(rows.column(KEY), ordering, deletes, keeps_first=spec.merge.keeps_first)
        if kept is not None:
            rows, deletes, moved = rows.take(pa.array(kept)), deletes[kept], moved[kept]
    if kind in {RowsKind.INSERT, RowsKind.INSERT_ONE}:
        return _insert(storage, spec, file, rows.filter(pa.array(~deletes)))
    unordered = deletes if kind is RowsKind.DELETE else moved
    if kind is RowsKind.DELETE:
        rows = _widen(rows, spec)
    changes = RowChanges(
        keys=rows.column(KEY),
        rows=rows,
        is_delete=deletes,
        is_unordered=unordered,
        positions=_base_rows(rows) if file.is_as_tagged else None,
    )
    return write_changes(storage, spec, file, changes)


def _looks_at_rows(spec: WriteSpec, file: FileTask) -> bool:
    """Return whether a delete looks at the rows that go: for their ordering values, or where logs may delete them."""
    is_stored = file.sink is Sink.LOG and file.base_instant is not None
    return is_stored and (spec.merge.is_event_time or bool(file.logs))


def _delete_stored(
    storage: Storage, spec: WriteSpec, file: FileTask, rows: pa.Table, reads: SliceSpec
) -> list[WriteStatus]:
    """Delete the stored rows of keys with their own ordering values; other keys are left out.

    Cost: the keys and the ordering columns of the row groups around the keys, and of the logs.
    """
    merge, wanted = spec.merge, rows.column(KEY)
    ordering = pa.schema([field for field in spec.layout.file_schema if field.name in merge.ordering])
    keys = pc.unique(wanted)
    stored = stored_rows(slice_of(file), keys=keys, storage=storage, spec=reads, stored=ordering)
    named = rows.take(pc.index_in(stored[KEY], value_set=wanted))
    for field in ordering if merge.is_event_time else ():
        named = named.drop_columns([name for name in [field.name] if name in named.column_names])
        named = named.append_column(field, stored[field.name])
    deletes = np.ones(stored.num_rows, dtype=np.bool_)
    changes = RowChanges(
        keys=named.column(KEY),
        rows=_widen(named, spec),
        is_delete=deletes,
        is_unordered=deletes & (not gives_ordering(stored, merge)),
        positions=_base_rows(named) if file.is_as_tagged else None,
    )
    return write_changes(storage, spec, file, changes)


def _base_rows(rows: pa.Table) -> npt.NDArray[np.int64] | None:
    """Return the rows of the base file that the look-up found; less than 0 where it did not, None where none is."""
    if BASE_ROW not in rows.column_names:
        return None
    numbers: npt.NDArray[np.int64] = pc.fill_null(rows.column(BASE_ROW), -1).to_numpy()
    return numbers


def _filled(rows: pa.Table, deletes: Bools, merge: MergeSpec) -> tuple[pa.Table, Bools]:
    """Make rows of one key one, whose cells older rows of the batch fill, or as a merger of the user's says."""
    _ordering_values(rows, merge)
    given = RowChanges(
        keys=rows.column(KEY), rows=rows, is_delete=deletes, is_unordered=np.zeros(len(deletes), dtype=np.bool_)
    )
    one = fold([given], replace(merge, is_event_time=True, log_rule=LogRule.AS_STORED))
    return one.rows, one.is_delete


def _ordering_values(rows: pa.Table, merge: MergeSpec) -> list[pa.ChunkedArray]:
    if missing := [name for name in merge.ordering if name not in rows.column_names]:
        raise CorruptData("hoodie.properties orders rows by columns that the table does not have", columns=missing)
    return [rows.column(name) for name in merge.ordering]


def _insert(storage: Storage, spec: WriteSpec, file: FileTask, rows: pa.Table) -> list[WriteStatus]:
    if file.sink is Sink.LOG:
        return with_inserts(
            write_changes(storage, spec, file, RowChanges.of_rows(rows, rows.column(KEY))), rows.num_rows
        )
    return _added(storage, spec, file, rows)


def _added(storage: Storage, spec: WriteSpec, file: FileTask, rows: pa.Table | Iterator[pa.Table]) -> list[WriteStatus]:
    """Put rows that are no deletes behind those of a base file, or into a new one."""
    if file.base is None:
        return new_file(storage, spec, file, rows)
    return [rewrite_base_file(storage, spec, file, _unchanged, lambda: rows)]


def _unchanged(batch: pa.RecordBatch) -> Rewritten:
    return Rewritten(batch=batch)


def _widen(rows: pa.Table, spec: WriteSpec) -> pa.Table:
    """Return rows that are only keys the table's columns, all null: a delete needs no values."""
    known = frozenset(rows.column_names)
    added = [field for field in spec.layout.schema if field.name not in known]
    columns = [*rows.columns, *(pa.nulls(rows.num_rows, field.type) for field in added)]
    return pa.Table.from_arrays(columns, schema=pa.schema([*rows.schema, *added]))


def status_batch(*statuses: WriteStatus) -> pa.RecordBatch:
    """Make the rows that a task returns for a bucket: one a file."""
    return pa.RecordBatch.from_pylist([one.values() for one in statuses], schema=WRITE_STATUS)


def to_statuses(table: pa.Table) -> list[WriteStatus]:
    """Read collected status rows, in order of their file groups: one row a file, never one a record."""
    ordered = table.sort_by([(name, "ascending") for name in ("partition", "file_id", "log_version")])
    return [WriteStatus(**row | {"log_files": tuple(row["log_files"])}) for row in ordered.to_pylist()]
