"""Statistics of columns in base files and logs, as the metadata table stores them: one record for each file and column.

Start at `indexed_columns`, which columns have them, and `read_column_stats`.

Spec: format/metadata-table 5.2, 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

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
    "column_stats_schema",
    "deleted_stats",
    "indexed_columns",
    "is_log",
    "read_column_stats",
    "stats_of_files",
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


@dataclass(slots=True)
class _Rows:
    """What was found of columns of one type, a file and column a row."""

    columns: list[str] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    bounds: list[tuple[Any, Any]] = field(default_factory=list)
    counts: list[tuple[int, int, int, int]] = field(default_factory=list)


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
            return list(parquet_stats(source, read_footer(source), columns, table_version))

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
    found: dict[pa.DataType, _Rows] = {}

    def read(file: tuple[PartitionPath, str]) -> list[FileStats]:
        path = "/".join(filter(None, file))
        with naming_file(path):
            return read_path(path)

    for (partition, name), stats in at_once(read, files).items():
        for column, kind, bounds, counts in stats:
            rows = found.setdefault(kind, _Rows())
            rows.columns.append(column)
            rows.partitions.append(partition)
            rows.files.append(name)
            rows.bounds.append(bounds)
            rows.counts.append(counts)
    schema = column_stats_schema(table_version)
    tables = [_table(kind, rows, table_version) for kind, rows in found.items()]
    return pa.concat_tables(tables).combine_chunks() if tables else schema.empty_table()


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


def _table(kind: pa.DataType, rows: _Rows, table_version: int) -> pa.Table:
    schema, count = column_stats_schema(table_version), len(rows.files)
    least, greatest = (pa.array([pair[at] for pair in rows.bounds], kind) for at in (0, 1))
    if pt.is_floating(kind):
        least, greatest = _signed(least, -0.0), _signed(greatest, 0.0)
    values, nulls, packed, unpacked = (pa.array(one, pa.int64()) for one in zip(*rows.counts, strict=True))
    ordinal, info = value_type(kind)
    said, nothing = (
        pa.scalar({"typeOrdinal": one, "additionalInfo": more}, VALUE_TYPE)
        for one, more in ((ordinal, info), (NO_VALUE_TYPE, None))
    )
    is_empty = pa.array(
        [name.startswith(".") and not one[0] for name, one in zip(rows.files, rows.counts, strict=True)]
    )
    columns = {
        "partition": pa.array(rows.partitions, pa.string()),
        "fileName": pa.array(rows.files, pa.string()),
        "columnName": pa.array(rows.columns, pa.string()),
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
