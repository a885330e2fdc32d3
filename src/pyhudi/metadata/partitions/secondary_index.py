"""A partition `secondary_index_<name>`: which record keys have a value of a column. Start at `SecondaryIndexKind`.

An entry a row, whose key is the value and the record key; the record index says where the row is. What an action
changes are the entries of the rows that readers see in a file group before and after it.

Spec: format/metadata-table 3.4, 4.3, 5.5, 7.4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import rows_with_keys
from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.changed_keys import SliceChange
from pyhudi.metadata.names import MetadataPartition, RecordKind
from pyhudi.metadata.partitions.api import (
    Clean,
    Commit,
    Need,
    RowsTold,
    Stored,
)
from pyhudi.metadata.partitions.defined import DefinedKind
from pyhudi.metadata.partitions.record_index import RecordIndexKind
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import encode_record_values
from pyhudi.metadata.secondary_keys import can_index, entry_keys, values_hashed
from pyhudi.metadata.spread_records import TOLD, SpreadRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import Settings
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["SECONDARY_FIELD", "SecondaryIndexKind"]

SECONDARY_FIELD: Final = "SecondaryIndexMetadata"
_BY_ENTRY: Final = "V1"


@dataclass(frozen=True, slots=True)
class _ValueHash:
    """All entries of a value are in one file group."""

    def place_of(self, keys: pa.Array | pa.ChunkedArray, places_count: int) -> npt.NDArray[np.int64]:
        """Return the file group of each entry, or of each beginning of entries that has a whole value."""
        return SHARD_HASH.place_of(values_hashed(keys), places_count)


_VALUE_HASH: Final = _ValueHash()


@dataclass(frozen=True, slots=True)
class SecondaryIndexKind(DefinedKind):
    """An entry a row; in V2 all entries of a value are in one file group."""

    needs: frozenset[Need] = frozenset({Need.ROWS})
    is_of_newest: bool = True
    rests_on: str | None = MetadataPartition.RECORD_INDEX

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return as many as the record index would get."""
        return RecordIndexKind().groups(settings, records_count)

    @property
    def key_hash(self) -> KeyHash:
        """Return the hash of all of an entry, or of its value alone."""
        return SHARD_HASH if self.definition.version == _BY_ENTRY else _VALUE_HASH

    def records_of_commit(self, commit: Commit) -> SpreadRecords:
        """Return the entries that came and went; a compaction and a clustering change none."""
        assert commit.rows is not None, "this partition needs the rows"
        rows = commit.rows
        is_same = rows.keeps_rows or rows.operation is WriteOperation.CLUSTER
        return self._records(commit.state, rows, () if is_same else rows.changes, commit.schema)

    def records_of_clean(self, clean: Clean) -> None:
        """Return nothing: a clean takes no row."""

    def build(self, stored: Stored) -> SpreadRecords:
        """Return the entries of all rows."""
        assert stored.rows is not None, "this partition needs the rows"
        return self._records(stored.state, stored.rows, stored.rows.changes, stored.schema)

    def fold(self, table: MetadataTable, entries: Entries) -> pa.Table:
        """Keep each entry once."""
        return entries.newest(table.state.config.table_version)

    def _records(
        self, state: TableState, rows: RowsTold, changes: Sequence[SliceChange], schema: str | None
    ) -> SpreadRecords:
        columns, column = avro_to_arrow(schema) if schema else pa.schema([]), self.definition.fields[0]
        is_there = column in columns.names and can_index(columns.field(column).type)
        tasks = tuple(changes) if is_there else ()
        return SpreadRecords(
            partition=self.name,
            engine=rows.engine,
            tell=partial(
                _tell,
                storage=state.storage,
                reads=rows.reads,
                field=columns.field(column) if is_there else pa.field(column, pa.string()),
            ),
            tasks=tasks,
            values=_value(state.config.table_version),
            count=sum(max(one.inserts_count, one.deletes_count) for one in tasks),
            key_hash=self.key_hash,
        )


def _value(table_version: int) -> pa.Array:
    """Encode the record that all entries have."""
    values = pa.array([{"isDeleted": False}], pa.struct([pa.field("isDeleted", pa.bool_(), nullable=False)]))
    kinds = pa.array([RecordKind.SECONDARY_INDEX], pa.int32())
    return encode_record_values(kinds, SECONDARY_FIELD, values, table_version)


def _tell(change: SliceChange, *, storage: Storage, reads: SliceSpec, field: pa.Field) -> Iterator[pa.Table]:
    """Yield which entries came to a file group and which went.   Shape: `spread_records.TOLD`."""
    had, has = (_entries(one, storage, reads, field) for one in (change.before, change.after))
    came, went = (one.filter(pc.invert(pc.is_in(one, value_set=other))) for one, other in ((has, had), (had, has)))
    if len(came):
        yield pa.table([came, pa.repeat(pa.scalar(0, pa.int32()), len(came))], schema=TOLD)
    if len(went):
        yield pa.table([went, pa.nulls(len(went), pa.int32())], schema=TOLD)


def _entries(one: FileSlice | None, storage: Storage, reads: SliceSpec, field: pa.Field) -> pa.Array:
    """Return the entries of the rows of a slice.   Cost: keys and one column, and what decides a merge."""
    if one is None:
        return pa.array([], pa.string())
    rows = rows_with_keys(one, storage=storage, spec=reads, stored=pa.schema([field])).combine_chunks()
    keys, values = (column.combine_chunks() for column in rows.columns)
    return pc.unique(entry_keys(values, keys))
