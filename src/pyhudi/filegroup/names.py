"""The names of data files, markers and partition metadata: read and spelled.

Pure: text in, values out. Names of native log files (table version 10) are recognised first, because they would pass
for base files, and refused. Start at `parse_file`.
"""

import re
from enum import StrEnum
from typing import Final

from pyhudi.errors import Unsupported
from pyhudi.filegroup.model import BaseFile, FileId, LogFile, PartitionPath
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "BASE_EXTENSIONS",
    "PARTITION_METADATA",
    "MarkerKind",
    "is_log_by",
    "is_partition_metadata",
    "log_token",
    "marker_path",
    "markers_directory",
    "parse_base_file",
    "parse_file",
    "parse_log_file",
    "refuse_native_log",
    "write_token",
]

BASE_EXTENSIONS: Final = frozenset({".parquet", ".orc", ".hfile", ".lance"})
PARTITION_METADATA: Final = ".hoodie_partition_metadata"
_LOG: Final = re.compile(r"\.([^_]+)_([^._]*)\.log\.(\d{1,18})(?:_(\d+-\d+-\d+))?(\.cdc)?", re.ASCII)
_DATE: Final = len("yyyyMMdd")
_NATIVE_LOG: Final = re.compile(r"[^._]+_\d+-\d+-\d+_\d+_\d+\.(?:log|deletes|cdc)\.[a-z]+", re.ASCII)


class MarkerKind(StrEnum):
    """What a task was about to do with the file it marked."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


def parse_file(partition: PartitionPath, status: FileStatus) -> BaseFile | LogFile | None:
    """Read a data file's name; None for any other file.

    Raises: Unsupported for a native log file.   Spec: format/timeline 5.1, 5.2, 5.6.
    """
    if status.name.startswith("."):
        return parse_log_file(partition, status)
    return parse_base_file(partition, status)


def parse_base_file(partition: PartitionPath, status: FileStatus) -> BaseFile | None:
    """Read `<file id>_<write token>_<instant><extension>`; None for any other name.

    Raises: Unsupported for a native log file.
    """
    parts = status.name.split("_", 2)
    if len(parts) != 3:
        return None
    file_id, token, rest = parts
    time, dot, extension = rest.partition(".")
    if dot + extension not in BASE_EXTENSIONS or not _is_digits(time) or not file_id:
        refuse_native_log(status.name)
        return None
    return BaseFile(
        partition=partition,
        file_id=FileId(file_id),
        write_token=token,
        instant=InstantTime(time),
        extension=dot + extension,
        size_bytes=status.size_bytes,
    )


def parse_log_file(partition: PartitionPath, status: FileStatus) -> LogFile | None:
    """Read `.<file id>_<instant>.log.<version>[_<write token>][.cdc]`; None for any other name."""
    match = _LOG.fullmatch(status.name)
    if match is None:
        return None
    file_id, time, version, token, suffix = match.groups()
    return LogFile(
        partition=partition,
        file_id=FileId(file_id),
        instant=InstantTime(time),
        version=int(version),
        write_token=token or "",
        suffix=suffix or "",
        size_bytes=status.size_bytes,
    )


def refuse_native_log(name: str) -> None:
    """Do nothing, unless the name is a native log file's.

    Raises: Unsupported.
    """
    if _NATIVE_LOG.fullmatch(name):
        raise Unsupported("native log files (table version 10) cannot be read by this pyhudi", file=name)


def write_token(bucket: int, plan_revision: int) -> str:
    """Format the write token of a bucket: the same for every attempt, so that only one attempt's file can exist."""
    return f"{bucket}-{plan_revision}-0"


def log_token(token: str, instant: InstantTime) -> str:
    """Format the write token of a log whose name has no instant: date and time of day stand in the token.

    Two writers that want the same version of a log then never want the same name.
    """
    return f"{token.partition('-')[0]}-{instant[:_DATE]}-{instant[_DATE:]}"


def is_log_by(log: LogFile, instant: str) -> bool:
    """Return whether a log's write token says that this instant of a pyhudi writer made it."""
    return log.write_token.partition("-")[2] == f"{instant[:_DATE]}-{instant[_DATE:]}"


def markers_directory(instant: InstantTime) -> str:
    """Return where an instant's markers are."""
    return f".hoodie/.temp/{instant}"


def marker_path(instant: InstantTime, data_path: str, kind: str) -> str:
    """Format the marker of a data file, both relative to the base path; `kind` is a `MarkerKind`."""
    return f"{markers_directory(instant)}/{data_path}.marker.{MarkerKind(kind)}"


def is_partition_metadata(name: str) -> bool:
    """Return whether a file name makes its directory a partition: as text, or in a base file format."""
    return name == PARTITION_METADATA or (
        name.startswith(PARTITION_METADATA) and name[len(PARTITION_METADATA) :] in BASE_EXTENSIONS
    )


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
