"""Write rows: upsert, insert, delete, insert overwrite, delete partition.

Each verb is a straight line: begin, tag, plan, start, write, finish. Verbs differ by leaving a step out. Start at
`upsert`.

Spec: Writer Expectations 1-4.
"""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.arguments import as_texts
from pyhudi.commit.begin import WriteContext, begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.few_rows import bring_few_rows
from pyhudi.commit.finish import finish
from pyhudi.commit.planned import PlannedWrite, planned, rows_to_store, stored_keys_count
from pyhudi.commit.restart import restarting
from pyhudi.commit.sinks import appends_of, stored_slices
from pyhudi.commit.sizing import sizing_of
from pyhudi.commit.tag import TaggedRows, key_search, read_set_of, require_room_for_keys, tag, untagged
from pyhudi.commit.work import RowsWork, WriteWork, run_work, start_write
from pyhudi.commit.write_plan import Demand, WritePlan, plan_write
from pyhudi.engine.api import KEY, Frame, Moves, Placing
from pyhudi.errors import DuplicateKeys, InvalidInput, NotBuilt
from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.api import Recheck
from pyhudi.index.choice import INDEX_TYPE
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import one_of, option
from pyhudi.queries.slices import visible_slices
from pyhudi.state.merging import merge_spec
from pyhudi.tasks.write import RowsKind, write_buckets
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline
from pyhudi.txn.conflicts import ReadSet

__all__ = [
    "DUPLICATES",
    "delete_keys",
    "delete_partitions",
    "insert",
    "insert_overwrite",
    "plan_for",
    "recheck_of",
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


@restarting
def upsert(call: WriteCall, records: Frame) -> WriteResult | PlannedWrite:
    """Insert new keys and update existing ones, as one commit.   Spec: Writer Expectations 1-4."""
    with begin_write(call, records, WriteOperation.UPSERT, require_room_for_keys=require_room_for_keys) as begun:
        write = _one_row_a_key(bring_few_rows(begun))
        tagged = tag(write)
        work = _searched(write, _rows_work(write, tagged, plan_for(write, tagged), RowsKind.UPSERT))
        if call.is_dry_run:
            given = rows_to_store(write)
            if given is None:
                return planned(write, work)
            found = stored_keys_count(write)
            return planned(write, work, inserts=max(0, given - found), updates=found, deletes=0)
        start_write(write, work)
        return finish(write, work, run_work(write, work))


@restarting
def insert(
    call: WriteCall, records: Frame, *, operation: WriteOperation = WriteOperation.INSERT
) -> WriteResult | PlannedWrite:
    """Put rows in, without looking their keys up unless duplicates are dropped or refused."""
    policy = call.settings.get(DUPLICATES)
    with begin_write(call, records, operation) as begun:
        write = bring_few_rows(begun)
        tagged = tag(write, looks_in_all=True) if policy != "none" else untagged(write)
        placed = {} if tagged.index.is_global else tagged.hidden_by_slice
        rejected_count = sum(tagged.rows_by_slice.values()) - sum(placed.values())
        if policy == "fail" and rejected_count:
            raise DuplicateKeys("keys are stored already; use upsert, or drop duplicates", keys_count=rejected_count)
        found_elsewhere_too = policy != "none" and tagged.index.is_global
        kind = RowsKind.INSERT_ONE if call.settings.get(COMBINE_BEFORE_INSERT) or policy != "none" else RowsKind.INSERT
        placed_rows = replace(tagged, rows_by_slice=placed)
        plan = plan_for(write, placed_rows, is_anywhere=found_elsewhere_too, placing=_placing_of(kind))
        rows = _rows_work(write, tagged, plan, kind)
        if policy == "none":
            work = WriteWork(rows=replace(rows, recheck=Recheck.NOTHING))
        else:
            work = replace(_searched(write, rows), rejected_count=rejected_count)
        if call.is_dry_run:
            given = rows_to_store(write)
            count = None if given is None else given - rejected_count
            return planned(write, work, inserts=count, updates=0, deletes=0)
        start_write(write, work)
        return finish(write, work, run_work(write, work))


@restarting
def delete_keys(call: WriteCall, records: Frame, *, is_told: bool = False) -> WriteResult | PlannedWrite:
    """Delete the stored rows of these keys; keys that are not stored are ignored.

    A frame without partitions (PARTITION null) deletes its keys wherever they are. `is_told`: each key is there once,
    and the result says how many are not stored.

    Cost: with `is_told` of a table without partitions a look-up more, where the write needs none.
    """
    with begin_write(call, records, WriteOperation.DELETE, has_only_keys=True) as begun:
        write = bring_few_rows(begun)
        tagged = tag(write, finds_hidden=False)
        plan = plan_for(write, tagged, has_inserts=False, is_anywhere=tagged.index.is_global)
        work = _searched(write, _rows_work(write, tagged, plan, RowsKind.DELETE))
        if is_told:
            work = replace(work, not_stored_count=_rows_count(write) - _keys_count(write, tagged))
        if call.is_dry_run:
            return planned(write, work, inserts=0, updates=0, deletes=stored_keys_count(write))
        start_write(write, work)
        return finish(write, work, run_work(write, work))


def _keys_count(write: WriteContext, tagged: TaggedRows) -> int:
    """Return how many of the rows' keys are stored; those that logs delete are not."""
    found = tagged if write.has_unknown_partitions else tag(write, looks_in_all=True, finds_hidden=False)
    return 0 if found.frame is None else int(write.call.engine.count(found.frame, [KEY]).num_rows)


@restarting
def insert_overwrite(
    call: WriteCall, records: Frame, *, is_whole_table: bool = False, partitions: Sequence[str] = ()
) -> WriteResult | PlannedWrite:
    """Replace the partitions that the rows name and those that are given, or all of them, by the rows."""
    operation = WriteOperation.INSERT_OVERWRITE_TABLE if is_whole_table else WriteOperation.INSERT_OVERWRITE
    with begin_write(call, records, operation) as begun:
        write = bring_few_rows(begun, ())
        named = {*write.rows_by_partition, *map(PartitionPath, partitions)}
        stored = visible_slices(write.files, None if is_whole_table else named)
        kind = RowsKind.INSERT_ONE if call.settings.get(COMBINE_BEFORE_INSERT) else RowsKind.INSERT
        plan = plan_for(replace(write, slices=[]), untagged(write), placing=_placing_of(kind))
        work = WriteWork(rows=_rows_work(write, untagged(write), plan, kind), replaced=tuple(stored))
        if call.is_dry_run:
            return planned(write, work, inserts=rows_to_store(write), updates=0)
        start_write(write, work)
        return finish(write, work, run_work(write, work))


@restarting
def delete_partitions(call: WriteCall, patterns: Sequence[str]) -> WriteResult | PlannedWrite:
    """Take whole partitions away: paths, or patterns with `*`.

    Raises: InvalidInput where a pattern fits no partition, for no pattern at all, and for one text in place of a list:
            its letters would be the patterns.
    """
    patterns = as_texts("partitions", patterns)
    if not patterns:
        raise InvalidInput("partitions is a list of at least one path or pattern", partitions=patterns)

    def check(_: pa.Schema, timeline: Timeline) -> None:
        _matching({one.group.partition for one in visible_slices(call.files(timeline))}, patterns)

    with begin_write(call, None, WriteOperation.DELETE_PARTITION, check=check) as write:
        stored = visible_slices(write.files)
        partitions = set(_matching({one.group.partition for one in stored}, patterns))
        looked_at = ReadSet(covers=lambda partition: any(_fits(partition, pattern) for pattern in patterns))
        work = WriteWork(
            replaced=tuple(one for one in stored if one.group.partition in partitions),
            read_set=looked_at if call.is_serializable else None,
        )
        if call.is_dry_run:
            return planned(write, work, inserts=0, updates=0)
        start_write(write, work)
        return finish(write, work, [])


def _placing_of(kind: RowsKind) -> Placing:
    """Return how new rows are placed: rows of one key meet wherever one of them is chosen."""
    return Placing.IN_ORDER if kind is RowsKind.INSERT else Placing.IN_ORDER_OF_KEYS


def _rows_work(write: WriteContext, tagged: TaggedRows, plan: WritePlan, kind: RowsKind) -> RowsWork:
    call = write.call
    spec = call.spec(write.time, write.schema)
    task = partial(write_buckets, storage=call.state.storage, spec=spec, kind=kind)
    is_insert = kind in {RowsKind.INSERT, RowsKind.INSERT_ONE}
    recheck = Recheck.SAME_KEYS if is_insert else recheck_of(write, tagged)
    reads = stored_slices(write) if kind is RowsKind.DELETE else None
    return RowsWork(tagged=tagged, plan=plan, task=task, recheck=recheck, reads=reads)


def recheck_of(write: WriteContext, tagged: TaggedRows) -> Recheck:
    """Return what a retry in place of an upsert has to look at: rows without a partition go by what was stored."""
    return Recheck.SAME_KEYS if write.has_unknown_partitions else tagged.index.recheck


def _searched(write: WriteContext, rows: RowsWork) -> WriteWork:
    """Return the work of a write that looked keys up: keys that were not there must not come meanwhile."""
    read_set = read_set_of(rows.tagged) if write.call.is_serializable else None
    return WriteWork(rows=rows, find_keys=key_search(write, rows.tagged), read_set=read_set)


def _rows_count(write: WriteContext) -> int:
    return sum(write.rows_by_partition.values())


def _one_row_a_key(write: WriteContext) -> WriteContext:
    """Global indexes: two rows of one key and different partitions meet in no file, so choose between them here.

    Raises: NotBuilt for a merger of the user's, which would have to see both, and the stored row of a key that moves.
    """
    if not write.index.is_global:
        return write
    spec = write.call.spec(write.time, write.schema).merge
    if spec.merger is not None:
        raise NotBuilt(
            "pyhudi does not merge by a function of your own under a global index yet; choose an index by partition",
            key=INDEX_TYPE.key,
            index=write.index.name,
            merger=spec.merger.name,
        )
    return replace(
        write, rows=replace(write.rows, frame=write.keep(write.call.engine.newest(write.rows.frame, spec)), keys=None)
    )


def plan_for(
    write: WriteContext,
    tagged: TaggedRows,
    *,
    has_inserts: bool = True,
    is_anywhere: bool = False,
    placing: Placing = Placing.IN_ORDER_OF_KEYS,
) -> WritePlan:
    """Decide buckets and tasks; a partition always has room for rows that turn out to be new."""
    call = write.call
    with write.phases.step("plan"):
        new_rows = {
            PartitionPath(partition): max(0, rows - tagged.rows_by_partition.get(partition, 0))
            for partition, rows in write.rows_by_partition.items()
            if rows
        }
        is_anywhere = is_anywhere or write.has_unknown_partitions
        moves = Moves.KEEP_PARTITION if is_anywhere else tagged.index.moves
        return plan_write(
            instant=write.time,
            demand=Demand(new_rows=new_rows, located_rows=tagged.rows_by_slice, slices=tagged.slices),
            slices=write.slices,
            sole=tagged.sole,
            sizing=sizing_of(write),
            slots_count=call.engine.parallelism_tasks,
            moves=moves,
            placing=placing,
            beaten_by=_beaten_by(call, moves),
            has_inserts=has_inserts,
            hashing=None if write.has_unknown_partitions else tagged.index.hashing,
            appends=appends_of(write),
            closed=write.closed,
        )


def _beaten_by(call: WriteCall, moves: Moves) -> MergeSpec | None:
    """Return the rules by which a stored record may beat one that would change partition; None: it never does."""
    rules = merge_spec(call.state.config, call.settings)
    return rules if moves is Moves.DELETE_AND_INSERT and rules.is_event_time and rules.ordering else None


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
