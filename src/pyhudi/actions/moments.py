"""Moments of a table that verbs name: commits of the active timeline, and what readers saw then.

Start at `committed_instant`.
"""

from collections.abc import Sequence

from pyhudi.errors import InstantNotFound, InvalidInput
from pyhudi.filegroup.model import FileSlice
from pyhudi.metadata.listing import file_index
from pyhudi.queries.expired import cut_at, require_not_going
from pyhudi.queries.slices import visible_slices
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, find_instant, is_committed

__all__ = ["committed_instant", "require_readable_at", "slices_at"]


def committed_instant(timeline: Timeline, time: InstantTime) -> Instant:
    """Return a completed commit of the active timeline.

    Raises: InstantNotFound; InvalidInput for one that is pending, is none, or was archived.
    """
    if time in timeline.completed:
        return timeline.completed[time]
    found = find_instant(timeline, time)
    if found is not None:
        raise InvalidInput(
            "this is not a completed commit; table.history() lists them",
            instant=time,
            action=str(found.action),
            state=str(found.state),
        )
    if is_committed(timeline, time):
        raise InvalidInput("if this was a commit, it was archived; name one that table.history() lists", instant=time)
    raise InstantNotFound("no such instant on the timeline; table.history() lists commits", instant=time)


def slices_at(state: TableState, timeline: Timeline, target: Instant) -> Sequence[FileSlice]:
    """List the file slices that readers saw when a commit was completed.

    A metadata table lists what a pending clean has deleted until that is completed.

    Cost:   a listing of each directory; a read of each pending clean's plan.
    Raises: SnapshotExpired where a clean took files of that moment, or may be taking them; NotBuilt.
    """
    slices = visible_slices(file_index(state, cut_at(timeline, timeline.point(target))))
    require_not_going(state, timeline, slices, target.requested_time)
    return slices


def require_readable_at(state: TableState, timeline: Timeline, target: Instant) -> None:
    """Check that every file is there which readers saw when a commit was completed.   Cost, Raises: as `slices_at`."""
    slices_at(state, timeline, target)
