"""A partition `expr_index_<name>` of bloom filters: of what a function makes of a column, a filter a base file.

Logs have none: a file slice with logs may have any value. Start at `ExpressionBloomKind`.

Spec: format/metadata-table 4.2, 5.3, 5.6, 8.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.bloom import encode_bloom
from pyhudi.metadata.expressions import expression_of, values_of
from pyhudi.metadata.filter_records import (
    FileFilter,
    deleted_filters,
    file_filters,
    filter_of,
    filter_records,
    folded_filters,
)
from pyhudi.metadata.partitions.api import Clean, Commit, Stored, TaskRunner, in_tasks
from pyhudi.metadata.partitions.defined import DefinedKind
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import is_log
from pyhudi.metadata.stats.expression_stats import column_batches
from pyhudi.options import Settings
from pyhudi.predicate import Expression, check
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage

__all__ = ["ExpressionBloomKind", "has_same_text"]


def has_same_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are the same text here and in Java, which filters hold."""
    return bool(pt.is_string(kind) or pt.is_signed_integer(kind))


@dataclass(frozen=True, slots=True)
class ExpressionBloomKind(DefinedKind):
    """A record a base file."""

    def records_of_commit(self, commit: Commit) -> MetadataRecords:
        """Return the filters of the base files that were written."""
        return self._of_files(commit.state, commit.written, commit.schema, commit.settings, commit.run)

    def records_of_clean(self, clean: Clean) -> MetadataRecords:
        """Return that the filters of deleted files are gone."""
        return filter_records(self.name, deleted_filters(clean.deleted))

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the filters of all base files."""
        return self._of_files(stored.state, stored.files, stored.schema, stored.settings, stored.run)

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Keep the newest filter of each file."""
        return folded_filters(self.name, entries, table.state.config.table_version)

    def _of_files(
        self,
        state: TableState,
        files: Sequence[tuple[PartitionPath, str]],
        schema: str | None,
        settings: Settings,
        run: TaskRunner,
    ) -> MetadataRecords:
        columns = avro_to_arrow(schema) if schema else pa.schema([])
        column = self.definition.fields[0]
        bases = [one for one in files if not is_log(one[1])]
        if column not in columns.names:  # dropped since, or nothing was written yet
            return filter_records(self.name, file_filters([]))
        read = partial(
            _read_filters,
            storage=state.storage,
            expression=expression_of(self.definition),
            source=columns.field(column),
            spec=BloomSpec.of(settings),
        )
        return filter_records(self.name, pa.concat_tables([file_filters([]), *in_tasks(read, bases, run)]))


def _read_filters(
    files: Sequence[tuple[PartitionPath, str]],
    *,
    storage: Storage,
    expression: Expression,
    source: pa.Field,
    spec: BloomSpec,
) -> pa.Table:
    """Make the filters of some base files: a task.   Cost: the column of each file."""
    if not has_same_text(check(expression, pa.schema([source]))):
        return file_filters([])

    def make(file: tuple[PartitionPath, str]) -> FileFilter:
        path = "/".join(filter(None, file))
        with naming_file(path):
            values = [pc.unique(values_of(expression, batch)) for batch in column_batches(storage, path, source) or ()]
        told = pc.unique(pa.chunked_array(values, values[0].type)).drop_null() if values else pa.array([], pa.string())
        bloom = spec.build(told.cast(pa.string()))
        return filter_of(file, bloom.type_code.value, encode_bloom(bloom))

    return file_filters(list(at_once(make, files).values()))
