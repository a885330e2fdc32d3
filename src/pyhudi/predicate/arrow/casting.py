"""Casts as Spark's ANSI mode makes them: what does not fit is an error, never null and never a guess.

Pure kernels. Where Arrow reads fewer texts than Spark the rest is refused. Times of day are UTC. Start at `cast`.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.decimals import rounded, shortened
from pyhudi.predicate.arrow.values import Value, first_of, is_float, is_integer

__all__ = ["cast"]

_UTC = pa.timestamp("us", tz="UTC")
_NTZ = pa.timestamp("us")
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DOUBLE = r"^([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:nan|[+-]?inf(inity)?))$"
_INTEGER = r"^[+-]?\d+$"
_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")


def cast(values: Value, type: pa.DataType) -> Value:
    """Cast to another type.

    Shape:  any number of values -> as many.
    Nulls:  stay null.
    Raises: ExpressionError for a value that does not fit, and for types that do not cast.
    """
    if values.type == type:
        return values
    if isinstance(values, pa.Scalar):
        return cast(pa.array([values.as_py()], values.type), type)[0]
    if pt.is_null(values.type):
        return pa.nulls(len(values), type)
    change = _change(values.type, type)
    if change is None:
        raise ExpressionError("this cast is not supported", source=str(values.type), target=str(type))
    try:
        return change(values, type)
    except pa.ArrowException as error:
        raise ExpressionError(
            "a value does not fit the cast", target=str(type), why=str(error).splitlines()[0]
        ) from error


_Change = Callable[[pa.Array, pa.DataType], pa.Array]


def _change(source: pa.DataType, target: pa.DataType) -> _Change | None:
    return _CHANGES.get((_kind(source), _kind(target)))


def _kind(type: pa.DataType) -> str:
    if is_integer(type):
        return "integer"
    if is_float(type):
        return "float"
    if pt.is_decimal(type):
        return "decimal"
    if pt.is_timestamp(type):
        return "utc" if type.tz else "ntz"
    return {pa.string(): "string", pa.binary(): "binary", pa.bool_(): "bool", pa.date32(): "date"}.get(type, "other")


def _plainly(values: pa.Array, type: pa.DataType) -> pa.Array:
    return values.cast(type)


def _unchecked(values: pa.Array, type: pa.DataType) -> pa.Array:
    return values.cast(type, safe=False)


def _float_to_integer(values: pa.Array, type: pa.DataType) -> pa.Array:
    return pc.trunc(values).cast(type)


def _decimal_to_integer(values: pa.Array, type: pa.DataType) -> pa.Array:
    return shortened(values, 0).cast(type)


def _integer_to_decimal(values: pa.Array, type: pa.DataType) -> pa.Array:
    return values.cast(pa.decimal256(20 + type.scale, type.scale)).cast(type)


def _decimal_to_decimal(values: pa.Array, type: pa.DataType) -> pa.Array:
    wide = rounded(values, type.scale)
    return wide.cast(pa.decimal256(min(76, type.precision + 1), type.scale)).cast(type)


def _decimal_to_float(values: pa.Array, type: pa.DataType) -> pa.Array:
    # Beyond 15 digits Arrow's own way may miss the nearest double; its parser does not.
    return values.cast(type) if values.type.precision <= 15 else values.cast(pa.string()).cast(type)


def _float_to_decimal(values: pa.Array, type: pa.DataType) -> pa.Array:
    # The shortest text of the number is rounded, as Java does, not the binary fraction.
    doubles = values.cast(pa.float64()) if values.type == pa.float64() else values.cast(pa.string()).cast(pa.float64())
    if type.scale <= 20:
        doubles = pc.if_else(pc.less(pc.abs(doubles), 1e-21), 0.0, doubles)
    return _string_to_decimal(doubles.cast(pa.string()), type)


def _string_to_decimal(values: pa.Array, type: pa.DataType) -> pa.Array:
    text = _checked(values, _NUMBER, type)
    return _decimal_to_decimal(text.cast(pa.decimal256(76, 38)), type)


def _string_to_integer(values: pa.Array, type: pa.DataType) -> pa.Array:
    return pc.replace_substring_regex(_checked(values, _INTEGER, type), r"^\+", "").cast(type)


def _string_to_float(values: pa.Array, type: pa.DataType) -> pa.Array:
    return _checked(values, _DOUBLE, type).cast(type)


def _string_to_bool(values: pa.Array, type: pa.DataType) -> pa.Array:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(values))
    # Made here and not when the module loads, because the first array makes Arrow import pandas.
    is_true, is_false = (pc.is_in(text, value_set=pa.array(words)) for words in (_TRUE, _FALSE))
    wrong = pc.and_(pc.is_valid(text), pc.invert(pc.or_(is_true, is_false)))
    if pc.any(wrong).as_py():
        raise ExpressionError("a text is no boolean", text=first_of(values, wrong))
    return pc.if_else(pc.is_valid(text), is_true, pa.scalar(None, type))


def _string_to_date(values: pa.Array, type: pa.DataType) -> pa.Array:
    return _checked(values, r"^\d{4}-\d\d-\d\d$", type).cast(type)


def _string_to_ntz(values: pa.Array, type: pa.DataType) -> pa.Array:
    return pc.utf8_trim_whitespace(values).cast(type)


def _string_to_utc(values: pa.Array, type: pa.DataType) -> pa.Array:
    text = pc.utf8_trim_whitespace(values)
    text = pc.replace_substring_regex(text, r"^(\d{4}-\d\d-\d\d)$", r"\1 00:00:00")
    has_zone = pc.match_substring_regex(text, r":.*(Z|[+-]\d\d(:?\d\d)?)$")
    return pc.if_else(has_zone, text, pc.binary_join_element_wise(text, "Z", "")).cast(type)


def _decimal_to_string(values: pa.Array, type: pa.DataType) -> pa.Array:
    # Arrow writes small fractions with an exponent, Spark in full: the unscaled number gets its point by position.
    scale = values.type.scale
    if scale <= 6:
        return values.cast(type)
    size = pc.abs(values)
    unscaled = pa.Array.from_buffers(pa.decimal128(38, 0), len(size), size.buffers(), offset=size.offset)
    digits = pc.utf8_lpad(unscaled.cast(type), width=scale + 1, padding="0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    sign = pc.if_else(pc.less(pc.sign(values), 0), "-", "")
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), fraction, ".")


def _timestamp_to_string(values: pa.Array, type: pa.DataType) -> pa.Array:
    text = pc.replace_substring_regex(values.cast(_NTZ).cast(type), r"\.0+$", "")
    return pc.replace_substring_regex(text, r"(\.\d*[1-9])0+$", r"\1")


def _utc_to_integer(values: pa.Array, type: pa.DataType) -> pa.Array:
    seconds = pc.floor_temporal(values.cast(_NTZ), unit="second")
    return pc.divide(seconds.cast(pa.int64()), 1_000_000).cast(type)


def _integer_to_utc(values: pa.Array, type: pa.DataType) -> pa.Array:
    return pc.multiply_checked(values.cast(pa.int64()), 1_000_000).cast(type)


def _number_to_bool(values: pa.Array, type: pa.DataType) -> pa.Array:
    return pc.not_equal(values, pa.scalar(0, values.type)).cast(type)


def _bool_to_decimal(values: pa.Array, type: pa.DataType) -> pa.Array:
    return _integer_to_decimal(values.cast(pa.int32()), type)


def _checked(values: pa.Array, pattern: str, type: pa.DataType) -> pa.Array:
    text = pc.utf8_trim_whitespace(values)
    wrong = pc.invert(pc.match_substring_regex(text, pattern))
    if pc.any(wrong).as_py():
        raise ExpressionError("a text does not fit the cast", text=first_of(values, wrong), target=str(type))
    return text


_CHANGES: dict[tuple[str, str], _Change] = {
    ("integer", "integer"): _plainly,
    ("integer", "float"): _unchecked,
    ("integer", "decimal"): _integer_to_decimal,
    ("integer", "string"): _plainly,
    ("integer", "bool"): _number_to_bool,
    ("integer", "utc"): _integer_to_utc,
    ("float", "integer"): _float_to_integer,
    ("float", "float"): _unchecked,
    ("float", "decimal"): _float_to_decimal,
    ("float", "bool"): _number_to_bool,
    ("decimal", "integer"): _decimal_to_integer,
    ("decimal", "float"): _decimal_to_float,
    ("decimal", "decimal"): _decimal_to_decimal,
    ("decimal", "string"): _decimal_to_string,
    ("decimal", "bool"): _number_to_bool,
    ("bool", "integer"): _plainly,
    ("bool", "float"): _plainly,
    ("bool", "decimal"): _bool_to_decimal,
    ("bool", "string"): _plainly,
    ("string", "integer"): _string_to_integer,
    ("string", "float"): _string_to_float,
    ("string", "decimal"): _string_to_decimal,
    ("string", "bool"): _string_to_bool,
    ("string", "date"): _string_to_date,
    ("string", "utc"): _string_to_utc,
    ("string", "ntz"): _string_to_ntz,
    ("string", "binary"): _plainly,
    ("binary", "string"): _plainly,
    ("date", "string"): _plainly,
    ("date", "ntz"): _plainly,
    ("date", "utc"): lambda values, type: values.cast(_NTZ).cast(type),
    ("utc", "date"): lambda values, type: values.cast(_NTZ).cast(type, safe=False),
    ("ntz", "date"): _unchecked,
    ("utc", "ntz"): _plainly,
    ("ntz", "utc"): _plainly,
    ("utc", "string"): _timestamp_to_string,
    ("ntz", "string"): _timestamp_to_string,
    ("utc", "integer"): _utc_to_integer,
}
