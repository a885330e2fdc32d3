"""What writers left beside the timeline: heartbeats and markers of instants that are settled.

A writer that dies after its commit leaves them, and so does one that was rolled back while it still worked; the latter
may leave data files too. Nothing here touches a pending instant. Start at `clean_up_orphans`.

Spec: reliability 1.6 (after W13: redo W14).
"""

from collections.abc import Collection
from typing import Final

from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import restore_plan, rollback_target
from pyhudi.timeline.instant import Action, Instant, InstantTime, is_instant_time
from pyhudi.timeline.view import Timeline, is_committed, newest_time
from pyhudi.txn.recovery.heartbeat import (
    GUARD_PREFIX,
    HEARTBEATS,
    Liveness,
    is_abandoned,
    liveness,
    reserve_time,
    stop_heartbeat,
)
from pyhudi.txn.recovery.markers import delete_markers, remove_files, remove_marked

__all__ = ["clean_up_orphans", "is_rolled_back", "release_heartbeat"]

_TAKING_BACK: Final = frozenset({Action.ROLLBACK, Action.RESTORE})
_LOCKS: Final = ".hoodie/.locks"
_MARKERS: Final = ".hoodie/.temp"


def clean_up_orphans(state: TableState, timeline: Timeline, settings: Settings) -> list[InstantTime]:
    """Remove the orphans of settled instants; returns those instants.

    Of an instant that is not on the timeline, the files that its markers name go too, but only where it surely never
    was committed: a rollback on the timeline names it, or it is later than what can have been archived. Where it was
    rolled back and its writer lives, the heartbeat stays until that is over, and files without markers are looked for.

    Locks: the table lock is held.
    Cost:  three listings; nothing else where nothing was left. A listing of every directory for an instant that was
           taken back.
    """
    settled = {one.requested_time for one in timeline.instants if one.is_completed}
    underway = {one.requested_time for one in timeline.instants if not one.is_completed}
    swept = []
    for time in sorted(_left(state) - underway):
        is_settled = time in settled
        is_taken_back = not is_settled and is_rolled_back(state, timeline, time)
        if not (is_settled or is_taken_back or is_abandoned(state, time, settings)):
            continue  # its writer may still be at work
        is_late = is_taken_back and liveness(state, time, settings) is Liveness.ALIVE
        if is_taken_back and not is_late:
            remove_files(state, time)
        elif not is_settled and (is_late or _is_active(timeline, time)):
            remove_marked(state, time)
        delete_markers(state, time)
        if not is_late:
            release_heartbeat(state, time, newest_time(timeline) if is_taken_back else None)
        swept.append(time)
    return swept


def release_heartbeat(state: TableState, time: InstantTime, newest: InstantTime | None = None) -> None:
    """Remove the heartbeat of a settled instant, unless it is later than the newest time on the timeline.

    Then its writer's clock was ahead, and the clocks that issue times are yet to come there: a time with a heartbeat is
    given to no other writer, whose files would be one with those that the dead may still leave.
    """
    if newest is not None and time > newest:
        reserve_time(state, time)
    else:
        stop_heartbeat(state, time)


def _is_active(timeline: Timeline, time: InstantTime) -> bool:
    """Return whether an instant would be on the active timeline, had it been committed.

    Later than the first active write it may be archived all the same, where a savepoint kept that one.
    """
    return timeline.first_write is not None and time > timeline.first_write and not is_committed(timeline, time)


def _left(state: TableState) -> set[InstantTime]:
    """Name the instants that have a heartbeat, a guard or markers."""
    storage = state.storage
    names = [*storage.list_names(HEARTBEATS)]
    names += [path.rsplit("/", 1)[-1] for path in storage.list_directory(_MARKERS).directories]
    if storage.traits.has_guard:
        guards = [name for name in storage.list_names(_LOCKS) if name.startswith(GUARD_PREFIX)]
        names += [name.removeprefix(GUARD_PREFIX) for name in guards]
    return {InstantTime(name) for name in names if is_instant_time(name)}


def is_rolled_back(state: TableState, timeline: Timeline, time: InstantTime, *, is_later: bool = False) -> bool:
    """Return whether a completed rollback or restore on the timeline took this instant back.

    `is_later` looks at those that were requested after it, as all are but those of writers whose clock was ahead.

    Cost: a read for each rollback and restore that is looked at.
    """
    done = [one for one in timeline.instants if one.action in _TAKING_BACK and one.is_completed]
    near = [one for one in done if one.requested_time > time or not is_later]
    return any(time in _taken_back_by(state, one) for one in near)


def _taken_back_by(state: TableState, instant: Instant) -> Collection[str | None]:
    if instant.action is Action.ROLLBACK:
        return [rollback_target(state, instant)]
    plan = restore_plan(state, instant)
    return [] if plan is None else [time for time, _ in plan.instants]
