"""Statistics of columns in base files, as the metadata table stores them: one record for each file and column.

Start at `read_column_stats`.

Spec: format/metadata-table 5.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.engine.scanning import naming_file, read_columns
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.parquet import ColumnStats, Footer, read_footer, row_group_stats
from pyhudi.metadata.stats_values import VALUE_TYPE, can_encode, encode_values, stats_type, value_type
from pyhudi.storage.api import Storage

__all__ = ["column_stats_schema", "deleted_stats", "read_column_stats"]

_JAVA: Final = "parquet-mr"
"""Begins what writers say they are whose bounds of floats are NaN where a value is."""

_Stats: TypeAlias = tuple[str, pa.DataType, tuple[Any, Any], tuple[int, int, int, int]]
"""A column's name, type, bounds and counts: values, nulls, bytes, bytes before compression."""


@dataclass(slots=True)
class _Rows:
    """What was found of columns that have one name and one type, a file a row."""

    partitions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    bounds: list[tuple[Any, Any]] = field(default_factory=list)
    counts: list[tuple[int, int, int, int]] = field(default_factory=list)


def column_stats_schema(table_version: int) -> pa.Schema:
    """Return the columns of statistics: the partition path, and the fields of a record."""
    return pa.schema([("partition", pa.string()), *stats_type(table_version)])


def read_column_stats(
    storage: Storage, files: Sequence[tuple[PartitionPath, str]], columns: Sequence[str], table_version: int
) -> pa.Table:
    """Read the statistics of some columns from the footers of base files: partition path and name of each.

    What a footer does not tell is read from the column: bounds of long texts and of INT96, and whether floats have NaN,
    which then is the greatest. So bounds are null only where all values are, as readers that prune take them.

    Shape:  `column_stats_schema`; no row for a column that a file lacks, or of a type that has no statistics.
    Cost:   two small reads a file, several files at once; a column more for each that the footer does not tell.
    Raises: CorruptData, naming the file; what storage raises.
    """
    found: dict[tuple[str, pa.DataType], _Rows] = {}

    def read(file: tuple[PartitionPath, str]) -> list[_Stats]:
        path = "/".join(filter(None, file))
        with naming_file(path), storage.open_input(path) as source:
            return list(_of_file(source, read_footer(source), columns, table_version))

    for (partition, name), stats in at_once(read, files).items():
        for column, kind, bounds, counts in stats:
            rows = found.setdefault((column, kind), _Rows())
            rows.partitions.append(partition)
            rows.files.append(name)
            rows.bounds.append(bounds)
            rows.counts.append(counts)
    schema = column_stats_schema(table_version)
    tables = [_table(column, kind, rows, table_version) for (column, kind), rows in found.items()]
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


def _of_file(source: pa.NativeFile, footer: Footer, columns: Sequence[str], table_version: int) -> Iterator[_Stats]:
    """Yield the statistics of each column that has some."""
    metadata = footer.metadata
    leaves = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    for column in columns:
        if column not in leaves or column not in footer.schema.names:
            continue
        kind = footer.schema.field(column).type
        if not can_encode(kind, table_version):
            continue
        chunks = [metadata.row_group(group).column(leaves[column]) for group in range(metadata.num_row_groups)]
        sizes = [(one.total_compressed_size, one.total_uncompressed_size) for one in chunks]
        told = _merged(row_group_stats(footer, column), kind, is_java=(metadata.created_by or "").startswith(_JAVA))
        nulls, bounds = told or _measured(read_columns(source, pa.schema([footer.schema.field(column)]), footer))
        counts = (footer.rows_count, nulls, sum(one for one, _ in sizes), sum(one for _, one in sizes))
        yield column, kind, bounds, counts


def _merged(groups: Sequence[ColumnStats], kind: pa.DataType, *, is_java: bool) -> tuple[int, tuple[Any, Any]] | None:
    """Put row groups together: nulls and bounds; None where one of them does not tell both."""
    filled = [one for one in groups if one.nulls_count != one.rows_count]
    if any(one.nulls_count is None or one.least is None or one.greatest is None for one in filled):
        return None
    if filled and pt.is_floating(kind) and not is_java:
        return None  # NaN is left out of their bounds
    nulls = sum(one.nulls_count or 0 for one in groups)
    if not filled:
        return nulls, (None, None)
    least: list[Any] = [one.least for one in filled]
    greatest: list[Any] = [one.greatest for one in filled]
    return nulls, (min(least), max(greatest))


def _measured(rows: pa.Table) -> tuple[int, tuple[Any, Any]]:
    """Find nulls and bounds in the values themselves."""
    values = rows.column(0).combine_chunks()
    nulls, has_nan = values.null_count, False
    if pt.is_floating(values.type):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        has_nan = bool(pc.any(is_nan, min_count=0).as_py())
        values = values.filter(pc.invert(is_nan)) if has_nan else values
    found = pc.min_max(values)
    least, greatest = found["min"].as_py(), found["max"].as_py()
    if has_nan:
        return nulls, (np.nan if least is None else least, np.nan)
    return nulls, (least, greatest)


def _table(column: str, kind: pa.DataType, rows: _Rows, table_version: int) -> pa.Table:
    schema, count = column_stats_schema(table_version), len(rows.files)
    least, greatest = (pa.array([pair[at] for pair in rows.bounds], kind) for at in (0, 1))
    if pt.is_floating(kind):
        least, greatest = _signed(least, -0.0), _signed(greatest, 0.0)
    values, nulls, packed, unpacked = (pa.array(one, pa.int64()) for one in zip(*rows.counts, strict=True))
    ordinal, info = value_type(kind)
    said = pa.scalar({"typeOrdinal": ordinal, "additionalInfo": info}, VALUE_TYPE)
    columns = {
        "partition": pa.array(rows.partitions, pa.string()),
        "fileName": pa.array(rows.files, pa.string()),
        "columnName": pa.repeat(pa.scalar(column), count),
        "minValue": encode_values(least, table_version),
        "maxValue": encode_values(greatest, table_version),
        "valueCount": values,
        "nullCount": nulls,
        "totalSize": packed,
        "totalUncompressedSize": unpacked,
        "isDeleted": pa.repeat(pa.scalar(False), count),
        "isTightBound": pa.repeat(pa.scalar(False), count),
        "valueType": pa.repeat(said, count),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _signed(bounds: pa.Array, zero: float) -> pa.Array:
    """Write a zero as readers of parquet in Java take it: -0.0 as the least value, 0.0 as the greatest."""
    return pc.if_else(pc.equal(bounds, 0.0), pa.scalar(zero, bounds.type), bounds)
