"""Markers: which files an instant may have left, and which of them nobody will ever name.

Every data file has a marker, made before it. Written as DIRECT (one empty file each); the batched kind that Hudi's
timeline server writes is read too. Start at `marked_files`.

Spec: format/timeline 7.
"""

from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.names import markers_directory
from pyhudi.state.model import TableState
from pyhudi.storage.api import check_path
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata

__all__ = ["delete_markers", "has_markers", "marked_files", "reconcile"]

_TYPE_FILE: Final = "MARKERS.type"
_SEPARATOR: Final = ".marker."


def has_markers(state: TableState, instant: InstantTime) -> bool:
    """Tell whether the instant has left any marker."""
    return bool(state.storage.list(markers_directory(instant)))


def marked_files(state: TableState, instant: InstantTime) -> set[str]:
    """List the data files, relative to the base path, that markers of an instant name.

    Raises: CorruptData for a marker that names a path outside the table.
    """
    directory = markers_directory(instant)
    found = [status.path for status in state.storage.list(directory)]
    names = [path.removeprefix(f"{directory}/") for path in found]
    if _TYPE_FILE in names:
        names = [line for name in names if name != _TYPE_FILE for line in _lines(state, f"{directory}/{name}")]
    marked = {name.rsplit(_SEPARATOR, 1)[0] for name in names if _SEPARATOR in name}
    return {_inside(path, instant) for path in marked}


def reconcile(state: TableState, instant: InstantTime, metadata: CommitMetadata) -> list[str]:
    """Delete files that were started under this instant and are in nobody's write status; give their paths."""
    written = {stat.path for stats in metadata.stats.values() for stat in stats}
    strays = sorted(marked_files(state, instant) - written)
    for path in strays:
        state.storage.delete(path)
    return strays


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
