"""Statistics of the columns of one parquet file, by its footer, and by its values where that does not tell.

Start at `parquet_stats`.

Spec: format/metadata-table 5.2.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.engine.scanning import stored_columns
from pyhudi.filegroup.bounds import Bounds, Measured, measured, together
from pyhudi.formats.parquet import ColumnStats, Footer, row_group_stats
from pyhudi.metadata.stats.values import can_encode

__all__ = ["FileStats", "footer_bounds", "parquet_stats", "stats_within"]

_JAVA: Final = "parquet-mr"
"""Begins what writers say they are whose bounds of floats are NaN where a value is."""

FileStats: TypeAlias = tuple[str, pa.DataType, Bounds, tuple[int, int, int, int]]
"""A column's name, type, bounds and counts: values, nulls, bytes, bytes before compression."""


def parquet_stats(source: pa.NativeFile, footer: Footer, columns: Sequence[str], table_version: int) -> list[FileStats]:
    """Return the statistics of each column that has some.

    What a footer does not tell is read from the column: bounds of long texts and of INT96, and whether floats have NaN,
    which then is the greatest. So bounds are null only where all values are, as readers that prune take them.

    A file without rows has no statistics, as Apache Hudi writes none: it takes bounds of keys to be there wherever
    statistics are.
    """
    told = footer_bounds(footer, columns, table_version)
    read = _measured_columns(source, footer, [field for field, one in told.items() if one is None])
    return stats_within(footer, {field: one or read[field.name] for field, one in told.items()})


def footer_bounds(footer: Footer, columns: Sequence[str], table_version: int) -> dict[pa.Field, Measured | None]:
    """Return what a footer tells of each column that has statistics; None where that needs the column's values."""
    if not footer.rows_count:
        return {}
    fields = [footer.schema.field(name) for name in columns if name in footer.leaves and name in footer.types]
    is_java = (footer.metadata.created_by or "").startswith(_JAVA)
    return {
        field: _merged(row_group_stats(footer, field.name), field.type, is_java=is_java)
        for field in fields
        if can_encode(field.type, table_version)
    }


def stats_within(footer: Footer, bounds: Mapping[pa.Field, Measured]) -> list[FileStats]:
    """Return the statistics of columns between bounds that were found; the footer tells how many bytes they take."""
    metadata, leaves = footer.metadata, footer.leaves
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    found = []
    for field, (nulls, within) in bounds.items():
        chunks = [group.column(leaves[field.name]) for group in groups]
        packed = sum(one.total_compressed_size for one in chunks)
        unpacked = sum(one.total_uncompressed_size for one in chunks)
        found.append((field.name, field.type, within, (footer.rows_count, nulls, packed, unpacked)))
    return found


def _measured_columns(source: pa.NativeFile, footer: Footer, fields: Sequence[pa.Field]) -> dict[str, Measured]:
    """Measure columns of a file, which is read once, batch by batch."""
    found: dict[str, list[Measured]] = {field.name: [] for field in fields}
    for batch in stored_columns(source, pa.schema(fields), footer, None) if fields else ():
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            found[name].append(measured(values))
    return {name: together(parts) for name, parts in found.items()}


def _merged(groups: Sequence[ColumnStats], kind: pa.DataType, *, is_java: bool) -> Measured | None:
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
