"""Statistics of columns in base files and logs, as the metadata table stores them: one record for each file and column.

Start at `indexed_columns`, which columns have them, and `read_column_stats`.

Spec: format/metadata-table 5.2, 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.stats.file_stats import FileStats, parquet_stats
from pyhudi.metadata.stats.log_stats import log_stats
from pyhudi.metadata.stats.values import NO_VALUE_TYPE, VALUE_TYPE, can_encode, encode_values, stats_type, value_type
from pyhudi.options import Settings, option
from pyhudi.schema.meta_fields import COMMIT_TIME, META_FIELDS, PARTITION_PATH, RECORD_KEY, without_meta_fields
from pyhudi.state.layout import layout_of
from pyhudi.storage.api import Storage

__all__ = [
    "COLUMN_LIST",
    "MOST_COLUMNS",
    "StatsOfType",
    "column_stats_schema",
    "deleted_stats",
    "indexed_columns",
    "is_log",
    "read_column_stats",
    "stats_of_files",
    "stats_table",
]

COLUMN_LIST: Final = option(
    "hoodie.metadata.index.column.stats.column.list",
    "",
    "The columns that get statistics, with commas between; else the first ones that can have them.",
)
MOST_COLUMNS: Final = option(
    "hoodie.metadata.index.column.stats.max.columns.to.index",
    32,
    "How many columns get statistics where none are named; Hudi's own come on top.",
)
_OWN: Final = (COMMIT_TIME, RECORD_KEY, PARTITION_PATH)

_OfLog: TypeAlias = Callable[[Storage, str, Sequence[str], int], list[FileStats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOfType:
    """Statistics of columns of one type, a file and column a row.   Shape: n of each."""

    partitions: pa.Array
    files: pa.Array
    """Names."""
    columns: pa.Array
    least: pa.Array
    greatest: pa.Array
    """Of the type."""
    counts: tuple[pa.Array, pa.Array, pa.Array, pa.Array]
    """int64: values, nulls, bytes, bytes before compression."""


def column_stats_schema(table_version: int) -> pa.Schema:
    """Return the columns of statistics: the partition path, and the fields of a record."""
    return pa.schema([("partition", pa.string()), *stats_type(table_version)])


def indexed_columns(
    schema: pa.Schema, settings: Settings, table_version: int, *, has_meta_fields: bool
) -> tuple[str, ...]:
    """Name the columns that get statistics: those of Hudi first, then in the order of the schema.

    Fields inside structs are left out: nothing that pyhudi reads with asks for them.
    """
    own, is_of_all = without_meta_fields(schema), layout_of(table_version).measures_all_columns
    fit = [field.name for field in own if can_encode(field.type, table_version)]
    if settings.has(COLUMN_LIST) and settings.get(COLUMN_LIST).strip():
        named = {name.strip() for name in settings.get(COLUMN_LIST).split(",")}
        fit = [name for name in fit if name in named]
    elif not is_of_all:
        fit = fit[: settings.get(MOST_COLUMNS)]
    meta = () if not has_meta_fields else META_FIELDS if is_of_all else _OWN
    return (*meta, *fit)


def read_column_stats(
    storage: Storage,
    files: Sequence[tuple[PartitionPath, str]],
    columns: Sequence[str],
    table_version: int,
    *,
    of_log: _OfLog = log_stats,
) -> pa.Table:
    """Read the statistics of some columns of base files and logs: partition path and name of each.

    Shape:  `column_stats_schema`; no row for a column that a file lacks, or of a type that has no statistics.
    Cost:   two small reads a base file, several files at once; a column more for each that the footer does not tell. Of
            logs their heads too, and rows that are not in parquet.
    Raises: CorruptData, naming the file; what storage raises.
    """

    def read(path: str) -> list[FileStats]:
        if is_log(path):
            return of_log(storage, path, columns, table_version)
        with storage.open_input(path) as source:
            return parquet_stats(source, read_footer(source), columns, table_version)

    return stats_of_files(files, read, table_version)


def is_log(path: str) -> bool:
    """Return whether a path is that of a log file."""
    return path.rpartition("/")[2].startswith(".")


def stats_of_files(
    files: Sequence[tuple[PartitionPath, str]], read_path: Callable[[str], list[FileStats]], table_version: int
) -> pa.Table:
    """Read the statistics of files, several at once, by what reads those of one.

    Shape:  `column_stats_schema`.
    Raises: as `read_path`; CorruptData names the file.
    """
    found: dict[pa.DataType, list[tuple[PartitionPath, str, FileStats]]] = {}

    def read(file: tuple[PartitionPath, str]) -> list[FileStats]:
        path = "/".join(filter(None, file))
        with naming_file(path):
            return read_path(path)

    for (partition, name), stats in at_once(read, files).items():
        for one in stats:
            found.setdefault(one[1], []).append((partition, name, one))
    return stats_table([_typed(kind, rows) for kind, rows in found.items()], table_version)


def stats_table(parts: Sequence[StatsOfType], table_version: int) -> pa.Table:
    """Return statistics of columns of several types as records.

    Shape: `column_stats_schema`, a row for each of all parts.
    """
    tables = [_table(one, table_version) for one in parts]
    return pa.concat_tables(tables).combine_chunks() if tables else column_stats_schema(table_version).empty_table()


def deleted_stats(files: Sequence[tuple[str, str]], columns: Sequence[str], table_version: int) -> pa.Table:
    """Return what says of files, each a partition path and a name, that their statistics are gone.

    Shape: `column_stats_schema`, one row a file and column.
    """
    schema, count = column_stats_schema(table_version), len(files) * len(columns)
    zero, no = pa.repeat(pa.scalar(0, pa.int64()), count), pa.repeat(pa.scalar(False), count)
    filled = {
        "partition": pa.array([where for where, _ in files for _ in columns], pa.string()),
        "fileName": pa.array([name for _, name in files for _ in columns], pa.string()),
        "columnName": pa.array([*columns] * len(files), pa.string()),
        **dict.fromkeys(("valueCount", "nullCount", "totalSize", "totalUncompressedSize"), zero),
        "isDeleted": pa.repeat(pa.scalar(True), count),
        "isTightBound": no,
    }
    return pa.table([filled.get(field.name, pa.nulls(count, field.type)) for field in schema], schema=schema)


def _typed(kind: pa.DataType, rows: Sequence[tuple[PartitionPath, str, FileStats]]) -> StatsOfType:
    partitions, files, stats = zip(*rows, strict=True)
    columns, _, bounds, counts = zip(*stats, strict=True)
    least, greatest = (pa.array(one, kind) for one in zip(*bounds, strict=True))
    values, nulls, packed, unpacked = (pa.array(one, pa.int64()) for one in zip(*counts, strict=True))
    return StatsOfType(
        partitions=pa.array(partitions, pa.string()),
        files=pa.array(files, pa.string()),
        columns=pa.array(columns, pa.string()),
        least=least,
        greatest=greatest,
        counts=(values, nulls, packed, unpacked),
    )


def _table(rows: StatsOfType, table_version: int) -> pa.Table:
    schema, count, kind = column_stats_schema(table_version), len(rows.files), rows.least.type
    least, greatest = rows.least, rows.greatest
    if pt.is_floating(kind):
        least, greatest = _signed(least, -0.0), _signed(greatest, 0.0)
    values, nulls, packed, unpacked = rows.counts
    ordinal, info = value_type(kind)
    said, nothing = (
        pa.scalar({"typeOrdinal": one, "additionalInfo": more}, VALUE_TYPE)
        for one, more in ((ordinal, info), (NO_VALUE_TYPE, None))
    )
    is_empty = pc.and_(pc.starts_with(rows.files, "."), pc.equal(values, 0))
    columns = {
        "partition": rows.partitions,
        "fileName": rows.files,
        "columnName": rows.columns,
        "minValue": encode_values(least, table_version),
        "maxValue": encode_values(greatest, table_version),
        "valueCount": values,
        "nullCount": nulls,
        "totalSize": packed,
        "totalUncompressedSize": unpacked,
        "isDeleted": pa.repeat(pa.scalar(False), count),
        "isTightBound": pa.repeat(pa.scalar(False), count),
        "valueType": pc.if_else(is_empty, nothing, said),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _signed(bounds: pa.Array, zero: float) -> pa.Array:
    """Write a zero as readers of parquet in Java take it: -0.0 as the least value, 0.0 as the greatest."""
    return pc.if_else(pc.equal(bounds, 0.0), pa.scalar(zero, bounds.type), bounds)
