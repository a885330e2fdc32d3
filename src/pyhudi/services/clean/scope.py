"""What a clean has to look at: which partitions may hold outdated slices, and what must stay.

Reads the timeline's metadata; lists no partition but those it finds. Start at `clean_snapshot`.

Spec: format/timeline 10.1; reliability 1.5.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.slices import require_named_files
from pyhudi.services.clean.plan import BYTES, HELD, HELD_EVERYWHERE, SAVEPOINTS, VERSIONS_KEPT, CleanSnapshot
from pyhudi.services.clean.retention import INCREMENTAL, Retention, earliest_retained, pending_writes, retention_of
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata, read_service_metadata, timeline_zone
from pyhudi.timeline.cleaning import CleanMetadata
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.pins import pinned_points
from pyhudi.timeline.view import Timeline, completed_writes, replaced_file_groups
from pyhudi.txn.checks import planned_groups

__all__ = ["CleanScope", "clean_scope", "clean_snapshot", "earliest_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanScope:
    """Where outdated slices may be."""

    partitions: frozenset[PartitionPath] | None
    """None: anywhere."""
    commits_count: int
    """How many commits had to be read to know."""


def earliest_for(
    state: TableState, timeline: Timeline, retention: Retention, last: CleanMetadata | None
) -> Instant | None:
    """Return the earliest instant that a clean retains now; see `earliest_retained`."""
    cutoff = format_instant(state.env.now_ms() - retention.age_ms, timeline_zone(state))
    return earliest_retained(timeline, retention, cutoff, last.earliest if last is not None else "")


def clean_snapshot(
    state: TableState, timeline: Timeline, settings: Settings
) -> tuple[CleanSnapshot, CleanScope] | None:
    """Find out what a clean needs to know; None where the policy keeps everything.

    Locks: the table lock is held, so that nothing is completed or begun meanwhile; or it is a dry run.
    Cost:  a listing of each partition in scope, reads of the commits that the last clean has retained and this one does
           not, of savepoints and pending plans.
    Raises: CorruptData naming a file that a commit wrote and that is not there: an older one may be all that is left.
    """
    retention, last = retention_of(settings), last_clean(state, timeline)
    earliest = earliest_for(state, timeline, retention, last)
    if earliest is None and not retention.counts_versions:
        return None
    savepoints = _savepoints(state, timeline)
    scope = clean_scope(state, timeline, retention, earliest, last)
    is_everywhere = not settings.get(INCREMENTAL) or scope.partitions is None or _is_savepoint_gone(last, savepoints)
    index = file_index(state, timeline, is_checked=settings.get(CHECK_FILES))
    wanted = index.partitions() if is_everywhere else sorted(scope.partitions or ())
    require_named_files(index, wanted)
    snapshot = CleanSnapshot(
        timeline=timeline,
        retention=retention,
        earliest=earliest,
        files=index.files(wanted),
        partitions=wanted,
        replaced=replaced_file_groups(timeline, partial(read_commit_metadata, state)),
        moments=_moments(state, timeline),
        savepoints=savepoints,
        planned=frozenset(planned_groups(state, timeline)),
    )
    return snapshot, CleanScope(partitions=None, commits_count=0) if is_everywhere else scope


def clean_scope(
    state: TableState,
    timeline: Timeline,
    retention: Retention,
    earliest: Instant | None,
    last: CleanMetadata | None,
) -> CleanScope:
    """Return the partitions in which a commit superseded something since the last clean, and those it has held.

    What a clean may take was superseded by a commit that its predecessor has retained, or had not seen.

    Cost: a read of each of those commits, once a process.
    """
    since = _since(state, timeline, retention, last)
    if since is None:
        return CleanScope(partitions=None, commits_count=0)
    until = earliest.requested_time if earliest is not None else None
    passed = [
        one
        for one in completed_writes(timeline)
        if _seen_at(one, timeline, retention) >= since and (until is None or one.requested_time < until)
    ]
    found = {where for one in passed for where in _superseded_in(read_commit_metadata(state, one))}
    held = _held(last)
    if HELD_EVERYWHERE in held:
        return CleanScope(partitions=None, commits_count=len(passed))
    return CleanScope(partitions=frozenset(map(PartitionPath, found | held)), commits_count=len(passed))


def _seen_at(one: Instant, timeline: Timeline, retention: Retention) -> str:
    """Return the time that is compared with the last clean's: slices are counted as of when it was planned."""
    is_planned_by = retention.counts_versions and one.completion_time is not None
    return one.completion_time or "" if is_planned_by else timeline.point(one)


def _since(state: TableState, timeline: Timeline, retention: Retention, last: CleanMetadata | None) -> str | None:
    """Return the point from which on commits have to be looked at; None where some of them may be archived."""
    if last is None:
        return None if Past(state, ()).files() else ""
    extra = last.extra or {}
    if retention.counts_versions:
        return last.start_time if extra.get(VERSIONS_KEPT) == str(retention.versions) else None
    first = timeline.first_write or ""
    return last.earliest if last.earliest and last.earliest >= first else None


def _superseded_in(metadata: CommitMetadata) -> set[str]:
    """Return the partitions in which a commit hides older files: it replaced groups, or wrote a base file again."""
    found = set(metadata.replaced or ())
    for partition, stats in metadata.stats.items():
        is_compaction = metadata.operation is WriteOperation.COMPACT
        if is_compaction or any(not stat.is_log and stat.prev_commit not in {None, "null"} for stat in stats):
            found.add(partition)
    return found


def _held(last: CleanMetadata | None) -> set[str]:
    """Return the partitions in which the last clean left something that its policy would have taken."""
    text = ((last.extra if last is not None else None) or {}).get(HELD)
    if not text:
        return set()
    try:
        return set(json.loads(text))
    except (ValueError, TypeError):
        return {HELD_EVERYWHERE}


def _is_savepoint_gone(last: CleanMetadata | None, savepoints: Mapping[InstantTime, object]) -> bool:
    """Return whether a savepoint was deleted whose files a clean of Apache Hudi had to leave, wherever they are."""
    extra = (last.extra if last is not None else None) or {}
    named = set(filter(None, extra.get(SAVEPOINTS, "").split(",")))
    return BYTES not in extra and not named <= savepoints.keys()


def _moments(state: TableState, timeline: Timeline) -> frozenset[InstantTime]:
    """Return the points that have to stay readable: pinned ones, those of pending writes and of pending savepoints.

    At version 6 those of all savepoints: its order is that of requests, so that a clustering which was planned before
    a savepoint, and is completed behind it, is part of the moment, and its files are none that the savepoint names.
    """
    is_by_request = not timeline.layout.has_completion_times
    savepoints = [one for one in timeline.instants if one.action is Action.SAVEPOINT]
    wanted = [one for one in savepoints if is_by_request or not one.is_completed]
    saved = (timeline.completed.get(one.requested_time) for one in wanted)
    begun = (one.requested_time for one in pending_writes(timeline))
    return pinned_points(state).union(begun, (timeline.point(one) for one in saved if one is not None))


def _savepoints(state: TableState, timeline: Timeline) -> dict[InstantTime, Mapping[str, frozenset[str]]]:
    """Read which files each savepoint names.   Cost: a read of each."""
    done = [one for one in timeline.instants if one.action is Action.SAVEPOINT and one.is_completed]
    return {one.requested_time: _saved_files(state, one) for one in done}


def _saved_files(state: TableState, savepoint: Instant) -> Mapping[str, frozenset[str]]:
    try:
        said = read_service_metadata(state, savepoint).get("partitionMetadata") or {}
        return {where: frozenset(one["savepointDataFile"]) for where, one in said.items()}
    except FileMissing:  # deleted since the timeline was read
        return {}
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not savepoint metadata", file=savepoint.file_name) from error
