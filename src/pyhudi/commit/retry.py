"""Retry in place: write the file groups that another commit rewrote again, under the same instant, on top of theirs.

Nothing else of the write is done again, so it has to be sure that the rows still belong there. Start at `work_again`.

Spec: Writer Expectations 3.4; reliability 1.3 C5.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.sinks import stored_slices
from pyhudi.commit.tag import looks_everywhere, search
from pyhudi.commit.work import RowsWork, WriteWork, group_of
from pyhudi.commit.write_plan import task_of
from pyhudi.engine.api import BUCKET, FILE_INDEX, KEY, STORED, Engine, Frame
from pyhudi.filegroup.names import write_token
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import FileTask, Sink
from pyhudi.index.api import Recheck
from pyhudi.index.simple import GLOBAL_SIMPLE, SIMPLE
from pyhudi.index.tag import Found
from pyhudi.predicate import column
from pyhudi.queries.slices import visible_slices
from pyhudi.tasks.sink import slice_of
from pyhudi.txn.checks import planned_groups
from pyhudi.txn.commit import Superseded

__all__ = ["work_again"]

_MOST_COMPARED: Final = 1_000_000
"""Keys that are brought to this process at most, to see whether a write can be saved."""


def work_again(write: WriteContext, work: WriteWork, superseded: Superseded) -> WriteWork | None:
    """Return the part of the work that is done again; None where its rows do not belong in those file groups any more.

    Cost: the keys of the rows and of the rewritten files, in this process.
    """
    write = replace(write, snapshot=superseded.timeline)
    files = _on_top(write, work.tasks, superseded)
    if files is None or not _still_belong(write, work.rows, files):
        return None
    routed_count = 0 if work.rows is None else len(work.rows.plan.files)
    routed = {one.number: one for one in files if one.number < routed_count}
    in_place = tuple(one for one in files if one.number >= routed_count)
    reads = stored_slices(write)
    return WriteWork(
        rows=None if work.rows is None or not routed else _with_files(work.rows, routed, reads),
        files=None if work.files is None or not in_place else replace(work.files, files=in_place, reads=reads),
    )


def _with_files(rows: RowsWork, fresh: dict[int, FileTask], reads: SliceSpec) -> RowsWork:
    files = tuple(fresh.get(one.number, one) for one in rows.plan.files)
    plan = replace(rows.plan, files=files)
    return replace(rows, plan=plan, only=frozenset(fresh), reads=reads if rows.reads is not None else None)


def _on_top(write: WriteContext, tasks: Sequence[FileTask], superseded: Superseded) -> list[FileTask] | None:
    """Return the tasks of the superseded file groups, on top of what is there now; None if that cannot be.

    A group may be gone. Or it has logs that a base file of ours would not have in it, as readers merge those that were
    completed after our instant was issued on top of ours.
    """
    concerned = [task for task in tasks if group_of(task) in superseded.groups]
    files = write.call.files(superseded.timeline)
    stored = {one.group: one for one in visible_slices(files, {task.partition for task in concerned})}
    found = [(task, stored.get(group_of(task))) for task in concerned]
    if any(one is None or (one.logs and task.sink is Sink.BASE) for task, one in found):
        return None
    closed = planned_groups(write.call.state, superseded.timeline)
    return [
        replace(
            task_of(one, task.number, task.sink, closed),
            write_token=write_token(task.number, superseded.revision),
            is_as_tagged=task.is_as_tagged and one.base == task.base,
        )
        for task, one in found
        if one is not None
    ]


def _still_belong(write: WriteContext, rows: RowsWork | None, files: Sequence[FileTask]) -> bool:
    if rows is None or rows.recheck is Recheck.NOTHING:
        return True
    if sum(write.rows_by_partition.values()) > _MOST_COMPARED:
        return False
    if rows.recheck is Recheck.SAME_KEYS:
        return _hold_same_keys(write, rows, files)
    return not _has_moved_keys(write, rows, files)


def _has_moved_keys(write: WriteContext, rows: RowsWork, files: Sequence[FileTask]) -> bool:
    """Return whether others put a key of ours into one of these files that the plan sends elsewhere."""
    engine = write.call.engine
    routed = engine.route(rows.tagged.rows, rows.tagged.frame, rows.plan.routes)
    found = _locate_anew(write, rows, files)
    stored: pa.Table = engine.collect(found.frame)
    ours: pa.Table = engine.collect(engine.select(routed, {name: column(name) for name in (KEY, BUCKET)}))
    numbers = {group_of(task): task.number for task in files}
    buckets = pa.array([numbers[one.group] for one in found.slices], pa.int32())
    where = pa.table({KEY: stored.column(KEY), BUCKET: buckets.take(stored.column(FILE_INDEX))})
    return bool(where.join(ours, keys=[KEY, BUCKET], join_type="left anti").num_rows)


def _hold_same_keys(write: WriteContext, rows: RowsWork, files: Sequence[FileTask]) -> bool:
    """Return whether these rewritten files hold the same of our keys as before, and the stored rows are no newer.

    If it still is so, the rows go where they were to go, whatever was decided by what was found: to leave a row out, to
    move it, or to keep it where it is.
    """
    engine, found = write.call.engine, rows.tagged.frame
    numbers = {group: number for number, group in enumerate({group_of(task): None for task in files})}
    stored = [] if found is None else [name for name in engine.schema(found).names if name.startswith(STORED)]
    fresh = _locate_anew(write, rows, files, [name.removeprefix(STORED) for name in stored])
    now = _keys_by_group(engine, fresh.frame, stored, [numbers[one.group] for one in fresh.slices])
    if found is None:
        return not now.num_rows
    tagged = [numbers.get(one.group, -1) for one in rows.tagged.slices]
    return bool(now.equals(_keys_by_group(engine, found, stored, tagged)))


def _locate_anew(write: WriteContext, rows: RowsWork, tasks: Sequence[FileTask], columns: Sequence[str] = ()) -> Found:
    """Find which task's newest file slice holds which of the rows' keys; no footer is asked first."""
    index = GLOBAL_SIMPLE if looks_everywhere(write) else SIMPLE
    slices = [slice_of(one) for one in tasks]
    return search(
        write,
        rows.tagged.rows,
        slices,
        index,
        columns=columns,
        sees_deletes=True,
        finds_hidden=rows.tagged.finds_hidden,
    )


def _keys_by_group(engine: Engine, found: Frame, stored: Sequence[str], groups: Sequence[int]) -> pa.Table:
    """Return keys, stored values and groups in order, without those of no group."""
    names = [KEY, FILE_INDEX, *stored]
    table: pa.Table = engine.collect(found).select(names)
    group = pa.array(groups, pa.int32()).take(table.column(FILE_INDEX).combine_chunks())
    table = table.set_column(table.column_names.index(FILE_INDEX), FILE_INDEX, group)
    kept = table.filter(pc.greater_equal(table.column(FILE_INDEX), 0)).select(names)
    return kept.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names]).combine_chunks()
