"""What was taken back before the active timeline begins, and when what was archived had been completed.

What is older than the first active write counts as archived, hence committed; but an instant that was rolled back is
not on the timeline either, and a file that its writer left behind must never be taken for an archived commit's. Only
what a rollback or restore says takes an instant's files out of sight: a history that is short, or was left out of a
copy, hides nothing. Start at `Past`.

Spec: format/timeline 3.7, 3.8, 4.1, 6.2; reliability 1.4 R3.
"""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.formats.parquet import iter_batches
from pyhudi.state.model import TableState
from pyhudi.timeline.codec import decode_plan, decode_rollback_metadata, decode_rollback_plan
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime, State, file_name

__all__ = ["Past", "find_archived"]

_MANIFEST: Final = "manifest_"
_MOST_CACHED: Final = 10_000
_RUN_AGAIN: Final = frozenset({Action.COMPACTION, Action.LOGCOMPACTION, Action.CLUSTERING})
"""Of these a rollback leaves the plan, which is run again under the same instant."""
_Undone = frozenset[tuple[InstantTime, str]]
"""Requested time and action of instants that were taken back; no action where a restore did it."""
_Said = TypeVar("_Said", _Undone, dict[InstantTime, InstantTime])
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
    _files: list[str] | None = field(default=None, init=False)

    def was_committed(self, time: InstantTime) -> bool:
        """Return whether an instant that has nothing pending on the timeline was committed, and not taken back.

        No rollback or restore names it, or only rollbacks of a compaction or clustering whose plan was run again: these
        are in the history. A rollback that is not completed yet has gone too far to be given up.

        Cost: for the first question, two small reads, and once a process one of each active rollback and each file of
              the history.
        """
        if self._undone is None:
            self._undone = {}
            for said in (*map(self._undone_by, self.undoings), *map(self._undone_in, self._history())):
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
        found = (self._completions_in(path).get(time) for path in self._history() if _may_hold(path, time))
        return next((completion for completion in found if completion), None)

    def _history(self) -> list[str]:
        """List the files of the history, once."""
        if self._files is None:
            manifest = None if self.state.layout.timeline_layout == 1 else self.manifest()
            self._files = [] if manifest is None else self.files(manifest)
        return self._files

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
            return self._once("undone", path, read)
        except FileMissing:  # archived since: the history has it
            return frozenset()

    def _undone_in(self, path: str) -> _Undone:
        """Read what the rollbacks and restores of one history file took back."""

        def read() -> _Undone:
            batches = self._columns_of(path, "action", "metadata")
            return frozenset(undone for batch in batches for undone in _undone_by_rows(batch, path))

        return self._once("undone", path, read)

    def _completions_in(self, path: str) -> dict[InstantTime, InstantTime]:
        """Read when the writes of one history file were completed."""

        def read() -> dict[InstantTime, InstantTime]:
            batches = self._columns_of(path, "instantTime", "completionTime", "action")
            return {time: done for batch in batches for time, done in _completions(batch)}

        return self._once("completions", path, read)

    def _columns_of(self, path: str, *names: str) -> list[pa.RecordBatch]:
        with self.state.storage.open_input(path) as source:
            return list(iter_batches(source, names))

    def _once(self, kind: str, path: str, read: Callable[[], _Said]) -> _Said:
        """Read what a file says that never changes, once a process; tables in memory come and go under one address."""
        if not self.state.storage.traits.is_picklable:
            return read()
        key = (self.state.storage.url, path, kind)
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

    def manifest(self) -> str | None:
        """Find the manifest in force: the one that `_version_` names, else the newest."""
        storage, directory = self.state.storage, self.state.layout.history_path
        try:
            return f"{directory}/{_MANIFEST}{int(storage.get(f'{directory}/_version_'))}"
        except FileMissing:
            names = [name for name in storage.list_names(directory) if name.startswith(_MANIFEST)]
            numbers = [name.removeprefix(_MANIFEST) for name in names]
            newest = max((int(number) for number in numbers if number.isdecimal()), default=None)
            return None if newest is None else f"{directory}/{_MANIFEST}{newest}"
        except ValueError as error:
            raise CorruptData("the history's version is no number", path=f"{directory}/_version_") from error

    def files(self, manifest: str) -> list[str]:
        """List the files of a manifest.   Raises: CorruptData."""
        try:
            names = [str(one["fileName"]) for one in json.loads(self.state.storage.get(manifest))["files"]]
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptData("this is not a manifest of the history", path=manifest) from error
        return [f"{self.state.layout.history_path}/{name}" for name in names]


def _may_hold(path: str, time: InstantTime) -> bool:
    """Return whether a history file, by its name `<first>_<last>_<level>.parquet`, may hold an instant."""
    first, _, rest = path.rsplit("/", 1)[-1].partition("_")
    last, _, level = rest.partition("_")
    return not level or first <= time <= last


def _completions(batch: pa.RecordBatch) -> Iterable[tuple[InstantTime, InstantTime]]:
    """Pair requested and completion times of a history's writes: a row is an instant."""
    rows = batch.filter(pc.is_in(batch.column("action"), pa.array([action.value for action in WRITE_ACTIONS])))
    return zip(*(rows.column(name).to_pylist() for name in ("instantTime", "completionTime")), strict=True)


def _undone_by_rows(batch: pa.RecordBatch, path: str) -> Iterable[tuple[InstantTime, str]]:
    """Read what archived rollbacks and restores took back: a few rows, one an instant."""
    undoings = pa.array([Action.ROLLBACK.value, Action.RESTORE.value])
    rows = batch.filter(pc.is_in(batch.column("action"), undoings))
    for action, data in zip(rows.column("action"), rows.column("metadata"), strict=True):
        yield from _named(Action(action.as_py()), data.as_py() or b"", path)


def find_archived(state: TableState, time: InstantTime) -> bool | None:
    """Return whether a write was archived, for sure; None where an archive cannot be read for it: that of layout 1.

    Cost: reads the names of all archived instants.
    """
    if state.layout.timeline_layout == 1:
        return None if state.storage.list_names(state.layout.history_path) else False
    past = Past(state, ())
    manifest = past.manifest()
    return any(_holds_write(state, path, time) for path in (past.files(manifest) if manifest else ()))


def _holds_write(state: TableState, path: str, time: InstantTime) -> bool:
    writes = pa.array([action.value for action in WRITE_ACTIONS])
    with state.storage.open_input(path) as source:
        for batch in iter_batches(source, ["instantTime", "action"]):
            is_it = pc.and_(pc.equal(batch.column("instantTime"), time), pc.is_in(batch.column("action"), writes))
            if pc.any(is_it).as_py():
                return True
    return False


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
