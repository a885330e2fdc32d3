"""Archive: move the oldest instants from the active timeline to the history.

A table service in the shape of the others: `archive_bounds` finds out what has to stay, `timeline.archivable` decides,
`timeline.archiving` does it. It has no instant of its own: an instant is in the history before it leaves the active
timeline, so whatever step is the last, the next archiving goes on from there. It all happens under the table lock.
Start at `archive_table`.

Spec: format/timeline 4; reliability 1.5.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.state import metadata_state
from pyhudi.metadata.table.compaction import DELTA_COMMITS
from pyhudi.options import MOST, between, option
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.display import facts_html
from pyhudi.queries.slices import require_named_files
from pyhudi.services.clean.plan import HELD
from pyhudi.services.clean.retention import retention_of
from pyhudi.services.clean.scope import earliest_for
from pyhudi.services.compact.trigger import deltas_to_retain
from pyhudi.services.service import ServiceCall, require_unchanged
from pyhudi.state.config import TableType
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.archivable import ArchiveBounds, plan_archive
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.cleaning import CleanMetadata
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.pins import pinned_points
from pyhudi.timeline.view import Timeline, completed_writes, pending_instants
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import require_lease

_log = logging.getLogger("pyhudi.actions")

__all__ = ["KEEP_LEAST", "KEEP_MOST", "ArchiveResult", "archive_bounds", "archive_table", "is_archive_due"]

AUTOMATIC: Final = option(
    "hoodie.archive.automatic",
    True,
    "The timeline is archived after each write that makes it too long.",
)
KEEP_LEAST: Final = option(
    "hoodie.keep.min.commits", 20, "So many commits stay on the active timeline at least.", parse=between(1, MOST)
)
KEEP_MOST: Final = option(
    "hoodie.keep.max.commits", 30, "With more commits than this the oldest are archived.", parse=between(1, MOST)
)
BEYOND_SAVEPOINT: Final = option(
    "hoodie.archive.beyond.savepoint",
    False,
    "Commits later than a savepoint are archived too, all but the one that it keeps.",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ArchiveResult:
    """What was archived, or would be."""

    instants: tuple[str, ...]
    """Requested times of the commits, cleans and rollbacks."""

    def __str__(self) -> str:
        """Describe it in one line."""
        if not self.instants:
            return "nothing to archive"
        return f"archive {len(self.instants)} instants: {self.instants[0]} to {self.instants[-1]}"

    def __repr__(self) -> str:
        """Show how many; `instants` has them."""
        return f"ArchiveResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return facts_html("archive", {"instants": len(self.instants), "range": str(self)})


def is_archive_due(call: ServiceCall, timeline: Timeline) -> bool:
    """Return whether there are more commits than may stay, and any that may go.   Cost: nothing with few commits."""
    if not call.settings.get(AUTOMATIC) or len(timeline.completed) <= call.settings.get(KEEP_MOST):
        return False
    return bool(plan_archive(timeline, archive_bounds(call, timeline)))


def archive_table(call: ServiceCall, *, is_dry_run: bool = False) -> ArchiveResult:
    """Archive now what may be, whether that is due or not; a dry run only returns what.

    Nothing is archived of a table whose metadata table lacks what its commits wrote: only they tell.

    Locks:  takes the table lock.
    Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; StorageUnavailable; CorruptData naming a
            file that a commit wrote and that is not there.
    """
    if is_dry_run:
        timeline = load_timeline(call.state)
        return _result(plan_archive(timeline, archive_bounds(call, timeline)))
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        timeline = decided_timeline(call.state)
        chosen = plan_archive(timeline, archive_bounds(call, timeline))
        chosen = chosen if _are_told(call, timeline, chosen) else ()
        archive_instants(call.state, chosen, call.settings, partial(require_lease, lease))
    result = _result(chosen)
    if chosen and call.owner is None:
        _log.info("table %s: %s", call.state.config.name, result)
    return result


def _are_told(call: ServiceCall, timeline: Timeline, chosen: Sequence[Instant]) -> bool:
    """Return whether the metadata table, where there is one, lists what commits wrote that are about to be archived.

    Cost: a listing of the partitions that they wrote to, and as `require_named_files`.
    """
    written = [timeline.completed[one.requested_time] for one in chosen if one.requested_time in timeline.completed]
    partitions = {where for one in written for where in read_commit_metadata(call.state, one).stats}
    index = file_index(call.state, timeline, is_checked=call.owner is None and call.settings.get(CHECK_FILES))
    require_named_files(index, map(PartitionPath, partitions))
    if index.is_listed:
        _log.warning("nothing of %s is archived until `table.repair()` builds it anew", METADATA_TABLE_PATH)
    return not index.is_listed


def archive_bounds(call: ServiceCall, timeline: Timeline) -> ArchiveBounds:
    """Find out what has to stay on the active timeline.

    Cost: a listing of pins, and a read of the last clean; a listing of the metadata table's timeline, where there is
          one, or of the timeline of the table that a metadata table belongs to.
    """
    state, settings = call.state, call.settings
    last = last_clean(state, timeline)
    earliest = earliest_for(state, timeline, retention_of(settings), last)
    least = settings.get(KEEP_LEAST)
    return ArchiveBounds(
        keep_least=least,
        keep_most=max(least, settings.get(KEEP_MOST)),
        is_beyond_savepoint=settings.get(BEYOND_SAVEPOINT),
        retained=None if earliest is None else earliest.requested_time,
        replaced_since=_replaced_since(timeline, last),
        deltas_to_compact=_deltas_to_compact(call),
        has_metadata_table=bool(state.config.metadata_partitions),
        metadata_compacted=_metadata_compacted(state),
        data_timeline_from=None if call.owner is None else _begin_of(load_timeline(call.owner)),
        pinned=min(pinned_points(state), default=None),
    )


def _metadata_compacted(state: TableState) -> InstantTime | None:
    """Return the last compaction of the metadata table: what its logs tell counts by the timeline of the table."""
    if not state.config.metadata_partitions:
        return None
    done = load_timeline(metadata_state(state)).completed.values()
    return max((one.requested_time for one in done if one.action is Action.COMMIT), default=None)


def _begin_of(timeline: Timeline) -> InstantTime | None:
    """Return the first commit of a timeline, or an earlier pending instant."""
    pending = (one.requested_time for one in pending_instants(timeline))
    return min((one for one in (timeline.first_write, *pending) if one is not None), default=None)


def _deltas_to_compact(call: ServiceCall) -> int | None:
    """Return how many delta commits are counted until a compaction is due; None for a table without logs."""
    if call.owner is not None:
        return call.settings.get(DELTA_COMMITS)
    is_compacted = call.state.config.table_type is TableType.MERGE_ON_READ
    return deltas_to_retain(call.settings) if is_compacted else None


def _replaced_since(timeline: Timeline, last: CleanMetadata | None) -> InstantTime | None:
    """Return the instant from which on replaced files may still be there; None: from the first on.

    What a replacecommit took away is only known while it is active: without it these rows would be back.
    """
    if last is None or HELD in (last.extra or {}):
        return None
    until = last.earliest or last.last_completed
    replacing = (one for one in completed_writes(timeline) if one.action is Action.REPLACECOMMIT)
    late = [one.requested_time for one in replacing if timeline.point(one) >= until]
    return min([InstantTime(until), *late])


def _result(instants: tuple[Instant, ...]) -> ArchiveResult:
    return ArchiveResult(instants=tuple(str(one.requested_time) for one in instants))
