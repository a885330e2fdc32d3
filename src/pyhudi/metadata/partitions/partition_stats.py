"""The partition `partition_stats`: bounds that enclose the columns of each partition. Start at `PartitionStatsKind`.

Spec: format/metadata-table 5.2, 7.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.keys import stats_keys
from pyhudi.metadata.names import MetadataPartition, RecordKind
from pyhudi.metadata.partitions.api import Clean, Commit, Comparison, FilesTold, Need, Stored, asked_groups
from pyhudi.metadata.partitions.column_stats import COLUMN_STATS
from pyhudi.metadata.reader import Entries, Wanted, read_entries
from pyhudi.metadata.records import MetadataRecords, stats_records
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.metadata.stats.retyping import retyped
from pyhudi.metadata.stats.tightening import tightened
from pyhudi.options import Option, Settings, option
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import layout_of

__all__ = ["PARTITION_STATS", "PartitionStatsKind"]

PARTITION_STATS: Final = option(
    "hoodie.metadata.index.partition.stats.enable",
    True,
    "A new metadata table has statistics of partitions, where it has those of columns.",
)
PARTITION_STATS_GROUPS: Final = option(
    "hoodie.metadata.index.partition.stats.file.group.count",
    1,
    "How many file groups partition statistics get when they are first built.",
)


@dataclass(frozen=True, slots=True)
class PartitionStatsKind:
    """A record a partition and column, widened by each commit and made tight again by compaction."""

    name: str = MetadataPartition.PARTITION_STATS
    file_id_prefix: str = "partition-stats"
    needs: frozenset[Need] = frozenset({Need.FOOTERS})
    enabled_by: Option[bool] = PARTITION_STATS
    is_defined: bool = False
    is_of_newest: bool = True
    is_by_partition: bool = False
    key_hash: KeyHash = SHARD_HASH
    rests_on: str | None = None

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return what the options say, for a table that has partitions."""
        can_have = layout_of(config.table_version).has_partition_stats and bool(config.partition_fields)
        return can_have and settings.get(COLUMN_STATS) and settings.get(PARTITION_STATS)

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return what the options say."""
        return asked_groups(settings, PARTITION_STATS_GROUPS)

    def records(self, stats: pa.Table) -> MetadataRecords:
        """Return the records of statistics.   Shape: `column_stats_schema`, of partitions."""
        return stats_records(self.name, RecordKind.PARTITION_STATS, _keys(stats), stats)

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the bounds of the files that were written, which widen those of their partitions.

        They need no look at other files, and enclose whatever other writers add.
        """
        whole = _widening(commit.footers, commit.state.config.table_version)
        return self.records(retyped(commit.state, whole, commit.schema) if commit.schema else whole)

    def records_of_clean(self, clean: Clean) -> None:
        """Return nothing: the bounds enclose what is left."""

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> None:
        """Return nothing: a log that a rollback leaves adds no rows."""

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the bounds of all files."""
        return self.records(_widening(stored.footers, stored.table_version))

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Merge the bounds of each partition and column, and make them tight where files have statistics, too."""
        keys, stats = folded_stats(entries, table.state.config.table_version)
        records = stats_records(self.name, RecordKind.PARTITION_STATS, keys, stats)
        return tightened(table, records) if MetadataPartition.COLUMN_STATS in table.partitions else records

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison:
        """Put the bounds of partitions beside the footers of their newest files."""
        version = table.state.config.table_version
        whole = pc.binary_join_element_wise(told.footers.column("partition"), told.footers.column("fileName"), "/")
        paths = pc.replace_substring_regex(whole, "^/", "")
        actual = partition_stats(told.footers.filter(pc.is_in(paths, told.newest)), version)
        keys, stored = folded_stats(read_entries(table, self.name, Wanted()), version)
        return Comparison(stored_keys=keys, stored=stored, actual_keys=_keys(actual), actual=actual)


def _keys(stats: pa.Table) -> pa.Array:
    return stats_keys(*(stats.column(name).combine_chunks() for name in ("columnName", "partition")))


def _widening(footers: pa.Table, table_version: int) -> pa.Table:
    filled = footers.filter(pc.greater(footers.column("valueCount"), 0))
    return partition_stats(filled, table_version, is_all=False)
