"""What became of an instant, and what to do about one that is not finished.

Start at `resolve`; `writer_of` is for people that look at what is pending.
"""

from typing import Final, Literal

from pyhudi.errors import FileMissing, HistoryExpired, InvalidInput
from pyhudi.options import Settings
from pyhudi.queries.problems import PLANNED
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.history import find_archived
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime, State, is_instant_time
from pyhudi.timeline.view import find_instant, is_committed
from pyhudi.txn.recovery.heartbeat import Liveness, heartbeat_path, liveness

__all__ = ["resolve", "writer_of"]

_RUN_BY: Final = {
    Action.COMPACTION: "table.compact()",
    Action.LOGCOMPACTION: "table.log_compact()",
    Action.CLUSTERING: "table.cluster()",
    Action.INDEXING: "table.index()",
}


def resolve(state: TableState, instant: str) -> Literal["committed", "not committed", "pending"]:
    """Return what became of an instant whose outcome was unknown.

    Raises: HistoryExpired where it may be older than what the archive of version 6 still has; InvalidInput for what is
            no instant.
    """
    if not (isinstance(instant, str) and is_instant_time(instant)):
        raise InvalidInput("an instant is 17 digits, or 14, as results and errors give it", instant=instant)
    time, timeline = InstantTime(instant), load_timeline(state)
    found = find_instant(timeline, time)
    if found is not None and found.action in {*WRITE_ACTIONS, Action.COMPACTION, Action.CLUSTERING}:
        return "committed" if found.is_completed else "pending"
    if not is_committed(timeline, time):
        return "not committed"
    archived = find_archived(state, time)
    if archived is None:
        raise HistoryExpired("this instant is older than the timeline, and may be archived", instant=instant)
    return "committed" if archived else "not committed"


def writer_of(state: TableState, instant: Instant, settings: Settings) -> tuple[str, str, str]:
    """Return of a pending instant whether its writer lives, which process that is, and what to do about it.

    A plan that waits to be run has no writer, of either program: it is `planned`.
    """
    judged = liveness(state, instant.requested_time, settings)
    if instant.action in _RUN_BY and instant.state is State.REQUESTED and judged is not Liveness.ALIVE:
        return PLANNED, "", f"nothing: {_RUN_BY[instant.action]} runs it"
    return judged, _owner(state, instant), _advice(instant, judged)


def _advice(instant: Instant, judged: Liveness) -> str:
    if judged is Liveness.ALIVE:
        return "wait for it"
    if instant.action is Action.ROLLBACK:
        return "nothing: the next write finishes it" + ("" if judged is Liveness.DEAD else ", an hour after it began")
    if instant.action is Action.SAVEPOINT:
        return "its commit stays meanwhile: table.savepoint(instant) makes it, table.delete_savepoint(instant) ends it"
    if instant.action is Action.CLEAN:
        return "nothing: the next clean finishes it, and a write that makes one due; or table.clean()"
    if instant.action is Action.RESTORE:
        return "finish it: table.restore(target), with any target; no write begins before"
    if instant.action is Action.INDEXING:
        return f"finish it: {_RUN_BY[instant.action]}; or take it back: table.drop_index(name)"
    if instant.action in _RUN_BY:
        return f"finish it: {_RUN_BY[instant.action]}; or take it back: table.rollback(instant)"
    if instant.action not in WRITE_ACTIONS:
        return "let Apache Hudi finish it, or roll it back there"
    if judged is Liveness.DEAD:
        return "nothing: the next write rolls it back"
    return "leave it to its writer; table.rollback(instant) if that is gone"


def _owner(state: TableState, instant: Instant) -> str:
    """Return which process beats for an instant; writers of Apache Hudi leave no name."""
    try:
        return state.storage.get(heartbeat_path(instant.requested_time)).decode(errors="replace")
    except FileMissing:
        return ""
