"""What writers left beside the timeline: heartbeats and markers of instants that are settled.

A writer that dies after its commit leaves them, and so does one that was rolled back while it still worked; the latter
may leave data files too. Nothing here touches a pending instant. Start at `sweep_remains`.

Spec: reliability 1.6 (after W13: redo W14).
"""

from typing import Final

from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline
from pyhudi.txn.checks import rollback_target
from pyhudi.txn.heartbeat import GUARD_PREFIX, HEARTBEATS, is_abandoned, stop_beating
from pyhudi.txn.markers import delete_markers, remove_marked

__all__ = ["is_rolled_back", "sweep_remains"]

_LOCKS: Final = ".hoodie/.locks"
_MARKERS: Final = ".hoodie/.temp"


def sweep_remains(state: TableState, timeline: Timeline, settings: Settings) -> list[InstantTime]:
    """Remove the remains of settled instants; give those instants.

    Of an instant that is not on the timeline, the files that its markers name go too, but only where it surely never
    was committed: a rollback on the timeline names it, or it is later than what can have been archived.

    Locks: the table lock is held.
    Cost:  three listings; nothing else where nothing was left.
    """
    settled = {one.requested_time for one in timeline.instants if one.is_completed}
    underway = {one.requested_time for one in timeline.instants if not one.is_completed}
    swept = []
    for time in sorted(_left(state) - underway):
        if time not in settled and not _take_files(state, timeline, time, settings):
            continue
        delete_markers(state, time)
        stop_beating(state, time)
        swept.append(time)
    return swept


def _take_files(state: TableState, timeline: Timeline, time: InstantTime, settings: Settings) -> bool:
    """Delete the files of an instant that the timeline does not show; False if somebody may still be at work."""
    is_taken_back = is_rolled_back(state, timeline, time)
    if not is_taken_back and not is_abandoned(state, time, settings):
        return False
    if is_taken_back or (timeline.first_write is not None and time > timeline.first_write):
        remove_marked(state, time)
    return True


def _left(state: TableState) -> set[InstantTime]:
    """Name the instants that have a heartbeat, a guard or markers."""
    storage = state.storage
    names = [status.name for status in storage.list_directory(HEARTBEATS).files]
    names += [path.rsplit("/", 1)[-1] for path in storage.list_directory(_MARKERS).directories]
    if storage.traits.has_guard:
        guards = [status.name for status in storage.list_directory(_LOCKS).files]
        names += [name.removeprefix(GUARD_PREFIX) for name in guards if name.startswith(GUARD_PREFIX)]
    return {InstantTime(name) for name in names if len(name) in {14, 17} and name.isascii() and name.isdigit()}


def is_rolled_back(state: TableState, timeline: Timeline, time: InstantTime) -> bool:
    """Tell whether a completed rollback on the timeline took this instant back."""
    rollbacks = [one for one in timeline.instants if one.action is Action.ROLLBACK and one.is_completed]
    return any(rollback_target(state, one) == time for one in rollbacks)
