"""Take back what an instant wrote into logs of layout 1, whose names do not tell it: by commands behind its blocks.

Which logs those are is known by its markers, else by reading all that may have its blocks. Start at `requests_of`, then
`take_back_logs`.

Spec: format/timeline 3.7, 10.2.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from pyhudi.filegroup.listing import walk_directories
from pyhudi.filegroup.log_commands import slice_logs, take_back_blocks, writers_of
from pyhudi.filegroup.model import FileId, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_log_file
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, check_path
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.rollback import RollbackPartition, RollbackRequest

__all__ = ["appended_files", "logs_of_request", "logs_with_blocks", "requests_of", "take_back_logs"]

_UNKNOWN_BYTES: Final = 1
"""What Apache Hudi's plans say of a log that only a marker names."""


def logs_with_blocks(state: TableState, times: Iterable[str]) -> dict[str, list[LogFile]]:
    """Return, by instant, the logs of slices of other instants that have blocks of it. Nothing in layout 2.

    Cost: a listing of every directory; a read of each log of the slices that were there before the last instant.
    """
    found: dict[str, list[LogFile]] = {time: [] for time in times}
    if state.layout.logs_name_their_instant or not found:
        return found
    last = max(found)
    logs = []
    for directory, content in walk_directories(state):
        files = (parse_log_file(directory, status) for status in content.files)
        logs += [one for one in files if one is not None and not one.suffix and one.instant < last]
    for log, writers in writers_of(state.storage, logs).items():
        for time in writers & found.keys():
            if log.instant != time:
                found[time].append(log)
    return found


def requests_of(state: TableState, logs: Iterable[LogFile]) -> list[RollbackRequest]:
    """Plan to take blocks of these logs back, slice by slice."""
    return [
        RollbackRequest(
            partition_path=some[0].partition,
            file_id=some[0].file_id,
            latest_base_instant=some[0].instant,
            log_blocks_to_delete={
                _log_url(state, log) if log.size_bytes else log.name: log.size_bytes or _UNKNOWN_BYTES for log in some
            },
        )
        for some in _by_slice(logs)
    ]


def logs_of_request(request: RollbackRequest) -> list[LogFile]:
    """Return the logs whose blocks a plan takes back: those that it names, else a nameless one of the slice.

    Raises: CorruptData for a path outside the table.
    """
    partition = PartitionPath(request.partition_path)
    nameless = LogFile(
        partition=partition,
        file_id=FileId(request.file_id or ""),
        instant=InstantTime(request.latest_base_instant or ""),
        version=0,
        write_token="",
        suffix="",
        size_bytes=0,
    )
    check_path(nameless.path)
    found = []
    for path in request.log_blocks_to_delete:
        status = FileStatus(path=path.rsplit("/", 1)[-1], size_bytes=0, modified_ms=0)
        log = parse_log_file(partition, status)
        is_there = log is not None and (log.file_id, log.instant) == (nameless.file_id, nameless.instant)
        found.append(log if log is not None and is_there else nameless)
    return found


def take_back_logs(
    state: TableState, logs: Iterable[LogFile], target: InstantTime, time: InstantTime
) -> dict[str, RollbackPartition]:
    """Write a command behind the blocks of `target` in each slice, and return what was done, by partition.

    A slice that has the command keeps it.

    Cost: a listing of the partition and a put for each slice.
    """
    commands: dict[str, dict[str, int]] = defaultdict(dict)
    failed: dict[str, dict[str, int]] = defaultdict(dict)
    for some in _by_slice(logs):
        stored = slice_logs(state.storage, some[0])
        command = take_back_blocks(state.storage, max(some, key=lambda log: log.version), stored, target, time)
        names = {log.name for log in some}
        commands[command.partition][_log_url(state, command)] = command.size_bytes
        failed[command.partition] |= {_log_url(state, log): log.size_bytes for log in stored if log.name in names}
    return {
        partition: RollbackPartition(
            partition_path=partition, rollback_log_files=found, failed_log_files=failed[partition]
        )
        for partition, found in commands.items()
    }


def appended_files(partitions: Mapping[str, RollbackPartition]) -> dict[str, dict[str, int]]:
    """Return names and sizes, by partition, of the logs that a rollback left, commands and what they take back."""
    return {
        name: {
            path.rsplit("/", 1)[-1]: size for path, size in {**one.rollback_log_files, **one.failed_log_files}.items()
        }
        for name, one in partitions.items()
        if one.rollback_log_files
    }


def _log_url(state: TableState, log: LogFile) -> str:
    """Format a log's path as Hudi spells it in rollbacks: with its scheme, and one slash behind `file:`."""
    return f"{state.storage.url.replace('file:///', 'file:/', 1).rstrip('/')}/{log.path}"


def _by_slice(logs: Iterable[LogFile]) -> list[Sequence[LogFile]]:
    def place(log: LogFile) -> tuple[str, str, str]:
        return log.partition, log.file_id, log.instant

    ordered = sorted(set(logs), key=lambda log: (*place(log), log.version, log.write_token))
    return [list(some) for _, some in groupby(ordered, key=place)]
