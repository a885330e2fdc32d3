"""What the history still says of instants that were archived. Start at `archived_instants`."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyhudi.state.model import TableState
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

__all__ = ["ArchivedInstant", "archived_instants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedInstant:
    """A completed instant of the history; what it said and its plan are empty where the history has none."""

    instant: Instant
    metadata: bytes = field(repr=False)
    plan: bytes = field(repr=False)
    path: str
    """The file of the history, for errors."""


def archived_instants(
    state: TableState, first: str = "", last: str = "", actions: Iterable[Action] = Action
) -> list[ArchivedInstant]:
    """Read the archived instants requested from first to last, newest first; an empty text is no bound.

    Cost: the files of the history that may hold them; at version 6 the whole archive.
    """
    past, wanted = Past(state, ()), list(actions)
    found = [
        _archived(row, path)
        for path in past.files(first or None, last or None)
        for batch in past.rows(path, wanted, "instantTime", "completionTime", "action", "metadata", "plan")
        for row in batch.to_pylist()
        if (not first or row["instantTime"] >= first) and (not last or row["instantTime"] <= last)
    ]
    return sorted(found, key=lambda one: one.instant.requested_time, reverse=True)


def _archived(row: dict[str, str | bytes], path: str) -> ArchivedInstant:
    done = row["completionTime"]
    instant = Instant(
        requested_time=InstantTime(str(row["instantTime"])),
        action=Action(str(row["action"])),
        state=State.COMPLETED,
        completion_time=InstantTime(str(done)) if done else None,
    )
    return ArchivedInstant(instant=instant, metadata=_bytes(row["metadata"]), plan=_bytes(row["plan"]), path=path)


def _bytes(given: str | bytes | None) -> bytes:
    return given if isinstance(given, bytes) else b""
