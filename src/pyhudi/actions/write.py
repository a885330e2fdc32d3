"""Write rows: upsert, insert, delete, insert overwrite, delete partition.

Each verb is a straight line: keys, where they are, a plan, files by tasks, commit. Verbs differ by leaving a line out.
Start at `upsert`.

Spec: Writer Expectations 1-4.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.actions.call import WriteCall, WriteResult, sizing_of, write_spec
from pyhudi.actions.concurrency import groups_of, have_moved, hold_the_same, keys_in, mended_tasks
from pyhudi.actions.opening import Opened, opened
from pyhudi.actions.publish import RestsOn, profile, publish
from pyhudi.actions.retrying import retrying
from pyhudi.actions.tasks.write import Kind, to_statuses, write_buckets
from pyhudi.actions.write_plan import Demand, Hashing, WritePlan, plan_write, sole_files
from pyhudi.engine.api import FILE_INDEX, STORED, Frame, Moves
from pyhudi.errors import DuplicateKeys, InvalidInput
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, PartitionPath
from pyhudi.filegroup.writer import WRITE_STATUS, FileTask, WriteStatus
from pyhudi.index.tag import Found, IndexKind, IndexPlan, find_keys, index_plan
from pyhudi.options import one_of, option
from pyhudi.predicate import Expression, parse
from pyhudi.queries.slices import slices_at
from pyhudi.state.config import MergeMode
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.txn.commit import Mend
from pyhudi.txn.conflicts import Reads

__all__ = [
    "Located",
    "delete_keys",
    "delete_partitions",
    "insert",
    "insert_overwrite",
    "locate",
    "plan_for",
    "still_belong",
    "upsert",
]

DUPLICATES: Final = option(
    "hoodie.datasource.insert.dup.policy",
    "none",
    "insert of a key that is stored: none puts a second row, drop leaves the new row out, fail refuses the write.",
    parse=one_of("none", "drop", "fail"),
)
COMBINE_BEFORE_INSERT: Final = option(
    "hoodie.combine.before.insert", False, "insert: keep one row a key of the input, as upsert does."
)


@retrying
def upsert(call: WriteCall, records: Frame) -> WriteResult | WritePlan:
    """Insert new keys and update existing ones, as one commit.   Spec: Writer Expectations 1-4."""
    with opened(call, records, Action.COMMIT, WriteOperation.UPSERT) as write:
        write = _one_row_a_key(write)  # noqa: PLW2901 - the same write with fewer rows
        located = locate(write)
        plan = plan_for(write, located)
        if call.is_dry_run:
            return plan
        write.txn.start(profile(WriteOperation.UPSERT, plan), groups_of(plan.files, located.index))
        statuses = _write(write, located, plan, Kind.UPSERT)
        return publish(
            call,
            write.txn,
            WriteOperation.UPSERT,
            statuses,
            schema=write.schema,
            phases=write.phases,
            rests_on=_rests_on(write, located),
            again=partial(_write_again, write, located, plan, Kind.UPSERT),
        )


@retrying
def insert(
    call: WriteCall, records: Frame, *, operation: WriteOperation = WriteOperation.INSERT
) -> WriteResult | WritePlan:
    """Put rows in, without looking their keys up unless duplicates are dropped or refused."""
    policy = call.settings.get(DUPLICATES)
    with opened(call, records, Action.COMMIT, operation) as write:
        located = locate(write, looks_in_all=True) if policy != "none" else _nothing_located(write)
        rejected_count = sum(located.rows_by_file.values())
        if policy == "fail" and rejected_count:
            raise DuplicateKeys("keys are stored already; use upsert, or drop duplicates", keys_count=rejected_count)
        found_elsewhere_too = policy != "none" and located.index.is_global
        plan = plan_for(write, replace(located, rows_by_file={}), is_anywhere=found_elsewhere_too)
        if call.is_dry_run:
            return plan
        write.txn.start(profile(operation, plan), groups_of(plan.files, located.index))
        kind = Kind.INSERT_ONE if call.settings.get(COMBINE_BEFORE_INSERT) or policy != "none" else Kind.INSERT
        statuses = _write(write, located, plan, kind)
        return publish(
            call,
            write.txn,
            operation,
            statuses,
            schema=write.schema,
            phases=write.phases,
            rejected_count=rejected_count,
            rests_on=_rests_on(write, located) if policy != "none" else None,
            again=partial(_write_again, write, located, plan, kind, is_blind=policy == "none"),
        )


@retrying
def delete_keys(call: WriteCall, records: Frame) -> WriteResult | WritePlan:
    """Delete the stored rows of these keys; keys that are not stored are ignored.

    A frame without partitions (PARTITION null) deletes its keys wherever they are.
    """
    with opened(call, records, Action.COMMIT, WriteOperation.DELETE, has_only_keys=True) as write:
        located = locate(write)
        plan = plan_for(write, located, has_inserts=False, is_anywhere=located.index.is_global)
        if call.is_dry_run:
            return plan
        write.txn.start(profile(WriteOperation.DELETE, plan), groups_of(plan.files, located.index))
        statuses = _write(write, located, plan, Kind.DELETE)
        return publish(
            call,
            write.txn,
            WriteOperation.DELETE,
            statuses,
            schema=write.schema,
            phases=write.phases,
            rests_on=_rests_on(write, located),
            again=partial(_write_again, write, located, plan, Kind.DELETE),
        )


@retrying
def insert_overwrite(call: WriteCall, records: Frame, *, is_whole_table: bool = False) -> WriteResult | WritePlan:
    """Replace the partitions that the rows name, or all of them, by the rows."""
    operation = WriteOperation.INSERT_OVERWRITE_TABLE if is_whole_table else WriteOperation.INSERT_OVERWRITE
    with opened(call, records, Action.REPLACECOMMIT, operation) as write:
        stored = slices_at(call.state, write.snapshot, None if is_whole_table else write.rows_by_partition)
        plan = plan_for(replace(write, slices=[]), _nothing_located(write))
        if call.is_dry_run:
            return plan
        write.txn.start(profile(operation, plan), {one.group for one in stored})
        kind = Kind.INSERT_ONE if call.settings.get(COMBINE_BEFORE_INSERT) else Kind.INSERT
        statuses = _write(write, _nothing_located(write), plan, kind)
        return publish(
            call, write.txn, operation, statuses, schema=write.schema, phases=write.phases, replaced=_groups(stored)
        )


@retrying
def delete_partitions(call: WriteCall, patterns: Sequence[str]) -> WriteResult | list[PartitionPath]:
    """Take whole partitions away: paths, or patterns with `*`; a dry run gives the partitions.

    Raises: InvalidInput where a pattern fits no partition, for no pattern at all, and for one text in place of a list:
            its letters would be the patterns.
    """
    if isinstance(patterns, str) or not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidInput("partitions is a list of paths or patterns, each a text", partitions=patterns)

    def check(_: pa.Schema) -> None:
        _matching({one.group.partition for one in slices_at(call.state, load_timeline(call.state))}, patterns)

    with opened(call, None, Action.REPLACECOMMIT, WriteOperation.DELETE_PARTITION, check=check) as write:
        stored = slices_at(call.state, write.snapshot)
        partitions = _matching({one.group.partition for one in stored}, patterns)
        if call.is_dry_run:
            return partitions
        taken = [one for one in stored if one.group.partition in set(partitions)]
        write.txn.start(None, {one.group for one in taken})
        looked_at = Reads(covers=lambda partition: any(_fits(partition, pattern) for pattern in patterns))
        return publish(
            call,
            write.txn,
            WriteOperation.DELETE_PARTITION,
            [],
            schema=write.schema,
            phases=write.phases,
            replaced=_groups(taken),
            rests_on=RestsOn(reads=looked_at if call.is_serializable else None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where the keys of the rows are, as far as it was looked up."""

    frame: Frame | None
    files: tuple[BaseFile, ...]
    rows_by_file: Mapping[int, int]
    rows_by_partition: Mapping[str, int]
    sole: Mapping[PartitionPath, BaseFile]
    """Partitions in which no look-up was needed."""
    index: IndexPlan


def _nothing_located(write: Opened) -> Located:
    index = index_plan(write.call.settings, write.call.state.config.record_key)
    return Located(frame=None, files=(), rows_by_file={}, rows_by_partition={}, sole={}, index=index)


def _rests_on(write: Opened, located: Located) -> RestsOn:
    """Return what was looked up: keys that were not there must not come, and what was found must not change."""
    found = [file for number, file in enumerate(located.files) if located.rows_by_file.get(number)]
    groups = frozenset(FileGroupId(partition=file.partition, file_id=file.file_id) for file in found)
    return RestsOn(find_keys=keys_in(write), reads=Reads(groups=groups) if write.call.is_serializable else None)


def _one_row_a_key(write: Opened) -> Opened:
    """Global indexes: two rows of one key and different partitions meet in no file, so choose between them here."""
    if not index_plan(write.call.settings, write.call.state.config.record_key).is_global:
        return write
    spec = write_spec(write.call, write.time, write.schema).merge
    return replace(write, rows=write.keep(write.call.engine.newest(write.rows, spec)))


def locate(write: Opened, *, looks_in_all: bool = False) -> Located:
    """Find the files that hold the rows' keys; skip partitions whose only file takes all rows anyway."""
    call = write.call
    index = index_plan(call.settings, call.state.config.record_key)
    if index.kind is IndexKind.BUCKET and not (write.has_unknown_partitions or looks_in_all):
        return replace(_nothing_located(write), index=index)
    with write.phases.step("find keys"):
        sizing = sizing_of(call, write.snapshot)
        can_skip = not (index.is_global or looks_in_all or write.has_unknown_partitions)
        sole = sole_files(write.slices, write.rows_by_partition, sizing) if can_skip else {}
        files = [one.base for one in write.slices if one.base is not None and one.group.partition not in sole]
        if not files:
            return Located(frame=None, files=(), rows_by_file={}, rows_by_partition={}, sole=sole, index=index)
        found = find_keys(
            engine=call.engine,
            storage=call.state.storage,
            keyed=write.rows,
            keys_count=sum(write.rows_by_partition.values()),
            files=files,
            spec=write.keys,
            plan=index if not write.has_unknown_partitions else replace(index, is_global=True),
            columns=call.state.config.ordering_fields if index.moves is Moves.DELETE_AND_INSERT else (),
        )
        return _counted(write, found, sole, index)


def _counted(write: Opened, found: Found, sole: Mapping[PartitionPath, BaseFile], index: IndexPlan) -> Located:
    frame = write.keep(found.frame)
    counts = write.call.engine.count(frame, [FILE_INDEX])
    by_file = dict(zip(counts.column(FILE_INDEX).to_pylist(), counts.column("rows").to_pylist(), strict=True))
    by_partition: dict[str, int] = defaultdict(int)
    for number, rows in by_file.items():
        by_partition[found.files[number].partition] += rows
    return Located(
        frame=frame, files=found.files, rows_by_file=by_file, rows_by_partition=by_partition, sole=sole, index=index
    )


def plan_for(write: Opened, located: Located, *, has_inserts: bool = True, is_anywhere: bool = False) -> WritePlan:
    """Decide buckets and tasks; a partition always has room for rows that turn out to be new."""
    call = write.call
    with write.phases.step("plan"):
        new_rows = {
            PartitionPath(partition): max(1, rows - located.rows_by_partition.get(partition, 0))
            for partition, rows in write.rows_by_partition.items()
            if rows
        }
        is_anywhere = is_anywhere or write.has_unknown_partitions
        moves = Moves.KEEP_PARTITION if is_anywhere else located.index.moves
        return plan_write(
            instant=write.time,
            demand=Demand(new_rows=new_rows, located_rows=located.rows_by_file, files=located.files),
            slices=write.slices,
            sole=located.sole,
            sizing=sizing_of(call, write.snapshot),
            slots_count=call.engine.parallelism_tasks,
            moves=moves,
            loses=_loses(call, moves),
            has_inserts=has_inserts,
            hashing=_hashing(write, located),
        )


def _write(
    write: Opened, located: Located, plan: WritePlan, kind: Kind, only: frozenset[int] | None = None
) -> list[WriteStatus]:
    """Route the rows to their buckets and write them, or some of the buckets: one pass over the wide rows."""
    call, engine = write.call, write.call.engine
    with write.phases.step("write files"):
        routed = engine.route(write.rows, located.frame, plan.routes)
        task = partial(
            write_buckets,
            storage=call.state.storage,
            spec=write_spec(call, write.time, write.schema),
            files=plan.files,
            kind=kind,
            only=only,
        )
        statuses: pa.Table = engine.collect(engine.map(engine.exchange(routed, plan.tasks_count), task, WRITE_STATUS))
        return to_statuses(statuses)


def _write_again(
    write: Opened, located: Located, plan: WritePlan, kind: Kind, mend: Mend, *, is_blind: bool = False
) -> Sequence[WriteStatus] | None:
    """Write the rows of some file groups anew, on top of what others wrote; None where other rows belong there now.

    `is_blind` is for a write that looks no key up.
    """
    tasks = mended_tasks(write.call.state, mend, plan.files)
    if tasks is None:
        return None
    is_insert = kind in {Kind.INSERT, Kind.INSERT_ONE}
    if not is_blind and not still_belong(write, located, plan, tasks, is_insert=is_insert):
        return None
    fresh = {task.number: task for task in tasks}
    changed = replace(plan, files=tuple(fresh.get(task.number, task) for task in plan.files))
    return _write(write, located, changed, kind, frozenset(fresh))


def still_belong(
    write: Opened, located: Located, plan: WritePlan, tasks: Sequence[FileTask], *, is_insert: bool = False
) -> bool:
    """Return whether file groups that others rewrote are still where the plan's rows for them belong.

    Where a row stays out, or goes, by what was stored of its key (an insert that minds duplicates, a global index), the
    same has to be stored there now. Elsewhere a row goes by its key alone, so only keys that came are in the way.
    """
    if is_insert or located.index.is_global or write.has_unknown_partitions:
        return hold_the_same(write, located.frame, located.files, tasks)
    routed = write.call.engine.route(write.rows, located.frame, plan.routes)
    return not have_moved(write, routed, tasks)


def _hashing(write: Opened, located: Located) -> Hashing | None:
    if located.index.kind is not IndexKind.BUCKET or write.has_unknown_partitions:
        return None
    return Hashing(
        buckets_count=located.index.buckets_count,
        hash_fields=located.index.hash_fields,
        key_fields=write.call.state.config.record_key,
    )


def _loses(call: WriteCall, moves: Moves) -> Expression | None:
    """Format `the stored record is newer` for records that would change partition, under event time."""
    fields = call.state.config.ordering_fields
    is_event_time = call.state.config.merge_mode is MergeMode.EVENT_TIME_ORDERING
    if moves is not Moves.DELETE_AND_INSERT or not is_event_time or not fields:
        return None
    text = "false"
    for name in reversed(fields):
        stored, given = f"`{STORED}{name}`", f"`{name}`"
        newer = f"coalesce({stored} > {given}, {stored} is not null and {given} is null)"
        same = f"({stored} <=> {given})"
        text = f"({newer} or ({same} and {text}))"
    return parse(text)


def _groups(slices: Sequence[FileSlice]) -> dict[PartitionPath, list[FileId]]:
    groups: dict[PartitionPath, list[FileId]] = defaultdict(list)
    for one in slices:
        groups[one.group.partition].append(one.group.file_id)
    return dict(groups)


def _matching(partitions: set[PartitionPath], patterns: Sequence[str]) -> list[PartitionPath]:
    matched: set[PartitionPath] = set()
    for pattern in patterns:
        fitting = {partition for partition in partitions if _fits(partition, pattern)}
        if not fitting:
            raise InvalidInput("no partition fits", pattern=pattern, partitions=sorted(partitions)[:10])
        matched |= fitting
    return sorted(matched)


def _fits(partition: PartitionPath, pattern: str) -> bool:
    return fnmatchcase(partition, pattern.strip("/"))
