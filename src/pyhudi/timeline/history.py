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
from pyhudi.timeline.archive_logs import archive_logs, read_archive_log
from pyhudi.timeline.clock import format_instant, instant_ms
from pyhudi.timeline.codec import decode_commit, decode_plan, decode_rollback_metadata, decode_rollback_plan
from pyhudi.timeline.instant import FILE_SERVICES, WRITE_ACTIONS, Action, Instant, InstantTime, State, file_name
from pyhudi.timeline.lsm import HistoryFile, read_history_columns, read_manifest
from pyhudi.timeline.metadata import SERVICES, CommitMetadata

__all__ = ["Past", "find_archived", "said_once"]

_MOST_CACHED: Final = 10_000
_LONGEST_ACTION_MS: Final = 86_400_000
"""A day, as Apache Hudi assumes: what was requested longer before a moment was completed by then."""
_Undone = frozenset[tuple[InstantTime, str]]
"""Requested time and action of instants that were taken back; no action where a restore did it."""
_Said = TypeVar("_Said")
_cache: dict[tuple[str, str, str], Any] = {}
_cache_lock = threading.Lock()


@dataclass(slots=True)
class Past:
    """Answers for instants that are older than the active timeline; storage is asked when the first one is met.

    Reading later than the timeline was read is harmless: a rollback is never taken back itself, and what was archived
    since is asked of the timeline. In layout 1 a moment is what was requested by then, so that requests stand for
    completions; which instants were taken back, its archive is not asked: it would have to be read whole.
    """

    state: TableState
    undoings: tuple[Instant, ...]
    """Rollbacks, and completed restores, of the active timeline."""
    _undone: dict[InstantTime, set[str]] | None = field(default=None, init=False)
    _files: tuple[HistoryFile, ...] | None = field(default=None, init=False)
    _run_again: dict[InstantTime, bool] = field(default_factory=dict, init=False)

    def was_committed(self, time: InstantTime) -> bool:
        """Return whether an instant that has nothing pending on the timeline was committed, and not taken back.

        No rollback or restore names it, or only rollbacks of a compaction or clustering whose plan was run again: these
        are in the history, also where what a rollback took back was completed. A rollback that is not completed yet has
        gone too far to be given up.

        Cost: for the first question, two small reads, and once a process one of each active rollback and each file of
              the history; at version 6, where a rollback took back what was completed, the archive.
        """
        if self._undone is None:
            self._undone = {}
            archived = () if self._is_logged else self.files()
            for said in (*map(self._undone_by, self.undoings), *map(self._undone_in, archived)):
                for undone, action in said:
                    self._undone.setdefault(undone, set()).add(action)
        actions = self._undone.get(time, set())
        if actions <= FILE_SERVICES:  # of these a rollback leaves the plan, which is run again
            return not actions or self._is_logged or self.completion_of(time) is not None
        return "" not in actions and self._was_run_again(time)

    def _was_run_again(self, time: InstantTime) -> bool:
        """Return whether a write that was completed and rolled back was of a plan, and completed once more.

        A rollback calls it what it is called once it is completed: commit, deltacommit or replacecommit.
        """
        if time not in self._run_again:
            said = self.commit(time)
            self._run_again[time] = said is not None and said.operation in SERVICES
        return self._run_again[time]

    def was_taken_back(self, time: InstantTime) -> bool:
        """Return whether a rollback or restore names an instant, also an archived one, and it was not committed since.

        Cost: as `was_committed`; at version 6, where an active one does not name it, the whole archive.
        """
        if not self.was_committed(time):
            return True
        if not self._is_logged:
            return False
        return any(undone == time for path in self.files() for undone, _ in self._undone_in(path))

    def commit(self, time: InstantTime) -> CommitMetadata | None:
        """Return what an archived write said; None where the history has none of this time, or nothing of what it said.

        Cost: two small reads, and the files of the history whose names say that the instant may be in them.
        """
        found = (
            (data, path)
            for path in self.files(time, time)
            for batch in self.rows(path, WRITE_ACTIONS, "instantTime", "metadata")
            for at, data in _pairs(batch, "instantTime", "metadata")
            if at == time and data
        )
        first = next(found, None)
        return None if first is None else decode_commit(*first)

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

    def files(self, first: str | None = None, last: str | None = None) -> list[str]:
        """List the files of the history that may hold instants requested from first to last; in layout 1 all.

        Cost: the first time, two small reads; in layout 1 a listing.
        """
        if self._files is None:
            self._files = _archive(self.state) if self._is_logged else read_manifest(self.state).files
        directory = self.state.layout.history_path
        return [f"{directory}/{one.name}" for one in self._files if one.may_hold(first, last)]

    def rows(self, path: str, actions: Iterable[Action], *names: str) -> list[pa.RecordBatch]:
        """Read what one file of the history says of some actions.   Shape: columns of `timeline.lsm.ARCHIVED`."""
        wanted = list(actions)
        if self._is_logged:
            return list(read_archive_log(self.state, path, names, wanted).to_batches())
        batches = read_history_columns(self.state, path, *dict.fromkeys(("action", *names)))
        return [one.filter(pc.is_in(one.column("action"), pa.array(wanted, pa.string()))) for one in batches]

    @property
    def _is_logged(self) -> bool:
        return self.state.layout.archives_to_logs

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
            batches = self.rows(path, (Action.ROLLBACK, Action.RESTORE), "action", "metadata")
            return frozenset(undone for batch in batches for undone in _undone_by_rows(batch, path))

        return said_once(self.state, "undone", path, read)

    def _completions_in(self, path: str) -> dict[InstantTime, InstantTime]:
        """Read when the writes of one history file were completed; in layout 1 when they were requested."""
        done = "instantTime" if self._is_logged else "completionTime"

        def read() -> dict[InstantTime, InstantTime]:
            batches = self.rows(path, WRITE_ACTIONS, "instantTime", "completionTime")
            return {time: at for batch in batches for time, at in _pairs(batch, "instantTime", done)}

        return said_once(self.state, "completions", path, read)

    def _replaced(self, path: str, after: InstantTime) -> Callable[[], dict[tuple[str, str], InstantTime]]:
        """Make the reader of what the replacecommits of one history file took away."""

        def read() -> dict[tuple[str, str], InstantTime]:
            found: dict[tuple[str, str], InstantTime] = {}
            for batch in self.rows(path, (Action.REPLACECOMMIT,), "instantTime", "metadata"):
                rows = batch.filter(pc.greater(batch.column("instantTime"), after))
                for time, data in _pairs(rows, "instantTime", "metadata"):
                    replaced = (decode_commit(data, path).replaced if data else None) or {}
                    found |= {(where, one): time for where, file_ids in replaced.items() for one in file_ids}
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
    except (InvalidInput, OverflowError, ValueError):  # no date, as of a metadata table, or none before it
        return ""


def _archive(state: TableState) -> tuple[HistoryFile, ...]:
    """Return the archive of layout 1: names do not tell what is inside."""
    return tuple(HistoryFile(name=name, size_bytes=0) for name in archive_logs(state))


def _pairs(batch: pa.RecordBatch, *names: str) -> Iterable[Any]:
    """Pair two columns of a history: a row is an instant."""
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _undone_by_rows(batch: pa.RecordBatch, path: str) -> Iterable[tuple[InstantTime, str]]:
    """Read what archived rollbacks and restores took back: a few rows, one an instant."""
    for action, data in _pairs(batch, "action", "metadata"):
        if data:  # else its file was empty
            yield from _named(Action(action), data, path)


def find_archived(state: TableState, time: InstantTime) -> bool | None:
    """Return whether a write was archived, for sure; None where it may be older than what layout 1's archive still has.

    Cost: reads the names of the archived instants of that time; in layout 1 the whole archive.
    """
    past = Past(state, ())
    files = past.files(time, time)
    batches = [one for path in files for one in past.rows(path, Action, "instantTime", "action")]
    times = [(at, what) for batch in batches for at, what in _pairs(batch, "instantTime", "action")]
    is_older = files and (not times or time < min(times)[0])
    if is_older and state.layout.archives_to_logs:
        return None
    return any(at == time and Action(what) in WRITE_ACTIONS for at, what in times)


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
