"""The table as it was at a moment whose own newest commit was archived: the history says what that wrote.

Whether a clean took files of such a moment is found out as of any other. Start at `cut_at_moment`.
"""

from collections.abc import Iterator
from itertools import chain

from pyhudi.errors import CorruptData, SnapshotExpired
from pyhudi.queries.expired import cut_at, may_be_archived, newest_at
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, as_of_requested, with_archived

__all__ = ["cut_at_moment", "cut_at_request"]


def cut_at_moment(state: TableState, timeline: Timeline, point: InstantTime) -> Timeline:
    """Cut a timeline to what was visible at a point, with the archived commits that were the newest then.

    Cost:   as `cut_at`; two small reads, and of the history the files of that time, and what its newest commits say.
    Raises: SnapshotExpired where the history does not say what they wrote.
    """
    newest = newest_at(timeline, point)
    cut = cut_at(timeline, point)
    if timeline.layout == 1 and not may_be_archived(timeline, point):
        return cut
    return _with_newest(state, cut, newest, timeline.archive.writes_between(newest, point))


def cut_at_request(state: TableState, timeline: Timeline, time: InstantTime) -> Timeline:
    """Cut a timeline to what was requested by a time, with the archived commits that were the newest of these.

    Cost:   as `cut_at_moment`.
    Raises: SnapshotExpired where the history does not say what they wrote.
    """
    cut = as_of_requested(timeline, time)
    newest = max(cut.completed, default=InstantTime(""))
    if timeline.layout == 1 and not may_be_archived(timeline, time):
        return cut
    return _with_newest(state, cut, newest, timeline.archive.writes_between(newest, time, is_by_request=True))


def _with_newest(state: TableState, cut: Timeline, newest: InstantTime, archived: Iterator[Instant]) -> Timeline:
    """Add the archived commits since the newest active one; where none is, those down to one that has the columns."""
    latest = next(archived, None)
    if latest is None:
        return cut
    found = []
    for one in chain([latest], archived):
        found.append(one)
        if not newest and _says_columns(state, one):
            break
    if newest:
        _says_columns(state, latest)
    return with_archived(cut, found)


def _says_columns(state: TableState, instant: Instant) -> bool:
    try:
        metadata = read_commit_metadata(state, instant)
    except CorruptData as error:
        raise SnapshotExpired(
            "the newest commit of this moment was archived, and the archive does not tell what it wrote;"
            " read a later moment",
            instant=instant.requested_time,
        ) from error
    return metadata.can_change_columns and bool(metadata.extra.get("schema"))
