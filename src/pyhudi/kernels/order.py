"""Sort rows, and cut them into ranges, for bulk_insert and clustering.

Nulls come first and NaN last, as Spark sorts ascending; strings by their bytes. Rows that are equal keep their order.
Start at `sort_rows`; for a global sort `range_bounds` over a sample, then `assign_ranges`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput
from pyhudi.kernels.keys.columns import find_field

__all__ = ["assign_ranges", "range_bounds", "sort_rows"]


def sort_rows(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Sort a table by columns, ascending; a field of a struct is named `a.b`.

    Shape:  n rows -> the same n rows.
    Nulls:  first; NaN after every other number.
    Raises: InvalidInput for a column that is not there or cannot be sorted.
    Cost:   one sort of the named columns, one gather of the rest.
    """
    return table.take(_order(_sort_columns(table, columns)))


def range_bounds(sample: pa.Table, columns: Sequence[str], ranges_count: int) -> pa.Table:
    """Find the rows between which the sample falls into ranges of about equal size.

    Shape:  a sample -> at most `ranges_count - 1` different rows of the named columns, rising.
    Nulls:  first, as in `sort_rows`.
    Raises: InvalidInput as `sort_rows`, and for less than one range.
    """
    if ranges_count < 1:
        raise InvalidInput("there must be at least one range", ranges=ranges_count)
    keys = _sort_columns(sample, columns)
    cuts = np.arange(1, ranges_count) * sample.num_rows // ranges_count - 1
    order = _order(keys)
    bounds = _named(sample, columns).take(order.take(pa.array(np.unique(cuts[cuts >= 0]))))
    return bounds.filter(pa.array(_differs_from_last(bounds, columns)))


def assign_ranges(table: pa.Table, columns: Sequence[str], bounds: pa.Table) -> pa.Array:
    """Return the range of every row: how many bounds are smaller than it, so that equal rows share a range.

    Shape:  n rows, k bounds -> n int32 in [0, k].
    Nulls:  in the first range.
    Raises: InvalidInput as `sort_rows`.
    Cost:   one sort of the named columns.
    """
    rows = _named(table, columns)
    both = pa.concat_tables([rows, bounds.cast(rows.schema)])
    is_bound = np.arange(both.num_rows) >= rows.num_rows
    keys = _sort_columns(both, columns).append_column("bound", pa.array(is_bound))
    order = _order(keys).to_numpy()
    ranges = np.empty(both.num_rows, np.int32)
    ranges[order] = np.cumsum(is_bound[order])
    return pa.array(ranges[: rows.num_rows])


def _named(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Take the named columns, a field of a struct as a column of its own named `a.b`."""
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
    for column in _named(table, columns).columns:
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


def _differs_from_last(bounds: pa.Table, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    differs: npt.NDArray[np.bool_] = np.equal(np.arange(bounds.num_rows), 0)
    for column in _sort_columns(bounds, columns).columns if bounds.num_rows else []:
        unequal = pc.not_equal(column.slice(0, bounds.num_rows - 1), column.slice(1))
        # Where one of two is null, the column of what is there differs.
        differs[1:] |= pc.fill_null(unequal, False).to_numpy()
    return differs
