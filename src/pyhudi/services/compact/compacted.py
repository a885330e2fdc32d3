"""What compactions and log compactions have in common: how a plan is run and committed, and what they say of it.

Start at `planned_run`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from pyhudi.errors import WriteConflict
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import BaseFile, FileGroupId, PartitionPath
from pyhudi.filegroup.names import parse_file, write_token
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.metadata.partitions.api import Records
from pyhudi.metadata.table.commit import publish_changes
from pyhudi.queries.display import facts_html
from pyhudi.queries.key_encoding import stored_key_encoding
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema
from pyhudi.services.compact.conflicts import find_superseded, operation_group
from pyhudi.services.compact.planned_slices import slices_of_plan
from pyhudi.services.compact.strategy import Metric
from pyhudi.services.metadata_table import keep_metadata_table
from pyhudi.services.service import Service, ServiceCall, ServiceRun, plan_service, run_service, schedule_service
from pyhudi.services.service_records import service_records
from pyhudi.state.merging import require_merge_rules
from pyhudi.state.model import TableState
from pyhudi.tasks.compact import SliceTask
from pyhudi.tasks.specs import commit_schema, write_spec
from pyhudi.timeline.active import load_timeline, read_commit_metadata, remove_pending
from pyhudi.timeline.codec import CompactionOperation, encode_commit
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.view import Timeline, newest_time, pending_instants
from pyhudi.txn.checks import require_same_table
from pyhudi.txn.conflicts import Footprint
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import require_lease
from pyhudi.txn.recovery.markers import delete_markers, reconcile, remove_marked
from pyhudi.txn.recovery.rollback import recover_failed_writes

__all__ = [
    "Compacted",
    "CompactionResult",
    "CompactionRun",
    "Operations",
    "base_file_specs",
    "commit_compacted",
    "compacted_files",
    "free_of_failed_writes",
    "planned_run",
    "remove_of_others",
    "run_now",
    "tidy_compacted",
]

Operations = tuple[CompactionOperation, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompactionResult:
    """What a compaction merged, or would merge. Units: bytes."""

    instants: tuple[str, ...]
    """Requested times of the compactions that were completed; of a plan that was only stored its own; none of a dry
    run."""
    files: tuple[str, ...]
    """The log files, relative to the base path."""
    bytes: int
    """Of the log files."""
    file_groups: int

    def __str__(self) -> str:
        """Describe it in one line."""
        named = f" {', '.join(self.instants)}" if self.instants else ""
        return f"compaction{named}: {self.file_groups} file groups, {len(self.files)} log files, {self.bytes} bytes"

    def __repr__(self) -> str:
        """Show counts; `files` has the rest."""
        return f"CompactionResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        shown = {"instants": ", ".join(self.instants), "file groups": self.file_groups}
        return facts_html("compaction", shown | {"log files": len(self.files), "bytes": self.bytes})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What running a plan gave."""

    metadata: CommitMetadata
    partitions: tuple[str, ...]
    """What the table's metadata table had then."""
    records: Sequence[Records] | None
    """What changes in it; None: not known any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRun:
    """A plan about to be run."""

    call: ServiceCall
    time: InstantTime
    plan: Operations
    """What is left of it: others may have replaced or compacted file groups since."""
    tasks: tuple[SliceTask, ...]
    """One a file slice, in the plan's order."""
    reads: SliceSpec
    writes: WriteSpec
    schema: str
    """The table's columns as commits carry them."""


def planned_run(call: ServiceCall, instant: Instant, plan: Operations) -> CompactionRun:
    """Find what a plan names, and how it is read and written. What a write would drop of a metadata table goes first.

    So do files that another program wrote for the plan and did not commit: they would be seen once it is committed.

    Cost:   two listings of each partition.
    Raises: CorruptData where a file of the plan is gone; NotBuilt for merge rules that are not built.
    """
    call = replace(call, state=keep_metadata_table(call.state, call.settings, call.engine))
    timeline = load_timeline(call.state)
    gone = find_superseded(call.state, timeline, call.settings, instant, _footprint(instant, plan))
    numbered = [(at, one) for at, one in enumerate(plan) if operation_group(one) not in gone]
    left = tuple(one for _, one in numbered)
    found = slices_of_plan(call.state, timeline, left)
    reads, writes, schema = base_file_specs(call, timeline, instant.requested_time)
    tokens = [write_token(at, 0) for at, _ in numbered]
    tasks = tuple(SliceTask(slice=one, write_token=token) for one, token in zip(found, tokens, strict=True))
    remove_of_others(call.state, instant.requested_time, [one.file for one in tasks])
    return CompactionRun(
        call=call,
        time=instant.requested_time,
        plan=left,
        tasks=tasks,
        reads=reads,
        writes=writes,
        schema=schema,
    )


def remove_of_others(state: TableState, time: InstantTime, files: Iterable[FileTask]) -> None:
    """Delete files of this instant in some partitions, but for those that ours are; old log names do not tell."""
    tokens = {(one.partition, one.file_id): one.write_token for one in files}

    def remove(partition: str) -> None:
        for status in state.storage.list_directory(partition).files:
            file = parse_file(PartitionPath(partition), status)
            is_named = isinstance(file, BaseFile) or state.layout.logs_name_their_instant
            if file is None or not is_named or file.instant != time:
                continue
            if file.write_token != tokens.get((file.partition, file.file_id)):
                state.storage.delete(file.path)

    at_once(remove, sorted({partition for partition, _ in tokens}))


def compacted_files(
    run: CompactionRun,
    operation: WriteOperation,
    stats: Mapping[str, tuple[WriteStat, ...]],
    statuses: Sequence[WriteStatus],
) -> Compacted:
    """Return what a commit of these files says.   Cost: as `service_records`."""
    call, extra = run.call, {"schema": run.schema}
    metadata = CommitMetadata(operation=operation, stats=stats, extra=extra, compacted=True)
    records = service_records(call, call.state, metadata, run.time, statuses)
    return Compacted(metadata=metadata, partitions=call.state.config.partitions_kept_up, records=records)


def commit_compacted(
    call: ServiceCall, instant: Instant, plan: Operations, done: Compacted
) -> Callable[[bytes], bytes]:
    """Make the metadata table's delta commit, delete what no stat names, and return what formats the commit.

    File groups that others have replaced or compacted by now are left out. A plan of which nothing is left is removed.

    Locks:  the table lock is held.
    Raises: WriteConflict where nothing is left.
    """
    timeline = load_timeline(call.state)
    gone = find_superseded(call.state, timeline, call.settings, instant, _footprint(instant, plan))
    if plan and len(gone) == len(plan):
        _withdraw(call, instant, gone)
    done = _without(done, gone)
    reconcile(call.state, instant.requested_time, done.metadata)
    newest = newest_time(timeline)
    records = partial(_records, done=done, call=call, time=instant.requested_time)
    publish_changes(call.state, instant.requested_time, records, call.settings, lambda: call.times.issue(newest))
    return lambda nonce: encode_commit(done.metadata, call.state.layout.timeline_layout, nonce)


def _footprint(instant: Instant, plan: Operations) -> Footprint:
    groups = frozenset(map(operation_group, plan))
    if instant.action is Action.LOGCOMPACTION:
        return Footprint(groups=groups, log_compacted=groups)
    return Footprint(groups=groups, compacted=groups)


def _without(done: Compacted, gone: Mapping[FileGroupId, InstantTime]) -> Compacted:
    """Leave stats of file groups out; what changes in the metadata table is then found anew."""
    named = {(group.partition, group.file_id) for group in gone}
    stats = {
        partition: tuple(stat for stat in found if (partition, stat.file_id) not in named)
        for partition, found in done.metadata.stats.items()
    }
    if stats == done.metadata.stats:
        return done
    kept = {partition: found for partition, found in stats.items() if found}
    return replace(done, metadata=replace(done.metadata, stats=kept), records=None)


def _withdraw(call: ServiceCall, instant: Instant, gone: Mapping[FileGroupId, InstantTime]) -> NoReturn:
    tidy_compacted(call, instant, None)
    remove_pending(call.state, instant)
    raise WriteConflict(
        "others have replaced or compacted all file groups of a planned compaction since; it was removed, plan anew",
        instant=instant.requested_time,
        others=sorted(set(gone.values())),
        file_groups=[f"{group.partition}/{group.file_id}" for group in sorted(gone)],
    )


def tidy_compacted(call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
    """Delete files of the plan that its commit does not name, and all markers."""
    if completed is None:
        remove_marked(call.state, instant.requested_time)
    else:
        reconcile(call.state, instant.requested_time, read_commit_metadata(call.state, completed))
    delete_markers(call.state, instant.requested_time)


def run_now(
    call: ServiceCall, service: Service[Operations, Compacted], *, is_dry_run: bool, is_only_planned: bool
) -> CompactionResult:
    """Run what is planned, then plan and run anew, whether that is due or not; or only say what, or only plan."""
    if is_dry_run:
        plan = plan_service(call, service)
        return _result((), [] if plan is None else [plan])
    free_of_failed_writes(call, Action.DELTACOMMIT)
    if is_only_planned:
        scheduled = schedule_service(call, service)
        runs: Iterable[ServiceRun[Operations]] = () if scheduled is None else (scheduled,)
    else:
        runs = run_service(call, service)
    return _result([one.instant.requested_time for one in runs], [one.plan for one in runs])


def free_of_failed_writes(call: ServiceCall, *actions: Action) -> None:
    """Roll back such writes of dead writers in layout 1, where no service is planned beside a pending one."""
    timeline = load_timeline(call.state)
    if timeline.layout.has_completion_times or all(one.action not in actions for one in pending_instants(timeline)):
        return
    with call.hold() as lease:
        require_lease(lease)
        state = require_same_table(call.state)
        recover_failed_writes(state, decided_timeline(state), call.settings, lease)


def base_file_specs(call: ServiceCall, timeline: Timeline, time: InstantTime) -> tuple[SliceSpec, WriteSpec, str]:
    """Return how slices are read and base files written, and the table's columns as commits carry them."""
    key_encoding = stored_key_encoding(call.state, timeline)
    require_merge_rules(call.state.config)
    schema = table_schema(call.state, timeline)
    writes = write_spec(call.state, call.settings, schema, time, key_encoding=key_encoding)
    reads = replace(slice_spec(call.state, schema, timeline, call.settings).whole, keeps_codes=True)
    return reads, writes, commit_schema(call.state.config, schema)


def _records(state: TableState, *, done: Compacted, call: ServiceCall, time: InstantTime) -> Sequence[Records]:
    """Return what changes in the metadata table; made anew where it has other partitions by now."""
    if done.records is not None and state.config.partitions_kept_up == done.partitions:
        return done.records
    return service_records(call, state, done.metadata, time)


def _result(instants: Iterable[str], plans: Sequence[Operations]) -> CompactionResult:
    operations = [one for plan in plans for one in plan]
    paths = [f"{one.partition}/{name}" if one.partition else name for one in operations for name in one.logs]
    return CompactionResult(
        instants=tuple(instants),
        files=tuple(paths),
        bytes=sum(int(one.metrics.get(Metric.LOG_BYTES, 0)) for one in operations),
        file_groups=len(operations),
    )
