"""Where the changes of one file group go: into its next base file, or into a log on top of its newest slice.

Data plane. Tasks make `RowChanges`, of rows that come from outside or of those that are stored; the plan has chosen the
sink. Start at `write_changes` and `change_stored`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyhudi.engine.api import KEY, PARTITION
from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.graves import are_buried
from pyhudi.filegroup.log_ordering import are_storable
from pyhudi.filegroup.model import FileGroupId, FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.rows import RowLayout, base_file_rows, decoded, record_keys_of
from pyhudi.filegroup.write_task import FileTask, Sink, WriteSpec, WriteStatus, unwritten
from pyhudi.filegroup.writer import Rewritten, create_base_file, merge_base_file, rewrite_base_file, store_base_file
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, deleted_rows, merge_batch, probe, replace_rows
from pyhudi.kernels.ordering import comparable
from pyhudi.kernels.rules import Fill, LogRule, empty_cells
from pyhudi.storage.api import Storage

__all__ = ["Change", "change_stored", "gives_ordering", "slice_of", "with_inserts", "write_changes"]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


def write_changes(storage: Storage, spec: WriteSpec, file: FileTask, changes: RowChanges) -> list[WriteStatus]:
    """Write changes, one a key, to a file group; return one status a file, at least one.

    Shape: rows with the table's columns, KEY and PARTITION.
    """
    if file.sink is Sink.LOG:
        return append_changes(storage, spec, file, changes) or [unwritten(file)]
    updates = probe(changes.rows, changes.keys, changes.is_delete, spec.merge, unordered=changes.is_unordered)
    return [merge_base_file(storage, spec, file, updates)]


class Change(Protocol):
    """What becomes of the rows of one file group."""

    def __call__(self, batch: pa.RecordBatch) -> Rewritten:
        """Change one batch of stored rows, in `RowLayout.file_schema`; some text may be dictionary-coded."""
        ...

    def rest(self) -> pa.Table:
        """Return rows to add once all batches went by, as `create_base_file` takes them."""
        ...


def change_stored(
    storage: Storage, spec: WriteSpec, reads: SliceSpec, file: FileTask, begin: Callable[[], Change]
) -> list[WriteStatus]:
    """Change the stored rows of a file group, and add some.

    Nothing is written when nothing changes: a status without a path says so. `begin` is asked for the change each time
    that the rows are gone over. Rows that say they are deletes after it go, and are not added. Where a change gives a
    row a smaller ordering value, or adds a row of a key that the log deletes with a greater one, which readers of a log
    would leave out, the slice is written anew as a base file.

    Cost: of a log, the rows that change in memory.
    """
    begin = _erasing(begin, spec)
    change = begin()
    if file.sink is Sink.BASE and file.base is not None:
        return [rewrite_base_file(storage, spec, file, change, change.rest)]
    if file.sink is Sink.BASE:
        return [create_base_file(storage, spec, file, change.rest())]
    parts: list[RowChanges] = []
    first_row = 0 if file.base is not None and not file.logs else None
    for batch in _stored(storage, reads, file):
        rewritten = change(batch)
        if _is_undone(batch, rewritten, spec.merge):
            return [_written_anew(storage, spec, reads, file, begin())]
        parts += _changes(rewritten, file, spec, first_row)
        first_row = None if first_row is None else first_row + batch.num_rows
    rest = change.rest()
    if rest.num_rows and file.logs and are_buried(slice_of(file), rest, rest.column(KEY), storage=storage, spec=reads):
        return [_written_anew(storage, spec, reads, file, begin())]
    if rest.num_rows:
        parts.append(RowChanges.of_rows(rest.select(_columns(spec.layout)), rest.column(KEY)))
    statuses = append_changes(storage, spec, file, _together(parts)) if parts else [unwritten(file)]
    return with_inserts(statuses, rest.num_rows)


def _erasing(begin: Callable[[], Change], spec: WriteSpec) -> Callable[[], Change]:
    """Return what makes the change, so that it heeds what rows say of themselves where the table's columns may."""
    marks = {*DELETE_COLUMNS, spec.merge.delete_field}
    if marks.isdisjoint(spec.layout.schema.names):
        return begin
    return lambda: _Erasing(begin(), spec.merge)


@dataclass(frozen=True, slots=True)
class _Erasing:
    """A change after which rows are gone that say they are deletes."""

    change: Change
    rules: MergeSpec

    def __call__(self, batch: pa.RecordBatch) -> Rewritten:
        rewritten = self.change(batch)
        if rewritten.is_updated is None:
            return rewritten
        erased = rewritten.is_updated & deleted_rows(pa.Table.from_batches([rewritten.batch]), self.rules)
        if not erased.any():
            return rewritten
        where = pa.array(erased)
        # What is stored is deleted, so it goes by its own ordering value.
        ordering = {name: batch.column(name).filter(where) for name in self.rules.ordering}
        return Rewritten(
            batch=replace_rows(rewritten.batch, where, ordering),
            is_updated=rewritten.is_updated & ~erased,
            is_deleted=erased if rewritten.is_deleted is None else rewritten.is_deleted | erased,
        )

    def rest(self) -> pa.Table:
        rows = self.change.rest()
        return rows.filter(pa.array(~deleted_rows(rows, self.rules)))


def _written_anew(storage: Storage, spec: WriteSpec, reads: SliceSpec, file: FileTask, change: Change) -> WriteStatus:
    """Write a slice with its logs, changed, as the file group's next base file."""
    updates = deletes = inserts = 0

    def rows() -> Iterator[pa.RecordBatch]:
        nonlocal updates, deletes, inserts
        for batch in _stored(storage, reads, file):
            rewritten = change(batch)
            updates, deletes = updates + rewritten.updates_count, deletes + rewritten.deletes_count
            yield rewritten.kept
        rest = change.rest()
        inserts = rest.num_rows
        laid_out = base_file_rows(rest, spec.layout, spec.instant, file.number, "", first_row=updates)
        yield from laid_out.to_batches()

    status = store_base_file(storage, spec, file, rows())
    return replace(status, inserts_count=inserts, updates_count=updates, deletes_count=deletes)


def with_inserts(statuses: Sequence[WriteStatus], count: int) -> list[WriteStatus]:
    """Return the statuses of logs with so many of their rows counted as new, the last ones: a log does not tell."""
    found = []
    for status in reversed(statuses):
        new = min(count, status.updates_count)
        found.append(
            replace(status, inserts_count=status.inserts_count + new, updates_count=status.updates_count - new)
        )
        count -= new + status.inserts_count
    return found[::-1]


def _stored(storage: Storage, reads: SliceSpec, file: FileTask) -> Iterator[pa.RecordBatch]:
    if file.base_instant is not None:
        yield from read_slice(slice_of(file), storage=storage, spec=reads)


def _is_undone(batch: pa.RecordBatch, rewritten: Rewritten, merge: MergeSpec) -> bool:
    """Return whether readers would keep what a log is to replace.

    They do where a change gives a row a smaller ordering value, or, as some payload classes have it, the same, or
    empties a cell that the older row then fills; and always where a merger of the user's would make both one.
    """
    if rewritten.is_updated is not None and merge.merger is not None:
        return bool(rewritten.is_updated.any())
    is_plain = merge.fill is Fill.NOTHING and not merge.orders_log
    if rewritten.is_updated is None or is_plain:
        return False
    rows = pa.array(np.flatnonzero(rewritten.is_updated))
    before, after = (pa.Table.from_batches([one.take(rows)]) for one in (batch, rewritten.batch))
    were_empty = empty_cells(before, merge)
    if any((flags & ~were_empty.get(name, False)).any() for name, flags in empty_cells(after, merge).items()):
        return True
    is_same = all(_are_alike(before[name], after[name]) for name in merge.ordering)
    if not merge.orders_log or not len(rows) or (is_same and not merge.keeps_ties):
        return False
    by_time = replace(merge, is_event_time=True, log_rule=LogRule.AS_STORED, fill=Fill.NOTHING)
    as_texts = [replace(by_time, is_binlog=False, keeps_ties=False)] if merge.precombines_as_text else []
    return any(_loses(before, after, rules) for rules in (by_time, *as_texts))


def _are_alike(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Return whether ordering values are the same: to Arrow, for which -0.0 is 0.0, and as they compare."""
    return bool(before.equals(after) and comparable(before).equals(comparable(after)))


def _loses(before: pa.Table, after: pa.Table, rules: MergeSpec) -> bool:
    """Return whether any row loses to what it was.   Shape: n rows each."""
    keys = pa.chunked_array([pa.array(np.arange(after.num_rows)).cast(pa.string())])
    both = probe(after, keys, _none(after.num_rows), rules)
    met = merge_batch(before.combine_chunks().to_batches()[0], both.keys, both, rules)
    return met.updated_count < len(both.keys)


def _none(count: int) -> Bools:
    return np.zeros(count, dtype=np.bool_)


def slice_of(file: FileTask) -> FileSlice:
    """Return the file slice that a task changes."""
    group = FileGroupId(partition=file.partition, file_id=file.file_id)
    assert file.base_instant is not None, "a new file group has no slice"
    return FileSlice(group=group, base_instant=file.base_instant, base=file.base, logs=file.logs)


def _changes(rewritten: Rewritten, file: FileTask, spec: WriteSpec, first_row: int | None) -> Iterator[RowChanges]:
    """Take out of a batch what became of it: rows with new values, and keys that go.

    `first_row` is the row of the base file with which the batch begins, where it is the rows of one.
    """
    layout = spec.layout
    for flags, is_delete in ((rewritten.is_updated, False), (rewritten.is_deleted, True)):
        if flags is None or not flags.any():
            continue
        stored = rewritten.batch.filter(pa.array(flags))
        keys, rows = record_keys_of(stored, layout), pa.Table.from_batches([decoded(stored)])
        columns = [keys, pa.repeat(pa.scalar(file.partition, pa.string()), len(keys))]
        named = dict(zip((KEY, PARTITION), columns, strict=True))
        table = pa.table({name: named[name] if name in named else rows[name] for name in _columns(layout)})
        yield RowChanges(
            keys=pa.chunked_array([keys]),
            rows=table,
            is_delete=np.full(len(keys), is_delete),
            is_unordered=np.full(len(keys), is_delete and not gives_ordering(table, spec.merge)),
            positions=None if first_row is None else first_row + np.flatnonzero(flags),
        )


def gives_ordering(rows: pa.Table, merge: MergeSpec) -> bool:
    """Return whether deletes of stored rows say these rows' ordering values.

    They do where these decide what is newer. A delete without a value loses its place to a later row, which in Apache
    Hudi then meets the deleted row once more.

    Shape: the ordering columns of stored rows.
    """
    return merge.is_event_time and are_storable([rows.column(name).combine_chunks() for name in merge.ordering])


def _columns(layout: RowLayout) -> list[str]:
    """Name the columns of changes: those of files, and what a row is found by."""
    return [*(field.name for field in layout.schema if field.name not in layout.dropped), KEY, PARTITION]


def _together(parts: list[RowChanges]) -> RowChanges:
    return RowChanges(
        keys=pa.chunked_array([chunk for part in parts for chunk in part.keys.chunks], pa.string()),
        rows=pa.concat_tables([part.rows for part in parts]),
        is_delete=np.concatenate([part.is_delete for part in parts]),
        is_unordered=np.concatenate([part.is_unordered for part in parts]),
        positions=np.concatenate([_positions(part) for part in parts]),
    )


def _positions(part: RowChanges) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rows of the base file that changes replace; less than 0 where they are not known."""
    return np.full(len(part.keys), -1, dtype=np.int64) if part.positions is None else part.positions
