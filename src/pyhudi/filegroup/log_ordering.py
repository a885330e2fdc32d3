"""Ordering values of deletes: Apache Hudi's wrappers on one side, a table's ordering columns on the other.

A delete block holds its ordering values as a union of wrappers, one a Java type. Start at `ordering_columns`.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, SchemaMismatch

__all__ = ["lacks_ordering", "ordering_columns"]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_ARRAY: Final = "ArrayWrapper"
_NO_VALUE: Final = "IntWrapper"
_DAYS: Final = ("DateWrapper", "LocalDateWrapper")
_MICROS: Final = "TimestampMicrosWrapper"


def ordering_columns(ordering: pa.StructArray, fields: Sequence[pa.Field]) -> tuple[list[pa.Array], Bools]:
    """Read the ordering values of deletes as columns of the table, and which deletes have none.

    Shape:  n unions, as `formats.log.DELETES` has them -> one column a field, n values of its type; n flags.
    Nulls:  where there is no value, which Apache Hudi writes as the 32-bit integer 0.
    Raises: SchemaMismatch for a value that does not fit its column; CorruptData for another number of values than the
            table has ordering columns.
    Spec:   format/files 2.4, 6.2.
    """
    if len(fields) > 1:
        return _several(ordering, fields)
    columns = [pc.coalesce(_unwrapped(ordering, field), *_items(ordering, [field])) for field in fields]
    return columns, lacks_ordering(columns, len(ordering))


def lacks_ordering(columns: Sequence[pa.Array | pa.ChunkedArray], count: int) -> Bools:
    """Return which rows have no ordering value: by Apache Hudi's rule, null or the 32-bit integer 0.

    Where a table has several ordering columns, each row has a value: nulls in it count as 0.

    Shape: any number of columns of `count` values -> `count` flags.
    """
    if len(columns) != 1:
        return np.full(count, not columns)
    lacks = pc.is_null(columns[0])
    if pa.types.is_int32(columns[0].type):
        lacks = pc.or_(lacks, pc.fill_null(pc.equal(columns[0], 0), fill_value=False))
    flags: Bools = np.asarray(lacks, np.bool_)
    return flags


def _several(ordering: pa.StructArray, fields: Sequence[pa.Field]) -> tuple[list[pa.Array], Bools]:
    single = _unwrapped(ordering, fields[0])
    if single.null_count < len(single):
        raise CorruptData("a delete has one ordering value, the table several", expected=len(fields))
    has_values = pc.struct_field(ordering, [_ARRAY, "wrappedValues"]).is_valid()
    return _items(ordering, fields), ~np.asarray(has_values, np.bool_)


def _items(ordering: pa.StructArray, fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Return the values that stand in arrays, a column a field."""
    arrays = pc.struct_field(ordering, [_ARRAY, "wrappedValues"])
    if pc.any(pc.not_equal(pc.list_value_length(arrays), len(fields))).as_py():
        raise CorruptData("a delete has another number of ordering values than the table", expected=len(fields))
    items, rows = arrays.flatten(), np.flatnonzero(np.asarray(arrays.is_valid()))
    columns = []
    for number, field in enumerate(fields):
        places = np.full(len(ordering), -1)
        places[rows] = np.arange(number, len(items), len(fields))
        columns.append(_unwrapped(items.take(pa.array(places, mask=places < 0)), field))
    return columns


def _unwrapped(union: pa.StructArray, field: pa.Field) -> pa.Array:
    """Return the value of whichever wrapper a row has, as the column's type; null for 32-bit 0 and for arrays."""
    found = pa.nulls(len(union), field.type)
    for wrapper in union.type:
        if wrapper.name == _ARRAY:
            continue
        values = pc.struct_field(union, [wrapper.name, "value"])
        if wrapper.name == _NO_VALUE:
            values = pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)
        if values.null_count < len(values):
            found = pc.coalesce(found, _cast(values, wrapper.name, field))
    return found


def _cast(values: pa.Array, wrapper: str, field: pa.Field) -> pa.Array:
    kind = field.type
    is_rounded = pa.types.is_floating(kind) or pa.types.is_timestamp(kind)
    try:
        return _of_wrapper(values, wrapper, kind).cast(kind, safe=not is_rounded)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatch(
            "the ordering value of a delete does not fit its column",
            column=field.name,
            type=str(kind),
            stored_as=wrapper,
        ) from error


def _of_wrapper(values: pa.Array, wrapper: str, kind: pa.DataType) -> pa.Array:
    """Return days as dates and microseconds as instants, where Arrow shall know what they are."""
    if wrapper in _DAYS:
        return values.cast(pa.date32())
    if wrapper == _MICROS and pa.types.is_timestamp(kind):
        return values.cast(pa.timestamp("us", kind.tz))
    return values
