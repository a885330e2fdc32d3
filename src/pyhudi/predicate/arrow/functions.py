"""The functions of the grammar that see all their arguments at once.

Pure kernels; `if`, `coalesce` and `nullif`, which choose between arguments, are in `evaluate`. Start at `apply`.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError, InternalError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.comparing import compare
from pyhudi.predicate.arrow.decimals import ceiling, floor, rounded
from pyhudi.predicate.arrow.moments import FUNCTIONS_OF_MOMENTS
from pyhudi.predicate.arrow.regular import regexp_extract, regexp_replace
from pyhudi.predicate.arrow.values import Value, bounded_decimal, common_type, is_float, is_integer
from pyhudi.predicate.model import Operator

__all__ = ["apply"]


def apply(name: str, arguments: Sequence[Value]) -> Value:
    """Call one function.

    Nulls:  null if any argument is; `greatest` and `least` skip nulls.
    Raises: ExpressionError for arguments of the wrong type, and results that overflow.
    """
    if name not in _FUNCTIONS:
        raise InternalError("function has no kernel", function=name)
    try:
        return _FUNCTIONS[name](*arguments)
    except pa.ArrowException as error:
        raise ExpressionError("this function has no result for some row", function=name, why=str(error)) from error


def _text(value: Value, name: str) -> Value:
    if value.type != pa.string() and not pt.is_null(value.type):
        raise ExpressionError("cast the argument to string", function=name, type=str(value.type))
    return cast(value, pa.string())


def _number(value: Value, name: str) -> Value:
    type_ = value.type
    if not (is_integer(type_) or is_float(type_) or pt.is_decimal128(type_) or pt.is_null(type_)):
        raise ExpressionError("give the function a number", function=name, type=str(type_))
    return cast(value, pa.float64()) if pt.is_null(type_) else value


def _constant(value: pa.Scalar, name: str) -> int | None:
    if not (is_integer(value.type) or pt.is_null(value.type)):
        raise ExpressionError("give a whole number", function=name, type=str(value.type))
    return None if value.as_py() is None else int(value.as_py())


def _cased(change: Callable[[str], str], ascii_change: Callable[[Value], Value]) -> Callable[[Value], Value]:
    def cased(value: Value) -> Value:
        text = _text(value, change.__name__)
        is_ascii = pc.string_is_ascii(text)
        if (is_ascii if isinstance(text, pa.Scalar) else pc.all(is_ascii)).as_py() is not False:
            return ascii_change(text)
        if isinstance(text, pa.Scalar):
            return pa.scalar(change(text.as_py()))
        # Letters that change into several ('ß' to 'SS') are not in Arrow's tables: each distinct text is changed once.
        coded = pc.dictionary_encode(text)
        changed = pa.array([change(word) for word in coded.dictionary.to_pylist()], pa.string())
        return changed.take(coded.indices)

    return cased


def _length(value: Value) -> Value:
    if value.type == pa.binary():
        return pc.cast(pc.binary_length(value), pa.int32())
    return pc.utf8_length(_text(value, "length"))


def _trimmed(trim: Callable[..., Value], name: str) -> Callable[..., Value]:
    def trimmed(value: Value, characters: pa.Scalar | None = None) -> Value:
        """Take blanks away, or some characters: only an index asks for others, text of an expression does not."""
        return trim(_text(value, name), characters=" " if characters is None else characters.as_py())

    return trimmed


def _concat(*values: Value) -> Value:
    if all(value.type == pa.binary() for value in values):
        return pc.binary_join_element_wise(*values, b"")
    if any(value.type == pa.binary() or is_float(value.type) for value in values):
        raise ExpressionError("cast what is concatenated to string", types=[str(value.type) for value in values])
    return pc.binary_join_element_wise(*[cast(value, pa.string()) for value in values], "")


def _substring(value: Value, start: pa.Scalar, length: pa.Scalar | None = None) -> Value:
    text = _text(value, "substring")
    first = _constant(start, "substring")
    count = 2**31 if length is None else _constant(length, "substring")
    if first is None or count is None:
        return pc.if_else(True, pa.scalar(None, pa.string()), text)
    if count <= 0:
        return pc.if_else(pc.is_valid(text), "", pa.scalar(None, pa.string()))
    begin = first - 1 if first > 0 else first
    stop: int | None = begin + count
    if begin < 0 <= begin + count or begin + count >= 2**31 - 1:
        stop = None
    return pc.utf8_slice_codeunits(text, start=begin, stop=stop)


def _abs(value: Value) -> Value:
    number = _number(value, "abs")
    return pc.abs(number) if pt.is_decimal(number.type) else pc.abs_checked(number)


def _floored(
    round_: Callable[[Value], Value], of_decimal: Callable[[Value], Value], name: str
) -> Callable[[Value], Value]:
    def floored(value: Value) -> Value:
        number = _number(value, name)
        if not pt.is_decimal(number.type):
            return cast(round_(number) if is_float(number.type) else number, pa.int64())
        target = bounded_decimal(number.type.precision - number.type.scale + 1, 0)
        return cast(of_decimal(number), target)

    return floored


def _round(value: Value, digits: pa.Scalar | None = None) -> Value:
    number = _number(value, "round")
    count = 0 if digits is None else _constant(digits, "round")
    if count is None:
        return pc.if_else(True, pa.scalar(None, number.type), number)
    if not -18 <= count <= 18:
        raise ExpressionError("round to 18 digits at most", digits=count)
    if isinstance(number, pa.Scalar):
        return _round_rows(pa.array([number.as_py()], number.type), count)[0]
    return _round_rows(number, count)


def _round_rows(number: pa.Array, count: int) -> pa.Array:
    type_ = number.type
    if pt.is_decimal(type_):
        return _round_decimal(number, _rounded_decimal(type_, count), count)
    if is_integer(type_):
        if count >= 0:
            return number
        return cast(_round_decimal(cast(number, pa.decimal128(20, 0)), pa.decimal128(38, 0), count), type_)
    # Doubles of this size have no fraction, or lie beyond a decimal; smaller ones round as their shortest text does.
    doubles = number
    small = pc.and_(pc.is_finite(doubles), pc.less(pc.abs(doubles), 1e15))
    if count < 0 and pc.any(pc.and_(pc.is_finite(doubles), pc.invert(small))).as_py():
        raise ExpressionError("cast to decimal before rounding numbers this large", digits=count)
    exact = cast(pc.if_else(small, doubles, pa.scalar(0.0, type_)), pa.decimal128(38, 20))
    nearest = cast(_round_decimal(exact, pa.decimal128(38, max(count, 0)), count), type_)
    return pc.if_else(small, nearest, doubles)


def _rounded_decimal(type: pa.DataType, count: int) -> pa.DataType:
    whole = type.precision - type.scale + 1
    if count < 0:
        return pa.decimal128(min(38, max(whole, 1 - count)), 0)
    scale = min(type.scale, count)
    return pa.decimal128(min(38, whole + scale), scale)


def _round_decimal(number: pa.Array, target: pa.DataType, count: int) -> pa.Array:
    return cast(rounded(number, count), target)


def _extreme(operator: Operator) -> Callable[..., Value]:
    def extreme(*values: Value) -> Value:
        type_ = values[0].type
        for value in values[1:]:
            type_ = common_type(type_, value.type)
        best, *others = (cast(value, type_) for value in values)
        for other in others:
            is_better = pc.or_(pc.is_null(best), pc.fill_null(compare(operator, other, best), False))
            best = pc.if_else(is_better, pc.coalesce(other, best), best)
        return best

    return extreme


def _part(kernel: Callable[[Value], Value], name: str, *, of_time: bool) -> Callable[[Value], Value]:
    def part(value: Value) -> Value:
        type_ = value.type
        if pt.is_date32(type_) and of_time:
            return pc.if_else(pc.is_valid(value), pa.scalar(0, pa.int32()), pa.scalar(None, pa.int32()))
        if not (pt.is_timestamp(type_) or pt.is_date32(type_) or pt.is_null(type_)):
            raise ExpressionError("give the function a date or a timestamp", function=name, type=str(type_))
        if not pt.is_date32(type_):
            value = cast(value, pa.timestamp("us"))
        return pc.cast(kernel(value), pa.int32())

    return part


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": _abs,
    "ceil": _floored(pc.ceil, ceiling, "ceil"),
    "concat": _concat,
    "day": _part(pc.day, "day", of_time=False),
    "floor": _floored(pc.floor, floor, "floor"),
    "greatest": _extreme(Operator.GREATER),
    "hour": _part(pc.hour, "hour", of_time=True),
    "least": _extreme(Operator.LESS),
    "length": _length,
    "lower": _cased(str.lower, pc.ascii_lower),
    "ltrim": _trimmed(pc.utf8_ltrim, "ltrim"),
    "minute": _part(pc.minute, "minute", of_time=True),
    "month": _part(pc.month, "month", of_time=False),
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
    "round": _round,
    "rtrim": _trimmed(pc.utf8_rtrim, "rtrim"),
    "second": _part(pc.second, "second", of_time=True),
    "substring": _substring,
    "trim": _trimmed(pc.utf8_trim, "trim"),
    "upper": _cased(str.upper, pc.ascii_upper),
    "year": _part(pc.year, "year", of_time=False),
    **FUNCTIONS_OF_MOMENTS,
}
