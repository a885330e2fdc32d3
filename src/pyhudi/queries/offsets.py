"""How far a stream has read a table's changes, and what it reads next.

An offset is a place in the order readers see: everything up to it was read. It also names the commit there, so that a
commit that was taken back, or a timeline that orders its commits in another way since an upgrade, is noticed: a stream
reads each commit once or says that it cannot. Start at `first_offset`, then `next_offset` and `plan_batch`.

Spec: format/timeline 6.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyhudi.errors import CorruptData, HistoryExpired, NotBuilt, SnapshotExpired, Unsupported
from pyhudi.options import Settings
from pyhudi.predicate import Expression
from pyhudi.queries.earliest import earliest_readable
from pyhudi.queries.expired import archived_after, cut_at
from pyhudi.queries.incremental import Window, plan_between, require_commit_times
from pyhudi.queries.snapshot import ReadPlan
from pyhudi.state.layout import Layout
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata, timeline_zone
from pyhudi.timeline.cleans import cleaned_since
from pyhudi.timeline.clock import parse_query_time
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import (
    HOLLOW_COMMITS,
    HollowCommits,
    Timeline,
    changed_between,
    changed_between_requested,
    completion_of,
    find_instant,
    is_committed,
    resolve_as_of,
)

__all__ = ["EARLIEST", "LATEST", "Offset", "first_offset", "next_offset", "plan_batch"]

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_FORM: Final = 1
_ANEW: Final = "begin anew with another checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """Up to where a stream has read."""

    after: InstantTime | None
    """A point of the timeline, itself read; None is before the first commit."""
    instant: InstantTime | None = None
    """The requested time of the commit that is there; None where a time was given at which none is."""

    def to_json(self) -> dict[str, Any]:
        """Return what Spark keeps in the checkpoint."""
        named = {} if self.instant is None else {"instant": self.instant}
        return {"v": _FORM, "after": self.after or EARLIEST, **named}

    @staticmethod
    def of_json(said: Mapping[str, Any]) -> "Offset":
        """Read what `to_json` made.   Raises: Unsupported for a later form; CorruptData for anything else."""
        form, after, instant = (said.get(name) for name in ("v", "after", "instant"))
        if isinstance(form, int) and form > _FORM:
            raise Unsupported("a later pyhudi wrote this checkpoint; use that version, or another checkpoint", v=form)
        if form != _FORM or not isinstance(after, str) or not isinstance(instant, str | None):
            raise CorruptData(f"this checkpoint has no offset of a Hudi table; {_ANEW}", offset=dict(said))
        if after == EARLIEST:
            return Offset(after=None)
        return Offset(after=InstantTime(after), instant=None if instant is None else InstantTime(instant))


def first_offset(state: TableState, begin: str, settings: Settings) -> Offset:
    """Return where a new stream begins: `earliest`, `latest`, behind the commit that is named, or behind a time.

    Raises: InvalidInput for text that is no time, and where rows do not say which commit wrote them; InstantNotFound
            for the name of a commit that is not completed or was taken back; NotBuilt as `next_offset`.
    """
    require_commit_times(state)
    timeline = load_timeline(state)
    if not begin.strip("0") or begin.lower() == EARLIEST:
        return Offset(after=None)
    if begin.lower() == LATEST:
        return _offset_at(timeline, _visible(timeline, Offset(after=None), _holes(settings, timeline.layout))[-1:])
    zone = timeline_zone(state)
    if find_instant(timeline, begin) is not None:
        return _offset_at(timeline, [resolve_as_of(timeline, begin, zone)])
    after = parse_query_time(begin, zone)
    at = [one for one in timeline.completed.values() if timeline.point(one) == after]
    return _offset_at(timeline, at) if at else Offset(after=after)


def next_offset(state: TableState, start: Offset, settings: Settings, commits_count: int | None = None) -> Offset:
    """Return up to where the next batch reads; `start` itself where there is nothing new.

    At most `commits_count` commits, as long as the moment behind these can still be read: where cleans took what it
    needs, the next moment that can be. Table services put no rows, so they are no news and do not count.

    Cost:   a listing of the timeline, and once a process a read of each new commit; with a limit, where cleans were
            completed since, what `earliest_readable` costs.
    Raises: HistoryExpired where the commit at `start` was taken back, or an upgrade changed the order of commits;
            OptionError at version 6 under FAIL where a pending write lies before completed ones; NotBuilt there under
            USE_TRANSITION_TIME.
    """
    timeline, holes = load_timeline(state), _holes(settings, state.layout)
    start = _placed(timeline, start)
    new = _visible(timeline, start, holes)
    writes = [one for one in new if read_commit_metadata(state, one).can_change_columns]
    archived = {} if start.after is None else archived_after(timeline, start.after)
    if not writes and not archived:
        return start
    if commits_count is None or len(writes) + len(archived) <= commits_count:
        return _offset_at(timeline, new[-1:]) if new else _newest_archived(archived)
    return _limited(state, timeline, writes, archived, commits_count)


def plan_batch(
    state: TableState,
    start: Offset,
    end: Offset,
    *,
    columns: Sequence[str],
    predicate: Expression | None,
    settings: Settings,
) -> ReadPlan | None:
    """Plan the read of what changed in (start, end], in its latest state at the end; None where that is nothing.

    Of `columns` the plan has those that the table had at the end.

    Cost:   what `plan_between` costs.
    Raises: SnapshotExpired, HistoryExpired where rows of the batch can no longer be told: never fewer rows.
    """
    timeline = load_timeline(state)
    start, end = _placed(timeline, start), _placed(timeline, end)
    if start == end or end.after is None:
        return None
    window = Window(after=start.after, until=end.after, holes=_holes(settings, timeline.layout))
    try:
        plan = plan_between(state, timeline, window, columns=None, predicate=predicate, settings=settings)
    except SnapshotExpired as error:
        raise SnapshotExpired(
            f"this batch cannot be read any more, because {error.message}; a new checkpoint that starts behind `after`"
            " reads on from there; let the table's cleans keep more commits than the stream may fall behind",
            after=start.after,
            until=end.after,
        ) from error
    return replace(plan, columns=tuple(name for name in columns if name in plan.schema.names))


def _limited(
    state: TableState,
    timeline: Timeline,
    writes: Sequence[Instant],
    archived: Mapping[InstantTime, InstantTime],
    commits_count: int,
) -> Offset:
    """Take the first so many commits, or more where the moment behind them was cleaned."""
    found = [Offset(after=timeline.point(one), instant=one.requested_time) for one in writes]
    found.extend(Offset(after=point, instant=time) for time, point in archived.items())
    found.sort(key=_order)
    chosen = found[commits_count - 1]
    assert chosen.after is not None, "offsets of commits have a point"
    if not cleaned_since(state, cut_at(timeline, chosen.after)):
        return chosen
    earliest = earliest_readable(state)
    if earliest is None:
        return chosen
    readable = timeline.point(timeline.completed[earliest])
    return next((one for one in found if _order(one) >= max(_order(chosen), readable)), found[-1])


def _visible(timeline: Timeline, start: Offset, holes: HollowCommits) -> Sequence[Instant]:
    """Return the completed commits behind an offset that no pending one can come before, by their points."""
    if timeline.layout.has_completion_times:
        return changed_between(timeline, start.after, None)
    return changed_between_requested(timeline, start.after, None, holes)


def _offset_at(timeline: Timeline, instants: Sequence[Instant]) -> Offset:
    """Return the offset of a commit; the earliest where there is none."""
    if not instants:
        return Offset(after=None)
    return Offset(after=timeline.point(instants[-1]), instant=instants[-1].requested_time)


def _newest_archived(archived: Mapping[InstantTime, InstantTime]) -> Offset:
    time = max(archived, key=lambda one: (archived[one], one))
    return Offset(after=archived[time], instant=time)


def _order(offset: Offset) -> str:
    return offset.after or ""


def _holes(settings: Settings, layout: Layout) -> HollowCommits:
    """Return what to do about hollow commits: a stream waits for them where nothing is said, as Apache Hudi's does.

    Raises: NotBuilt for the dates of files, which a copy of the table changes.
    """
    said = HollowCommits(settings.get(HOLLOW_COMMITS)) if settings.has(HOLLOW_COMMITS) else HollowCommits.BLOCK
    if not layout.has_completion_times and said is HollowCommits.USE_TRANSITION_TIME:
        raise NotBuilt(
            "pyhudi streams tables of version 6 by requested time; choose BLOCK",
            key=HOLLOW_COMMITS.key,
            value=str(said),
        )
    return said


def _placed(timeline: Timeline, offset: Offset) -> Offset:
    """Return an offset as a point of this timeline, after checking that its commit stands.

    An upgrade gives commits completion times, so what was read up to a requested time has another point then.

    Raises: HistoryExpired.
    """
    if offset.instant is None:
        return offset
    if not is_committed(timeline, offset.instant):
        raise HistoryExpired(
            "the commit that this stream read last was taken back by a rollback or restore; take its rows back where"
            f" the stream wrote them, and {_ANEW}",
            instant=offset.instant,
        )
    was_by_request = offset.after == offset.instant
    if was_by_request is not timeline.layout.has_completion_times:
        return offset
    return _moved(timeline, offset, offset.instant)


def _moved(timeline: Timeline, offset: Offset, instant: InstantTime) -> Offset:
    """Return an offset in the other order of commits, where both orders have the same commits before it."""
    after = completion_of(timeline, instant) if timeline.layout.has_completion_times else None
    if after is None or _is_overtaken(timeline, instant, after):
        raise HistoryExpired(
            f"the table was upgraded or downgraded, and the order of its commits changed; {_ANEW}",
            instant=instant,
            after=offset.after,
        )
    return replace(offset, after=after)


def _is_overtaken(timeline: Timeline, instant: InstantTime, after: InstantTime) -> bool:
    """Return whether commits lie on different sides of an instant by requested and by completion time."""
    return any(
        (one.requested_time <= instant) is not (timeline.point(one) <= after) for one in timeline.completed.values()
    )
