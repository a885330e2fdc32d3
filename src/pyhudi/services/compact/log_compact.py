"""Log compaction: make one block of the many that the logs of a file slice have.

A table service, planned and run as a compaction is, but what it writes is a log file: cheap where a base file is large,
and a reader then has few blocks to merge. The new block stands where the newest of those that it replaces does, so no
write may append below it meanwhile. Start at `LogCompaction`.

Spec: format/files 1.8; format/timeline 10.5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyhudi.errors import NotBuilt
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.merge_memory import MERGE_MEMORY
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.view import logs_may_add_keys
from pyhudi.kernels.rules import Fill
from pyhudi.metadata.listing import file_index
from pyhudi.options import MOST, Settings, between, option
from pyhudi.queries.committed_files import CHECK_FILES, visible_instants
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
from pyhudi.services.compact.plan import operation_of, slices_with_logs, waits
from pyhudi.services.service import ServiceCall
from pyhudi.state.config import TableType
from pyhudi.state.merging import merge_spec, require_merge_rules
from pyhudi.tasks.log_compact import compact_logs
from pyhudi.tasks.new_files import MAX_FILE_SIZE
from pyhudi.tasks.write_stats import stats_of
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.codec import decode_compaction_plan, encode_compaction_plan
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline, pending_instants

__all__ = ["LogCompaction", "compact_logs_of_table", "is_log_compaction_inline"]

ENABLED: Final = option("hoodie.log.compaction.enable", False, "Log compactions are planned where they are due.")
INLINE: Final = option(
    "hoodie.log.compaction.inline",
    False,
    "With hoodie.log.compaction.enable: in the writer's process, after each write that makes one due.",
)
LEAST_BLOCKS: Final = option(
    "hoodie.log.compaction.blocks.threshold",
    5,
    "A log compaction is due after so many delta commits, and takes the file slices whose logs have so many blocks.",
    parse=between(1, MOST),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCompaction:
    """The service; see `services.service.Service`."""

    action: Action = Action.LOGCOMPACTION
    is_shareable: bool = False

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether there were enough delta commits, or a plan waits to be run."""
        is_asked_for = call.state.config.table_type is TableType.MERGE_ON_READ and call.settings.get(ENABLED)
        is_planned = any(one.action is self.action for one in pending_instants(timeline))
        return is_asked_for and (is_planned or self.is_triggered(call, timeline))

    def is_triggered(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether a log compaction is to be planned.   Cost: a read of each delta commit, once a process."""
        needed, count = call.settings.get(LEAST_BLOCKS), 0
        for one in sorted(timeline.completed.values(), key=timeline.point, reverse=True):
            is_delta = one.action is Action.DELTACOMMIT
            if one.action is Action.COMMIT or (
                is_delta and read_commit_metadata(call.state, one).operation is WriteOperation.LOG_COMPACT
            ):
                break
            count += is_delta
            if count >= needed:
                return True
        return False

    def plan(self, call: ServiceCall, timeline: Timeline) -> Operations | None:
        """Plan; None where no slice has blocks enough, or it has to wait for a pending delta commit.

        Cost:   a listing of each partition, and the headers of the blocks of all logs.
        Raises: NotBuilt for merge rules that are not built.
        """
        is_restoring = any(one.action is Action.RESTORE for one in pending_instants(timeline))
        if (
            is_restoring
            or call.state.config.table_type is not TableType.MERGE_ON_READ
            or waits(timeline, Action.DELTACOMMIT)
        ):
            return None
        _require_foldable(call)
        index = file_index(call.state, timeline, is_checked=call.settings.get(CHECK_FILES))
        chosen = _with_blocks(index, slices_with_logs(index, index.partitions()), call.settings)
        return tuple(operation_of(one, call.settings.get(MAX_FILE_SIZE)) for one in chosen) or None

    def encode_plan(self, call: ServiceCall, plan: Operations, nonce: bytes) -> bytes:
        """Format the requested file."""
        return encode_compaction_plan(plan, nonce, is_log_compaction=True)

    def decode_plan(self, data: bytes, file_name: str) -> Operations:
        """Read the requested file of any writer."""
        return tuple(decode_compaction_plan(data, file_name))

    def run(self, call: ServiceCall, instant: Instant, plan: Operations) -> Compacted:
        """Write the log files, several at once.

        Cost:   the rows of a slice's logs in memory.
        Raises: CorruptData where a file of the plan is gone; as reading and writing files.
        """
        run = planned_run(call, instant, plan)
        task = partial(compact_logs, storage=call.state.storage, reads=run.reads, writes=run.writes)
        statuses = [status for found in call.engine.run(task, run.tasks) for status in found]
        return compacted_files(run, WriteOperation.LOG_COMPACT, stats_of(statuses), statuses)

    def commit(
        self, call: ServiceCall, instant: Instant, plan: Operations, done: Compacted
    ) -> Callable[[bytes], bytes]:
        """Make the metadata table's delta commit, delete what no stat names, and return what formats the commit."""
        return commit_compacted(call, instant, plan, done)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Delete logs of the plan that its commit does not name, and all markers."""
        tidy_compacted(call, instant, completed)


def is_log_compaction_inline(settings: Settings) -> bool:
    """Return whether a writer runs log compactions."""
    return settings.get(ENABLED) and settings.get(INLINE)


def compact_logs_of_table(
    call: ServiceCall, *, is_dry_run: bool = False, is_only_planned: bool = False
) -> CompactionResult:
    """Compact the logs of a table now, whether that is due or not: what is planned already is run first.

    Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; CorruptData; StorageUnavailable.
    """
    return run_now(call, LogCompaction(), is_dry_run=is_dry_run, is_only_planned=is_only_planned)


def _require_foldable(call: ServiceCall) -> None:
    """Check that changes which were folded once may be folded again with later ones.

    Raises: NotBuilt naming the merge rules.
    """
    require_merge_rules(call.state.config)
    rules = merge_spec(call.state.config, call.settings)
    is_dependent = rules.merger is not None and rules.merger.is_order_dependent
    if rules.fill is not Fill.NOTHING or is_dependent:
        raise NotBuilt(
            "pyhudi does not compact logs by this table's merge rules yet; table.compact() merges them into base files",
            found=call.state.config.payload_class or str(call.state.config.merge_mode),
        )


def _with_blocks(index: FileIndex, slices: Sequence[FileSlice], settings: Settings) -> list[FileSlice]:
    """Keep the slices whose logs have enough blocks, fit into memory and hold whole rows.

    Those stay as they are whose logs have keys that the base file has not, where only their names tell of it.
    """
    storage, instants = index.state.storage, visible_instants(index.state, index.timeline, settings)
    most_bytes, needed = settings.get(MERGE_MEMORY), settings.get(LEAST_BLOCKS)
    by_place = {
        f"{one.group.partition}/{one.group.file_id}": one
        for one in slices
        if sum(log.size_bytes for log in one.logs) <= most_bytes and not _is_ahead(one, index.timeline)
    }

    def is_chosen(place: str) -> bool:
        blocks = blocks_to_merge(storage, by_place[place].logs, instants.counts, instants)
        is_done = len({block.instant for block in blocks}) == 1 and bool(blocks[0].compacted_instants)
        return len(blocks) >= needed and not is_done and not any(block.is_partial for block in blocks)

    chosen = at_once(is_chosen, list(by_place))
    return [one for place, one in by_place.items() if chosen[place]]


def _is_ahead(one: FileSlice, timeline: Timeline) -> bool:
    is_told = one.base is not None and one.base.instant in timeline.completed
    return is_told and timeline.layout.logs_name_their_instant and logs_may_add_keys(one, timeline)
