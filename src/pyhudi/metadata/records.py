"""Records of the metadata table in columns, and as the entries of an HFile: a key and an Avro record without it.

One kind of record fills one field of the schema; the others are null. Pure. Start at `encode_records`.

Spec: format/metadata-table 2.1-2.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.formats.avro_rows import encode_rows
from pyhudi.metadata.file_entries import FILE_ENTRIES
from pyhudi.metadata.keys import ALL_PARTITIONS
from pyhudi.metadata.names import MetadataPartition, RecordKind
from pyhudi.metadata.schema import record_schema
from pyhudi.schema.types import avro_to_arrow

__all__ = [
    "FILES_FIELD",
    "STATS_FIELD",
    "MetadataRecords",
    "encode_record_values",
    "encode_records",
    "files_records",
    "stats_records",
]


FILES_FIELD: Final = "filesystemMetadata"
STATS_FIELD: Final = "ColumnStatsMetadata"
"""Of column statistics and of partition statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecords:
    """Records of one partition, one a key."""

    partition: str
    keys: pa.Array
    """Text."""
    kinds: pa.Array
    """int32: see `RecordKind`."""
    field: str
    """The field of the record schema that they fill."""
    values: pa.Array


def files_records(entries: pa.Table, keys: Sequence[str] = ()) -> MetadataRecords:
    """Put names together into one record a key; `keys` get one also without names.

    Shape: FILE_ENTRIES, each name once a key.
    """
    rows = entries.select(FILE_ENTRIES.names).sort_by([("key", "ascending"), ("name", "ascending")])
    own = pc.unique(pa.concat_arrays([pa.array(keys, pa.string()), *rows.column("key").chunks])).sort()
    starts = np.searchsorted(*(column.to_numpy(zero_copy_only=False) for column in (rows.column("key"), own)))
    names, sizes, flags = (rows.column(name).combine_chunks() for name in FILE_ENTRIES.names[1:])
    kinds = pc.if_else(pc.equal(own, ALL_PARTITIONS), RecordKind.ALL_PARTITIONS, RecordKind.FILES)
    info = pa.StructArray.from_arrays([sizes, flags], ["size", "isDeleted"])
    return MetadataRecords(
        partition=MetadataPartition.FILES,
        keys=own,
        kinds=kinds.cast(pa.int32()),
        field=FILES_FIELD,
        values=pa.MapArray.from_arrays(pa.array([*starts, len(names)], pa.int32()), names, info),
    )


def stats_records(partition: str, kind: int, keys: pa.Array, stats: pa.Table) -> MetadataRecords:
    """Return the records of statistics under their keys; `kind` is one of `RecordKind`.

    Shape: n keys, n of `column_stats_schema`; the partition path, where there is one, is only in the keys.
    """
    rows = stats.drop_columns(["partition"]) if "partition" in stats.column_names else stats
    columns = [column.combine_chunks() for column in rows.columns]
    return MetadataRecords(
        partition=partition,
        keys=keys,
        kinds=pa.repeat(pa.scalar(kind, pa.int32()), len(keys)),
        field=STATS_FIELD,
        values=pa.StructArray.from_arrays(columns, fields=list(rows.schema)),
    )


def encode_records(records: MetadataRecords, table_version: int) -> pa.Table:
    """Encode records as entries of an HFile.

    Shape: key binary, value binary; sorted by the bytes of the key.
    """
    values = encode_record_values(records.kinds, records.field, records.values, table_version)
    return pa.table({"key": records.keys.cast(pa.binary()), "value": values}).sort_by("key")


def encode_record_values(kinds: pa.Array, field: str, values: pa.Array, table_version: int) -> pa.Array:
    """Encode records in Avro, without their keys, which entries have.

    Shape: n of `RecordKind`, n values of one field of the record schema -> n binary.
    """
    schema = record_schema(table_version, has_meta_fields=True)
    arrow = _record_columns(table_version)
    count = len(kinds)
    filled = {
        "key": pa.repeat(pa.scalar("", pa.string()), count),
        "type": kinds,
        field: _typed(values, arrow.field(field).type),
    }
    columns = [filled.get(one.name, pa.nulls(count, one.type)) for one in arrow]
    return encode_rows(pa.RecordBatch.from_arrays(columns, schema=arrow), schema)


@lru_cache(maxsize=8)
def _record_columns(table_version: int) -> pa.Schema:
    return avro_to_arrow(record_schema(table_version, has_meta_fields=True), wide_unions=True)


def _typed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values in the type of their field, which says of some parts that they are never null."""
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(values.flatten(), fields=list(kind))
    return values.cast(kind)
