"""A partition `expr_index_<name>` of bloom filters: of what a function makes of a column, a filter a base file.

Logs have none: a file slice with logs may have any value. Start at `ExpressionBloomKind`.

Spec: format/metadata-table 4.2, 5.3, 5.6, 8.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.bloom import encode_bloom
from pyhudi.metadata.expressions import expression_of, values_of
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.partitions.api import Clean, Commit, Stored, TaskRunner
from pyhudi.metadata.partitions.defined import DefinedKind
from pyhudi.metadata.partitions.expression_stats import in_tasks
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import is_log
from pyhudi.metadata.stats.expression_stats import column_batches
from pyhudi.options import Settings
from pyhudi.predicate import Expression, check
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, Storage

__all__ = ["BLOOM_FIELD", "ExpressionBloomKind", "has_same_text", "newest_filters"]

BLOOM_FIELD: Final = "BloomFilterMetadata"
_FILTERS: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("name", pa.string()),
        pa.field("type", pa.string(), nullable=False),
        pa.field("timestamp", pa.string(), nullable=False),
        pa.field("bloomFilter", pa.binary(), nullable=False),
        pa.field("isDeleted", pa.bool_(), nullable=False),
    ]
)


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
        gone = [(where, name) for where, names in clean.deleted.items() for name in names if not is_log(name)]
        rows = [(where, name, "", "", b"", True) for where, name in gone]
        return self._records(_table(rows))

    def build(self, stored: Stored) -> MetadataRecords:
        """Return the filters of all base files."""
        return self._of_files(stored.state, stored.files, stored.schema, stored.settings, stored.run)

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords:
        """Keep the newest filter of each file."""
        keys, values = newest_filters(entries, table.state.config.table_version)
        return self._of(keys, values)

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
            return self._records(_table([]))
        read = partial(
            _read_filters,
            storage=state.storage,
            expression=expression_of(self.definition),
            source=columns.field(column),
            spec=BloomSpec.of(settings),
        )
        return self._records(pa.concat_tables([_table([]), *in_tasks(read, bases, run)]).combine_chunks())

    def _records(self, filters: pa.Table) -> MetadataRecords:
        keys = file_keys(*(filters.column(name).combine_chunks() for name in ("partition", "name")))
        return self._of(keys, _without_file(filters))

    def _of(self, keys: pa.Array, values: pa.StructArray) -> MetadataRecords:
        kinds = pa.repeat(pa.scalar(RecordKind.BLOOM_FILTER, pa.int32()), len(keys))
        return MetadataRecords(partition=self.name, keys=keys, kinds=kinds, field=BLOOM_FIELD, values=values)


def newest_filters(entries: Entries, table_version: int) -> tuple[pa.Array, pa.StructArray]:
    """Return the newest filter of each file that has one.   Shape: n keys, n records of filters."""
    rows = entries.decoded(BLOOM_FIELD, table_version)
    if not rows.num_rows:
        return pa.array([], pa.string()), _without_file(_table([]))
    order = pc.sort_indices(rows.select(["key", "layer"]), [("key", "ascending"), ("layer", "ascending")])
    keys = rows.column("key").take(order).combine_chunks()
    is_last = np.append(pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False), True)
    values = rows.column(BLOOM_FIELD).take(order).combine_chunks()
    is_kept = pc.and_(pa.array(is_last), pc.invert(pc.struct_field(values, ["isDeleted"])))
    return keys.filter(is_kept), values.filter(is_kept)


def _without_file(filters: pa.Table) -> pa.StructArray:
    columns = [column.combine_chunks() for column in filters.columns[2:]]
    return pa.StructArray.from_arrays(columns, fields=list(_FILTERS)[2:])


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
        return _table([])

    def make(file: tuple[PartitionPath, str]) -> tuple[str, str, str, str, bytes, bool]:
        path = "/".join(filter(None, file))
        with naming_file(path):
            values = [pc.unique(values_of(expression, batch)) for batch in column_batches(storage, path, source) or ()]
        told = pc.unique(pa.chunked_array(values, values[0].type)).drop_null() if values else pa.array([], pa.string())
        bloom = spec.build(told.cast(pa.string()))
        return (*file, bloom.type_code.value, _instant(file), encode_bloom(bloom).encode(), False)

    return _table(list(at_once(make, files).values()))


def _instant(file: tuple[PartitionPath, str]) -> str:
    parsed = parse_file(file[0], FileStatus(path=file[1], size_bytes=0, modified_ms=0))
    assert isinstance(parsed, BaseFile), "logs have no filters"
    return parsed.instant


def _table(rows: Sequence[tuple[str, str, str, str, bytes, bool]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(_FILTERS)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, _FILTERS, strict=True)], schema=_FILTERS
    )
