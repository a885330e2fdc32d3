"""Sort rows, for bulk_insert and clustering.

Nulls come first and NaN last, as Spark sorts ascending; strings by their bytes. Rows that are equal keep their order.
Start at `sort_rows`.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput
from pyhudi.kernels.keys.columns import find_field

__all__ = ["named_columns", "row_order", "sort_rows"]


def sort_rows(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort a table by columns, ascending; a field of a struct is named `a.b`.

    Shape:  n rows -> the same n rows.
    Nulls:  first; NaN after every other number.
    Raises: InvalidInput for a column that is not there or cannot be sorted.
    Cost:   one sort of the named columns, one gather of the rest.
    """
    return table.take(row_order(table, columns))


def row_order(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Return the row numbers of a table in the order of columns; see `sort_rows`.   Shape: n rows -> n numbers."""
    return _order(_sort_columns(table, columns))


def named_columns(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the named columns, a field of a struct as a column of its own named `a.b`.   Raises: InvalidInput."""
    found = {name: find_field(table, name) for name in columns}
    missing = [name for name, column in found.items() if column is None]
    if missing or not found:
        raise InvalidInput(
            "sort columns are not in the rows", missing=", ".join(missing), columns=", ".join(table.column_names)
        )
    return pa.table(found)


def _sort_columns(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return what to sort by: values, each preceded by whether it is there and whether it is NaN.

    Arrow puts NaN beside the nulls, and its releases differ in how a null placement is asked for.
    """
    made: list[pa.ChunkedArray] = []
    for column in named_columns(table, columns).columns:
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        if pa.types.is_nested(plain.type):
            raise InvalidInput("rows cannot be sorted by a nested column; name one of its fields", type=str(plain.type))
        if plain.null_count:
            made.append(pc.is_valid(plain))
        if pa.types.is_floating(plain.type):
            nan = pc.is_nan(plain)
            made += [nan, pc.if_else(nan, pa.scalar(0, plain.type), plain)]
        else:
            made.append(plain)
    return pa.table(made, names=[str(i) for i in range(len(made))])


def _order(keys: pa.Table) -> pa.Array:
    """Sort stably."""
    return pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
