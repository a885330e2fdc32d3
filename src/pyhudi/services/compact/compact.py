"""Compaction: merge the logs of file slices into their next base files.

A table service: `services.compact.plan` decides, and here each planned slice is read as a reader sees it and stored
as a base file of the plan's instant. File names follow from the plan, so that a process which goes on with what another
one left finds its files. Rows keep their commit, and the table's columns stay what they are. Delta commits that are
completed while it runs belong to the slice that it makes. Start at `Compaction`.

Spec: format/timeline 3.4, 10.5; reliability 1.2, 1.5.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.options import Settings, option
from pyhudi.services.compact.compacted import (
    Compacted,
    CompactionResult,
    Operations,
    commit_compacted,
    compacted_files,
    planned_run,
    run_now,
    tidy_compacted,
)
from pyhudi.services.compact.plan import plan_compaction
from pyhudi.services.compact.strategy import Metric
from pyhudi.services.compact.trigger import is_compaction_triggered, max_delta_seconds
from pyhudi.services.service import ServiceCall, run_or_planned
from pyhudi.state.config import TableType
from pyhudi.state.merging import require_merge_rules
from pyhudi.tasks.compact import compact_slice
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.codec import CompactionOperation, decode_compaction_plan, encode_compaction_plan
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.metadata import WriteOperation, WriteStat
from pyhudi.timeline.view import Timeline, pending_instants

__all__ = [
    "Compaction",
    "compact_table",
    "is_compaction_inline",
]

INLINE: Final = option(
    "hoodie.compact.inline", False, "A table is compacted in the writer's process after each write that makes it due."
)
SCHEDULE_INLINE: Final = option(
    "hoodie.compact.schedule.inline",
    False,
    "A compaction is planned after each write that makes it due, and run by another process.",
)
_SECOND_MS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The service; see `services.service.Service`."""

    action: Action = Action.COMPACTION
    is_shareable: bool = False

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether there were enough delta commits, or it is long enough ago, or a plan waits to be run."""
        if call.state.config.table_type is not TableType.MERGE_ON_READ:
            return False
        is_planned = any(one.action is self.action for one in pending_instants(timeline))
        return is_planned or self.is_triggered(call, timeline)

    def is_triggered(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether a compaction is to be planned."""
        since_ms = call.state.env.now_ms() - max_delta_seconds(call.settings) * _SECOND_MS
        return is_compaction_triggered(timeline, call.settings, format_instant(since_ms, timeline_zone(call.state)))

    def plan(self, call: ServiceCall, timeline: Timeline) -> Operations | None:
        """Plan; None where no file group has logs, or all that have some are planned already.

        Raises: NotBuilt for merge rules that are not built.
        """
        is_restoring = any(one.action is Action.RESTORE for one in pending_instants(timeline))
        if is_restoring or call.state.config.table_type is not TableType.MERGE_ON_READ:
            return None
        require_merge_rules(call.state.config)
        return plan_compaction(call.state, timeline, call.settings) or None

    def encode_plan(self, call: ServiceCall, plan: Operations, nonce: bytes) -> bytes:
        """Format the requested file."""
        return encode_compaction_plan(plan, nonce)

    def decode_plan(self, data: bytes, file_name: str) -> Operations:
        """Read the requested file of any writer."""
        return tuple(decode_compaction_plan(data, file_name))

    def run(self, call: ServiceCall, instant: Instant, plan: Operations) -> Compacted:
        """Write the base files, several at once.

        Cost:   what reading the slices costs, and writing their rows; the rows of a slice's logs in memory.
        Raises: CorruptData where a file of the plan is gone; as reading and writing files.
        """
        run = planned_run(call, instant, plan)
        task = partial(compact_slice, storage=call.state.storage, reads=run.reads, writes=run.writes)
        statuses = call.engine.run(task, run.tasks)
        return compacted_files(run, WriteOperation.COMPACT, _stats(run.plan, statuses), statuses)

    def commit(
        self, call: ServiceCall, instant: Instant, plan: Operations, done: Compacted
    ) -> Callable[[bytes], bytes]:
        """Make the metadata table's delta commit, delete what no stat names, and return what formats the commit."""
        return commit_compacted(call, instant, plan, done)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Delete base files of the plan that its commit does not name, and all markers."""
        tidy_compacted(call, instant, completed)


def is_compaction_inline(settings: Settings) -> tuple[bool, bool]:
    """Return whether a writer runs compactions, and whether it only plans them.   Raises: OptionError for both."""
    return run_or_planned(settings, INLINE, SCHEDULE_INLINE)


def compact_table(call: ServiceCall, *, is_dry_run: bool = False, is_only_planned: bool = False) -> CompactionResult:
    """Compact a table now, whether that is due or not: what is planned already is run first.

    Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; CorruptData; StorageUnavailable.
    """
    return run_now(call, Compaction(), is_dry_run=is_dry_run, is_only_planned=is_only_planned)


def _stats(plan: Operations, statuses: Sequence[WriteStatus]) -> dict[str, tuple[WriteStat, ...]]:
    found: defaultdict[str, list[WriteStat]] = defaultdict(list)
    for operation, status in zip(plan, statuses, strict=True):
        found[operation.partition].append(_stat(operation, status))
    return {partition: tuple(stats) for partition, stats in found.items()}


def _stat(operation: CompactionOperation, status: WriteStatus) -> WriteStat:
    """Fill a compaction's stat with what real files have.   Spec: format/timeline 3.2."""
    is_new, merged = operation.base is None, status.inserts_count + status.updates_count + status.deletes_count
    return WriteStat(
        file_id=operation.file_id,
        path=status.path,
        prev_commit="null" if is_new else operation.base_instant,
        num_writes=status.rows_count,
        num_deletes=status.deletes_count,
        num_update_writes=status.updates_count,
        num_inserts=status.inserts_count,
        total_write_bytes=status.size_bytes,
        partition_path=operation.partition,
        total_log_records=merged,
        total_log_files_compacted=len(operation.logs),
        total_log_size_compacted=int(operation.metrics.get(Metric.LOG_BYTES, 0)),
        total_updated_records_compacted=merged,
        file_size_in_bytes=status.size_bytes,
        prev_base_file=operation.base,
        scan_time_ms=0,
        upsert_time_ms=0 if is_new else status.write_ms,
        create_time_ms=status.write_ms if is_new else 0,
    )
