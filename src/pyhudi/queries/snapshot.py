"""Latest committed state of each record, now or as of an instant; and what changed between two.

A read is planned first (timeline, partitions, file slices: `ReadPlan`), then carried out by an engine. A plan is
pinned: whatever is committed later, it reads the same. Start at `plan_snapshot` and `run_read`.

Spec: Reader Expectations 1-5.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial

import pyarrow as pa

from pyhudi.arguments import as_texts
from pyhudi.engine.api import Engine, Frame, ScanFile
from pyhudi.engine.scanning import naming_file
from pyhudi.errors import ExpressionError, FileMissing, InvalidInput, OptionError
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_count import count_slice
from pyhudi.filegroup.view import as_file_slices
from pyhudi.formats.parquet import read_rows_count
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.table.upkeep import METADATA_TABLE
from pyhudi.options import Settings
from pyhudi.predicate import Expression, all_of, check
from pyhudi.queries.choosing import DATA_SKIPPING, SKIPPING, Skipping, choose_slices
from pyhudi.queries.committed_checks import lost_file
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.expired import cut_at, require_unarchived, require_unarchived_requests, standing
from pyhudi.queries.index_filters import LeftOut
from pyhudi.queries.path_values import values_in_paths
from pyhudi.queries.slice_rows import read_planned, scan_file_of, slice_spec
from pyhudi.queries.slices import table_schema
from pyhudi.schema.meta_fields import META_FIELDS, with_meta_fields, without_meta_fields
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.active import load_timeline, timeline_zone
from pyhudi.timeline.clock import parse_query_time, parse_time
from pyhudi.timeline.view import Timeline, as_of_requested, first_pending_write, latest_write, resolve_as_of

__all__ = [
    "Moment",
    "ReadPlan",
    "count_rows",
    "naming_lost_files",
    "narrowed",
    "pin",
    "pin_requested",
    "plan_snapshot",
    "run_read",
    "slice_reader",
]

Moment = str | datetime | date
"""An instant's text, or wall time in the timeline's zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """What a read is going to open."""

    instant: str
    """Requested time of the latest commit that is seen; empty for a table without commits."""
    completion_time: str
    schema: pa.Schema
    """All columns a row has, meta columns first."""
    columns: tuple[str, ...]
    predicate: Expression | None
    slices: tuple[FileSlice, ...]
    """By partition and file id; each has a base file or logs."""
    partitions_count: int
    partitions_by_path: int
    """How many partitions their paths left, before statistics were looked at."""
    partitions_read: int
    slices_count: int
    """How many file slices these have, before indexes were asked."""
    left_out: tuple[LeftOut, ...]
    """What each index did that was asked, in this order."""
    state: TableState
    timeline: Timeline
    """As it was read, and cut to the moment."""
    skipping: Skipping = SKIPPING
    """How it uses what is indexed."""
    reads: SliceSpec | None = None
    """How slices with logs are read; None where no slice has logs."""
    path_values: pa.Table | None = None
    """Values of the columns that base files do not have, by partition; None where they have all."""

    @property
    def storage(self) -> Storage:
        """Return where the table is."""
        return self.state.storage

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files that are opened."""
        return tuple(file.path for one in self.slices for file in (one.base, *one.logs) if file is not None)

    @property
    def plain(self) -> tuple[FileSlice, ...]:
        """Return the slices that are a base file and nothing else."""
        return tuple(one for one in self.slices if not one.logs)

    @property
    def merged(self) -> tuple[FileSlice, ...]:
        """Return the slices whose logs are merged."""
        return tuple(one for one in self.slices if one.logs)

    @property
    def files(self) -> tuple[ScanFile, ...]:
        """Return the base files that are read as they are, by partition and file id."""
        return tuple(map(scan_file_of, self.plain))

    def showing(self, named: Sequence[str] | None, *, has_meta: bool) -> "ReadPlan":
        """Return the plan of what a user sees: named columns, else the table's own; the meta columns before them."""
        own = without_meta_fields(self.schema).names if named is None else self.columns
        return replace(self, columns=tuple(dict.fromkeys((*META_FIELDS, *own) if has_meta else own)))


def pin(state: TableState, moment: Moment | None) -> Timeline:
    """Read the timeline once, cut to what was visible at a moment.

    Raises: InstantNotFound; SnapshotExpired for a time whose own commits were archived.
    """
    timeline = load_timeline(state)
    if moment is None:
        return timeline
    zone = timeline_zone(state)
    is_instant = isinstance(moment, str) and (moment in timeline.completed or moment in timeline.pending_times)
    if not is_instant:
        require_unarchived(timeline, parse_time(moment, zone))
    return cut_at(timeline, timeline.point(resolve_as_of(timeline, moment, zone)))


def pin_requested(state: TableState, time: str) -> Timeline:
    """Cut the timeline as Hudi's `as.of.instant` does: by requested time.

    Raises: OptionError at or behind a pending write, which the next such read may see; InvalidInput for no time;
            SnapshotExpired where the last commit that was requested until then was archived.
    """
    timeline = load_timeline(state)
    until = parse_query_time(time, timeline_zone(state))
    waiting = first_pending_write(timeline)
    if waiting is not None and waiting.requested_time <= until:
        raise OptionError(
            "a write at or before this time is pending, so the next such read may see more rows; read an earlier time,"
            " or wait for it or roll it back",
            until=until,
            pending=waiting.requested_time,
        )
    require_unarchived_requests(timeline, until)
    return as_of_requested(timeline, until)


def plan_snapshot(
    state: TableState,
    timeline: Timeline,
    *,
    columns: Sequence[str] | None,
    predicate: Expression | None,
    partitions: Iterable[PartitionPath] | None = None,
    narrowing: Expression | None = None,
    is_read_optimized: bool = False,
    settings: Settings | None = None,
) -> ReadPlan:
    """Choose the file slices that a snapshot read opens; in some partitions only, where the caller knows them.

    `narrowing` is what else the rows have to fulfil; it leaves out files and is not applied to rows.

    Cost:   one listing of each directory; where the partitions are given, of those that the predicate may match. One
            more of the timeline.
    Raises: InvalidInput for a column the table has not; ExpressionError; NotBuilt for logs whose merge rules are not
            built; SnapshotExpired for a moment of which a clean took files, or a commit was taken back meanwhile;
            CorruptData naming a file that is not there.
    """
    with standing(state, timeline):
        return _plan(
            state,
            timeline,
            columns=columns,
            predicate=predicate,
            partitions=partitions,
            narrowing=narrowing,
            is_read_optimized=is_read_optimized,
            settings=settings or Settings(),
        )


def _plan(
    state: TableState,
    timeline: Timeline,
    *,
    columns: Sequence[str] | None,
    predicate: Expression | None,
    partitions: Iterable[PartitionPath] | None,
    narrowing: Expression | None,
    is_read_optimized: bool,
    settings: Settings,
) -> ReadPlan:
    schema = with_meta_fields(table_schema(state, timeline))
    wanted = _checked(schema, columns, predicate)
    uses_metadata = settings.get(METADATA_TABLE)
    index = (file_index if uses_metadata else storage_index)(state, timeline, is_checked=settings.get(CHECK_FILES))
    skipping = Skipping(is_on=uses_metadata and settings.get(DATA_SKIPPING), reads_logs=not is_read_optimized)
    asked = [one for one in (predicate, narrowing) if one is not None]
    condition = all_of(*asked) if asked else None
    chosen = choose_slices(index, schema, condition, partitions=partitions, skipping=skipping)
    slices = as_file_slices(chosen.slices)
    if is_read_optimized:
        slices = [replace(one, logs=()) for one in slices if one.base is not None]
    newest = latest_write(timeline)
    return ReadPlan(
        instant=newest.requested_time if newest else "",
        completion_time=timeline.point(newest) if newest else "",
        schema=schema,
        columns=wanted,
        predicate=predicate,
        slices=tuple(slices),
        partitions_count=chosen.partitions_count,
        partitions_by_path=chosen.partitions_by_path,
        partitions_read=len(chosen.partitions),
        slices_count=chosen.slices_count,
        left_out=chosen.left_out,
        skipping=skipping,
        state=state,
        timeline=timeline,
        reads=slice_spec(state, schema, timeline, settings) if any(one.logs for one in slices) else None,
        path_values=values_in_paths(state.config, schema, chosen.partitions),
    )


def narrowed(plan: ReadPlan, condition: Expression) -> ReadPlan:
    """Leave out the planned slices of which no row can fulfil a further condition; it is not applied to rows.

    A slice with logs is left out only where it is the newest one as a whole, since its statistics are of all its files.

    Cost: one listing of the planned partitions, and statistics of the columns that the condition names.
    """
    gone = _listed(plan, None) - _listed(plan, condition)
    bases = {one.base for one in gone if one.base is not None}
    kept = (one for one in plan.slices if one not in gone and (one.logs or one.base is None or one.base not in bases))
    return replace(plan, slices=tuple(kept))


def _listed(plan: ReadPlan, condition: Expression | None) -> set[FileSlice]:
    """Return the newest slices of the planned partitions that may hold a row for which a condition is true."""
    index = file_index(plan.state, plan.timeline)
    partitions = {one.group.partition for one in plan.slices}
    chosen = choose_slices(index, plan.schema, condition, partitions=partitions, skipping=plan.skipping)
    return set(as_file_slices(chosen.slices))


@contextmanager
def naming_lost_files(plan: ReadPlan) -> Iterator[None]:
    """Raise for a file of the plan that is gone what it means.

    Raises: SnapshotExpired where it was cleaned, or its commit was taken back; CorruptData where it was lost.
    """
    try:
        yield
    except FileMissing as error:
        raise lost_file(plan.state, plan.timeline, plan.paths, error) from error


def run_read(plan: ReadPlan, engine: Engine) -> Frame:
    """Read what was planned: base files by the engine's own scan, and beside them what has to be merged."""
    schema = pa.schema([plan.schema.field(name) for name in plan.columns])
    if plan.path_values is not None:
        return engine.rows(slice_reader(plan), plan.slices, schema)
    plain = engine.scan(plan.files, plan.schema, plan.columns, plan.predicate)
    if not plan.merged:
        return plain
    merged = engine.rows(slice_reader(plan), plan.merged, schema)
    return engine.union([plain, merged]) if plan.plain else merged


def count_rows(plan: ReadPlan, engine: Engine) -> int:
    """Count the rows that a read gives.

    Cost: without a filter the footers of base files, and of slices with logs what `count_slice` costs; else the columns
          that the filter needs, and one of Hudi's, which are small. Memory holds a batch a task.
    """
    if plan.predicate is None:
        return sum(engine.run(partial(_slice_rows, storage=plan.storage, reads=plan.reads), plan.slices))
    first = replace(plan, columns=tuple(plan.schema.names[:1]))
    return sum(engine.run(partial(_rows_read, read=slice_reader(first)), plan.slices))


def _rows_read(one: FileSlice, *, read: Callable[[FileSlice], Iterator[pa.RecordBatch]]) -> int:
    return sum(batch.num_rows for batch in read(one))


def _slice_rows(one: FileSlice, *, storage: Storage, reads: SliceSpec | None) -> int:
    if reads is not None and one.logs:
        return count_slice(one, storage=storage, spec=reads)
    assert one.base is not None, "a slice without logs has a base file"
    with naming_file(one.base.path), storage.open_input(one.base.path) as source:
        return read_rows_count(source)


def slice_reader(plan: ReadPlan) -> Callable[[FileSlice], Iterator[pa.RecordBatch]]:
    """Return what reads one of the planned slices, in a task."""
    return partial(
        read_planned,
        storage=plan.storage,
        schema=plan.schema,
        columns=plan.columns,
        predicate=plan.predicate,
        reads=plan.reads,
        values=plan.path_values,
    )


def _checked(schema: pa.Schema, columns: Sequence[str] | None, predicate: Expression | None) -> tuple[str, ...]:
    known = frozenset(schema.names)
    names = schema.names if columns is None else as_texts("columns", columns)
    for name in names:
        if name not in known:
            raise InvalidInput("the table has no such column", column=name, columns=schema.names)
    if len(set(names)) < len(names):
        raise InvalidInput("a column is named twice; name it once", columns=names)
    kind = pa.bool_() if predicate is None else check(predicate, schema)
    if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise ExpressionError("a filter is true or false", type=str(kind))
    return tuple(names)
