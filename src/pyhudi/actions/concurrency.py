"""What a write does about others that commit while it works: what it rests on, and what it can write again.

`keys_in` looks a write's keys up in files of others; `mended_tasks` gives file groups that others rewrote their newest
base files, under names that are new. Start at `keys_in`.

Spec: Writer Expectations 3.4; reliability 1.3 C5.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.opening import Opened
from pyhudi.engine.api import BUCKET, FILE_INDEX, KEY, STORED, Engine, Frame, ScanFile
from pyhudi.filegroup.model import BaseFile, FileGroupId
from pyhudi.filegroup.names import write_token
from pyhudi.filegroup.writer import FileTask
from pyhudi.index.tag import IndexKind, IndexPlan, find_keys, index_plan
from pyhudi.predicate import column
from pyhudi.queries.slices import slices_at
from pyhudi.state.model import TableState
from pyhudi.txn.checks import FindKeys
from pyhudi.txn.commit import Mend

__all__ = ["group_of", "groups_of", "have_moved", "hold_the_same", "keys_in", "mended_tasks"]

_MOST_COMPARED: Final = 1_000_000
"""Keys that are brought to this process at most, to see whether a write can be saved."""


def group_of(task: FileTask) -> FileGroupId:
    """Name the file group that a task writes."""
    return FileGroupId(partition=task.partition, file_id=task.file_id)


def groups_of(tasks: Collection[FileTask], index: IndexPlan) -> frozenset[FileGroupId]:
    """Name the file groups that others might write too: stored ones, and all of a bucket index."""
    return frozenset(group_of(one) for one in tasks if one.base is not None or index.kind is IndexKind.BUCKET)


def keys_in(write: Opened) -> FindKeys:
    """Make the function that counts which of the rows' keys are in other commits' files.

    Cost: the footers of the files, and the keys of those files that may hold one.
    """
    call = write.call

    def find(files: Sequence[BaseFile]) -> Mapping[BaseFile, int]:
        index = _looking_in_footers(index_plan(call.settings, call.state.config.record_key), write)
        partitions = None if index.is_global else write.rows_by_partition
        near = [file for file in files if partitions is None or file.partition in partitions]
        if not near:
            return {}
        found = find_keys(
            engine=call.engine,
            storage=call.state.storage,
            keyed=write.rows,
            keys_count=sum(write.rows_by_partition.values()),
            files=near,
            spec=write.keys,
            plan=index,
        )
        counts = call.engine.count(found.frame, [FILE_INDEX])
        numbers, rows = counts.column(FILE_INDEX).to_pylist(), counts.column("rows").to_pylist()
        return {found.files[number]: count for number, count in zip(numbers, rows, strict=True)}

    return find


def mended_tasks(state: TableState, mend: Mend, tasks: Sequence[FileTask]) -> list[FileTask] | None:
    """Return the tasks of the file groups to mend, on top of what is there now; None if one of them is gone."""
    concerned = [task for task in tasks if group_of(task) in mend.groups]
    slices = slices_at(state, mend.timeline, {task.partition for task in concerned})
    bases = {one.group: one.base for one in slices}
    if any(bases.get(group_of(task)) is None for task in concerned):
        return None
    return [
        replace(task, base=bases[group_of(task)], write_token=write_token(task.number, mend.revision))
        for task in concerned
    ]


def have_moved(write: Opened, routed: Frame, tasks: Sequence[FileTask]) -> bool:
    """Return whether others put a key of ours into one of these files that we are about to write elsewhere.

    Cost: the keys of the rows and of the files, in this process; a write of more rows counts as moved.
    """
    call = write.call
    if _are_too_many(write):
        return True
    stored: pa.Table = call.engine.collect(_locate_anew(write, tasks))
    ours: pa.Table = call.engine.collect(call.engine.select(routed, {name: column(name) for name in (KEY, BUCKET)}))
    buckets = pa.array([task.number for task in tasks], pa.int32())
    where = pa.table({KEY: stored.column(KEY), BUCKET: buckets.take(stored.column(FILE_INDEX))})
    return bool(where.join(ours, keys=[KEY, BUCKET], join_type="left anti").num_rows)


def hold_the_same(write: Opened, found: Frame | None, files: Sequence[BaseFile], tasks: Sequence[FileTask]) -> bool:
    """Return whether these rewritten files hold the same of our keys as before, and the stored rows are no newer.

    `found` says which of `files` held which key. If it still is so, the rows go where they were to go, whatever was
    decided by what was found: to leave a row out, to move it, or to keep it where it is.

    Cost: as `have_moved`; a write of more rows counts as changed.
    """
    if _are_too_many(write):
        return False
    engine = write.call.engine
    numbers = {group: number for number, group in enumerate({group_of(task): None for task in tasks})}
    stored = [] if found is None else [name for name in engine.schema(found).names if name.startswith(STORED)]
    fresh = _locate_anew(write, tasks, [name.removeprefix(STORED) for name in stored])
    now = _keys_by_group(engine, fresh, stored, [numbers[group_of(task)] for task in tasks])
    if found is None:
        return not now.num_rows
    groups = [numbers.get(FileGroupId(partition=one.partition, file_id=one.file_id), -1) for one in files]
    return bool(now.equals(_keys_by_group(engine, found, stored, groups)))


def _are_too_many(write: Opened) -> bool:
    return sum(write.rows_by_partition.values()) > _MOST_COMPARED


def _locate_anew(write: Opened, tasks: Sequence[FileTask], columns: Sequence[str] = ()) -> Frame:
    """Find which task's newest file holds which of the rows' keys."""
    call = write.call
    files = [one.base for one in tasks if one.base is not None]
    scanned = [ScanFile(path=one.path, size_bytes=one.size_bytes, partition=one.partition) for one in files]
    index = _looking_in_footers(index_plan(call.settings, call.state.config.record_key), write)
    return call.engine.locate(write.rows, scanned, write.keys, by_partition=not index.is_global, columns=columns)


def _keys_by_group(engine: Engine, found: Frame, stored: Sequence[str], groups: Sequence[int]) -> pa.Table:
    """Return keys, stored values and groups in order, without those of no group."""
    names = [KEY, FILE_INDEX, *stored]
    table: pa.Table = engine.collect(found).select(names)
    group = pa.array(groups, pa.int32()).take(table.column(FILE_INDEX).combine_chunks())
    table = table.set_column(table.column_names.index(FILE_INDEX), FILE_INDEX, group)
    kept = table.filter(pc.greater_equal(table.column(FILE_INDEX), 0)).select(names)
    return kept.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names]).combine_chunks()


def _looking_in_footers(index: IndexPlan, write: Opened) -> IndexPlan:
    """Leave files out by their footers first, whatever the table's index does."""
    is_global = index.is_global or write.has_unknown_partitions
    return replace(index, kind=IndexKind.GLOBAL_BLOOM if is_global else IndexKind.BLOOM, is_global=is_global)
