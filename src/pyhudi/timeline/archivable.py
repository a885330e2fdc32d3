"""Which instants may leave the active timeline: the oldest, as long as no reader or writer needs them there.

Pure: what has to be read beforehand is an `ArchiveBounds`. Start at `plan_archive`.

Spec: format/timeline 4.3; reliability 1.5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyhudi.timeline.instant import FILE_ACTIONS, Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, pending_instants

__all__ = ["ArchiveBounds", "plan_archive"]

_ALONG: Final = (Action.CLEAN, Action.ROLLBACK)
"""Archived along with commits; savepoints, restores and indexing stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveBounds:
    """What has to stay on the active timeline."""

    keep_least: int = 20
    """So many commits are left when there are more than `keep_most`."""
    keep_most: int = 30
    is_beyond_savepoint: bool = False
    """Commits after a savepoint are archived too, around the one that is saved."""
    retained: InstantTime | None = None
    """The earliest commit that cleaning retains, where it counts commits or hours."""
    replaced_since: InstantTime | None = None
    """Replaced files of earlier commits were cleaned; None where no clean is known."""
    deltas_to_compact: int | None = None
    """So many delta commits since the last compaction make one due; None where they are not counted."""
    has_metadata_table: bool = False
    metadata_compacted: InstantTime | None = None
    """The last compaction of the metadata table, whose log files need what was committed since."""
    data_timeline_from: InstantTime | None = None
    """Of a metadata table: the earliest commit, or pending instant, of its data table."""
    pinned: InstantTime | None = None
    """The earliest point that a reader has pinned."""


def plan_archive(timeline: Timeline, bounds: ArchiveBounds) -> tuple[Instant, ...]:
    """Choose the completed instants to archive, by requested time; none while a restore is pending.

    The newest clean stays: the next one goes on from there.
    """
    is_restoring = any(one.action is Action.RESTORE for one in pending_instants(timeline))
    is_awaited = bounds.has_metadata_table and bounds.metadata_compacted is None
    if is_restoring or is_awaited:
        return ()
    commits = completed_writes(timeline)
    least, most = _counts(commits, bounds)
    chosen = _commits(timeline, commits, bounds)[: max(0, len(commits) - least)] if len(commits) > most else []
    is_by_count = timeline.layout.archives_to_logs
    along = _along_by_count(timeline, bounds, least, most) if is_by_count else _along_to(timeline, chosen)
    cleans = [one.requested_time for one in _completed(timeline, Action.CLEAN)]
    found = [one for one in (*chosen, *along) if one.action is not Action.CLEAN or one.requested_time != cleans[-1]]
    return tuple(sorted(found, key=lambda one: (one.requested_time, one.action)))


def _counts(commits: Sequence[Instant], bounds: ArchiveBounds) -> tuple[int, int]:
    """Return how many commits are left at least and at most: more than cleaning retains."""
    if bounds.retained is None:
        return bounds.keep_least, bounds.keep_most
    needed = sum(one.requested_time > bounds.retained for one in commits) + 2
    least = max(bounds.keep_least, needed)
    return least, bounds.keep_most + least - bounds.keep_least


def _commits(timeline: Timeline, commits: Sequence[Instant], bounds: ArchiveBounds) -> list[Instant]:
    """Return the commits before the first that has to stay."""
    candidates = (
        _before_pending(timeline, commits),
        _first(timeline.instants, bounds.replaced_since or "", (Action.REPLACECOMMIT, Action.CLUSTERING)),
        _before_compaction(timeline, bounds.deltas_to_compact),
        _since_metadata_compaction(timeline, commits, bounds.metadata_compacted),
        bounds.data_timeline_from,
        None if bounds.pinned is None else _since_point(timeline, commits, bounds.pinned),
    )
    stop = min((one for one in candidates if one is not None), default=None)
    saved = [one.requested_time for one in timeline.instants if one.action is Action.SAVEPOINT]
    if bounds.is_beyond_savepoint:
        commits = [one for one in commits if one.requested_time not in saved]
    elif saved:
        stop = min(saved[0], stop or saved[0])
    return [one for one in commits if stop is None or one.requested_time < stop]


def _before_pending(timeline: Timeline, commits: Sequence[Instant]) -> InstantTime | None:
    """Return the last commit before the first pending write, or that write where there is none."""
    pending = [one.requested_time for one in pending_instants(timeline) if one.action in FILE_ACTIONS]
    if not pending:
        return None
    return max((one.requested_time for one in commits if one.requested_time < pending[0]), default=pending[0])


def _before_compaction(timeline: Timeline, deltas_count: int | None) -> InstantTime | None:
    """Return the instant from which on delta commits are counted until the next compaction is due."""
    if deltas_count is None:
        return None
    compactions = [one.requested_time for one in _completed(timeline, Action.COMMIT)]
    deltas = [one.requested_time for one in timeline.instants if one.action is Action.DELTACOMMIT]
    since = [one for one in deltas if not compactions or one > compactions[-1]]
    if len(since) >= deltas_count > 0:
        return since[-deltas_count]
    return compactions[-1] if compactions else next(iter(since), None)


def _since_metadata_compaction(
    timeline: Timeline, commits: Sequence[Instant], compacted: InstantTime | None
) -> InstantTime | None:
    if compacted is None or not timeline.layout.has_completion_times:
        return compacted
    return _since_point(timeline, commits, compacted, is_later=True)


def _since_point(
    timeline: Timeline, commits: Sequence[Instant], point: InstantTime, *, is_later: bool = False
) -> InstantTime | None:
    """Return the first commit that became visible at a point, or later."""
    points = ((one.requested_time, timeline.point(one)) for one in commits)
    return min((time for time, seen in points if seen > point or (seen == point and not is_later)), default=None)


def _along_to(timeline: Timeline, chosen: Sequence[Instant]) -> list[Instant]:
    """Return the cleans and rollbacks before the last commit that is archived."""
    last = chosen[-1].requested_time if chosen else ""
    return [one for action in _ALONG for one in _completed(timeline, action) if one.requested_time < last]


def _along_by_count(timeline: Timeline, bounds: ArchiveBounds, least: int, most: int) -> list[Instant]:
    """Return the oldest cleans and rollbacks, each action counted by itself."""
    stop = min((one for one in (bounds.metadata_compacted, bounds.data_timeline_from) if one), default=None)
    found = []
    for action in _ALONG:
        done = _completed(timeline, action)
        if len(done) > most:
            found += [one for one in done[: len(done) - least] if stop is None or one.requested_time < stop]
    return found


def _completed(timeline: Timeline, action: Action) -> list[Instant]:
    return [one for one in timeline.instants if one.action is action and one.is_completed]


def _first(instants: Iterable[Instant], since: str, actions: Sequence[Action]) -> InstantTime | None:
    times = (one.requested_time for one in instants if one.action in actions and one.requested_time >= since)
    return next(times, None)
