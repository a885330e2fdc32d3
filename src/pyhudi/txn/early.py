"""Find a conflict before anything is written: in what others have marked or announced, and in what was completed.

The same conflicts are found when a write commits; found here they cost no files. Start at `require_no_rival`.

Spec: format/timeline 7 (early conflict detection).
"""

from typing import Final

from pyhudi.errors import FileMissing
from pyhudi.filegroup.model import FileGroupId, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.instant import WRITE_ACTIONS, Instant, InstantTime, State
from pyhudi.timeline.view import Timeline, pending_instants
from pyhudi.txn.checks import conflict_of, overlap_conflict, read_concurrent
from pyhudi.txn.conflicts import Footprint, find_overlaps, footprint, footprints, rules_for
from pyhudi.txn.recovery.heartbeat import Liveness, liveness
from pyhudi.txn.recovery.markers import marked_files, marked_logs

__all__ = ["EARLY_DETECTION", "require_no_rival", "require_untouched"]

EARLY_DETECTION: Final = option(
    "hoodie.write.concurrency.early.conflict.detection.enable",
    False,
    "Look for writers of the same file groups, by their markers and announcements, before anything is written.",
)


def require_untouched(
    state: TableState, time: InstantTime, before: Timeline, ours: Footprint, settings: Settings
) -> None:
    """Refuse to start on file groups that another commit wrote since we looked.

    Cost:   one listing of the timeline.
    Raises: WriteConflict.
    """
    concurrent = read_concurrent(state, time, before, load_timeline(state))
    for overlap in find_overlaps(time, ours, footprints(concurrent), rules_for(settings, state)):
        raise overlap_conflict(time, overlap)


def require_no_rival(state: TableState, time: InstantTime, ours: Footprint, settings: Settings) -> None:
    """Refuse to start on file groups that a living writer, which began before us, is writing.

    Cost:   one listing of the timeline, and for each such writer its announcement and a listing of markers.
    Raises: WriteConflict; its value `pending` is the other's instant.
    """
    underway = {one.requested_time: _announced(state, one) for one in _rivals(state, time, settings)}
    for overlap in find_overlaps(time, ours, underway, rules_for(settings, state)):
        text = "another write of the same file groups is under way; write again when it is over"
        raise conflict_of(text, time, overlap, other="pending")


def _rivals(state: TableState, time: InstantTime, settings: Settings) -> list[Instant]:
    """Return the living writers that began before us: of two rivals only the later gives way."""
    earlier = [
        one
        for one in pending_instants(load_timeline(state))
        if one.action in WRITE_ACTIONS and one.requested_time < time
    ]
    return [one for one in earlier if liveness(state, one.requested_time, settings) is Liveness.ALIVE]


def _announced(state: TableState, rival: Instant) -> Footprint:
    """Take what a writer under way touches from its workload profile and its markers."""
    groups: set[FileGroupId] = set()
    if rival.state is State.INFLIGHT:
        try:
            groups |= footprint(read_commit_metadata(state, rival)).groups
        except FileMissing:  # it is over
            return Footprint(groups=frozenset())
    for path in marked_files(state, rival.requested_time):
        partition, _, name = path.rpartition("/")
        file = parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
        if file is not None:
            groups.add(FileGroupId(partition=file.partition, file_id=file.file_id))
    for log in marked_logs(state, rival.requested_time):
        groups.add(FileGroupId(partition=log.partition, file_id=log.file_id))
    return Footprint(groups=frozenset(groups), partitions=frozenset(group.partition for group in groups))
