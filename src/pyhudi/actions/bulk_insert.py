"""Write rows as new files, as fast as parquet goes: no look-up, no small files to fill.

Start at `bulk_insert`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.write import insert
from pyhudi.commit.begin import WriteContext, begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.finish import finish
from pyhudi.commit.kept_index import unkept_index, with_index
from pyhudi.commit.planned import PlannedWrite, planned, rows_to_store
from pyhudi.commit.restart import restarting
from pyhudi.commit.sizing import known_row_bytes, sizing_of
from pyhudi.commit.tag import untagged
from pyhudi.commit.work import RowsWork, WriteWork, start_write
from pyhudi.commit.write_plan import RECORD_SIZE, Demand, WritePlan, plan_write
from pyhudi.engine.api import KEY, PARTITION, Attempt, Frame, Placing
from pyhudi.errors import OptionError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.write_task import WRITE_STATUS, FileTask, WriteSpec, WriteStatus
from pyhudi.index.api import Recheck
from pyhudi.index.choice import index_of
from pyhudi.options import one_of, option
from pyhudi.storage.api import Storage
from pyhudi.tasks.at_once import Portion
from pyhudi.tasks.new_files import MAX_FILE_SIZE, new_file_id
from pyhudi.tasks.row_size import stored_row_bytes
from pyhudi.tasks.write import RowsKind, new_file, to_statuses, without_deletes, write_buckets, written
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline

__all__ = ["SORT_MODE", "SortMode", "bulk_insert", "write_as_they_come"]


class SortMode(StrEnum):
    """The value of `hoodie.bulkinsert.sort.mode`."""

    NONE = "NONE"
    GLOBAL_SORT = "GLOBAL_SORT"
    PARTITION_SORT = "PARTITION_SORT"
    PARTITION_PATH_REPARTITION = "PARTITION_PATH_REPARTITION"
    PARTITION_PATH_REPARTITION_AND_SORT = "PARTITION_PATH_REPARTITION_AND_SORT"


SORT_MODE: Final = option(
    "hoodie.bulkinsert.sort.mode",
    "NONE",
    "bulk_insert: NONE writes rows in the order in which they come. GLOBAL_SORT sorts all rows, PARTITION_SORT those of"
    " each task of Spark, by partition path and record key. PARTITION_PATH_REPARTITION brings the rows of a partition"
    " together, with _AND_SORT sorted.",
    parse=one_of(*SortMode),
)
SORT_COLUMNS: Final = option(
    "hoodie.bulkinsert.user.defined.partitioner.sort.columns",
    "",
    "bulk_insert: columns to sort by within partitions, in place of the record key. Without a sort mode all rows are"
    " sorted by them. With the bucket index rows go where their keys say, and are not sorted.",
)
SUFFIX_KEY: Final = option(
    "hoodie.bulkinsert.sort.suffix.record_key",
    False,
    "bulk_insert: rows that are equal in the sort columns are sorted by their record keys.",
)
_REPARTITIONS: Final = frozenset({SortMode.PARTITION_PATH_REPARTITION, SortMode.PARTITION_PATH_REPARTITION_AND_SORT})
_SORTS: Final = frozenset({SortMode.GLOBAL_SORT, SortMode.PARTITION_SORT, SortMode.PARTITION_PATH_REPARTITION_AND_SORT})
_FILES_A_TASK: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filling:
    """How full a file gets. Units: bytes."""

    max_bytes: int
    """A file is closed when it has about so many."""
    row_bytes: float
    """What a row takes; 0: each task learns it from its first rows."""

    def max_rows(self, first: pa.Table, spec: WriteSpec) -> int:
        """Return how many rows a file has at most, given the first ones."""
        row_bytes = self.row_bytes or stored_row_bytes(first, spec) or float(RECORD_SIZE.default)
        return max(1, int(self.max_bytes / row_bytes))


def bulk_insert(call: WriteCall, records: Frame) -> WriteResult | PlannedWrite:
    """Write rows as new file groups; with the bucket index into the file groups that the keys name."""
    known = with_index(call.state, unkept_index(call, load_timeline(call.state)))
    if index_of(call.settings, known.config).is_computed:
        return insert(call, records, operation=WriteOperation.BULK_INSERT)
    return _new_files(call, records)


@restarting
def _new_files(call: WriteCall, records: Frame) -> WriteResult | PlannedWrite:
    """Write rows as new file groups.

    Without sorting over tasks an engine whose rows lie in tasks writes each task's rows there; else they are brought to
    one file group after the other of each partition, in their order.
    """
    mode = _sort_mode(call)
    in_one_pass = mode in {SortMode.NONE, SortMode.PARTITION_SORT} and call.engine.has_placed_rows
    is_counted = call.is_dry_run or not in_one_pass
    with begin_write(
        call, records, WriteOperation.BULK_INSERT, is_counted=is_counted, check=partial(_require_columns, call)
    ) as write:
        if call.is_dry_run:
            return _planned(write)
        work = WriteWork()
        start_write(write, work)
        spec = call.spec(write.time, write.schema)
        with write.phases.step("write files"):
            is_placed = call.engine.has_placed_rows and mode not in _REPARTITIONS
            frame = _as_they_come(write, spec, mode) if is_placed else _by_partition(write, spec, mode)
            statuses = to_statuses(call.engine.collect(frame))
        return finish(write, work, statuses)


def _planned(write: WriteContext) -> PlannedWrite:
    tagged = untagged(write)
    rows = RowsWork(tagged=tagged, plan=_plan(write), task=partial(write_buckets), recheck=Recheck.NOTHING)
    return planned(write, WriteWork(rows=rows), inserts=rows_to_store(write), updates=0, deletes=0)


def _plan(write: WriteContext) -> WritePlan:
    sizing = replace(sizing_of(write), small_file_bytes=0)
    rows = {partition: count for partition, count in write.rows_by_partition.items() if count}
    return plan_write(
        instant=write.time,
        demand=Demand(new_rows=rows, located_rows={}),
        slices=(),
        sole={},
        sizing=sizing,
        slots_count=write.call.engine.parallelism_tasks,
        placing=Placing.IN_ORDER,
    )


def _by_partition(write: WriteContext, spec: WriteSpec, mode: SortMode) -> Frame:
    """Bring rows to the file groups of their partitions, in one process sorted before, on Spark in each file."""
    engine, plan, rows = write.call.engine, _plan(write), write.rows
    columns = _sort_columns(write.call) if mode in _SORTS else ()
    if columns and not engine.has_placed_rows:
        rows = replace(rows, frame=engine.range_sort(rows.frame, columns), keys=None)
    routed = engine.exchange(engine.route(rows, None, plan.routes), plan.tasks_count)
    task = partial(
        write_buckets,
        storage=write.call.state.storage,
        spec=spec,
        files=plan.files,
        kind=RowsKind.INSERT,
        sort_columns=columns if engine.has_placed_rows else (),
    )
    return engine.map(routed, task, WRITE_STATUS)


def _as_they_come(write: WriteContext, spec: WriteSpec, mode: SortMode) -> Frame:
    """Write rows in the tasks in which they are, or in which sorting puts them."""
    call, engine, rows = write.call, write.call.engine, write.rows.frame
    if mode is SortMode.GLOBAL_SORT:
        rows = engine.range_sort(rows, _sort_columns(call), max(engine.parallelism_tasks, 1))
    if mode is SortMode.PARTITION_SORT:
        rows = engine.range_sort(rows, _sort_columns(call))
    filling = _Filling(max_bytes=call.settings.get(MAX_FILE_SIZE), row_bytes=known_row_bytes(write))
    task = partial(write_as_they_come, storage=call.state.storage, spec=spec, filling=filling)
    return engine.map(rows, task, WRITE_STATUS)


def _sort_mode(call: WriteCall) -> SortMode:
    """Return how rows are sorted: sort columns alone ask for it, too."""
    if call.settings.get(SORT_COLUMNS) and not call.settings.has(SORT_MODE):
        return SortMode.GLOBAL_SORT
    return SortMode(call.settings.get(SORT_MODE))


def _sort_columns(call: WriteCall) -> tuple[str, ...]:
    """Return what rows are sorted by: partition first, so that a file's neighbours are of its partition."""
    given = tuple(name.strip() for name in call.settings.get(SORT_COLUMNS).split(",") if name.strip())
    suffix = (KEY,) if not given or call.settings.get(SUFFIX_KEY) else ()
    return tuple(dict.fromkeys((PARTITION, *given, *suffix)))


def _require_columns(call: WriteCall, schema: pa.Schema, timeline: Timeline) -> None:
    """Check what rows are to be sorted by.   Raises: OptionError."""
    known = {field.name for field in schema if not pa.types.is_nested(field.type)} | {KEY, PARTITION}
    wrong = [name for name in _sort_columns(call) if name not in known]
    if wrong:
        raise OptionError(
            "rows cannot be sorted by these; name columns of the table that are no struct, list or map",
            key=SORT_COLUMNS.key,
            columns=wrong,
        )


def write_as_they_come(
    attempt: Attempt, batches: Iterator[pa.RecordBatch], *, storage: Storage, spec: WriteSpec, filling: _Filling
) -> Iterator[pa.RecordBatch]:
    """Write one task's rows to new file groups of their partitions; a file is closed when it is full.

    Rows that say they are deletes are left out.

    Cost: the rows that are not yet in a closed file, in memory.
    """
    spec = spec.with_threads(attempt.threads)
    stored = (batch for rows in without_deletes(batches, spec.merge) for batch in rows.to_batches())

    def portions() -> Iterator[Portion[list[WriteStatus]]]:
        for number, (partition, rows) in enumerate(_files(stored, partial(filling.max_rows, spec=spec))):
            unique = attempt.task * _FILES_A_TASK + number
            file = FileTask(
                partition=PartitionPath(partition),
                file_id=new_file_id(spec.instant, partition, unique),
                write_token=f"{attempt.task}-0-0",
                number=unique,
            )
            yield Portion(size_bytes=rows.nbytes, work=partial(new_file, storage, spec, file, rows))

    return written(portions(), attempt)


def _files(batches: Iterator[pa.RecordBatch], count: Callable[[pa.Table], int]) -> Iterator[tuple[str, pa.Table]]:
    """Gather each partition's rows until a file is full; what is left over comes last.

    `count` says of the first rows how many fill a file.
    """
    held: dict[str, pa.Table] = {}
    max_rows = 0
    for batch in batches:
        max_rows = max_rows or (count(pa.Table.from_batches([batch])) if batch.num_rows else 0)
        for partition, rows in _split(batch):
            together = pa.concat_tables([held[partition], rows]) if partition in held else rows
            while together.num_rows >= max_rows:
                yield partition, together.slice(0, max_rows)
                together = together.slice(max_rows)
            held[partition] = together
    yield from ((partition, rows) for partition, rows in sorted(held.items(), key=lambda one: one[0]) if rows.num_rows)


def _split(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Table]]:
    """Cut a batch by partition; most batches of a sorted stream have one."""
    partitions = batch.column(PARTITION)
    distinct = pc.unique(partitions)
    if len(distinct) == 1:
        yield distinct[0].as_py(), pa.Table.from_batches([batch])
        return
    for partition in distinct:
        yield partition.as_py(), pa.Table.from_batches([batch.filter(pc.equal(partitions, partition))])
