"""Arrow values as the grammar sees them: fewer types, and the type two values have in common.

Pure. Types are Spark's; an Arrow type that Spark lacks becomes the one that holds all its values. Start at `plain`
and `common_type`.
"""

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError

__all__ = ["Value", "bounded_decimal", "common_type", "decimal_of", "first_of", "is_float", "is_integer", "plain"]

Value: TypeAlias = pa.Array | pa.Scalar
"""A value for every row, or one for all."""

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_INTEGERS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}


def plain(values: pa.Array) -> pa.Array:
    """Decode and widen a column to a type that the grammar knows; other types stay as they are."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pt.is_dictionary(values.type):
        values = pc.dictionary_decode(values)
    type_ = values.type
    if type_ in _WIDER:
        return values.cast(_WIDER[type_])
    if pt.is_timestamp(type_):
        wanted = pa.timestamp("us", tz=None if type_.tz is None else "UTC")
        return values if type_ == wanted else values.cast(wanted, safe=False)
    if pt.is_fixed_size_binary(type_):
        return values.cast(pa.binary())
    if pt.is_decimal(type_) and not pt.is_decimal128(type_) and type_.precision <= 38:
        return values.cast(pa.decimal128(type_.precision, type_.scale))
    return values


def first_of(values: pa.Array, where: pa.Array) -> str:
    """Show the first value that a mask marks, for an error."""
    return str(values.filter(where)[0])


def is_integer(type: pa.DataType) -> bool:
    """Return whether a type is one of the four whole numbers."""
    return type in _INTEGERS


def is_float(type: pa.DataType) -> bool:
    """Return whether a type is float or double."""
    return type in (pa.float32(), pa.float64())


def decimal_of(type: pa.DataType) -> pa.DataType:
    """Return the decimal that holds all values of a whole-number or decimal type."""
    return pa.decimal128(_INTEGERS[type], 0) if type in _INTEGERS else type


def bounded_decimal(precision: int, scale: int) -> pa.DataType:
    """Fit a computed decimal type into 38 digits: fraction digits go first, but not below six."""
    if precision <= 38:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(38, max(38 - whole, min(scale, 6)))


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type in which two values compare, or stand in one column.

    Raises: ExpressionError for types that only a guess would bring together, such as text and numbers.
    """
    if left == right or pt.is_null(right):
        return left
    if pt.is_null(left):
        return right
    found = _common_number(left, right) or _common_time(left, right)
    if found is None:
        raise ExpressionError("cast one side, these types have no common one", left=str(left), right=str(right))
    return found


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if not all(type_ in _INTEGERS or is_float(type_) or pt.is_decimal128(type_) for type_ in (left, right)):
        return None
    if is_float(left) or is_float(right):
        return pa.float64()
    if left in _INTEGERS and right in _INTEGERS:
        return max(left, right, key=_INTEGERS.__getitem__)
    left, right = decimal_of(left), decimal_of(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return pa.decimal128(min(38, whole + scale), min(scale, 38 - whole))


def _common_time(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if not all(pt.is_date32(type_) or pt.is_timestamp(type_) for type_ in (left, right)):
        return None
    zones = [type_.tz for type_ in (left, right) if pt.is_timestamp(type_)]
    return pa.timestamp("us", tz="UTC" if "UTC" in zones else None)
