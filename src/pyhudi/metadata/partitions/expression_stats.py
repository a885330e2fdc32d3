"""A partition `expr_index_<name>` of column statistics: bounds of what a function makes of a column.

A record a file, and one a partition that encloses them. Start at `ExpressionStatsKind`.

Spec: format/metadata-table 3.7, 5.6, 8.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.expressions import expression_of
from pyhudi.metadata.keys import bounds_keys, stats_keys
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.partitions.api import Clean, Commit, Stored, TaskRunner, in_tasks
from pyhudi.metadata.partitions.defined import DefinedKind
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords, stats_records
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import column_stats_schema, deleted_stats
from pyhudi.metadata.stats.expression_stats import read_expression_stats
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState

__all__ = ["ExpressionStatsKind"]

_CHANGE_LOG: Final = ".cdc"
_KEY_OF_FILE: Final = 48
"""Characters; those of partitions are shorter."""


@dataclass(frozen=True, slots=True)
class ExpressionStatsKind(DefinedKind):
    """A record a file and one a partition, also of a table without partitions, as Apache Hudi has them."""

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the bounds of the files that were written, which widen those of their partitions."""
        return self._of_files(commit.state, commit.written, commit.schema, commit.run)

    def records_of_clean(self, clean: Clean) -> MetadataRecords:
        """Return that the bounds of deleted files are gone."""
        gone = [
            (where, name) for where, names in clean.deleted.items() for name in names if not name.endswith(_CHANGE_LOG)
        ]
        return self._records(deleted_stats(gone, self.definition.fields, clean.table_version), None)

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the bounds of all files."""
        return self._of_files(stored.state, stored.files, stored.schema, stored.run)

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Merge the bounds of each file and of each partition."""
        keys, stats = folded_stats(entries, table.state.config.table_version)
        records = stats_records(self.name, RecordKind.COLUMN_STATS, keys, stats)
        is_of_file = pc.greater_equal(pc.utf8_length(keys), _KEY_OF_FILE)
        kinds = pc.if_else(is_of_file, RecordKind.COLUMN_STATS, RecordKind.PARTITION_STATS)
        return replace(records, kinds=kinds.cast(pa.int32()))

    def _of_files(
        self, state: TableState, files: Sequence[tuple[PartitionPath, str]], schema: str | None, run: TaskRunner
    ) -> MetadataRecords:
        version, column = state.config.table_version, self.definition.fields[0]
        nothing = column_stats_schema(version).empty_table()
        columns = avro_to_arrow(schema) if schema else pa.schema([])
        if column not in columns.names:  # dropped since, or nothing was written yet
            return self._records(nothing, None)
        read = partial(
            read_expression_stats,
            storage=state.storage,
            expression=expression_of(self.definition),
            source=columns.field(column),
            table_version=version,
        )
        told = pa.concat_tables([nothing, *in_tasks(read, files, run)]).combine_chunks()
        filled = told.filter(pc.greater(told.column("valueCount"), 0))
        return self._records(told, partition_stats(filled, version, is_all=False))

    def _records(self, files: pa.Table, partitions: pa.Table | None) -> MetadataRecords:
        names = ("columnName", "partition", "fileName")
        of_files = stats_records(
            self.name,
            RecordKind.COLUMN_STATS,
            stats_keys(*(files.column(name).combine_chunks() for name in names)),
            files,
        )
        if partitions is None or not partitions.num_rows:
            return of_files
        of_partitions = stats_records(
            self.name,
            RecordKind.PARTITION_STATS,
            bounds_keys(*(partitions.column(name).combine_chunks() for name in names[:2])),
            partitions,
        )
        return replace(
            of_files,
            keys=pa.concat_arrays([of_files.keys, of_partitions.keys]),
            kinds=pa.concat_arrays([of_files.kinds, of_partitions.kinds]),
            values=pa.concat_arrays([of_files.values, of_partitions.values]),
        )
