"""Which file groups of a planned table service others have replaced or compacted since: nothing is left to do there.

What would be written for them is seen by no reader, or, of a log compaction, lies on top of what is newer. Start at
`find_superseded`.

Spec: format/timeline 3.4, 8.2.
"""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Final

from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.codec import CompactionOperation
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, replaced_file_groups
from pyhudi.txn.conflicts import Footprint, find_overlaps, footprint, rules_for

__all__ = ["find_superseded", "operation_group"]

_log: Final = logging.getLogger("pyhudi.actions")


def find_superseded(
    state: TableState, timeline: Timeline, settings: Settings, instant: Instant, ours: Footprint
) -> dict[FileGroupId, InstantTime]:
    """Return the groups of a plan that are to be left out, each with the instant that took it; says so in the log.

    `ours` is what the plan touches.

    Cost: a read of each replacecommit, and of each commit that was completed since the plan was made.
    """
    named = replaced_file_groups(timeline, partial(read_commit_metadata, state))
    found = {group: named[key] for group in ours.groups if (key := (group.partition, group.file_id)) in named}
    since = {one.requested_time: footprint(read_commit_metadata(state, one)) for one in _since(timeline, instant)}
    for overlap in find_overlaps(instant.requested_time, ours, since, rules_for(settings, state)):
        found |= dict.fromkeys(overlap.groups, overlap.instant)
    for group, other in sorted(found.items()):
        _log.warning(
            "%s %s leaves out %s/%s: %s has changed it since it was planned",
            *(instant.action, instant.requested_time, group.partition, group.file_id, other),
        )
    return found


def operation_group(operation: CompactionOperation) -> FileGroupId:
    """Return the file group that an operation is about."""
    return FileGroupId(partition=PartitionPath(operation.partition), file_id=FileId(operation.file_id))


def _since(timeline: Timeline, instant: Instant) -> Iterator[Instant]:
    return (one for one in completed_writes(timeline) if timeline.point(one) > instant.requested_time)
