"""The partition `files`: which partitions a table has, and which files each has. Start at `FilesKind`.

Spec: format/metadata-table 5.1, 7.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.file_entries import file_entries, files_of_commit, fold_files
from pyhudi.metadata.keys import ALL_PARTITIONS
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import Clean, Commit, FilesTold, Need, Stored
from pyhudi.metadata.reader import Entries, file_entries_of
from pyhudi.metadata.records import MetadataRecords, files_records
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig

__all__ = ["FilesKind"]


@dataclass(frozen=True, slots=True)
class FilesKind:
    """Every metadata table has it, in one file group."""

    name: str = MetadataPartition.FILES
    file_id_prefix: str = "files"
    needs: frozenset[Need] = frozenset()
    enabled_by: None = None
    is_defined: bool = False
    is_of_newest: bool = False
    is_by_partition: bool = False
    key_hash: KeyHash = SHARD_HASH
    rests_on: str | None = None

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return that each new metadata table gets it."""
        return True

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return that there is one."""
        return 1

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the partitions that a commit touched, and the files that it wrote there."""
        return files_records(files_of_commit(commit.metadata))

    def records_of_clean(self, clean: Clean) -> MetadataRecords:
        """Return tombstones of names and of partitions that are gone."""
        return files_records(file_entries((), {}, deleted=clean.deleted, deleted_partitions=clean.dropped))

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> MetadataRecords:
        """Return the log files that a rollback wrote or left."""
        return files_records(file_entries(appended, appended))

    def build(self, stored: Stored) -> MetadataRecords:
        """Return what was listed."""
        return files_records(file_entries(stored.partitions, stored.sizes), [ALL_PARTITIONS])

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Merge names; below a base file there is nothing that a tombstone could take away."""
        return files_records(fold_files(*file_entries_of(entries, table.state.config.table_version)))

    def check(self, table: MetadataTable, told: FilesTold) -> None:
        """Return nothing: `queries.check` compares it with a listing."""
