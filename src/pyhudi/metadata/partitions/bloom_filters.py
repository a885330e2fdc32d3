"""The partition `bloom_filters`: the filter of record keys that each base file has in its footer.

A look-up of keys that asks it opens no footer. Logs have no filter. Start at `BloomFiltersKind`.

Spec: format/metadata-table 4.2, 5.3, 7.2, 8.9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.filter_records import (
    FileFilter,
    deleted_filters,
    file_filters,
    filter_of,
    filter_records,
    folded_filters,
)
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import (
    Clean,
    Commit,
    Comparison,
    FilesTold,
    Need,
    Stored,
    TaskRunner,
    asked_groups,
    in_tasks,
)
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import is_log
from pyhudi.options import Option, Settings, boolean, option
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage

__all__ = ["BLOOM_FILTERS", "BloomFiltersKind", "read_key_filters"]

BLOOM_FILTERS: Final = option(
    "hoodie.metadata.index.bloom.filter.enable",
    False,
    "A new metadata table has the bloom filters of the keys of each base file; given as true, an older one gets them by"
    " its next write.",
    parse=boolean,
)
BLOOM_GROUPS: Final = option(
    "hoodie.metadata.index.bloom.filter.file.group.count",
    4,
    "How many file groups the bloom filters of keys get when they are first built.",
)
_SIMPLE: Final = "SIMPLE"
"""The type of a filter whose footer does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomFiltersKind:
    """A record a base file that has a filter; at version 6, too."""

    name: str = MetadataPartition.BLOOM_FILTERS
    file_id_prefix: str = "bloom-filters"
    needs: frozenset[Need] = frozenset()
    enabled_by: Option[bool] = BLOOM_FILTERS
    is_defined: bool = False
    is_of_newest: bool = False
    is_by_partition: bool = False
    key_hash: KeyHash = SHARD_HASH
    rests_on: str | None = None

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return what the options say; a table whose keys are virtual has no filters."""
        return settings.get(BLOOM_FILTERS) and config.populates_meta_fields

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return what the options say."""
        return asked_groups(settings, BLOOM_GROUPS)

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the filters of the base files that were written."""
        return self._of_files(commit.state, commit.written, commit.run)

    def records_of_clean(self, clean: Clean) -> MetadataRecords:
        """Return that the filters of deleted files are gone."""
        return filter_records(self.name, deleted_filters(clean.deleted))

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> None:
        """Return nothing: logs have no filters."""

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the filters of all base files."""
        return self._of_files(stored.state, stored.files, stored.run)

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Keep the newest filter of each file."""
        return folded_filters(self.name, entries, table.state.config.table_version)

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison | None:
        """Return nothing: `queries.check_filters` compares filters with footers and keys."""

    def _of_files(
        self, state: TableState, files: Sequence[tuple[PartitionPath, str]], run: TaskRunner
    ) -> MetadataRecords:
        bases = [one for one in files if not is_log(one[1])]
        read = partial(read_key_filters, storage=state.storage)
        return filter_records(self.name, pa.concat_tables([file_filters([]), *in_tasks(read, bases, run)]))


def read_key_filters(files: Sequence[tuple[PartitionPath, str]], *, storage: Storage) -> pa.Table:
    """Read the filters of some base files, given by partition path and name; a file without one is left out. A task.

    Shape: as `file_filters`.
    Cost:  the footer of each file, several at once.
    """

    def read(file: tuple[PartitionPath, str]) -> list[FileFilter]:
        path = "/".join(filter(None, file))
        with naming_file(path), storage.open_input(path) as source:
            footer = base_file_footer(read_footer(source).key_values)
        return [filter_of(file, footer.bloom_type or _SIMPLE, footer.bloom_text)] if footer.bloom_text else []

    return file_filters([one for found in at_once(read, files).values() for one in found])
