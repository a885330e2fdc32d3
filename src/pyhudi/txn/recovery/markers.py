"""Which files an instant may have left, by its markers or by their names, and which of them no commit will ever name.

Every data file has a marker, made before it. Written as DIRECT (one empty file each); the batched kind that Hudi's
timeline server writes is read too. A data file carries its instant in its name, and only such files count here: a
marker can never lead to the deletion of what another instant wrote. Start at `marked_files`.

Spec: format/timeline 7.
"""

from collections.abc import Container
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.listing import walk_directories
from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.names import markers_directory, parse_file
from pyhudi.metadata.writer import remove_logs
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, check_path
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata

__all__ = ["delete_markers", "is_file_of", "marked_files", "named_files", "reconcile", "remove_files", "remove_marked"]

_TYPE_FILE: Final = "MARKERS.type"
_SEPARATOR: Final = ".marker."


def marked_files(state: TableState, instant: InstantTime) -> set[str]:
    """List the data files of an instant, relative to the base path, that its markers name.

    Raises: CorruptData for a marker that names a path outside the table.
    """
    directory = markers_directory(instant)
    found = [status.path for status in state.storage.list(directory)]
    names = [path.removeprefix(f"{directory}/") for path in found]
    if _TYPE_FILE in names:
        names = [line for name in names if name != _TYPE_FILE for line in _lines(state, f"{directory}/{name}")]
    marked = {_inside(name.rsplit(_SEPARATOR, 1)[0], instant) for name in names if _SEPARATOR in name}
    return {path for path in marked if is_file_of(path, instant)}


def named_files(state: TableState, instant: InstantTime) -> set[str]:
    """List the data files that carry an instant in their names: what was written when its markers were gone.

    Cost: a listing of every directory: a writer that is rolled back may have had no time to make it a partition.
    """
    found = set()
    for directory, content in walk_directories(state):
        for status in content.files:
            file = parse_file(directory, status)
            is_named = state.layout.has_completion_times or isinstance(file, BaseFile)  # old log names tell the slice
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
    return remove_marked(state, instant, {stat.path for stats in metadata.stats.values() for stat in stats})


def remove_marked(state: TableState, instant: InstantTime, kept: Container[str | None] = ()) -> list[str]:
    """Delete the files that markers of this instant name, but for those to be kept; returns their paths."""
    strays = sorted(path for path in marked_files(state, instant) if path not in kept)
    for path in strays:
        state.storage.delete(path)
    return strays


def remove_files(state: TableState, instant: InstantTime) -> None:
    """Delete all that an instant has left which is taken back, also what was written when its markers were gone.

    Cost: a listing of every directory.
    """
    for path in sorted(marked_files(state, instant) | named_files(state, instant)):
        state.storage.delete(path)
    remove_logs(state, instant)


def delete_markers(state: TableState, instant: InstantTime) -> None:
    """Remove the markers of a settled instant."""
    state.storage.delete_tree(markers_directory(instant))


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
