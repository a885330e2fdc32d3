"""Did somebody who finished meanwhile touch what we touch? Pure decisions over commit metadata.

Start at `find_conflict`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation

__all__ = ["Footprint", "Overlap", "find_conflict", "footprint"]

_OVERWRITES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE})
"""They take partitions over also where nothing was stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What one action touches."""

    groups: frozenset[FileGroupId]
    """File groups that it writes or replaces."""
    overwritten: frozenset[PartitionPath]
    """Partitions whose whole content it replaces: any other write to them is lost by it."""
    partitions: frozenset[PartitionPath]
    """Partitions that it writes to or replaces something in."""
    is_whole_table: bool
    """It replaces everything."""


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
    partitions = frozenset(PartitionPath(partition) for partition in {*metadata.stats, *replaced})
    return Footprint(
        groups=frozenset(groups),
        overwritten=partitions if metadata.operation in _OVERWRITES else frozenset(map(PartitionPath, replaced)),
        partitions=partitions,
        is_whole_table=metadata.operation is WriteOperation.INSERT_OVERWRITE_TABLE,
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
        partitions = theirs.partitions if ours.is_whole_table else ours.overwritten & theirs.partitions
        if groups or partitions:
            return Overlap(instant=instant, groups=tuple(sorted(groups)), partitions=tuple(sorted(partitions)))
    return None
