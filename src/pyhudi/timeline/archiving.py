"""Move completed instants from the active timeline to the history: each is in one of both, at every moment.

They are added to the history first and deleted from the active timeline then, pending files before completed ones,
completed ones in the order of their times: a crash leaves instants in both, of which the next archiving deletes the
active files. Start at `archive_instants`.

Spec: format/timeline 4.1-4.3.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from pyhudi.errors import FileMissing
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.archive_logs import append_archive_log
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, parse_name
from pyhudi.timeline.lsm import ARCHIVED, Hold, append_history, compact_history

__all__ = ["archive_instants"]

_MARKERS: Final = ".hoodie/.temp"
_PLANNED: Final = frozenset({Action.CLEAN, Action.COMPACTION, Action.LOGCOMPACTION})
_REPLACES: Final = frozenset({Action.REPLACECOMMIT, Action.CLUSTERING})
_VERSION: Final = 1


@dataclass(slots=True)
class _Files:
    """The names of one instant's files, by state."""

    requested: str = ""
    inflight: str = ""
    completed: list[str] = field(default_factory=list)
    """More than one where two processes ran the same clean."""
    pending_action: Action | None = None


def archive_instants(state: TableState, instants: Sequence[Instant], settings: Settings, hold: Hold) -> None:
    """Archive completed instants, by requested time as `plan_archive` chose them, and delete what is left of markers.

    Safe to be called again with the same instants.

    Cost:   a read of each completed file and plan, a delete of each file, one after another; what joining files costs.
    Locks:  the table lock is held; `hold` is called before each put, and before the first file is deleted.
    Raises: WriteConflict where another process archived meanwhile.
    """
    is_logged = state.layout.archives_to_logs
    if instants:
        files = _files_of(state, instants)
        if is_logged:
            append_archive_log(state, _stored(state, files.values()), hold)
        else:
            rows = [row for one in instants if (row := _row(state, one, files[_key(one)])) is not None]
            append_history(state, pa.Table.from_pylist(rows, ARCHIVED), hold)
        hold()
        _delete(state, files.values())
        _delete_markers(state, {one.requested_time for one in instants})
    if not is_logged:
        compact_history(state, settings, hold)


def _key(instant: Instant) -> tuple[InstantTime, Action]:
    return instant.requested_time, instant.comparable_action


def _files_of(state: TableState, instants: Iterable[Instant]) -> dict[tuple[InstantTime, Action], _Files]:
    """Find all files of some instants, by requested time and action; sorted."""
    wanted = {_key(one) for one in instants}
    found: dict[tuple[InstantTime, Action], _Files] = defaultdict(_Files)
    for name in state.storage.list_names(state.layout.timeline_path):
        instant = parse_name(name)
        if instant is None or _key(instant) not in wanted:
            continue
        files = found[_key(instant)]
        if instant.is_completed:
            files.completed.append(name)
            continue
        files.pending_action = instant.action
        if instant.state is State.REQUESTED:
            files.requested = name
        else:
            files.inflight = name
    return defaultdict(_Files, sorted(found.items()))


def _stored(state: TableState, files: Iterable[_Files]) -> list[FileStatus]:
    """Return the files that are there, those of an instant one behind the other."""
    # The directory alone: the metadata table below it has instants of the same names.
    there = {status.name: status for status in state.storage.list_directory(state.layout.timeline_path).files}
    names = (name for one in files for name in (one.requested, one.inflight, *sorted(one.completed)))
    return [there[name] for name in names if name in there]


def _row(state: TableState, instant: Instant, files: _Files) -> dict[str, object] | None:
    """Make the row of an instant; None where it is gone already."""
    try:
        data = state.storage.get(f"{state.layout.timeline_path}/{instant.file_name}")
    except FileMissing:
        return None
    return {
        "instantTime": instant.requested_time,
        "completionTime": instant.completion_time,
        "action": instant.action.value,
        "metadata": data or None,
        "plan": _plan(state, files),
        "version": _VERSION,
    }


def _plan(state: TableState, files: _Files) -> bytes | None:
    """Read what an action was going to do; what a write that replaces planned is in its inflight file."""
    if files.pending_action in _REPLACES:
        return _read(state, files.inflight) or _read(state, files.requested)
    if files.pending_action in _PLANNED:
        return _read(state, files.requested) or _read(state, files.inflight)
    return None


def _read(state: TableState, name: str) -> bytes | None:
    with suppress(FileMissing):
        return state.storage.get(f"{state.layout.timeline_path}/{name}") or None if name else None
    return None


def _delete(state: TableState, files: Iterable[_Files]) -> None:
    """Delete pending files first, so that no completed instant ever looks pending; then completed ones, oldest first.

    No reader then sees a later commit without an earlier one.
    """
    pending = [name for one in files for name in (one.requested, one.inflight) if name]
    for name in (*pending, *(name for one in files for name in sorted(one.completed))):
        state.storage.delete(f"{state.layout.timeline_path}/{name}")


def _delete_markers(state: TableState, times: set[InstantTime]) -> None:
    for directory in state.storage.list_directory(_MARKERS).directories:
        if directory.rsplit("/", 1)[-1] in times:
            state.storage.delete_tree(directory)
