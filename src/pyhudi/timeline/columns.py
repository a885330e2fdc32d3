"""Which columns a table has at a moment, by what its commits say. Start at `committed_schema`.

Spec: format/timeline 3.2, 4.
"""

from collections.abc import Iterator

from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, completed_writes, is_committed

__all__ = ["committed_schema", "said_newest_first"]


def committed_schema(state: TableState, timeline: Timeline) -> tuple[str, str]:
    """Return the Avro schema of the newest commit that says one, and its file; a table service's only without writes.

    One that was planned before a write and completed after it has older columns. Both are empty where no commit says
    one.
    """
    of_services = "", ""
    for said, file in said_newest_first(state, timeline):
        schema = said.extra.get("schema") or ""
        if schema and said.can_change_columns:
            return schema, file
        of_services = of_services if of_services[0] else (schema, file)
    return of_services if of_services[0] else ("", "")


def said_newest_first(state: TableState, timeline: Timeline) -> Iterator[tuple[CommitMetadata, str]]:
    """Yield what commits say, newest first, and the file that has it.

    Archived ones are among them where there may be later ones than an active one: savepoints keep commits from the
    archive, and a moment may lie before the active timeline.
    """
    has_gaps = timeline.until is not None or any(one.action is Action.SAVEPOINT for one in timeline.instants)
    last: InstantTime | None = None
    for one in sorted(completed_writes(timeline), key=timeline.point, reverse=True):
        if has_gaps:
            yield from _archived_said(state, timeline, timeline.point(one), last)
        yield read_commit_metadata(state, one), one.file_name
        last = timeline.point(one)
    if has_gaps:
        yield from _archived_said(state, timeline, InstantTime(""), last)


def _archived_said(
    state: TableState, timeline: Timeline, after: InstantTime, last: InstantTime | None
) -> Iterator[tuple[CommitMetadata, str]]:
    """Yield what archived commits say that became visible in (after, last], newest first, and are not out of sight."""
    found = timeline.archive.completed_after(after)
    times = [time for time, point in found.items() if (last is None or point <= last) and is_committed(timeline, time)]
    for time in sorted(times, key=lambda time: (found[time], time), reverse=True):
        if time not in timeline.completed and (said := timeline.archive.commit(time)) is not None:
            yield said, f"{state.layout.history_path} ({time})"
