"""Clustering: write the rows of file groups anew, in an order that queries like, into new file groups of a good size.

A table service: `services.cluster.plan` decides, and here each group of planned slices is read as a reader sees it
and stored in base files of the plan's instant, whose file ids follow from the plan: a process which goes on with what
another one left finds its files. The completed replacecommit takes the old file groups away. Rows keep their commits,
so that incremental readers see nothing. Start at `Clustering`.

Spec: Table Management, clustering; format/timeline 3.5, 10.6; reliability 1.2, 1.5.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Final, NoReturn

from pyhudi.errors import WriteConflict
from pyhudi.filegroup.model import FileGroupId, FileSlice, PartitionPath
from pyhudi.filegroup.names import write_token
from pyhudi.filegroup.write_task import FileTask, WriteStatus
from pyhudi.kernels.curves import Curve
from pyhudi.metadata.partitions.api import Records
from pyhudi.metadata.table.commit import publish_changes
from pyhudi.options import MOST, Settings, between, option
from pyhudi.queries.display import facts_html
from pyhudi.services.cluster.plan import FILE_BYTES, operations_of, plan_clustering
from pyhudi.services.cluster.strategy import (
    LAYOUT,
    SAMPLED_ROWS,
    SORT_COLUMNS,
    Execution,
    columns_of,
    execution_of,
)
from pyhudi.services.compact.compacted import base_file_specs, free_of_failed_writes, remove_of_others, tidy_compacted
from pyhudi.services.compact.conflicts import find_superseded, operation_group
from pyhudi.services.compact.plan import waits
from pyhudi.services.compact.planned_slices import slices_of_plan
from pyhudi.services.metadata_table import keep_metadata_table
from pyhudi.services.service import ServiceCall, ServiceRun, plan_service, run_or_planned, run_service, schedule_service
from pyhudi.services.service_records import service_records
from pyhudi.state.merging import require_merge_rules
from pyhudi.state.model import TableState
from pyhudi.tasks.cluster import ClusteringTask, RowOrder, cluster_slices
from pyhudi.tasks.new_files import new_file_id
from pyhudi.tasks.write_stats import stats_of
from pyhudi.timeline.active import load_timeline, read_commit_metadata, remove_pending
from pyhudi.timeline.codec import (
    ClusteringGroup,
    ClusteringPlan,
    decode_clustering_plan,
    encode_clustering_plan,
    encode_commit,
)
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.view import Timeline, completed_writes, newest_time, pending_instants
from pyhudi.txn.conflicts import Footprint
from pyhudi.txn.recovery.markers import reconcile

__all__ = ["Clustered", "Clustering", "ClusteringResult", "cluster_table", "is_clustering_inline"]

INLINE: Final = option(
    "hoodie.clustering.inline",
    False,
    "A table is clustered in the writer's process after each write that makes it due.",
    old_keys=("hoodie.datasource.clustering.inline.enable",),
)
SCHEDULE_INLINE: Final = option(
    "hoodie.clustering.schedule.inline",
    False,
    "A clustering is planned after each write that makes it due, and run by another process.",
)
ASYNC: Final = option(
    "hoodie.clustering.async.enabled",
    False,
    "table.run_due_services() clusters where it is due, every hoodie.clustering.async.max.commits.",
    old_keys=("hoodie.datasource.clustering.async.enable",),
)
MAX_COMMITS: Final = option(
    "hoodie.clustering.inline.max.commits",
    4,
    "A clustering is due after so many commits.",
    parse=between(1, MOST),
)
ASYNC_MAX_COMMITS: Final = option(
    "hoodie.clustering.async.max.commits",
    4,
    "With hoodie.clustering.async.enabled: a clustering is due after so many commits.",
    parse=between(1, MOST),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClusteringResult:
    """What a clustering wrote anew, or would. Units: bytes."""

    instants: tuple[str, ...]
    """Requested times of the clusterings that were completed; of a plan that was only stored its own; none of a dry
    run."""
    files: tuple[str, ...]
    """Base files and logs that were read, relative to the base path."""
    bytes: int
    """Of these files."""
    file_groups: int
    """That were read."""
    new_file_groups: int
    """That were written, as the plan says."""

    def __str__(self) -> str:
        """Describe it in one line."""
        named = f" {', '.join(self.instants)}" if self.instants else ""
        return (
            f"clustering{named}: {self.file_groups} file groups into {self.new_file_groups}, {len(self.files)} files,"
            f" {self.bytes} bytes"
        )

    def __repr__(self) -> str:
        """Show counts; `files` has the rest."""
        return f"ClusteringResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        shown = {"instants": ", ".join(self.instants), "file groups": self.file_groups}
        shown |= {"new file groups": self.new_file_groups, "files": len(self.files), "bytes": self.bytes}
        return facts_html("clustering", shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """What running a plan gave."""

    written: tuple[tuple[ClusteringGroup, tuple[WriteStatus, ...]], ...]
    """By group of the plan: the files of its rows."""
    schema: str
    """The table's columns as commits carry them."""
    partitions: tuple[str, ...] = ()
    """What the table's metadata table had then."""
    records: Sequence[Records] | None = field(default=None, repr=False)
    """What changes in it; None: not known any more."""

    @property
    def statuses(self) -> Sequence[WriteStatus]:
        """Return the files that were written."""
        return [status for _, found in self.written for status in found if status.path]

    @property
    def metadata(self) -> CommitMetadata:
        """Return the commit: files that are new, and file groups that they take the place of."""
        kept = {(status.partition, status.file_id) for status in self.statuses}
        replaced: defaultdict[str, list[str]] = defaultdict(list)
        for one in (one for group, _ in self.written for one in group.slices):
            if (one.partition, one.file_id) not in kept:
                replaced[one.partition].append(one.file_id)
        return CommitMetadata(
            operation=WriteOperation.CLUSTER,
            stats=stats_of(self.statuses),
            extra={"schema": self.schema},
            replaced={partition: tuple(ids) for partition, ids in replaced.items()},
        )

    def without(self, gone: AbstractSet[FileGroupId]) -> "Clustered":
        """Leave out the groups in which a file group is gone; what changes in the metadata table is then unknown."""
        left = tuple(pair for pair in self.written if not gone & _inputs(pair[0]))
        return self if len(left) == len(self.written) else replace(self, written=left, records=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """The service; see `services.service.Service`."""

    action: Action = Action.CLUSTERING
    is_shareable: bool = False

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether one is asked for and there were enough commits, or a plan waits to be run."""
        settings = call.settings
        is_asked_for = settings.get(INLINE) or settings.get(SCHEDULE_INLINE) or settings.get(ASYNC)
        is_planned = any(one.action is self.action for one in pending_instants(timeline))
        return is_planned or (is_asked_for and self.is_triggered(call, timeline))

    def is_triggered(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether a clustering is to be planned.   Cost: a read of each replacecommit, once a process."""
        is_inline = call.settings.get(INLINE) or call.settings.get(SCHEDULE_INLINE)
        if not is_inline and not call.settings.get(ASYNC):
            return False
        newest_first = sorted(completed_writes(timeline), key=timeline.point, reverse=True)
        needed = call.settings.get(MAX_COMMITS if is_inline else ASYNC_MAX_COMMITS)
        newest = newest_first[:needed]
        is_recent = any(one.action is Action.REPLACECOMMIT and _is_clustering(call.state, one) for one in newest)
        return len(newest) == needed and not is_recent

    def plan(self, call: ServiceCall, timeline: Timeline) -> ClusteringPlan | None:
        """Plan; None where there is nothing to do.

        Raises: OptionError; InvalidInput for a sort column that the table does not have; NotBuilt for merge rules that
                are not built.
        """
        is_restoring = any(one.action is Action.RESTORE for one in pending_instants(timeline))
        if is_restoring or waits(timeline, *WRITE_ACTIONS):
            return None
        require_merge_rules(call.state.config)
        return plan_clustering(call.state, timeline, call.settings)

    def encode_plan(self, call: ServiceCall, plan: ClusteringPlan, nonce: bytes) -> bytes:
        """Format the requested file."""
        base = call.state.storage.url.rstrip("/")
        urls = {one.partition: f"{base}/{one.partition}".rstrip("/") for one in plan.slices}
        return encode_clustering_plan(plan, urls, nonce)

    def decode_plan(self, data: bytes, file_name: str) -> ClusteringPlan:
        """Read the requested file of any writer.   Raises: CorruptData; OptionError for a strategy that is unknown."""
        return decode_clustering_plan(data, file_name)

    def run(self, call: ServiceCall, instant: Instant, plan: ClusteringPlan) -> Clustered:
        """Write the base files, several groups at once.

        Cost:   what reading the slices costs, and writing their rows; with an order, the rows of a group in memory.
        Raises: CorruptData where a file of the plan is gone; as reading and writing files.
        """
        call = replace(call, state=keep_metadata_table(call.state, call.settings, call.engine))
        timeline = load_timeline(call.state)
        gone = _superseded(call, timeline, instant, plan)
        groups = [group for group in plan.groups if not gone.keys() & _inputs(group)]
        reads, writes, schema = base_file_specs(call, timeline, instant.requested_time)
        tasks = list(_tasks(call, timeline, instant.requested_time, plan, groups))
        remove_of_others(call.state, instant.requested_time, [file for _, task in tasks for file in task.files])
        threads = max(1, call.engine.parallelism_tasks // max(1, len(tasks)))
        work = partial(cluster_slices, storage=call.state.storage, reads=reads, writes=writes.with_threads(threads))
        statuses = call.engine.run(work, [task for _, task in tasks])
        by_group = [(at, found) for (at, _), found in zip(tasks, statuses, strict=True)]
        written = tuple(
            (groups[at], tuple(status for _, found in same for status in found))
            for at, same in groupby(by_group, key=lambda pair: pair[0])
        )
        return _with_records(call, Clustered(written=written, schema=schema), instant.requested_time)

    def commit(
        self, call: ServiceCall, instant: Instant, plan: ClusteringPlan, done: Clustered
    ) -> Callable[[bytes], bytes]:
        """Make the metadata table's delta commit, delete what no stat names, and return what formats the commit.

        Groups of which others have changed a file group by now are left as they are. A plan of which nothing is left is
        removed.

        Locks:  the table lock is held.
        Raises: WriteConflict where nothing is left.
        """
        timeline = load_timeline(call.state)
        gone = _superseded(call, timeline, instant, plan)
        done = done.without(frozenset(gone))
        if not done.written:
            _withdraw(call, instant, gone)
        metadata = done.metadata
        reconcile(call.state, instant.requested_time, metadata)
        newest = newest_time(timeline)
        records = partial(_records, done=done, call=call, time=instant.requested_time)
        publish_changes(call.state, instant.requested_time, records, call.settings, lambda: call.times.issue(newest))
        return lambda nonce: encode_commit(metadata, call.state.layout.timeline_layout, nonce)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Delete base files of the plan that its commit does not name, and all markers."""
        tidy_compacted(call, instant, completed)


def is_clustering_inline(settings: Settings) -> tuple[bool, bool]:
    """Return whether a writer runs clusterings, and whether it only plans them.   Raises: OptionError for both."""
    return run_or_planned(settings, INLINE, SCHEDULE_INLINE)


def cluster_table(call: ServiceCall, *, is_dry_run: bool = False, is_only_planned: bool = False) -> ClusteringResult:
    """Cluster a table now, whether that is due or not: what is planned already is run first.

    Raises: NotBuilt for a table that pyhudi does not write; OptionError; InvalidInput; LockNotAcquired; CorruptData;
            StorageUnavailable.
    """
    service = Clustering()
    if is_dry_run:
        plan = plan_service(call, service)
        return _result((), [] if plan is None else [plan])
    free_of_failed_writes(call, *WRITE_ACTIONS)
    if is_only_planned:
        scheduled = schedule_service(call, service)
        runs: Iterable[ServiceRun[ClusteringPlan]] = () if scheduled is None else (scheduled,)
    else:
        runs = run_service(call, service)
    return _result([one.instant.requested_time for one in runs], [one.plan for one in runs])


def _is_clustering(state: TableState, instant: Instant) -> bool:
    return read_commit_metadata(state, instant).operation is WriteOperation.CLUSTER


def _tasks(
    call: ServiceCall,
    timeline: Timeline,
    time: InstantTime,
    plan: ClusteringPlan,
    groups: Sequence[ClusteringGroup],
) -> Iterator[tuple[int, ClusteringTask]]:
    """Return what is to be written, with the number of its group; names follow from the plan.

    Rows that are put in order go to all files of their group; else each file takes some of the slices.
    """
    order = _order_of(plan, call.settings)
    operations = [one for group in groups for one in operations_of(group)]
    slices = iter(slices_of_plan(call.state, timeline, operations))
    execution = execution_of(plan.strategy)
    numbers = {id(group): at for at, group in enumerate(plan.groups)}
    for at, group in enumerate(groups):
        members = [next(slices) for _ in group.slices]
        place = numbers[id(group)]
        if execution is Execution.SINGLE_FILE:
            parts = [([one], [_same_file(one, place)]) for one in members]
        elif order is not None:
            files = [_new_file(time, members[0].group.partition, place, n) for n in range(group.outputs_count)]
            parts = [(members, files)]
        else:
            parts = [
                (share, [_new_file(time, share[0].group.partition, place, n)])
                for n, share in enumerate(_shares(members, group.outputs_count))
            ]
        for share, files in parts:
            yield (
                at,
                ClusteringTask(
                    slices=tuple(share),
                    files=tuple(files),
                    order=order,
                    copies=execution in {Execution.BINARY_COPY, Execution.STREAM_COPY},
                    keeps_commits=plan.keeps_commits,
                ),
            )


def _order_of(plan: ClusteringPlan, settings: Settings) -> RowOrder | None:
    """Return the order that a plan asks for; a curve that it does not name is the call's, as in Apache Hudi."""
    columns = columns_of(plan.params.get(SORT_COLUMNS.key, ""))
    if not columns:
        return None
    named = Settings({LAYOUT.key: plan.params[LAYOUT.key]} if LAYOUT.key in plan.params else {})
    return RowOrder(
        columns=columns, curve=Curve(named.over(settings).get(LAYOUT)), sampled_rows=settings.get(SAMPLED_ROWS)
    )


def _new_file(time: InstantTime, partition: PartitionPath, place: int, number: int) -> FileTask:
    """Return the n-th file of a group, which begins a file group."""
    file_id = new_file_id(time, f"{partition}/{place}", number)
    return FileTask(partition=partition, file_id=file_id, write_token=write_token(place, 0), number=place)


def _same_file(one: FileSlice, place: int) -> FileTask:
    """Return the next base file of a slice's own file group."""
    group = one.group
    return FileTask(
        partition=group.partition, file_id=group.file_id, write_token=write_token(place, 0), base=one.base, number=place
    )


def _shares(slices: Sequence[FileSlice], count: int) -> list[list[FileSlice]]:
    """Share slices between files, in order, by their bytes; no more files than slices."""
    sizes = [
        max(1, (one.base.size_bytes if one.base else 0) + sum(log.size_bytes for log in one.logs)) for one in slices
    ]
    shares: list[list[FileSlice]] = [[] for _ in range(count)]
    whole, before = sum(sizes), 0
    for one, size in zip(slices, sizes, strict=True):
        shares[min(count - 1, (before + size // 2) * count // whole)].append(one)
        before += size
    return [share for share in shares if share]


def _inputs(group: ClusteringGroup) -> frozenset[FileGroupId]:
    return frozenset(map(operation_group, operations_of(group)))


def _superseded(
    call: ServiceCall, timeline: Timeline, instant: Instant, plan: ClusteringPlan
) -> Mapping[FileGroupId, InstantTime]:
    groups = frozenset[FileGroupId]().union(*map(_inputs, plan.groups))
    ours = Footprint(groups=groups, replaced=groups)
    return find_superseded(call.state, timeline, call.settings, instant, ours)


def _withdraw(call: ServiceCall, instant: Instant, gone: Mapping[FileGroupId, InstantTime]) -> NoReturn:
    tidy_compacted(call, instant, None)
    remove_pending(call.state, instant)
    raise WriteConflict(
        "others have changed file groups of a planned clustering since; it was removed, plan anew",
        instant=instant.requested_time,
        others=sorted(set(gone.values())),
        file_groups=[f"{group.partition}/{group.file_id}" for group in sorted(gone)],
    )


def _with_records(call: ServiceCall, done: Clustered, time: InstantTime) -> Clustered:
    """Find what changes in the metadata table.   Cost: as `service_records`."""
    records = service_records(call, call.state, done.metadata, time, done.statuses)
    return replace(done, partitions=call.state.config.partitions_kept_up, records=records)


def _records(state: TableState, *, done: Clustered, call: ServiceCall, time: InstantTime) -> Sequence[Records]:
    """Return what changes in the metadata table; made anew where it has other partitions by now."""
    if done.records is not None and state.config.partitions_kept_up == done.partitions:
        return done.records
    return service_records(call, state, done.metadata, time)


def _result(instants: Iterable[str], plans: Sequence[ClusteringPlan]) -> ClusteringResult:
    groups = [group for plan in plans for group in plan.groups]
    slices = [one for group in groups for one in group.slices]
    return ClusteringResult(
        instants=tuple(instants),
        files=tuple(
            f"{one.partition}/{name}" if one.partition else name
            for one in slices
            for name in (one.base, *one.logs)
            if name
        ),
        bytes=sum(int(group.metrics.get(FILE_BYTES, 0)) for group in groups),
        file_groups=len(slices),
        new_file_groups=sum(group.outputs_count for group in groups),
    )
