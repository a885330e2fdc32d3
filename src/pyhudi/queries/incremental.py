"""Records that changed between two points of the timeline, in their latest state.

The window is over completion times at versions 8 and 9, mapped to the set of requested times that rows carry; at
version 6 over requested times, minding pending instants. Start at `plan_changes`.

Spec: format/timeline 6.3.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial

from pyhudi.errors import HistoryExpired, InvalidInput
from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.options import Settings
from pyhudi.predicate import Expression, all_of, column, literal
from pyhudi.predicate.model import InList
from pyhudi.queries.expired import archived_after, cut_at, require_unarchived
from pyhudi.queries.snapshot import Moment, ReadPlan, plan_snapshot
from pyhudi.schema.meta_fields import COMMIT_TIME
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata, timeline_zone
from pyhudi.timeline.clock import parse_time
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import (
    HOLLOW_COMMITS,
    HollowCommits,
    Timeline,
    changed_between,
    changed_between_requested,
    find_instant,
    require_not_taken_back,
    resolve_as_of,
)

__all__ = ["Window", "plan_between", "plan_changes", "require_commit_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The points (after, until] of a timeline; None is the beginning, or now."""

    after: InstantTime | None
    until: InstantTime | None
    holes: HollowCommits


def plan_changes(
    state: TableState,
    *,
    after: Moment | None,
    until: Moment | None,
    columns: Sequence[str] | None,
    predicate: Expression | None,
    settings: Settings,
) -> ReadPlan:
    """Plan the read of what changed in (after, until]; None is the beginning, or now.

    From the beginning every row has changed: that is a snapshot, also where commits were archived.

    Cost:   the file groups that the commits in the window wrote, nothing else.
    Raises: InstantNotFound; what `plan_between` raises.
    """
    timeline, zone = load_timeline(state), timeline_zone(state)
    begin = None if after is None else _bound(timeline, after, zone, is_end=False)
    end = None if until is None else _bound(timeline, until, zone, is_end=True)
    window = Window(after=begin, until=end, holes=HollowCommits(settings.get(HOLLOW_COMMITS)))
    return plan_between(state, timeline, window, columns=columns, predicate=predicate, settings=settings)


def plan_between(
    state: TableState,
    timeline: Timeline,
    window: Window,
    *,
    columns: Sequence[str] | None,
    predicate: Expression | None,
    settings: Settings | None = None,
) -> ReadPlan:
    """Plan the read of what changed between two points, as it was at the later one.

    Cost:   that of a snapshot where commits of the window were archived: which file groups these wrote is not read.
    Raises: SnapshotExpired where a clean took files of the later point's moment; HistoryExpired at version 6 under
            USE_TRANSITION_TIME where commits of the window may be archived; OptionError at version 6 under FAIL when a
            pending instant lies in between; InvalidInput where rows do not say which commit wrote them.
    """
    instants = _instants_in(timeline, window)
    plan_at = partial(plan_snapshot, state, columns=columns, predicate=predicate, settings=settings)
    if window.after is not None:
        archived = _archived_in(timeline, window)
        if instants or archived:
            return _plan_of_instants(state, timeline, instants, archived, plan_at)
    elif window.until is not None:
        require_unarchived(timeline, window.until)
    if window.after is None and instants:
        return plan_at(cut_at(timeline, max(timeline.point(one) for one in instants)))
    require_commit_times(state)
    return plan_at(_at_end(timeline, window), partitions=())


def _plan_of_instants(
    state: TableState,
    timeline: Timeline,
    instants: Sequence[Instant],
    archived: Mapping[InstantTime, InstantTime],
    plan_at: Callable[..., ReadPlan],
) -> ReadPlan:
    """Plan the read of rows that these commits wrote last, as they were after the last of them.

    `archived` has the points of archived ones, by requested time. Of logs only what these commits wrote is merged, as
    Apache Hudi has it: what an older row wins against is shown.
    """
    require_commit_times(state)
    seen = cut_at(timeline, max([*archived.values(), *map(timeline.point, instants)]))
    touched = None if archived else _touched(state, instants)
    plan = plan_at(seen, partitions=None if touched is None else {one.partition for one in touched})
    times = [*archived, *(one.requested_time for one in instants)]
    ours = InList(value=column(COMMIT_TIME), options=tuple(literal(time) for time in times))
    reads = None if plan.reads is None else replace(plan.reads, window=frozenset(times))
    return replace(
        plan,
        reads=reads,
        slices=tuple(one for one in plan.slices if touched is None or one.group in touched),
        predicate=ours if plan.predicate is None else all_of(ours, plan.predicate),
    )


def require_commit_times(state: TableState) -> None:
    """Check that rows say which commit wrote them."""
    if not state.config.populates_meta_fields:
        raise InvalidInput(
            "rows of a table with virtual keys do not say which commit wrote them; read and compare two snapshots",
            table=state.config.name,
        )


def _at_end(timeline: Timeline, window: Window) -> Timeline:
    """Cut a timeline to the end of a window in which nothing was committed: it has the columns of then."""
    if window.until is None:
        return timeline
    if timeline.layout.has_completion_times or window.holes is not HollowCommits.USE_TRANSITION_TIME:
        return cut_at(timeline, window.until)
    done = [one for one in timeline.completed.values() if (one.completion_time or "") <= window.until]
    return cut_at(timeline, max(map(timeline.point, done), default=InstantTime("")))


def _instants_in(timeline: Timeline, window: Window) -> Sequence[Instant]:
    if timeline.layout.has_completion_times:
        return changed_between(timeline, window.after, window.until)
    return changed_between_requested(timeline, window.after, window.until, window.holes)


def _archived_in(timeline: Timeline, window: Window) -> Mapping[InstantTime, InstantTime]:
    """Return the archived commits of a window, and the point of each.

    Raises: HistoryExpired where the window is by the dates of files, which the archive does not go by.
    """
    assert window.after is not None, "from the beginning on all rows have changed"
    found = archived_after(timeline, window.after)
    if found and not timeline.layout.has_completion_times and window.holes is HollowCommits.USE_TRANSITION_TIME:
        raise HistoryExpired(
            "commits of this window may be archived; begin at a later commit, or read a snapshot", after=window.after
        )
    return {time: point for time, point in found.items() if window.until is None or point <= window.until}


def _bound(timeline: Timeline, moment: Moment, zone: tzinfo, *, is_end: bool) -> InstantTime:
    """Return a point in the readers' order: a named commit's own, also where it was archived, or wall time.

    A commit that was taken back is no end. As the begin it is a time: a reader that has seen it goes on from there.
    """
    named = find_instant(timeline, moment) if isinstance(moment, str) else None
    if named is not None and named.action is not Action.SAVEPOINT:  # which may be left of an archived commit
        return timeline.point(resolve_as_of(timeline, moment, zone))
    if isinstance(moment, str) and is_end:
        require_not_taken_back(timeline, moment)
    time = parse_time(moment, zone)
    if time != moment or not timeline.layout.has_completion_times:
        return time
    return timeline.archive.completion_of(time) or time


def _touched(state: TableState, instants: Sequence[Instant]) -> set[FileGroupId]:
    return {
        FileGroupId(partition=PartitionPath(partition), file_id=FileId(stat.file_id or ""))
        for instant in instants
        for partition, stats in read_commit_metadata(state, instant).stats.items()
        for stat in stats
    }
