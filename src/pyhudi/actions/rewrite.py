"""Delete where, update where: change stored rows by a predicate, file by file, without bringing any row anywhere.

Start at `delete_where`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.call import WriteCall, WriteResult, write_spec
from pyhudi.actions.concurrency import mended_tasks
from pyhudi.actions.opening import Opened, opened
from pyhudi.actions.publish import RestsOn, publish
from pyhudi.actions.retrying import retrying
from pyhudi.actions.tasks.assignment import in_type_of
from pyhudi.errors import ExpressionError, InvalidInput
from pyhudi.filegroup.file_index import file_index
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.rows import decoded
from pyhudi.filegroup.writer import FileTask, Rewritten, WriteSpec, WriteStatus, rewrite_base_file
from pyhudi.formats.parquet import iter_batches
from pyhudi.kernels.merge import replace_rows
from pyhudi.predicate import Expression, check, evaluate, fields_of, mask
from pyhudi.queries.path_values import values_in_paths, with_path_values
from pyhudi.queries.pruning import prune_partitions
from pyhudi.queries.slices import visible_slices
from pyhudi.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, seqno, with_meta_fields
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.txn.commit import Mend
from pyhudi.txn.conflicts import Reads

__all__ = ["delete_where", "update_where"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What happens to the rows for which `where` is true (all, if it is None)."""

    where: Expression | None
    assignments: Mapping[str, Expression] | None
    """None: they go."""
    path_values: pa.Table | None = None
    """Values of the columns that base files do not have, by partition."""


def delete_where(call: WriteCall, where: Expression) -> WriteResult | list[str]:
    """Delete the rows for which a predicate is true; a dry run gives the files that would be looked at."""
    return _rewrite(call, WriteOperation.DELETE, _Change(where=where, assignments=None))


def update_where(
    call: WriteCall, assignments: Mapping[str, Expression], where: Expression | None
) -> WriteResult | list[str]:
    """Set columns in the rows for which a predicate is true.

    Raises: InvalidInput for no columns, and for those that are unknown, or part of the key or the partition path.
    """
    if not assignments:
        raise InvalidInput("an update sets at least one column", set={})
    return _rewrite(call, WriteOperation.UPSERT, _Change(where=where, assignments=assignments))


@retrying
def _rewrite(call: WriteCall, operation: WriteOperation, change: _Change) -> WriteResult | list[str]:
    with opened(call, None, Action.COMMIT, operation, check=partial(_check, call, change)) as write:
        slices = _candidates(write, change)
        if call.is_dry_run:
            return [one.base.path for one in slices if one.base is not None]
        write.txn.start(None, {one.group for one in slices})
        spec = write_spec(call, write.time, write.schema)
        told = values_in_paths(call.state.config, write.schema, sorted({one.group.partition for one in slices}))
        change = replace(change, path_values=told)
        tasks = [_task(number, one) for number, one in enumerate(slices)]
        with write.phases.step("write files"):
            work = partial(_rewrite_file, storage=call.state.storage, spec=spec, change=change)
            statuses = call.engine.run(work, tasks)
        reads = Reads(covers=partial(_covers, write, change)) if call.is_serializable else None
        return publish(
            call,
            write.txn,
            operation,
            statuses,
            schema=write.schema,
            phases=write.phases,
            rests_on=RestsOn(reads=reads),
            again=partial(_rewrite_again, write, work, tasks),
        )


def _rewrite_again(
    write: Opened, work: Callable[[FileTask], WriteStatus], tasks: Sequence[FileTask], mend: Mend
) -> Sequence[WriteStatus] | None:
    """Change the file groups anew that others rewrote: each stands for itself."""
    changed = mended_tasks(write.call.state, mend, tasks)
    with write.phases.step("write files"):
        return None if changed is None else write.call.engine.run(work, changed)


def _covers(write: Opened, change: _Change, partition: PartitionPath) -> bool:
    """Return whether the condition may be true for rows of a partition."""
    config, schema = write.call.state.config, with_meta_fields(write.schema)
    return bool(prune_partitions(config, schema, [partition], change.where))


def _check(call: WriteCall, change: _Change, columns: pa.Schema) -> None:
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


def _candidates(write: Opened, change: _Change) -> list[FileSlice]:
    state = write.call.state
    schema = with_meta_fields(write.schema)
    index = file_index(state, write.snapshot)
    partitions = prune_partitions(state.config, schema, index.partitions(), change.where)
    return [one for one in visible_slices(index, partitions) if one.base is not None]


def _task(number: int, one: FileSlice) -> FileTask:
    group = one.group
    return FileTask(
        partition=group.partition, file_id=group.file_id, write_token=f"{number}-0-0", base=one.base, number=number
    )


def _rewrite_file(task: FileTask, *, storage: Storage, spec: WriteSpec, change: _Change) -> WriteStatus:
    """Rewrite one file, if any of its rows is concerned: the condition's columns are read first."""
    if change.where is not None and not _has_match(task, storage, spec, change):
        return WriteStatus(
            partition=task.partition, file_id=task.file_id, path="", previous_instant="null", previous_name=""
        )
    return rewrite_base_file(storage, spec, task, _Rewriter(spec, task, change))


def _has_match(task: FileTask, storage: Storage, spec: WriteSpec, change: _Change) -> bool:
    assert task.base is not None, "only stored files are rewritten"
    assert change.where is not None, "without a condition every row matches"
    stored = spec.layout.file_schema
    needed = fields_of(change.where, with_meta_fields(spec.layout.schema))
    names = sorted(name for name in needed if name in stored.names) or [stored.names[0]]
    with storage.open_input(task.base.path) as source:
        for batch in iter_batches(source, names):
            rows = with_path_values(batch, change.path_values, task.partition)
            if set(batch.schema.names) != set(names) or pc.any(mask(change.where, rows)).as_py():
                return True
    return False


class _Rewriter:
    """Changes the batches of one file, numbering the rows it touches."""

    def __init__(self, spec: WriteSpec, task: FileTask, change: _Change) -> None:
        self._spec, self._task, self._change = spec, task, change
        self._touched = 0

    def __call__(self, batch: pa.RecordBatch) -> Rewritten:
        where, assignments = self._change.where, self._change.assignments
        rows = with_path_values(decoded(batch), self._change.path_values, self._task.partition)
        hit = pa.array([True] * batch.num_rows) if where is None else mask(where, rows)
        count = pc.sum(hit).as_py() or 0
        if not count:
            return Rewritten(batch=batch, updates_count=0, deletes_count=0)
        if assignments is None:
            return Rewritten(batch=batch.filter(pc.invert(hit)), updates_count=0, deletes_count=count)
        fresh = self._fresh(rows.filter(hit), assignments, batch.schema)
        return Rewritten(batch=replace_rows(batch, hit, fresh), updates_count=count, deletes_count=0)

    def _fresh(
        self, rows: pa.RecordBatch, assignments: Mapping[str, Expression], schema: pa.Schema
    ) -> dict[str, pa.Array]:
        count = rows.num_rows
        fresh: dict[str, Any] = {
            name: in_type_of(rows.schema.field(name), evaluate(expression, rows))
            for name, expression in assignments.items()
        }
        if self._spec.layout.has_meta_values:
            fresh[COMMIT_TIME] = pa.repeat(pa.scalar(self._spec.instant, pa.string()), count)
            fresh[COMMIT_SEQNO] = seqno(self._spec.instant, self._task.number, self._touched, count)
        self._touched += count
        return fresh
