"""Statistics of the columns of one parquet file, by its footer, and by its values where that does not tell.

Start at `parquet_stats`.

Spec: format/metadata-table 5.2.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.engine.scanning import read_columns
from pyhudi.formats.parquet import ColumnStats, Footer, row_group_stats
from pyhudi.metadata.stats_values import can_encode

__all__ = ["FileStats", "measured", "parquet_stats"]

_JAVA: Final = "parquet-mr"
"""Begins what writers say they are whose bounds of floats are NaN where a value is."""

_GREATEST_TEXT: Final = "\U0010ffff"
"""Not smaller than any character."""
FileStats: TypeAlias = tuple[str, pa.DataType, tuple[Any, Any], tuple[int, int, int, int]]
"""A column's name, type, bounds and counts: values, nulls, bytes, bytes before compression."""


def parquet_stats(
    source: pa.NativeFile, footer: Footer, columns: Sequence[str], table_version: int
) -> Iterator[FileStats]:
    """Yield the statistics of each column that has some.

    What a footer does not tell is read from the column: bounds of long texts and of INT96, and whether floats have NaN,
    which then is the greatest. So bounds are null only where all values are, as readers that prune take them.
    """
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
        nulls, bounds = told or measured(read_columns(source, pa.schema([footer.schema.field(column)]), footer))
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


def measured(rows: pa.Table) -> tuple[int, tuple[Any, Any]]:
    """Return the number of nulls and the bounds of the one column of a table, from the values themselves.

    A bound that is no UTF-8, which Arrow lets through, becomes one that is wider.
    """
    values = rows.column(0).combine_chunks()
    nulls, has_nan = values.null_count, False
    if pt.is_floating(values.type):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        has_nan = bool(pc.any(is_nan, min_count=0).as_py())
        values = values.filter(pc.invert(is_nan)) if has_nan else values
    found = pc.min_max(values)
    least, greatest = _value(found["min"], ""), _value(found["max"], _GREATEST_TEXT)
    if has_nan:
        return nulls, (np.nan if least is None else least, np.nan)
    return nulls, (least, greatest)


def _value(bound: pa.Scalar, wider: str) -> Any:  # noqa: ANN401 - of whatever type the column has
    try:
        return bound.as_py()
    except UnicodeDecodeError:
        return wider
