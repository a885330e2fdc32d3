"""Records of bloom filters, one a base file: of its record keys, or of what an expression makes of a column.

Pure. Start at `filter_records` and `newest_filters`; `metadata.filters` asks the filters.

Spec: format/metadata-table 4.2, 5.3.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.stats.column_stats import is_log
from pyhudi.storage.api import FileStatus

__all__ = [
    "BLOOM_FIELD",
    "FileFilter",
    "deleted_filters",
    "file_filters",
    "filter_of",
    "filter_records",
    "folded_filters",
    "newest_filters",
]

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

FileFilter = tuple[str, str, str, str, bytes, bool]
"""Partition path, file name, type of filter, instant of the file, the filter as footers have it, whether it is gone."""


def filter_of(file: tuple[PartitionPath, str], type_code: str, text: str) -> FileFilter:
    """Return the filter of a base file, given by its partition path and name."""
    parsed = parse_file(file[0], FileStatus(path=file[1], size_bytes=0, modified_ms=0))
    assert isinstance(parsed, BaseFile), "logs have no filters"
    return (*file, type_code, parsed.instant, text.encode(), False)


def file_filters(rows: Sequence[FileFilter]) -> pa.Table:
    """Put filters of files into columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(_FILTERS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _FILTERS, strict=True)]
    return pa.table(arrays, schema=_FILTERS)


def deleted_filters(deleted: Mapping[str, Collection[str]]) -> pa.Table:
    """Return records which say that the filters of deleted base files are gone.

    `deleted` are names by partition path, logs among them.
    """
    gone = [(where, name) for where, names in deleted.items() for name in names if not is_log(name)]
    return file_filters([(where, name, "", "", b"", True) for where, name in gone])


def filter_records(partition: str, filters: pa.Table) -> MetadataRecords:
    """Return the records of filters.   Shape: as `file_filters`."""
    rows = filters.combine_chunks()
    keys = file_keys(*(rows.column(name).combine_chunks() for name in ("partition", "name")))
    return _records(partition, keys, _without_file(rows))


def folded_filters(partition: str, entries: Entries, table_version: int) -> MetadataRecords:
    """Fold the layers of one file group into the newest filter of each file."""
    return _records(partition, *newest_filters(entries, table_version))


def newest_filters(entries: Entries, table_version: int) -> tuple[pa.Array, pa.StructArray]:
    """Return the newest filter of each file that has one.   Shape: n keys, n records of filters."""
    rows = entries.decoded(BLOOM_FIELD, table_version)
    if not rows.num_rows:
        return pa.array([], pa.string()), _without_file(file_filters([]))
    order = pc.sort_indices(rows.select(["key", "layer"]), [("key", "ascending"), ("layer", "ascending")])
    keys = rows.column("key").take(order).combine_chunks()
    is_last = np.append(pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False), True)
    values = rows.column(BLOOM_FIELD).take(order).combine_chunks()
    is_kept = pc.and_(pa.array(is_last), pc.invert(pc.struct_field(values, ["isDeleted"])))
    return keys.filter(is_kept), values.filter(is_kept)


def _records(partition: str, keys: pa.Array, values: pa.StructArray) -> MetadataRecords:
    kinds = pa.repeat(pa.scalar(RecordKind.BLOOM_FILTER, pa.int32()), len(keys))
    return MetadataRecords(partition=partition, keys=keys, kinds=kinds, field=BLOOM_FIELD, values=values)


def _without_file(filters: pa.Table) -> pa.StructArray:
    columns = [column.combine_chunks() for column in filters.columns[2:]]
    return pa.StructArray.from_arrays(columns, fields=list(_FILTERS)[2:])
