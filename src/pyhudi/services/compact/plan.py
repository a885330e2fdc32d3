"""Which file slices a compaction could take: the newest of each file group, where it has logs and nothing is planned.

Reads listings, and decides. A plan names the log files that are committed when it is made: what is completed later
belongs to the slice that the compaction makes. Start at `find_operations`.

Spec: format/timeline 3.4, 10.5.
"""

import logging
from collections.abc import Iterable
from datetime import date
from typing import Final

import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.view import as_file_slices
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.slices import listing_again, slices_to_read
from pyhudi.services.compact.strategy import Metric, chosen_operations, chosen_partitions, compaction_rules
from pyhudi.state.model import TableState
from pyhudi.tasks.new_files import MAX_FILE_SIZE
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.codec import CompactionOperation
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import Timeline, pending_instants
from pyhudi.txn.checks import planned_groups

__all__ = ["find_operations", "operation_of", "plan_compaction", "slices_with_logs", "waits"]

_MB: Final = 1024 * 1024
_log = logging.getLogger("pyhudi.actions")


def plan_compaction(state: TableState, timeline: Timeline, settings: Settings) -> tuple[CompactionOperation, ...]:
    """Choose what a compaction takes now; empty where there is nothing, or it has to wait.

    In layout 1 a log belongs to the slice that its name says, so that a delta commit which began before a compaction
    was planned, and is completed later, would be lost: no compaction is planned beside one.

    Locks:  the table lock is held, or it is a dry run.
    Cost:   a listing of each partition that the strategy looks into.
    Raises: OptionError where the strategy does not fit the partitions.
    """
    rules = compaction_rules(settings, _today(state))
    if waits(timeline, Action.DELTACOMMIT):
        return ()
    index = file_index(state, timeline, is_checked=settings.get(CHECK_FILES))
    partitions = chosen_partitions(index.partitions(), rules)
    return chosen_operations(find_operations(index, partitions, settings), rules)


def find_operations(
    index: FileIndex, partitions: Iterable[PartitionPath], settings: Settings
) -> list[CompactionOperation]:
    """Return an operation for every file slice of some partitions that could be compacted."""
    most_bytes = settings.get(MAX_FILE_SIZE)
    return [operation_of(one, most_bytes) for one in slices_with_logs(index, partitions)]


def slices_with_logs(index: FileIndex, partitions: Iterable[PartitionPath]) -> list[FileSlice]:
    """Return the newest slices with logs of the file groups that no pending table service is going to read.

    Cost:   a listing of each partition, a read of each pending plan; microseconds for each such slice.
    Raises: CorruptData naming a file that a commit wrote and that is not there: its rows would be lost for good.
    """
    state, timeline, wanted = index.state, index.timeline, list(partitions)
    slices = listing_again(index, lambda: slices_to_read(index, wanted))
    with_logs = as_file_slices(slices.filter(pc.greater(pc.list_value_length(slices["logs"]), 0)))
    planned = planned_groups(state, timeline)
    return [one for one in with_logs if one.group not in planned]


def operation_of(one: FileSlice, most_bytes: int) -> CompactionOperation:
    """Describe what compacting a slice means; `most_bytes` is taken for the size of a base file that is not there yet.

    Units: bytes, and whole MB.
    """
    log_bytes = sum(log.size_bytes for log in one.logs)
    read_mb = ((one.base.size_bytes if one.base else 0) + log_bytes) // _MB
    write_mb = (one.base.size_bytes if one.base else most_bytes) // _MB
    return CompactionOperation(
        partition=one.group.partition,
        file_id=one.group.file_id,
        base_instant=one.base_instant,
        base=one.base.name if one.base else None,
        logs=tuple(log.name for log in one.logs),
        metrics={
            Metric.LOG_FILES: float(len(one.logs)),
            Metric.IO_MB: float(read_mb + write_mb),
            Metric.READ_MB: float(read_mb),
            Metric.LOG_BYTES: float(log_bytes),
            Metric.WRITE_MB: float(write_mb),
        },
    )


def waits(timeline: Timeline, *actions: Action) -> bool:
    """Return whether a service cannot be planned now because such writes are pending in layout 1, and say why.

    There a commit's place is its request, so that one which is completed behind a plan looks as if it came before.
    """
    if timeline.layout.has_completion_times:
        return False
    pending = [one.requested_time for one in pending_instants(timeline) if one.action in actions]
    if pending:
        _log.warning("a table service of this table version waits for pending commits: %s", ", ".join(pending))
    return bool(pending)


def _today(state: TableState) -> date:
    text = format_instant(state.env.now_ms(), timeline_zone(state))
    return date(int(text[:4]), int(text[4:6]), int(text[6:8]))
