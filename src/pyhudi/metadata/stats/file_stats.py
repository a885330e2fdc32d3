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

from pyhudi.engine.scanning import stored_columns
from pyhudi.formats.parquet import ColumnStats, Footer, row_group_stats
from pyhudi.metadata.stats.values import can_encode

__all__ = ["Bounds", "FileStats", "enclosing", "measured", "parquet_stats"]

_JAVA: Final = "parquet-mr"
"""Begins what writers say they are whose bounds of floats are NaN where a value is."""

_GREATEST_TEXT: Final = "\U0010ffff"
"""Not smaller than any character."""

Bounds: TypeAlias = tuple[Any, Any]
"""The least and the greatest value, NaN greater than any other; None where there is none."""
FileStats: TypeAlias = tuple[str, pa.DataType, Bounds, tuple[int, int, int, int]]
"""A column's name, type, bounds and counts: values, nulls, bytes, bytes before compression."""


def parquet_stats(
    source: pa.NativeFile, footer: Footer, columns: Sequence[str], table_version: int
) -> Iterator[FileStats]:
    """Yield the statistics of each column that has some.

    What a footer does not tell is read from the column: bounds of long texts and of INT96, and whether floats have NaN,
    which then is the greatest. So bounds are null only where all values are, as readers that prune take them.

    A file without rows has no statistics, as Apache Hudi writes none: it takes bounds of keys to be there wherever
    statistics are.
    """
    if not footer.rows_count:
        return
    metadata = footer.metadata
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    leaves = footer.leaves
    fields = [footer.schema.field(name) for name in columns if name in leaves and name in footer.types]
    fields = [field for field in fields if can_encode(field.type, table_version)]
    is_java = (metadata.created_by or "").startswith(_JAVA)
    told = {one.name: _merged(row_group_stats(footer, one.name), one.type, is_java=is_java) for one in fields}
    read = _measured_columns(source, footer, [one for one in fields if told[one.name] is None])
    for field in fields:
        chunks = [group.column(leaves[field.name]) for group in groups]
        nulls, bounds = told[field.name] or read[field.name]
        packed = sum(one.total_compressed_size for one in chunks)
        unpacked = sum(one.total_uncompressed_size for one in chunks)
        yield field.name, field.type, bounds, (footer.rows_count, nulls, packed, unpacked)


def _measured_columns(
    source: pa.NativeFile, footer: Footer, fields: Sequence[pa.Field]
) -> dict[str, tuple[int, Bounds]]:
    """Measure columns of a file, which is read once, batch by batch."""
    found: dict[str, list[tuple[int, Bounds]]] = {field.name: [] for field in fields}
    for batch in stored_columns(source, pa.schema(fields), footer, None) if fields else ():
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            found[name].append(measured(values))
    return {name: (sum(one for one, _ in parts), enclosing([one for _, one in parts])) for name, parts in found.items()}


def _merged(groups: Sequence[ColumnStats], kind: pa.DataType, *, is_java: bool) -> tuple[int, Bounds] | None:
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


def measured(values: pa.Array) -> tuple[int, Bounds]:
    """Return the number of nulls and the bounds of a column, from the values themselves.

    A bound that is no UTF-8, which Arrow lets through, becomes one that is wider.
    """
    nulls, has_nan = values.null_count, False
    if pt.is_floating(values.type):
        is_nan = pc.is_nan(values)
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


def enclosing(bounds: Sequence[Bounds]) -> Bounds:
    """Return the bounds around all that there are; NaN is the greatest value."""
    told = [one for one in bounds if one[1] is not None]
    if not told:
        return None, None
    numbers = [least for least, _ in told if least == least]
    has_nan = any(greatest != greatest for _, greatest in told)
    greatest = next(one for _, one in told if one != one) if has_nan else max(one for _, one in told)
    return (min(numbers) if numbers else greatest), greatest
