"""Commands that take blocks of logs back, for layout 1, where log names do not say which instant wrote them.

A command is a log file of its own behind those of the slice. It works for all blocks before it, also for those that a
writer which was taken for dead may still put there. Start at `take_back_blocks`.

Spec: format/files 1.2, 1.8; format/timeline 3.7, 10.2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from pyhudi.errors import PreconditionFailed, PutUnknown
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.names import parse_log_file
from pyhudi.formats.log import BlockKind, HeaderKey, encode_blocks, rollback_block
from pyhudi.storage.api import PutMode, Storage

__all__ = ["find_command", "slice_logs", "take_back_blocks", "writers_of"]

_MADE_BY: Final = "1-0-1"
"""The write token of commands."""


def take_back_blocks(storage: Storage, log: LogFile, stored: Sequence[LogFile], target: str, time: str) -> LogFile:
    """Take back the blocks of `target` in this log of a slice and those before it; returns the command's log.

    `stored` are the logs of the slice, `time` is the instant of the rollback. Where there is such a command, it is
    returned.

    Cost: a read of each command behind the log; a put.
    """
    command = find_command(storage, log, stored, target)
    version = max([log.version, *(one.version for one in stored)])
    content = encode_blocks([rollback_block(time, target)])
    while command is None:
        version += 1
        wanted = replace(log, version=version, write_token=_MADE_BY, suffix="", size_bytes=len(content))
        try:
            storage.put(wanted.path, content, PutMode.CREATE)
        except (PreconditionFailed, PutUnknown):  # another rollback's does as well, if it has the same target
            command = find_command(storage, log, slice_logs(storage, log), target)
            continue
        command = wanted
    return command


def find_command(storage: Storage, log: LogFile, stored: Iterable[LogFile], target: str) -> LogFile | None:
    """Find the log behind this one that takes the blocks of `target` back."""
    commands = [one for one in stored if one.version >= log.version and one.write_token == _MADE_BY]
    for one, block in log_blocks(storage, commands):
        if block.kind is BlockKind.COMMAND and block.header(HeaderKey.TARGET_INSTANT_TIME) == target:
            return one
    return None


def slice_logs(storage: Storage, log: LogFile) -> list[LogFile]:
    """Return the logs of the slice that a log belongs to, by its name, in merge order; it need not be there.

    Cost: a listing of the partition.
    """
    found = []
    for status in storage.list_directory(log.partition).files:
        other = parse_log_file(log.partition, status)
        if other is not None and not other.suffix and (other.file_id, other.instant) == (log.file_id, log.instant):
            found.append(other)
    return sorted(found, key=lambda one: (one.version, one.write_token))


def writers_of(storage: Storage, logs: Sequence[LogFile]) -> dict[LogFile, set[str]]:
    """Return which instants wrote blocks of rows or deletes to each log.   Cost: as `log_scan.log_blocks`."""
    found: dict[LogFile, set[str]] = {log: set() for log in logs}
    for log, block in log_blocks(storage, logs):
        if block.kind is not BlockKind.COMMAND:
            found[log].add(block.instant)
    return found
