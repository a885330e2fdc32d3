"""Instants: one action on the timeline, and the names of its files in each timeline layout.

Pure: text in, values out. Start at `parse_name` and `file_name`; `collapse` makes one instant of an action's files.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NewType, TypeGuard

from pyhudi.errors import CorruptData, InternalError

__all__ = [
    "FILE_ACTIONS",
    "FILE_SERVICES",
    "PLANNED_SERVICES",
    "WRITE_ACTIONS",
    "Action",
    "Instant",
    "InstantTime",
    "State",
    "collapse",
    "file_name",
    "is_instant_time",
    "parse_name",
]

InstantTime = NewType("InstantTime", str)
"""17 digits `yyyyMMddHHmmssSSS` (14 in tables of 0.9 and before); compared as text."""


class Action(StrEnum):
    """What an instant does."""

    COMMIT = "commit"
    DELTACOMMIT = "deltacommit"
    REPLACECOMMIT = "replacecommit"
    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    LOGCOMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"


class State(StrEnum):
    """How far it got."""

    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"


WRITE_ACTIONS: Final = frozenset({Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT})
"""Completed actions that put or take rows (a completed compaction is a commit, a clustering a replacecommit)."""
FILE_SERVICES: Final = frozenset({Action.COMPACTION, Action.LOGCOMPACTION, Action.CLUSTERING})
"""Table services that write data files, of the file groups that their plans name."""
PLANNED_SERVICES: Final = FILE_SERVICES | {Action.INDEXING}
"""Table services that change what a commit may do once they are planned."""
FILE_ACTIONS: Final = WRITE_ACTIONS | FILE_SERVICES
"""All actions that write data files."""

_COMPLETED_AS: Final = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOGCOMPACTION: Action.DELTACOMMIT,
    Action.CLUSTERING: Action.REPLACECOMMIT,
}
_PROGRESS: Final = {State.REQUESTED: 0, State.INFLIGHT: 1, State.COMPLETED: 2}
_NAME: Final = re.compile(r"(\d+)(?:_(\d+))?\.([a-z]+)(?:\.([a-z]+))?", re.ASCII)
_LENGTHS: Final = frozenset({14, 17, 20, 23})
"""Digits of an instant: of 0.9 and before, of today, and with the three more of an old metadata table, or six.

Its compaction after a partition was built in it has those of both.
"""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Instant:
    """One action on the timeline, in its most advanced state."""

    requested_time: InstantTime
    action: Action
    state: State
    completion_time: InstantTime | None = None
    """None until completed. In layout 1 it is the completed file's modification time."""
    file_name: str = ""
    """The file that shows this state, as found; empty for an instant that was only made."""

    @property
    def is_completed(self) -> bool:
        """Return whether it is visible to readers."""
        return self.state is State.COMPLETED

    @property
    def comparable_action(self) -> Action:
        """Return the action under which it completes: a compaction is a commit."""
        return _COMPLETED_AS.get(self.action, self.action)


def file_name(instant: Instant, timeline_layout: int) -> str:
    """Format the file of an instant's state.   Spec: format/timeline 2.2."""
    time, action = instant.requested_time, instant.action
    if instant.state is State.COMPLETED:
        done = instant.comparable_action
        if timeline_layout == 1:
            return f"{time}.{done}"
        if instant.completion_time is None:
            raise InternalError("a completed instant has a completion time", instant=time)
        return f"{time}_{instant.completion_time}.{done}"
    if timeline_layout == 1 and action is Action.CLUSTERING:
        action = Action.REPLACECOMMIT
    if action is Action.COMMIT and instant.state is State.INFLIGHT:
        return f"{time}.inflight"
    return f"{time}.{action}.{instant.state}"


def is_instant_time(text: object) -> TypeGuard[str]:
    """Return whether this is a text with the digits of an instant."""
    return isinstance(text, str) and len(text) in {14, 17} and text.isascii() and text.isdigit()


@lru_cache(maxsize=1 << 16)
def parse_name(name: str) -> Instant | None:
    """Read an instant from a file name of either layout; None for any other file.

    Cost:   names are parsed once a process, because a write lists the timeline several times.
    Raises: CorruptData for an instant whose time is no date before the year 9999: no clock can come after it.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    time, completion, action, state = match.groups()
    if action == "inflight" and state is None and completion is None:
        return _instant(name, time, Action.COMMIT, State.INFLIGHT, None)
    if action not in Action.__members__.values() or (state is not None and completion is not None):
        return None
    if state is None:
        return _instant(name, time, Action(action), State.COMPLETED, completion)
    if state not in {State.REQUESTED, State.INFLIGHT}:
        return None
    return _instant(name, time, Action(action), State(state), None)


def collapse(instants: Iterable[Instant]) -> list[Instant]:
    """Keep one instant an action, in its most advanced state, sorted by requested time and action.

    Two completed files of one action (an unguarded concurrent clean) collapse to the later completion.
    """
    best: dict[tuple[str, Action], tuple[tuple[int, str], Instant]] = {}
    for instant in instants:
        key, rank = (instant.requested_time, instant.comparable_action), _rank(instant)
        known = best.get(key)
        if known is None or rank > known[0]:
            best[key] = rank, instant
    return sorted((one for _, one in best.values()), key=lambda one: (one.requested_time, one.action))


def _is_date(time: str) -> bool:
    """Return whether digits are a date that a clock may show.

    Those of a bootstrap, and the first ones of a metadata table, are in the year 0, and shorter ones are what a caller
    of Apache Hudi chose instead of a time.
    """
    if len(time) < 14 or time.startswith("0000"):
        return len(time) <= 17 or len(time) in _LENGTHS
    try:
        month, day, hour, minute, second = (int(time[at : at + 2]) for at in range(4, 14, 2))
        return len(time) in _LENGTHS and datetime(int(time[:4]), month, day, hour, minute, second).year < 9999
    except ValueError:
        return False


def _rank(instant: Instant) -> tuple[int, str]:
    return _PROGRESS[instant.state], instant.completion_time or ""


def _instant(name: str, time: str, action: Action, state: State, completion: str | None) -> Instant:
    if not _is_date(time) or not (completion is None or _is_date(completion)):
        raise CorruptData("this instant's time is not a date before the year 9999; remove it", file=name)
    made = Instant(requested_time=InstantTime(time), action=action, state=state, file_name=name)
    return replace(made, completion_time=InstantTime(completion)) if completion else made
