"""Compaction of the metadata table: each file group's logs folded into its base file.

Done under the table lock by the writer whose commit made it due. Its time is one that no action of the table can have:
the completion time of the newest delta commit, which stays in the next slice; in layout 1 that delta commit's time with
a suffix. A delta commit whose action is still pending is never compacted, because readers do not count it yet. Start
at `compact_metadata`.

Spec: format/metadata-table 7.7.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptData, PreconditionFailed
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import FileSlice, LogFile
from pyhudi.metadata.committed_files import built_at, is_of_rows, kept_files, lost_index_file
from pyhudi.metadata.names import group_number
from pyhudi.metadata.partitions.kinds import kind_of, kinds_of
from pyhudi.metadata.reader import slice_entries
from pyhudi.metadata.records import MetadataRecords, encode_records
from pyhudi.metadata.state import MetadataTable, complete_commit, open_metadata, request_commit
from pyhudi.metadata.stats.value_types import as_defined
from pyhudi.metadata.table.base_files import base_file, base_file_content
from pyhudi.metadata.table.logs import BLOCK_BYTES
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_plan, remove_pending, start
from pyhudi.timeline.codec import CompactionOperation, decode_compaction_plan, encode_compaction_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.view import Timeline, completion_of, pending_instants

__all__ = ["DELTA_COMMITS", "compact_metadata", "finish_compaction", "is_compaction_due"]

DELTA_COMMITS: Final = option(
    "hoodie.metadata.compact.max.delta.commits",
    10,
    "After so many delta commits the metadata table is compacted.",
)
_SUFFIX: Final = "001"
"""Of a compaction's instant in layout 1."""
_EMPTY_FILES: Final = 9
"""The table version since which a file group without records gets a base file too."""
_log = logging.getLogger("pyhudi.metadata")


def is_compaction_due(table: MetadataTable, settings: Settings) -> bool:
    """Return whether there were enough delta commits since the last compaction."""
    compacted = max((one.requested_time for one in _completed(table, Action.COMMIT)), default="")
    since = [one for one in _completed(table, Action.DELTACOMMIT) if (one.completion_time or "") >= compacted]
    if not table.state.layout.has_completion_times:
        since = [one for one in since if one.requested_time > compacted]
    return len(since) >= settings.get(DELTA_COMMITS)


def compact_metadata(
    state: TableState, timeline: Timeline, settings: Settings, issue: Callable[[], InstantTime]
) -> bool:
    """Finish a compaction that was begun, or compact if it is due; returns whether anything was done.

    `issue` makes the completion time.

    Locks: the table lock is held.
    Cost:  a listing of the metadata table's timeline; where it is due, all of the metadata table is read and written.
    """
    if not state.config.metadata_partitions:
        return False
    table = open_metadata(state, timeline)
    if finish_compaction(table, settings, issue):
        return True
    if not is_compaction_due(table, settings):
        return False
    time = _time(table)
    operations = [] if time is None else _operations(table, time)
    if time is None or not operations:
        return False
    instant = Instant(requested_time=time, action=Action.COMPACTION, state=State.REQUESTED)
    plan = encode_compaction_plan(operations, state.env.nonce())
    _run(table, request_commit(table.state, instant, None, plan), operations, settings, issue)
    return True


def finish_compaction(table: MetadataTable, settings: Settings, issue: Callable[[], InstantTime]) -> bool:
    """Finish a compaction that was begun; returns whether there was one.

    A partition that was dropped or built anew since is left out of it.

    In layout 1 no log may be written before: its name goes by the slice that the compaction makes.

    Locks: the table lock is held.
    """
    instant = next((one for one in pending_instants(table.timeline) if one.action is Action.COMPACTION), None)
    if instant is None:
        return False
    plan = read_plan(table.state, instant)
    if not plan:  # its writer died as it stored the plan
        remove_pending(table.state, instant)
        return False
    with suppress(PreconditionFailed):  # started before
        start(table.state, instant)
    planned = decode_compaction_plan(plan, instant.file_name)
    there = {one for one in {each.partition for each in planned} if _is_as_planned(table, one, instant.requested_time)}
    _run(table, instant, [one for one in planned if one.partition in there], settings, issue)
    return True


def _is_as_planned(table: MetadataTable, partition: str, time: InstantTime) -> bool:
    """Return whether a partition is the one of which a compaction was planned."""
    return partition in table.partitions and (built_at(table, partition) or "") <= time


def _run(
    table: MetadataTable,
    instant: Instant,
    operations: Sequence[CompactionOperation],
    settings: Settings,
    issue: Callable[[], InstantTime],
) -> None:
    """Write the base files of a plan, and complete it."""
    by_group = {f"{one.partition}/{one.file_id}": one for one in operations}
    written = at_once(lambda group: _compact(table, by_group[group], instant.requested_time, settings), list(by_group))
    stats: dict[str, list[WriteStat]] = {}
    for stat in filter(None, written.values()):
        stats.setdefault(str(stat.partition_path), []).append(stat)
    left = _left(table, instant.requested_time, {path: [one.file_id for one in found] for path, found in stats.items()})
    metadata = CommitMetadata(
        operation=WriteOperation.COMPACT,
        stats={partition: tuple(found) for partition, found in stats.items()},
        extra=kept_files(table, left),
        compacted=True,
    )
    complete_commit(table.state, replace(instant, state=State.INFLIGHT), metadata, issue())


def _left(
    table: MetadataTable, time: InstantTime, filled: Mapping[str, Collection[str | None]]
) -> dict[str, list[FileSlice]]:
    """Return the file slices of indexes of rows that a compaction leaves, given the file groups that it fills."""
    there = [one for one in table.partitions if is_of_rows(one) and _is_as_planned(table, one, time)]
    left = {
        one: [group for group in table.file_groups(one) if group.group.file_id not in filled.get(one, ())]
        for one in there
    }
    return {one: [replace(group, logs=_before(table, group, time)) for group in groups] for one, groups in left.items()}


def _before(table: MetadataTable, group: FileSlice, time: InstantTime) -> tuple[LogFile, ...]:
    return tuple(log for log in group.logs if _is_before(table, log, time))


def _completed(table: MetadataTable, action: Action) -> list[Instant]:
    return [one for one in table.timeline.completed.values() if one.action is action]


def _time(table: MetadataTable) -> InstantTime | None:
    """Choose the time of a compaction; None where one has to wait for actions of the table.

    Delta commits that were completed before it are compacted.
    """
    done = _completed(table, Action.DELTACOMMIT)
    waiting = [one for one in done if one.requested_time in table.hidden]
    if table.state.layout.has_completion_times:
        times = [one.completion_time for one in waiting or done if one.completion_time]
        return (min(times) if waiting else max(times)) if times else None
    last = max((one.requested_time for one in done), default=None)
    if last is None or any(time <= last for time in table.hidden):
        return None
    return InstantTime(last + _SUFFIX)


def _operations(table: MetadataTable, time: InstantTime) -> list[CompactionOperation]:
    """Plan the file groups that have logs to fold."""
    kept_up = [kind.name for kind in kinds_of(table.partitions, table.definitions)]
    groups = [group for partition in kept_up if _is_whole(table, partition) for group in table.file_groups(partition)]
    chosen = [(group, _before(table, group, time)) for group in groups]
    return [_operation(group, logs) for group, logs in chosen if logs]


def _is_whole(table: MetadataTable, partition: str) -> bool:
    """Return whether all files of an index of rows are there: in a base file, nothing would tell of a lost one."""
    lost = lost_index_file(table, partition)
    if lost is not None:
        _log.warning("a file is gone or cut off, and its index is not compacted: %s", lost.path)
    return lost is None


def _is_before(table: MetadataTable, log: LogFile, time: InstantTime) -> bool:
    """Return whether a log is of a delta commit that was completed before a time; in layout 1 all are."""
    if not table.state.layout.has_completion_times:
        return True
    done = completion_of(table.timeline, log.instant)
    return done is None or done < time  # the completion of an archived one need not be known


def _operation(group: FileSlice, logs: Sequence[LogFile]) -> CompactionOperation:
    size_bytes = float(sum(log.size_bytes for log in logs))
    nothing = dict.fromkeys(("TOTAL_IO_MB", "TOTAL_IO_READ_MB", "TOTAL_IO_WRITE_MB"), 0.0)
    return CompactionOperation(
        partition=group.group.partition,
        file_id=group.group.file_id,
        base_instant=group.base_instant,
        base=group.base.name if group.base else None,
        logs=tuple(log.name for log in logs),
        metrics={"TOTAL_LOG_FILES": float(len(logs)), "TOTAL_LOG_FILES_SIZE": size_bytes, **nothing},
    )


def _compact(
    table: MetadataTable, operation: CompactionOperation, time: InstantTime, settings: Settings
) -> WriteStat | None:
    """Write the base file of one file group; None where it has no records and no release would write one."""
    chosen, version = _slice(table, operation), table.state.config.table_version
    folded = kind_of(operation.partition, table.definitions).fold(table, slice_entries(table, chosen))
    is_plain = isinstance(folded, MetadataRecords)
    entries: pa.Table = encode_records(as_defined(table.owner, folded), version) if is_plain else folded
    if not entries.num_rows and version < _EMPTY_FILES:
        return None
    content = base_file_content(entries, version, settings.get(BLOCK_BYTES))
    file = base_file(chosen.group, time, f"{group_number(operation.file_id)}-0-0", len(content))
    table.state.storage.put(file.path, content)
    return WriteStat(
        file_id=file.file_id,
        path=file.path,
        prev_commit=operation.base_instant,
        num_writes=entries.num_rows,
        total_write_bytes=file.size_bytes,
        partition_path=file.partition,
        file_size_in_bytes=file.size_bytes,
        prev_base_file=operation.base,
        total_log_files_compacted=len(operation.logs),
        total_log_size_compacted=sum(log.size_bytes for log in chosen.logs),
        scan_time_ms=0,
        upsert_time_ms=0,
        create_time_ms=0,
    )


def _slice(table: MetadataTable, operation: CompactionOperation) -> FileSlice:
    """Find the file slice of a plan: its base file, and those of the logs that it names."""
    groups = table.file_groups(operation.partition)
    group = next((one for one in groups if one.group.file_id == operation.file_id), None)
    if group is None or operation.base != (group.base.name if group.base else None):
        raise CorruptData("a file of a planned compaction is gone", file_id=operation.file_id, base=operation.base)
    logs = tuple(log for log in group.logs if log.name in operation.logs)
    if len(logs) < len(operation.logs):
        raise CorruptData("a log of a planned compaction is gone", file_id=operation.file_id, logs=operation.logs)
    return replace(group, logs=logs)
