"""Ordering values of deletes: Apache Hudi's wrappers on one side, a table's ordering columns on the other.

A delete block holds its ordering values as a union of wrappers, one a Java type. Start at `ordering_columns`, then
`ordering_union`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, SchemaMismatch
from pyhudi.formats.log import DELETES

__all__ = ["are_storable", "lacks_ordering", "ordering_columns", "ordering_union"]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_ARRAY: Final = "ArrayWrapper"
_NO_VALUE: Final = "IntWrapper"
_OF_JAVA: Final = ("DateWrapper", "LocalDateWrapper", "TimestampMicrosWrapper")
"""Values of classes that no stored row has: they are compared with none, so that the delete wins."""
_LAST_MILLIS: Final = 9_999_999_999_999
"""Beyond this, in the year 2286, Apache Hudi takes a number in a column of milliseconds for one of microseconds."""
_UNION: Final = DELETES.field("ordering").type
_ITEM: Final = _UNION.field(_ARRAY).type.field("wrappedValues").type.value_type
_WRAPPERS: Final = {
    pa.bool_(): "BooleanWrapper",
    pa.int32(): "IntWrapper",
    pa.int64(): "LongWrapper",
    pa.float32(): "FloatWrapper",
    pa.float64(): "DoubleWrapper",
    pa.binary(): "BytesWrapper",
    pa.string(): "StringWrapper",
    pa.date32(): "IntWrapper",
}
"""Dates and times are numbers in Spark's rows: a date of Java would win whatever is stored."""


def ordering_columns(ordering: pa.StructArray, fields: Sequence[pa.Field]) -> tuple[list[pa.Array], Bools]:
    """Read the ordering values of deletes as columns of the table, and which deletes have none.

    Shape:  n unions, as `formats.log.DELETES` has them -> one column a field, n values of its type; n flags.
    Nulls:  where there is no value, which Apache Hudi writes as the 32-bit integer 0, and for dates and instants of
            Java, which it compares with no row.
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


def are_storable(columns: Sequence[pa.Array]) -> bool:
    """Return whether deletes can have these ordering values: there are wrappers for their types, and they fit."""
    try:
        ordering_union(columns, np.zeros(len(columns[0]) if columns else 0, dtype=np.bool_))
    except SchemaMismatch:
        return False
    return True


def ordering_union(columns: Sequence[pa.Array], is_unordered: Bools) -> pa.StructArray:
    """Write ordering values of deletes as Apache Hudi on Spark does.

    Shape:  any number of columns of n values, n flags -> n unions, as `formats.log.DELETES` has them.
    Nulls:  a null, and a delete without ordering value, is the 32-bit integer 0.
    Raises: SchemaMismatch for a type that no wrapper holds, and a decimal beyond 15 digits before or behind the point.
    Spec:   format/files 2.4, 6.2.
    """
    has_value = pa.array(~is_unordered)
    if len(columns) < 2:
        return _wrapped(columns[0] if columns else pa.nulls(len(is_unordered), pa.int32()), has_value, _UNION)
    rows = np.flatnonzero(~is_unordered)
    every = pa.repeat(pa.scalar(value=True), len(rows))
    wrapped = [_wrapped(column.take(pa.array(rows)), every, _ITEM) for column in columns]
    order = np.arange(len(rows) * len(columns)).reshape(len(columns), -1).T.ravel()
    items = pa.concat_arrays(wrapped).take(pa.array(order))
    edges = np.append(0, np.cumsum(~is_unordered) * len(columns)).astype(np.int32)
    lists = pa.ListArray.from_arrays(edges, items, mask=pc.invert(has_value))
    arrays = pa.StructArray.from_arrays([lists], fields=list(_UNION.field(_ARRAY).type), mask=pc.invert(has_value))
    return _union({_ARRAY: arrays, _NO_VALUE: _zeros(has_value)}, len(has_value), _UNION)


def _wrapped(column: pa.Array, has_value: pa.BooleanArray, union: pa.StructType) -> pa.StructArray:
    """Wrap the values of a column; null, and what is not to have a value, is the 32-bit integer 0."""
    if not has_value.true_count:
        column = pa.nulls(len(column), pa.int32())
    name = _wrapper_of(column.type)
    lacks = pc.invert(pc.and_(has_value, column.is_valid()))
    column = pc.if_else(lacks, pa.scalar(None, column.type), column)
    if name == _NO_VALUE:
        zeros = pc.if_else(lacks, pa.scalar(0, pa.int32()), column.cast(pa.int32()))
        return _union(
            {name: pa.StructArray.from_arrays([zeros], fields=list(union.field(name).type))}, len(column), union
        )
    inner = union.field(name).type.field(0).type
    try:
        values = (column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column).cast(inner)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch("an ordering value is too large for a delete block", type=str(column.type)) from error
    value = pa.StructArray.from_arrays([values], fields=list(union.field(name).type), mask=lacks)
    return _union({name: value, _NO_VALUE: _zeros(pc.invert(lacks))}, len(column), union)


def _zeros(without: pa.BooleanArray) -> pa.StructArray:
    """Return the wrapper that stands for no value; null where there is one."""
    zeros = pa.array(np.zeros(len(without), np.int32))
    return pa.StructArray.from_arrays([zeros], fields=list(_UNION.field(_NO_VALUE).type), mask=without)


def _wrapper_of(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return "DecimalWrapper"
    name = "LongWrapper" if pa.types.is_timestamp(kind) else _WRAPPERS.get(kind)
    if name is None:
        raise SchemaMismatch("a delete block cannot hold ordering values of this type", type=str(kind))
    return name


def _union(known: Mapping[str, pa.Array], count: int, kind: pa.StructType) -> pa.StructArray:
    children = [known.get(field.name, pa.nulls(count, field.type)) for field in kind]
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _several(ordering: pa.StructArray, fields: Sequence[pa.Field]) -> tuple[list[pa.Array], Bools]:
    single = _unwrapped(ordering, fields[0])
    if single.null_count < len(single):
        raise CorruptData("a delete has one ordering value, the table several", expected=len(fields))
    arrays = pc.struct_field(ordering, [_ARRAY, "wrappedValues"])
    lacks = ~np.asarray(arrays.is_valid(), np.bool_)
    items, rows = arrays.flatten(), np.asarray(pc.list_parent_indices(arrays))
    for name in _OF_JAVA:
        lacks[rows[np.asarray(pc.struct_field(items, name).is_valid(), np.bool_)]] = True
    return _items(ordering, fields), lacks


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
        if wrapper.name in (_ARRAY, *_OF_JAVA):
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
    if pa.types.is_timestamp(kind) and kind.unit == "ms" and pa.types.is_int64(values.type):
        values = pc.if_else(pc.greater(values, _LAST_MILLIS), pc.divide(values, 1000), values)
    try:
        return values.cast(kind, safe=not is_rounded)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatch(
            "the ordering value of a delete does not fit its column",
            column=field.name,
            type=str(kind),
            stored_as=wrapper,
        ) from error
