"""What was taken back before the active timeline begins, and when what was archived had been completed.

What is older than the first active write counts as archived, hence committed; but an instant that was rolled back is
not on the timeline either, and a file that its writer left behind must never be taken for an archived commit's. Only
what a rollback or restore says takes an instant's files out of sight: a history that is short, or was left out of a
copy, hides nothing. Start at `Past`.

Spec: format/timeline 3.7, 3.8, 4.1, 6.2; reliability 1.4 R3.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import FileMissing, InvalidInput
from pyhudi.state.model import TableState
from pyhudi.timeline.archive_logs import load_archive_logs
from pyhudi.timeline.clock import format_instant, instant_ms
from pyhudi.timeline.codec import decode_commit, decode_plan, decode_rollback_metadata, decode_rollback_plan
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime, State, file_name
from pyhudi.timeline.lsm import HistoryFile, read_history_columns, read_manifest

__all__ = ["Past", "find_archived", "said_once"]

_MOST_CACHED: Final = 10_000
_LONGEST_ACTION_MS: Final = 86_400_000
"""A day, as Apache Hudi assumes: what was requested longer before a moment was completed by then."""
_RUN_AGAIN: Final = frozenset({Action.COMPACTION, Action.LOGCOMPACTION, Action.CLUSTERING})
"""Of these a rollback leaves the plan, which is run again under the same instant."""
_Undone = frozenset[tuple[InstantTime, str]]
"""Requested time and action of instants that were taken back; no action where a restore did it."""
_Said = TypeVar("_Said")
_cache: dict[tuple[str, str, str], Any] = {}
_cache_lock = threading.Lock()


@dataclass(slots=True)
class Past:
    """Answers for instants that are older than the active timeline; storage is asked when the first one is met.

    Reading later than the timeline was read is harmless: a rollback is never taken back itself, and what was archived
    since is asked of the timeline. The archive of layout 1 is not read.
    """

    state: TableState
    undoings: tuple[Instant, ...]
    """Rollbacks, and completed restores, of the active timeline."""
    _undone: dict[InstantTime, set[str]] | None = field(default=None, init=False)
    _files: tuple[HistoryFile, ...] | None = field(default=None, init=False)

    def was_committed(self, time: InstantTime) -> bool:
        """Return whether an instant that has nothing pending on the timeline was committed, and not taken back.

        No rollback or restore names it, or only rollbacks of a compaction or clustering whose plan was run again: these
        are in the history. A rollback that is not completed yet has gone too far to be given up.

        Cost: for the first question, two small reads, and once a process one of each active rollback and each file of
              the history.
        """
        if self._undone is None:
            self._undone = {}
            for said in (*map(self._undone_by, self.undoings), *map(self._undone_in, self.files())):
                for undone, action in said:
                    self._undone.setdefault(undone, set()).add(action)
        actions = self._undone.get(time, set())
        if not actions <= _RUN_AGAIN:
            return False
        return not actions or self.state.layout.timeline_layout == 1 or self.completion_of(time) is not None

    def completion_of(self, time: InstantTime) -> InstantTime | None:
        """Return when an archived write was completed; None where the history does not say.

        Cost: for the first question, two small reads, and once a process one of each file of the history whose name
              says that the instant may be in it.
        """
        found = (self._completions_in(path).get(time) for path in self.files(time, time))
        return next((completion for completion in found if completion), None)

    def completed_after(self, point: InstantTime) -> dict[InstantTime, InstantTime]:
        """Return the archived writes that were completed later than a point: completion by requested time.

        Cost: two small reads, and once a process one of each file of the history that may hold such a write.
        """
        recent = self.files(_a_day_before(point))
        found = (pair for path in recent for pair in self._completions_in(path).items())
        return {time: done for time, done in found if done > point}

    def replaced_after(self, time: InstantTime) -> dict[tuple[str, str], InstantTime]:
        """Map each (partition path, file id) that was replaced since a time to the archived replacecommit that did it.

        Cost: two small reads, and once a process one of each file of the history that reaches to that time.
        """
        recent = self.files(time)
        found = (said_once(self.state, f"replaced after {time}", path, self._replaced(path, time)) for path in recent)
        return {group: replacing for one in found for group, replacing in one.items()}

    def is_unreadable(self) -> bool:
        """Return whether instants were archived where they cannot be read again: in layout 1.

        Cost: in layout 1 a listing of the archive's names.
        """
        if self.state.layout.timeline_layout > 1:
            return False
        return bool(self.state.storage.list_names(self.state.layout.history_path))

    def files(self, first: str | None = None, last: str | None = None) -> list[str]:
        """List the files of the history that may hold instants requested from first to last; none in layout 1."""
        if self._files is None:
            is_read = self.state.layout.timeline_layout > 1
            self._files = read_manifest(self.state).files if is_read else ()
        directory = self.state.layout.history_path
        return [f"{directory}/{one.name}" for one in self._files if one.may_hold(first, last)]

    def _undone_by(self, instant: Instant) -> _Undone:
        """Read what a rollback or restore of the active timeline takes back: a rollback that is not done has a plan."""
        name = instant.file_name
        if not instant.is_completed:
            wanted = replace(instant, state=State.REQUESTED)
            name = file_name(wanted, self.state.layout.timeline_layout)
        path = f"{self.state.layout.timeline_path}/{name}"

        def read() -> _Undone:
            data = self.state.storage.get(path)
            return _named(instant.action, data, path) if instant.is_completed else _planned(data, path)

        try:
            return said_once(self.state, "undone", path, read)
        except FileMissing:  # archived since: the history has it
            return frozenset()

    def _undone_in(self, path: str) -> _Undone:
        """Read what the rollbacks and restores of one history file took back."""

        def read() -> _Undone:
            batches = read_history_columns(self.state, path, "action", "metadata")
            return frozenset(undone for batch in batches for undone in _undone_by_rows(batch, path))

        return said_once(self.state, "undone", path, read)

    def _completions_in(self, path: str) -> dict[InstantTime, InstantTime]:
        """Read when the writes of one history file were completed."""

        def read() -> dict[InstantTime, InstantTime]:
            batches = read_history_columns(self.state, path, "instantTime", "completionTime", "action")
            return {time: done for batch in batches for time, done in _completions(batch)}

        return said_once(self.state, "completions", path, read)

    def _replaced(self, path: str, after: InstantTime) -> Callable[[], dict[tuple[str, str], InstantTime]]:
        """Make the reader of what the replacecommits of one history file took away."""

        def read() -> dict[tuple[str, str], InstantTime]:
            found: dict[tuple[str, str], InstantTime] = {}
            for batch in read_history_columns(self.state, path, "instantTime", "action", "metadata"):
                is_it = pc.equal(batch.column("action"), Action.REPLACECOMMIT.value)
                rows = batch.filter(pc.and_(is_it, pc.greater(batch.column("instantTime"), after)))
                for time, data in zip(rows.column("instantTime"), rows.column("metadata"), strict=True):
                    replaced = (decode_commit(data.as_py(), path).replaced if data.as_py() else None) or {}
                    found |= {(where, one): time.as_py() for where, file_ids in replaced.items() for one in file_ids}
            return found

        return read


def said_once(state: TableState, kind: str, path: str, read: Callable[[], _Said]) -> _Said:
    """Read what a file says that never changes, once a process; tables in memory come and go under one address."""
    if not state.storage.traits.is_picklable:
        return read()
    key = (state.storage.url, path, kind)
    with _cache_lock:
        if key in _cache:
            known: _Said = _cache[key]
            return known
    said = read()
    with _cache_lock:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        _cache[key] = said
    return said


def _a_day_before(point: InstantTime) -> str:
    """Return the time before which nothing was requested that was completed after a point."""
    try:
        return format_instant(instant_ms(point, UTC) - _LONGEST_ACTION_MS, UTC)
    except (InvalidInput, OverflowError):  # no date: an instant of a metadata table
        return ""


def _completions(batch: pa.RecordBatch) -> Iterable[tuple[InstantTime, InstantTime]]:
    """Pair requested and completion times of a history's writes: a row is an instant."""
    rows = batch.filter(pc.is_in(batch.column("action"), pa.array([action.value for action in WRITE_ACTIONS])))
    return zip(*(rows.column(name).to_pylist() for name in ("instantTime", "completionTime")), strict=True)


def _undone_by_rows(batch: pa.RecordBatch, path: str) -> Iterable[tuple[InstantTime, str]]:
    """Read what archived rollbacks and restores took back: a few rows, one an instant."""
    undoings = pa.array([Action.ROLLBACK.value, Action.RESTORE.value])
    rows = batch.filter(pc.is_in(batch.column("action"), undoings))
    for action, data in zip(rows.column("action"), rows.column("metadata"), strict=True):
        if data.as_py():  # else its file was empty
            yield from _named(Action(action.as_py()), data.as_py(), path)


def find_archived(state: TableState, time: InstantTime) -> bool | None:
    """Return whether a write was archived, for sure; None where it may be older than what layout 1's archive still has.

    Cost: reads the names of the archived instants of that time; in layout 1 the whole archive.
    """
    if state.layout.timeline_layout > 1:
        return any(_holds_write(state, path, time) for path in Past(state, ()).files(time, time))
    if not state.storage.list_names(state.layout.history_path):
        return False
    archived = load_archive_logs(state)
    oldest = pc.min(archived.column("instantTime")).as_py()
    if oldest is None or time < oldest:
        return None
    return any(_is_write_at(batch, time) for batch in archived.to_batches())


def _holds_write(state: TableState, path: str, time: InstantTime) -> bool:
    return any(_is_write_at(batch, time) for batch in read_history_columns(state, path, "instantTime", "action"))


def _is_write_at(rows: pa.RecordBatch, time: InstantTime) -> bool:
    writes = pa.array([action.value for action in WRITE_ACTIONS])
    is_it = pc.and_(pc.equal(rows.column("instantTime"), time), pc.is_in(rows.column("action"), writes))
    return bool(pc.any(is_it).as_py())


def _named(action: Action, data: bytes, path: str) -> _Undone:
    """Return the instants that a completed rollback or restore says it took back."""
    if action is Action.ROLLBACK:
        return frozenset((InstantTime(time), what) for time, what in decode_rollback_metadata(data, path).rolled_back)
    record: dict[str, Any] = decode_plan(data, path)
    return frozenset((InstantTime(time), "") for time in record.get("instantsToRollback") or ())


def _planned(data: bytes, path: str) -> _Undone:
    """Return the instant that a rollback is going to take back."""
    plan = decode_rollback_plan(data, path)
    return frozenset({(InstantTime(plan.instant), plan.action)})
