"""Which files an instant may have left, by its markers or by their names, and which of them no commit will ever name.

Every data file has a marker, made before it. Written as DIRECT (one empty file each); the batched kind that Hudi's
timeline server writes is read too. A data file carries its instant in its name, and only such files count here: a
marker can never lead to the deletion of what another instant wrote. Logs of layout 1 do not; theirs is the instant of
the markers' directory, and they are left to `recovery.logs`. Start at `marked_files`.

Spec: format/timeline 7.
"""

from collections.abc import Container
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.listing import walk_directories
from pyhudi.filegroup.log_commands import find_command, slice_logs
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import MarkerKind, is_log_by, markers_directory, parse_file
from pyhudi.metadata.table.commit import remove_logs
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, check_path
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata

__all__ = [
    "delete_markers",
    "is_file_of",
    "marked_files",
    "marked_logs",
    "named_files",
    "reconcile",
    "remove_files",
    "remove_marked",
]

_TYPE_FILE: Final = "MARKERS.type"
_SEPARATOR: Final = ".marker."


def marked_files(state: TableState, instant: InstantTime) -> set[str]:
    """List the data files of an instant, relative to the base path, that its markers name.

    Raises: CorruptData for a marker that names a path outside the table.
    """
    return {path for path, _ in _marked(state, instant) if is_file_of(path, instant)}


def marked_logs(state: TableState, instant: InstantTime) -> list[LogFile]:
    """Return the logs of layout 1 that the markers of an instant name, which belong to slices of other instants.

    Old releases only say which slice: then the version is 0. Nothing in layout 2.

    Raises: as `marked_files`.
    """
    if state.layout.logs_name_their_instant:
        return []
    found = [_log_of(path, kind) for path, kind in _marked(state, instant)]
    return sorted({log for log in found if log is not None and log.instant != instant}, key=lambda log: log.path)


def named_files(state: TableState, instant: InstantTime, *, has_logs: bool = False) -> set[str]:
    """List the data files that carry an instant in their names: what was written when its markers were gone.

    Logs of layout 1 carry the instant of their slice, and belong to others too where that is a compaction's; `has_logs`
    says that the instant is no compaction.

    Cost: a listing of every directory: a writer that is rolled back may have had no time to make it a partition.
    """
    found = set()
    for directory, content in walk_directories(state):
        for status in content.files:
            file = parse_file(directory, status)
            is_named = has_logs or state.layout.logs_name_their_instant or isinstance(file, BaseFile)
            if file is not None and is_named and file.instant == instant:
                found.add(file.path)
    return found


def is_file_of(path: str, instant: str) -> bool:
    """Return whether a path, relative to the base path, is a data file that carries this instant in its name."""
    partition, _, name = path.rpartition("/")
    status = FileStatus(path=name, size_bytes=0, modified_ms=0)
    file = None if partition.split("/")[0] == ".hoodie" else parse_file(PartitionPath(partition), status)
    return file is not None and file.instant == instant


def reconcile(state: TableState, instant: InstantTime, metadata: CommitMetadata) -> list[str]:
    """Delete files that were started under this instant and are in no write status; returns their paths."""
    stats = [stat for found in metadata.stats.values() for stat in found]
    changes = {path for stat in stats for path in stat.cdc_stats or ()}
    return remove_marked(state, instant, {stat.path for stat in stats} | changes)


def remove_marked(state: TableState, instant: InstantTime, kept: Container[str | None] = ()) -> list[str]:
    """Delete the files that markers of this instant name, but for those to be kept; returns their paths.

    A log of layout 1 goes where it is surely this instant's alone, unless a command has taken it back already: the
    metadata table may have it by then.
    """
    strays = {path for path in marked_files(state, instant) if path not in kept}
    logs = [log for log in marked_logs(state, instant) if log.path not in kept and is_log_by(log, instant)]
    storage = state.storage
    strays |= {log.path for log in logs if find_command(storage, log, slice_logs(storage, log), instant) is None}
    for path in sorted(strays):
        storage.delete(path)
    return sorted(strays)


def remove_files(state: TableState, instant: InstantTime) -> None:
    """Delete all that an instant has left which is taken back, also what was written when its markers were gone.

    Cost: a listing of every directory.
    """
    remove_marked(state, instant)
    for path in sorted(named_files(state, instant)):
        state.storage.delete(path)
    remove_logs(state, instant)


def delete_markers(state: TableState, instant: InstantTime) -> None:
    """Remove the markers of a settled instant."""
    state.storage.delete_tree(markers_directory(instant))


def _marked(state: TableState, instant: InstantTime) -> list[tuple[str, str]]:
    """Read the markers of an instant: a path and what was to be done with it."""
    directory = markers_directory(instant)
    found = [status.path for status in state.storage.list(directory)]
    names = [path.removeprefix(f"{directory}/") for path in found]
    if _TYPE_FILE in names:
        names = [line for name in names if name != _TYPE_FILE for line in _lines(state, f"{directory}/{name}")]
    pairs = [name.rpartition(_SEPARATOR) for name in names if _SEPARATOR in name]
    return [(_inside(path, instant), kind) for path, _, kind in pairs]


def _log_of(path: str, kind: str) -> LogFile | None:
    """Read which log a marker names: by its name, or by that of a base file of its slice, which is never written."""
    partition, _, name = path.rpartition("/")
    if partition.split("/")[0] == ".hoodie":
        return None
    file = parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
    if isinstance(file, BaseFile) and kind == MarkerKind.APPEND:
        return LogFile(
            partition=file.partition,
            file_id=file.file_id,
            instant=file.instant,
            version=0,
            write_token=file.write_token,
            suffix="",
            size_bytes=0,
        )
    return file if isinstance(file, LogFile) and not file.suffix else None


def _lines(state: TableState, path: str) -> list[str]:
    try:
        return [line.strip() for line in state.storage.get(path).decode().splitlines() if line.strip()]
    except FileMissing:
        return []


def _inside(path: str, instant: InstantTime) -> str:
    try:
        return check_path(path)
    except ValueError as error:
        raise CorruptData("a marker names a path outside the table", instant=instant, path=path) from error
