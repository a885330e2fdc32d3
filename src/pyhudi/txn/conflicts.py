"""Did somebody who finished meanwhile touch what we touch? Pure decisions over commit metadata.

Start at `find_conflict`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata

__all__ = ["Footprint", "Overlap", "find_conflict", "footprint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What one action touches."""

    groups: frozenset[FileGroupId]
    """File groups that it writes or replaces."""
    overwritten: frozenset[PartitionPath]
    """Partitions whose whole content it replaces: any other write to them is lost by it."""
    partitions: frozenset[PartitionPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Why two actions cannot both stand."""

    instant: InstantTime
    """The other action's requested time."""
    groups: tuple[FileGroupId, ...]
    partitions: tuple[PartitionPath, ...]


def footprint(metadata: CommitMetadata) -> Footprint:
    """Take what an action touches from its commit metadata."""
    groups = {
        FileGroupId(partition=PartitionPath(partition), file_id=FileId(stat.file_id))
        for partition, stats in metadata.stats.items()
        for stat in stats
        if stat.file_id
    }
    replaced = metadata.replaced or {}
    groups |= {
        FileGroupId(partition=PartitionPath(partition), file_id=FileId(file_id))
        for partition, file_ids in replaced.items()
        for file_id in file_ids
    }
    return Footprint(
        groups=frozenset(groups),
        overwritten=frozenset(PartitionPath(partition) for partition in replaced),
        partitions=frozenset(PartitionPath(partition) for partition in {*metadata.stats, *replaced}),
    )


def find_conflict(ours: Footprint, concurrent: Mapping[InstantTime, Footprint]) -> Overlap | None:
    """Compare our action with those that completed since our snapshot, in order of their instants.

    They conflict where both write one file group, or where we replace a partition that the other has written to: its
    rows would vanish although it was told that they are there.

    Spec: Writer Expectations 3.2, 3.3 (checks C2 and C4).
    """
    for instant in sorted(concurrent):
        theirs = concurrent[instant]
        groups = ours.groups & theirs.groups
        partitions = ours.overwritten & theirs.partitions
        if groups or partitions:
            return Overlap(instant=instant, groups=tuple(sorted(groups)), partitions=tuple(sorted(partitions)))
    return None
