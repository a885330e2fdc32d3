"""Arithmetic with Spark's result types: checked, so that overflow and division by zero are errors.

Pure kernels. Start at `arithmetic`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.decimals import quotient, remainder
from pyhudi.predicate.arrow.values import Value, bounded_decimal, common_type, decimal_of, is_float, is_integer
from pyhudi.predicate.model import Operator

__all__ = ["arithmetic", "negative"]

_CHECKED = {
    Operator.ADD: pc.add_checked,
    Operator.SUBTRACT: pc.subtract_checked,
    Operator.MULTIPLY: pc.multiply_checked,
    Operator.DIVIDE: pc.divide_checked,
}


def arithmetic(operator: Operator, left: Value, right: Value) -> Value:
    """Compute one operator.

    Shape:  n values and n values, or one for all -> n values; whole `/` whole is a double.
    Nulls:  null if either side is, also where the divisor is zero.
    Raises: ExpressionError on overflow, division by zero, and types that are no numbers.
    """
    for value in (left, right):
        if not (_is_number(value.type) or pt.is_null(value.type)):
            raise ExpressionError("compute with numbers only", operator=operator.value, type=str(value.type))
    try:
        return _computed(operator, left, right)
    except (pa.ArrowException, ZeroDivisionError) as error:
        why = str(error).splitlines()[0]
        raise ExpressionError("this arithmetic has no result for some row", operator=operator.value, why=why) from error


def negative(value: Value) -> Value:
    """Change the sign.

    Raises: ExpressionError on overflow, and for what is no number.
    """
    if pt.is_null(value.type):
        return value
    if not _is_number(value.type):
        raise ExpressionError("compute with numbers only", operator="-", type=str(value.type))
    try:
        return pc.negate(value) if pt.is_decimal(value.type) else pc.negate_checked(value)
    except pa.ArrowException as error:
        raise ExpressionError("this arithmetic has no result for some row", operator="-", why=str(error)) from error


def _computed(operator: Operator, left: Value, right: Value) -> Value:
    if operator is Operator.DIV:
        return _whole_quotient(left, right)
    type_ = common_type(left.type, right.type)
    if pt.is_decimal(type_):
        return _decimal(operator, _as_decimal(left, type_), _as_decimal(right, type_))
    if operator is Operator.DIVIDE:
        type_ = pa.float64()
    left, right = cast(left, type_), cast(right, type_)
    if pt.is_null(type_):
        return left
    if operator is Operator.REMAINDER:
        return _float_remainder(left, right) if is_float(type_) else _whole_remainder(left, right)
    return _CHECKED[operator](left, right)


def _is_number(type: pa.DataType) -> bool:
    return is_integer(type) or is_float(type) or bool(pt.is_decimal128(type))


def _as_decimal(value: Value, type: pa.DataType) -> Value:
    return cast(value, type if pt.is_null(value.type) else decimal_of(value.type))


def _whole_quotient(left: Value, right: Value) -> Value:
    if is_float(left.type) or is_float(right.type) or pt.is_decimal(left.type) or pt.is_decimal(right.type):
        raise ExpressionError("use div with whole numbers only", left=str(left.type), right=str(right.type))
    return pc.divide_checked(cast(left, pa.int64()), cast(right, pa.int64()))


def _whole_remainder(left: Value, right: Value) -> Value:
    # x % -1 is 0, but the quotient of the smallest number overflows.
    one, minus_one = pa.scalar(1, right.type), pa.scalar(-1, right.type)
    right = pc.if_else(pc.equal(right, minus_one), one, right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, right), right))


def _float_remainder(left: Value, right: Value) -> Value:
    pc.divide_checked(left, right)  # raises for a zero divisor, and not beside a null
    is_whole = isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar)
    arrays = [pa.array([v.as_py()], v.type) if isinstance(v, pa.Scalar) else v for v in (left, right)]
    missing = pc.or_(pc.is_null(arrays[0]), pc.is_null(arrays[1])) if is_whole else pc.is_null(pc.add(left, right))
    numbers = [pc.fill_null(array, 1.0).to_numpy(zero_copy_only=False) for array in arrays]
    with np.errstate(all="ignore"):
        found = np.fmod(numbers[0], numbers[1])
    result = pa.array(found, left.type, mask=missing.to_numpy(zero_copy_only=False))
    return result[0] if is_whole else result


def _decimal(operator: Operator, left: Value, right: Value) -> Value:
    result = _decimal_type(operator, left.type, right.type)
    if operator in (Operator.DIVIDE, Operator.REMAINDER):
        return _divided(operator, left, right, result)
    if left.type.precision + right.type.precision >= 38:
        left, right = _wide(left, 75 - right.type.precision), _wide(right, 75)
    return cast(_CHECKED[operator](left, right), result)


def _wide(value: Value, limit: int) -> Value:
    """Take a decimal to the wider kind, with at most so many digits: Arrow computes result types from them."""
    return value.cast(pa.decimal256(min(value.type.precision, limit), value.type.scale))


def _decimal_type(operator: Operator, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case Operator.MULTIPLY:
            return bounded_decimal(p1 + p2 + 1, s1 + s2)
        case Operator.DIVIDE:
            scale = max(6, s1 + p2 + 1)
            return bounded_decimal(p1 - s1 + s2 + scale, scale)
        case Operator.REMAINDER:
            return bounded_decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))
        case _:
            return bounded_decimal(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))


def _divided(operator: Operator, left: Value, right: Value, result: pa.DataType) -> Value:
    length = next((len(value) for value in (left, right) if isinstance(value, pa.Array)), None)
    one, other = (
        pa.repeat(v, 1 if length is None else length) if isinstance(v, pa.Scalar) else v for v in (left, right)
    )
    # One digit more than wanted, of which the cast makes the rounding.
    found = quotient(one, other, result.scale + 1) if operator is Operator.DIVIDE else remainder(one, other)
    computed = cast(found, result)
    return computed[0] if length is None else computed
