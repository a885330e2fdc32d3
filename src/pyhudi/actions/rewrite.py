"""Delete where, update where: change stored rows by a predicate, file by file, without bringing any row anywhere.

Start at `delete_where`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.commit.begin import WriteContext, begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.few_rows import with_few_files_here
from pyhudi.commit.finish import finish
from pyhudi.commit.planned import PlannedWrite, planned
from pyhudi.commit.restart import restarting
from pyhudi.commit.sinks import stored_slices, stored_task
from pyhudi.commit.work import FilesWork, WriteWork, run_work, start_write
from pyhudi.errors import ExpressionError, InvalidInput
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.rows import decoded
from pyhudi.filegroup.view import as_file_slices
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus, unwritten
from pyhudi.filegroup.writer import Rewritten
from pyhudi.kernels.merge import DELETE_COLUMNS, replace_rows
from pyhudi.kernels.ordering import require_values
from pyhudi.predicate import Expression, check, evaluate, fields_of, mask
from pyhudi.queries.choosing import choose_slices
from pyhudi.queries.path_values import values_in_paths, with_path_values
from pyhudi.queries.pruning import prune_partitions
from pyhudi.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, seqno, with_meta_fields
from pyhudi.state.merging import merge_spec
from pyhudi.storage.api import Storage
from pyhudi.tasks.assignment import in_type_of
from pyhudi.tasks.sink import change_stored, slice_of
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline
from pyhudi.txn.conflicts import ReadSet

__all__ = ["delete_where", "update_where"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What happens to the rows for which `where` is true (all, if it is None)."""

    where: Expression | None
    assignments: Mapping[str, Expression] | None
    """None: they go."""
    path_values: pa.Table | None = None
    """Values of the columns that base files do not have, by partition."""


def delete_where(call: WriteCall, where: Expression) -> WriteResult | PlannedWrite:
    """Delete the rows for which a predicate is true; a dry run counts them."""
    return _rewrite(call, WriteOperation.DELETE, _Change(where=where, assignments=None))


def update_where(
    call: WriteCall, assignments: Mapping[str, Expression], where: Expression | None
) -> WriteResult | PlannedWrite:
    """Set columns in the rows for which a predicate is true.

    Raises: InvalidInput for no columns, and for those that are unknown, or part of the key or the partition path.
    """
    if not assignments:
        raise InvalidInput("an update sets at least one column", set={})
    return _rewrite(call, WriteOperation.UPSERT, _Change(where=where, assignments=assignments))


@restarting
def _rewrite(call: WriteCall, operation: WriteOperation, change: _Change) -> WriteResult | PlannedWrite:
    with begin_write(call, None, operation, check=partial(_check, call, change)) as begun:
        slices = _candidates(begun, change)
        write = with_few_files_here(begun, slices)
        told = values_in_paths(call.state.config, write.schema, sorted({one.group.partition for one in slices}))
        change = replace(change, path_values=told)
        spec = call.spec(write.time, write.schema)
        given = partial(_rewrite_file, storage=call.state.storage, spec=spec, change=change)
        tasks = tuple(stored_task(write, one, number) for number, one in enumerate(slices))
        reads = ReadSet(covers=partial(_covers, write, change)) if call.is_serializable else None
        files = FilesWork(files=tasks, task=given, reads=stored_slices(write))
        work = WriteWork(files=files, read_set=reads, verb="update" if change.assignments else "")
        if call.is_dry_run:
            return _planned(write, work, change)
        start_write(write, work)
        return finish(write, work, run_work(write, work))


def _planned(write: WriteContext, work: WriteWork, change: _Change) -> PlannedWrite:
    """Count the rows that the condition is true of; files without one are not rewritten."""
    assert work.files is not None, "stored files are rewritten"
    count = partial(_matches_in_file, storage=write.call.state.storage, reads=stored_slices(write), change=change)
    counts = write.call.engine.run(count, work.files.files)
    hit = tuple(task for task, rows in zip(work.files.files, counts, strict=True) if rows)
    work = replace(work, files=replace(work.files, files=hit))
    marks = {*DELETE_COLUMNS, merge_spec(write.call.state.config, write.call.settings).delete_field}
    if not marks.isdisjoint(change.assignments or {}):
        return planned(write, work, inserts=0)
    is_delete = change.assignments is None
    matched = sum(counts)
    return planned(write, work, inserts=0, updates=0 if is_delete else matched, deletes=matched if is_delete else 0)


def _covers(write: WriteContext, change: _Change, partition: PartitionPath) -> bool:
    """Return whether the condition may be true for rows of a partition."""
    config, schema = write.call.state.config, with_meta_fields(write.schema)
    return bool(prune_partitions(config, schema, [partition], change.where))


def _check(call: WriteCall, change: _Change, columns: pa.Schema, _: Timeline) -> None:
    schema, config = with_meta_fields(columns), call.state.config
    if change.where is not None and not pa.types.is_boolean(check(change.where, schema)):
        raise ExpressionError("a condition is true or false", type=str(check(change.where, schema)))
    fixed = {*config.record_key, *(name.split(":")[0] for name in config.partition_fields)}
    for name, expression in (change.assignments or {}).items():
        if name not in columns.names:
            raise InvalidInput("the table has no such column", column=name, columns=columns.names)
        if name in fixed:
            raise InvalidInput("an update cannot change a key or partition column; delete and insert", column=name)
        in_type_of(columns.field(name), pa.array([], check(expression, schema)))


def _candidates(write: WriteContext, change: _Change) -> list[FileSlice]:
    """Return the slices that may hold a row for which the condition is true, by paths and by statistics."""
    return as_file_slices(choose_slices(write.files, with_meta_fields(write.schema), change.where).slices)


def _rewrite_file(
    task: FileTask, *, storage: Storage, spec: WriteSpec, reads: SliceSpec, change: _Change
) -> list[WriteStatus]:
    """Change the rows of one file slice, if any is concerned: the condition's columns are read first."""
    if change.where is not None and not any(_matches(task, storage, reads, change)):
        return [unwritten(task)]
    return change_stored(storage, spec, reads, task, partial(_Rewriter, spec, task, change))


def _matches_in_file(task: FileTask, *, storage: Storage, reads: SliceSpec, change: _Change) -> int:
    """Count the rows of a file slice that the condition is true of."""
    return sum(_matches(task, storage, reads, change))


def _matches(task: FileTask, storage: Storage, reads: SliceSpec, change: _Change) -> Iterator[int]:
    """Yield for each batch of a slice how many rows the condition is true of; reads the condition's columns."""
    schema, stored = with_meta_fields(reads.layout.schema), reads.layout.file_schema
    needed = () if change.where is None else fields_of(change.where, schema)
    names = tuple(field.name for field in stored if field.name in needed) or (stored.field(0).name,)
    for batch in read_slice(slice_of(task), storage=storage, spec=replace(reads, columns=names)):
        if change.where is None:
            yield batch.num_rows
            continue
        rows = with_path_values(batch, change.path_values, task.partition)
        yield pc.sum(mask(change.where, rows)).as_py() or 0


class _Rewriter:
    """Changes the batches of one file, numbering the rows it touches."""

    def __init__(self, spec: WriteSpec, task: FileTask, change: _Change) -> None:
        self._spec, self._task, self._change = spec, task, change
        self._touched = 0

    def __call__(self, batch: pa.RecordBatch) -> Rewritten:
        where, assignments = self._change.where, self._change.assignments
        rows = with_path_values(decoded(batch), self._change.path_values, self._task.partition)
        hit = pa.array([True] * batch.num_rows) if where is None else mask(where, rows)
        if not pc.any(hit).as_py():
            return Rewritten(batch=batch)
        flags = hit.to_numpy(zero_copy_only=False)
        if assignments is None:
            return Rewritten(batch=batch, is_deleted=flags)
        fresh = self._fresh(rows.filter(hit), assignments, batch.schema)
        return Rewritten(batch=replace_rows(batch, hit, fresh), is_updated=flags)

    def rest(self) -> pa.Table:
        """Return no rows: none are added."""
        return with_meta_fields(self._spec.layout.schema).empty_table()

    def _fresh(
        self, rows: pa.RecordBatch, assignments: Mapping[str, Expression], schema: pa.Schema
    ) -> dict[str, pa.Array]:
        count = rows.num_rows
        fresh: dict[str, Any] = {
            name: in_type_of(rows.schema.field(name), evaluate(expression, rows))
            for name, expression in assignments.items()
        }
        require_values(pa.table(fresh), [name for name in self._spec.required if name in fresh])
        if self._spec.layout.has_meta_values:
            fresh[COMMIT_TIME] = pa.repeat(pa.scalar(self._spec.instant, pa.string()), count)
            fresh[COMMIT_SEQNO] = seqno(self._spec.instant, self._task.number, self._touched, count)
        self._touched += count
        return fresh
