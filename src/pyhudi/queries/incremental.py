"""Records that changed between two points of the timeline, in their latest state.

The window is over completion times at versions 8 and 9, mapped to the set of requested times that rows carry; at
version 6 over requested times, minding pending instants. Start at `plan_changes`.

Spec: format/timeline 6.3.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from pyhudi.errors import HistoryExpired, InvalidInput
from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.options import Settings
from pyhudi.predicate import Expression, all_of, column, literal
from pyhudi.predicate.model import InList
from pyhudi.queries.snapshot import Moment, ReadPlan, plan_snapshot
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata, timeline_zone
from pyhudi.timeline.clock import parse_time
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import (
    HOLLOW_COMMITS,
    HollowCommits,
    Timeline,
    as_of,
    changed_between,
    changed_between_requested,
    completed_writes,
    find_instant,
    resolve_as_of,
)

__all__ = ["changes_between", "plan_changes", "plan_of_instants"]

_COMMIT_TIME = "_hoodie_commit_time"


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
    Raises: InstantNotFound; HistoryExpired where commits after `after` may be archived; OptionError at version 6 under
            FAIL when a pending instant lies in between; InvalidInput where rows do not say which commit wrote them.
    """
    timeline = load_timeline(state)
    instants = _window(state, timeline, after, until, settings)
    if after is None and instants:
        seen = as_of(timeline, max(timeline.point(one) for one in instants))
        return plan_snapshot(state, seen, columns=columns, predicate=predicate)
    if after is not None:
        _require_history(state, timeline, after)
    return plan_of_instants(state, timeline, instants, columns=columns, predicate=predicate)


def plan_of_instants(
    state: TableState,
    timeline: Timeline,
    instants: Sequence[Instant],
    *,
    columns: Sequence[str] | None,
    predicate: Expression | None,
) -> ReadPlan:
    """Plan the read of rows that these commits wrote last, as they were after the last of them.

    Raises: InvalidInput where rows do not say which commit wrote them.
    """
    if not state.config.populates_meta_fields:
        raise InvalidInput(
            "rows of a table with virtual keys do not say which commit wrote them; read and compare two snapshots",
            table=state.config.name,
        )
    if not instants:
        return plan_snapshot(state, timeline, columns=columns, predicate=predicate, partitions=())
    seen = as_of(timeline, max(timeline.point(one) for one in instants))
    touched = _touched(state, instants)
    plan = plan_snapshot(
        state, seen, columns=columns, predicate=predicate, partitions={one.partition for one in touched}
    )
    times = [one.requested_time for one in instants]
    ours = InList(value=column(_COMMIT_TIME), options=tuple(literal(time) for time in times))
    return replace(
        plan,
        slices=tuple(one for one in plan.slices if one.group in touched),
        predicate=ours if predicate is None else all_of(ours, predicate),
    )


def changes_between(
    state: TableState, timeline: Timeline, after: Moment | None, until: Moment | None, settings: Settings
) -> tuple[Instant, ...]:
    """Return the commits in (after, until], in the order they became visible."""
    return tuple(_window(state, timeline, after, until, settings))


def _window(
    state: TableState, timeline: Timeline, after: Moment | None, until: Moment | None, settings: Settings
) -> Sequence[Instant]:
    zone = timeline_zone(state)
    first = None if after is None else _bound(timeline, after, zone)
    last = None if until is None else _bound(timeline, until, zone)
    if state.layout.has_completion_times:
        return changed_between(timeline, first, last)
    return changed_between_requested(timeline, first, last, HollowCommits(settings.get(HOLLOW_COMMITS)))


def _require_history(state: TableState, timeline: Timeline, after: Moment) -> None:
    """Refuse a window that begins before the oldest active commit of a table that has archived ones."""
    oldest = min((timeline.point(one) for one in completed_writes(timeline)), default=None)
    begin = _bound(timeline, after, timeline_zone(state))
    if (oldest is None or begin < oldest) and state.storage.list_names(state.layout.history_path):
        raise HistoryExpired(
            "commits of this window may be archived; begin at a later commit, or read a snapshot",
            after=begin,
            oldest=oldest,
        )


def _bound(timeline: Timeline, moment: Moment, zone: tzinfo) -> InstantTime:
    """Return a point in the readers' order: a named commit's own, or wall time."""
    if isinstance(moment, str) and find_instant(timeline, moment) is not None:
        return timeline.point(resolve_as_of(timeline, moment, zone))
    return parse_time(moment, zone)


def _touched(state: TableState, instants: Sequence[Instant]) -> set[FileGroupId]:
    return {
        FileGroupId(partition=PartitionPath(partition), file_id=FileId(stat.file_id or ""))
        for instant in instants
        for partition, stats in read_commit_metadata(state, instant).stats.items()
        for stat in stats
    }
