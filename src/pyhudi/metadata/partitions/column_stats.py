"""The partition `column_stats`: bounds and counts of the columns of each file. Start at `ColumnStatsKind`.

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
from pyhudi.metadata.reader import Entries, Wanted, read_entries
from pyhudi.metadata.records import MetadataRecords, stats_records
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import deleted_stats
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.options import Option, Settings, option
from pyhudi.state.config import TableConfig

__all__ = ["COLUMN_STATS", "ColumnStatsKind", "columns_with_stats"]

COLUMN_STATS: Final = option(
    "hoodie.metadata.index.column.stats.enable",
    True,
    "A new metadata table has statistics of columns.",
)
COLUMN_STATS_GROUPS: Final = option(
    "hoodie.metadata.index.column.stats.file.group.count",
    2,
    "How many file groups column statistics get when they are first built.",
)
_CHANGE_LOG: Final = ".cdc"


@dataclass(frozen=True, slots=True)
class ColumnStatsKind:
    """A record a file and column; at version 6, too, though its releases have none by default.

    Where Apache Hudi 1.2.0 adds them there while a plan is pending, it leaves its own commits out of `files`.
    """

    name: str = MetadataPartition.COLUMN_STATS
    file_id_prefix: str = "col-stats"
    needs: frozenset[Need] = frozenset({Need.FOOTERS})
    enabled_by: Option[bool] = COLUMN_STATS
    is_defined: bool = True
    is_of_newest: bool = False
    is_by_partition: bool = False
    key_hash: KeyHash = SHARD_HASH
    rests_on: str | None = None

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return what the options say."""
        return settings.get(COLUMN_STATS)

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return what the options say."""
        return asked_groups(settings, COLUMN_STATS_GROUPS)

    def records(self, stats: pa.Table) -> MetadataRecords:
        """Return the records of statistics.   Shape: `column_stats_schema`."""
        return stats_records(self.name, RecordKind.COLUMN_STATS, _keys(stats), stats)

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the statistics of the files that were written."""
        return self.records(commit.footers)

    def records_of_clean(self, clean: Clean) -> MetadataRecords | None:
        """Return that the statistics of deleted files are gone."""
        if not clean.columns:
            return None
        gone = [
            (where, name) for where, names in clean.deleted.items() for name in names if not name.endswith(_CHANGE_LOG)
        ]
        return self.records(deleted_stats(gone, clean.columns, clean.table_version))

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> None:
        """Return nothing: a log that a rollback leaves adds no rows."""

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the statistics of all files."""
        return self.records(stored.footers)

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Merge the statistics of each file and column."""
        keys, stats = folded_stats(entries, table.state.config.table_version)
        return stats_records(self.name, RecordKind.COLUMN_STATS, keys, stats)

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison:
        """Put the statistics of files beside their footers."""
        keys, stored = folded_stats(read_entries(table, self.name, Wanted()), table.state.config.table_version)
        return Comparison(stored_keys=keys, stored=stored, actual_keys=_keys(told.footers), actual=told.footers)


def columns_with_stats(table: MetadataTable) -> list[str] | None:
    """Name the columns that have statistics; None in a metadata table without them.   Cost: the whole partition."""
    if MetadataPartition.COLUMN_STATS not in table.partitions:
        return None
    entries = read_entries(table, MetadataPartition.COLUMN_STATS, Wanted())
    _, stored = folded_stats(entries, table.state.config.table_version)
    columns: list[str] = pc.unique(stored.column("columnName")).to_pylist()
    return columns


def _keys(stats: pa.Table) -> pa.Array:
    return stats_keys(*(stats.column(name).combine_chunks() for name in ("columnName", "partition", "fileName")))
