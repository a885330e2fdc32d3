"""The kinds of metadata partition that pyhudi keeps up. Start at `KINDS`."""

from collections.abc import Iterable
from typing import Final

from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import Need, PartitionKind
from pyhudi.metadata.partitions.column_stats import ColumnStatsKind
from pyhudi.metadata.partitions.files import FilesKind
from pyhudi.metadata.partitions.partition_stats import PartitionStatsKind
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig

__all__ = ["KINDS", "first_partitions", "kind_of", "kinds_of", "need_footers"]

KINDS: Final[tuple[PartitionKind, ...]] = (FilesKind(), ColumnStatsKind(), PartitionStatsKind())
"""In the order in which they are built."""
_BY_NAME: Final = {kind.name: kind for kind in KINDS}


def kind_of(partition: str) -> PartitionKind:
    """Return the kind of a partition that pyhudi keeps up."""
    return _BY_NAME[MetadataPartition(partition)]


def kinds_of(partitions: Iterable[str]) -> tuple[PartitionKind, ...]:
    """Return the kinds among some partitions, in the order in which they are built; others are left out."""
    names = set(partitions)
    return tuple(kind for kind in KINDS if kind.name in names)


def first_partitions(config: TableConfig, settings: Settings) -> tuple[MetadataPartition, ...]:
    """Return the partitions that a new metadata table gets."""
    return tuple(kind.name for kind in KINDS if kind.is_first(config, settings))


def need_footers(partitions: Iterable[str]) -> bool:
    """Return whether a partition among some needs the statistics of files."""
    return any(Need.FOOTERS in kind.needs for kind in kinds_of(partitions))
