"""Questions about a timeline that was read: what is visible, what is pending, what came between.

Pure: a `Timeline` is one frozen reading of the active instants, and every answer follows from it, except about
instants older than that: there `timeline.history` is asked. Nothing here reads storage. A *point* orders what readers
see: the completion time in layout 2, and in layout 1, whose completion times are file dates that a copy changes, the
requested time. Start at `Timeline`; `as_of` cuts it for time travel.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from enum import StrEnum
from typing import Final, Protocol

from pyhudi.errors import InstantNotFound, OptionError
from pyhudi.options import one_of, option
from pyhudi.state.layout import Layout
from pyhudi.timeline.clock import parse_time
from pyhudi.timeline.instant import FILE_ACTIONS, WRITE_ACTIONS, Action, Instant, InstantTime, is_instant_time
from pyhudi.timeline.metadata import CommitMetadata

__all__ = [
    "HOLLOW_COMMITS",
    "Archive",
    "HollowCommits",
    "Timeline",
    "as_of",
    "as_of_requested",
    "changed_between",
    "changed_between_requested",
    "completed_after",
    "completed_writes",
    "completion_of",
    "find_action",
    "find_instant",
    "first_pending_write",
    "hidden_writes",
    "hide",
    "is_committed",
    "latest_write",
    "newest_schema",
    "newest_time",
    "pending_instants",
    "replaced_file_groups",
    "require_not_taken_back",
    "resolve_as_of",
    "schema_changes",
    "timeline_of",
    "with_completed",
    "without",
]


class HollowCommits(StrEnum):
    """What an incremental read of layout 1 does when a pending instant lies before completed ones."""

    FAIL = "FAIL"
    BLOCK = "BLOCK"
    """Stop before the first pending one."""
    USE_TRANSITION_TIME = "USE_TRANSITION_TIME"
    """Order by the time the files say they were completed."""


HOLLOW_COMMITS: Final = option(
    "hoodie.read.timeline.holes.resolution.policy",
    "FAIL",
    "version 6: what an incremental read does when a pending instant lies before completed ones",
    parse=one_of(*HollowCommits),
    is_kept=False,
)


class Archive(Protocol):
    """What is known of instants that are older than the active timeline."""

    def was_committed(self, time: InstantTime) -> bool:
        """Return whether it was archived, and not taken back."""
        ...

    def completion_of(self, time: InstantTime) -> InstantTime | None:
        """Return when it was completed; None where that is not known."""
        ...

    def completed_after(self, point: InstantTime) -> Mapping[InstantTime, InstantTime]:
        """Return the writes that were completed later than a point: completion by requested time."""
        ...

    def replaced_after(self, time: InstantTime) -> Mapping[tuple[str, str], InstantTime]:
        """Return (partition path, file id) of what was replaced since a time, and the replacecommit that did it."""
        ...

    def was_taken_back(self, time: InstantTime) -> bool:
        """Return whether a rollback or restore names it, also an archived one, and nothing of it stands."""
        ...

    def commit(self, time: InstantTime) -> CommitMetadata | None:
        """Return what an archived write said; None where the history has none of this time."""
        ...


class _NoArchive:
    """Takes every older instant for an archived one, whose completion is not known."""

    def was_committed(self, time: InstantTime) -> bool:
        return True

    def completion_of(self, time: InstantTime) -> InstantTime | None:
        return None

    def completed_after(self, point: InstantTime) -> Mapping[InstantTime, InstantTime]:
        return {}

    def replaced_after(self, time: InstantTime) -> Mapping[tuple[str, str], InstantTime]:
        return {}

    def was_taken_back(self, time: InstantTime) -> bool:
        return False

    def commit(self, time: InstantTime) -> CommitMetadata | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The active instants as of one listing, one an action, by requested time.   Spec: format/timeline 2."""

    instants: tuple[Instant, ...]
    layout: Layout
    first_write: InstantTime | None
    """The first active write that no savepoint keeps on the timeline, else the last one: what is older was archived."""
    until: InstantTime | None = None
    """Set by `as_of`: later points are out of sight."""
    completed: dict[InstantTime, Instant] = field(repr=False, compare=False)
    """Completed writes by requested time."""
    pending_times: frozenset[InstantTime] = field(repr=False, compare=False)
    """Requested times of writes that are not completed, and of those that `as_of` hides."""
    archive: Archive = field(repr=False, compare=False)
    """Answers for instants older than `first_write`."""

    def point(self, instant: Instant) -> InstantTime:
        """Return where a completed instant stands in the order readers see."""
        if not self.layout.has_completion_times or instant.completion_time is None:
            return instant.requested_time
        return instant.completion_time


def timeline_of(instants: Iterable[Instant], layout: Layout, archive: Archive | None = None) -> Timeline:
    """Make a timeline of instants that were collapsed already; without an archive, older ones count as committed."""
    ordered = tuple(instants)
    savepoints = {one.requested_time for one in ordered if one.action is Action.SAVEPOINT}
    writes = [one for one in ordered if one.action in FILE_ACTIONS]
    times = [one.requested_time for one in writes]
    loose = [time for time in times if time not in savepoints]
    return Timeline(
        instants=ordered,
        layout=layout,
        first_write=min(loose or times[-1:], default=None),
        completed={one.requested_time: one for one in writes if one.is_completed},
        pending_times=frozenset(one.requested_time for one in writes if not one.is_completed),
        archive=archive or _NoArchive(),
    )


def completed_writes(timeline: Timeline) -> tuple[Instant, ...]:
    """Return the completed actions that put or take rows, by requested time."""
    return tuple(timeline.completed.values())


def pending_instants(timeline: Timeline) -> tuple[Instant, ...]:
    """Return every action that is not completed, by requested time."""
    return tuple(one for one in timeline.instants if not one.is_completed)


def hidden_writes(timeline: Timeline) -> frozenset[InstantTime]:
    """Return the requested times of the completed writes that a cut put out of sight."""
    return timeline.pending_times - {one.requested_time for one in pending_instants(timeline)}


def first_pending_write(timeline: Timeline) -> Instant | None:
    """Return the first action that may yet put or take rows; compactions and clusterings leave them as they are."""
    return next((one for one in timeline.instants if not one.is_completed and one.action in WRITE_ACTIONS), None)


def find_instant(timeline: Timeline, time: str) -> Instant | None:
    """Find the write with this requested time, in whatever state; else any action with it."""
    same = [one for one in timeline.instants if one.requested_time == time]
    return next((one for one in same if one.action in FILE_ACTIONS), same[0] if same else None)


def find_action(timeline: Timeline, time: str, action: Action) -> Instant | None:
    """Find the instant of this requested time and action; a savepoint has the time of the commit that it keeps."""
    found = (one for one in timeline.instants if one.requested_time == time)
    return next((one for one in found if one.comparable_action is action), None)


def latest_write(timeline: Timeline) -> Instant | None:
    """Return the completed write that became visible last."""
    return max(timeline.completed.values(), key=lambda one: (timeline.point(one), one.requested_time), default=None)


def newest_time(timeline: Timeline) -> InstantTime | None:
    """Return the latest time the timeline shows, requested or completed: what a new instant must be later than.

    File dates of layout 1 are left out: they are a host's clock and no part of the protocol.
    """
    requested = [one.requested_time for one in timeline.instants]
    if not timeline.layout.has_completion_times:
        return max(requested, default=None)
    return max(requested + [one.completion_time for one in timeline.instants if one.completion_time], default=None)


def is_committed(timeline: Timeline, time: InstantTime) -> bool:
    """Return whether what this instant wrote is visible.

    It is when the instant is a completed write, or older than the active timeline and not taken back: failed writes
    are rolled back before archival passes them. A pending instant is not, however old. Between active writes there may
    be archived ones too, where a savepoint kept the earlier from the archive, even one that was deleted since.

    Spec: format/timeline 6.2.
    """
    if time in timeline.completed:
        return True
    if timeline.first_write is None or time in timeline.pending_times:
        return False
    if timeline.until is not None and time > timeline.until:
        return False
    if time < timeline.first_write:
        return timeline.archive.was_committed(time)
    may_be_archived = timeline.until is not None or time < next(reversed(timeline.completed), "")
    return may_be_archived and timeline.archive.completion_of(time) is not None


def completion_of(timeline: Timeline, time: InstantTime) -> InstantTime | None:
    """Return when a committed write became visible, also where it was archived; None where that is not known."""
    done = timeline.completed.get(time)
    return timeline.archive.completion_of(time) if done is None else done.completion_time


def as_of(timeline: Timeline, point: InstantTime) -> Timeline:
    """Cut the timeline to what was visible at a point: see the module's first lines."""
    return _cut(timeline, point, {one.requested_time for one in _writes(timeline) if timeline.point(one) <= point})


def hide(timeline: Timeline, times: Iterable[InstantTime]) -> Timeline:
    """Put what archived instants wrote out of sight."""
    return replace(timeline, pending_times=timeline.pending_times.union(times))


def without(timeline: Timeline, times: Collection[InstantTime]) -> Timeline:
    """Put writes out of sight that are being taken back, also those that are gone already; pending ones stay so."""
    if not times:
        return timeline
    left = _cut(timeline, None, timeline.completed.keys() - times)
    return replace(left, pending_times=left.pending_times.union(times))


def as_of_requested(timeline: Timeline, time: InstantTime) -> Timeline:
    """Cut to the completed instants requested at or before a time: what Hudi's `as.of.instant` means."""
    return _cut(timeline, time, {one.requested_time for one in _writes(timeline) if one.requested_time <= time})


def with_completed(timeline: Timeline, done: Instant) -> Timeline:
    """Return a timeline with a write that was completed since it was read."""
    others = [
        one for one in timeline.instants if (one.requested_time, one.action) != (done.requested_time, done.action)
    ]
    ordered = sorted([*others, done], key=lambda one: (one.requested_time, one.action))
    return timeline_of(ordered, timeline.layout, timeline.archive)


def completed_after(timeline: Timeline, seen: frozenset[InstantTime]) -> tuple[Instant, ...]:
    """Return the completed writes that an earlier reading did not show as completed: the concurrent set."""
    return tuple(one for one in _writes(timeline) if one.requested_time not in seen)


def changed_between(timeline: Timeline, after: InstantTime | None, until: InstantTime | None) -> tuple[Instant, ...]:
    """Return the completed writes with a point in (after, until], in the order they became visible.

    Rows carry requested times, so filter them by the set of these instants' requested times, never by a range.

    Spec: format/timeline 6.3.
    """
    inside = [one for one in _writes(timeline) if _is_between(timeline.point(one), after, until)]
    return tuple(sorted(inside, key=lambda one: (timeline.point(one), one.requested_time)))


def changed_between_requested(
    timeline: Timeline, after: InstantTime | None, until: InstantTime | None, holes: HollowCommits
) -> tuple[Instant, ...]:
    """Return the writes of a layout-1 timeline in (after, until] by requested time, minding hollow commits.

    Raises: OptionError under FAIL when a write is pending that was requested before a completed one.
    """
    if holes is HollowCommits.USE_TRANSITION_TIME:
        inside = [one for one in _writes(timeline) if _is_between(one.completion_time or "", after, until)]
        return tuple(sorted(inside, key=lambda one: (one.completion_time or "", one.requested_time)))
    hollow = first_pending_write(timeline)
    visible = _writes(timeline)
    if hollow is not None and any(one.requested_time > hollow.requested_time for one in visible):
        if holes is HollowCommits.FAIL:
            raise OptionError(
                "a pending instant lies before completed ones; wait for it, or choose BLOCK or USE_TRANSITION_TIME",
                option=HOLLOW_COMMITS.key,
                pending=hollow.requested_time,
            )
        visible = [one for one in visible if one.requested_time < hollow.requested_time]
    return tuple(one for one in visible if _is_between(one.requested_time, after, until))


def replaced_file_groups(
    timeline: Timeline, metadata_of: Callable[[Instant], CommitMetadata]
) -> dict[tuple[str, str], InstantTime]:
    """Map each replaced (partition path, file id) to the replacecommit that took it away.

    A replacecommit is archived when its files were cleaned, but for those that a savepoint keeps.

    Cost: one call of `metadata_of` for each completed replacecommit; where savepoints are, the history since the first.
    """
    savepoints = [one.requested_time for one in timeline.instants if one.action is Action.SAVEPOINT]
    replaced: dict[tuple[str, str], InstantTime] = {}
    for instant in _writes(timeline):
        if instant.action is not Action.REPLACECOMMIT:
            continue
        for partition, file_ids in (metadata_of(instant).replaced or {}).items():
            for file_id in file_ids:
                replaced.setdefault((partition, file_id), instant.requested_time)
    return replaced if not savepoints else {**timeline.archive.replaced_after(min(savepoints)), **replaced}


def schema_changes(
    timeline: Timeline, instants: Iterable[Instant], metadata_of: Callable[[Instant], CommitMetadata]
) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Yield those of these commits that may have changed the table's columns, newest first, with what they say.

    Table services are passed over: one that was planned before a write and completed after it has older columns.

    Cost: one call of `metadata_of` for each commit down to where the caller stops.
    """
    for instant in sorted(instants, key=timeline.point, reverse=True):
        metadata = metadata_of(instant)
        if metadata.can_change_columns:
            yield instant, metadata


def newest_schema(
    timeline: Timeline, instants: Iterable[Instant], metadata_of: Callable[[Instant], CommitMetadata]
) -> tuple[str, InstantTime | None]:
    """Return the Avro schema that the newest of these commits says, and that commit's time; none of a table service."""
    for instant, metadata in schema_changes(timeline, instants, metadata_of):
        if metadata.extra.get("schema"):
            return metadata.extra["schema"], instant.requested_time
    return "", None


def resolve_as_of(timeline: Timeline, given: str | datetime | date, zone: tzinfo) -> Instant:
    """Find the completed write that a user's `as_of`, `after` or `until` means.

    Text that is an instant means that instant. Anything else is wall time in the timeline's zone, and means the write
    that became visible last at or before it. In layout 1 requested times stand for completion.

    Cost:   what `require_not_taken_back` costs.
    Raises: InstantNotFound where the instant is pending, or was taken back, or nothing was visible yet; InvalidInput
            for other text.
    """
    if isinstance(given, str):
        named = find_instant(timeline, given)
        if named is not None and named.requested_time in timeline.completed:
            return timeline.completed[named.requested_time]
        if named is not None and named.action in FILE_ACTIONS:
            raise InstantNotFound("this instant is not completed", instant=given, state=str(named.state))
        require_not_taken_back(timeline, given)
    time = parse_time(given, zone)
    visible = [one for one in _writes(timeline) if timeline.point(one) <= time]
    if not visible:
        raise InstantNotFound("nothing was committed at or before this time", time=time, given=str(given))
    return max(visible, key=lambda one: (timeline.point(one), one.requested_time))


def require_not_taken_back(timeline: Timeline, given: str) -> None:
    """Refuse the name of a write that a rollback or restore has taken back: it is no time.

    Cost:   nothing for text that is no instant, or that the timeline shows; else that of `Archive.was_taken_back`.
    Raises: InstantNotFound.
    """
    time = InstantTime(given)
    if not is_instant_time(given) or time in timeline.completed:
        return
    is_being_restored = time in timeline.pending_times and find_instant(timeline, given) is None
    if is_being_restored or timeline.archive.was_taken_back(time):
        raise InstantNotFound(
            "this instant was taken back by a rollback or restore; name another, or give a time in words", instant=given
        )


def _writes(timeline: Timeline) -> list[Instant]:
    return list(timeline.completed.values())


def _cut(timeline: Timeline, until: InstantTime | None, kept: AbstractSet[InstantTime]) -> Timeline:
    hidden = timeline.completed.keys() - kept
    return replace(
        timeline,
        instants=tuple(one for one in timeline.instants if one.requested_time not in hidden),
        until=min((one for one in (until, timeline.until) if one is not None), default=None),
        completed={time: one for time, one in timeline.completed.items() if time in kept},
        pending_times=timeline.pending_times | hidden,
    )


def _is_between(time: str, after: str | None, until: str | None) -> bool:
    return (after is None or time > after) and (until is None or time <= until)
