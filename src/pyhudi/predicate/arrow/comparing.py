"""Comparisons as Spark makes them: NaN equals NaN and is larger than any number, and 0.0 equals -0.0.

Pure kernels. Start at `compare`; `is_among` is `in`, `matches_pattern` is `like`.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.values import Value, common_type, is_float
from pyhudi.predicate.model import Operator

__all__ = ["compare", "is_among", "is_in", "like_parts", "matches_pattern"]

_COMPARED = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_EQUAL: pc.greater_equal,
}
_BOOL = pa.bool_()


def compare(operator: Operator, left: Value, right: Value) -> Value:
    """Compare value by value.

    Nulls:  null if either side is; `<=>` is never null.
    Raises: ExpressionError for types that do not compare.
    """
    type_ = common_type(left.type, right.type)
    if pt.is_nested(type_):
        raise ExpressionError("compare the fields, not the whole", operator=operator.value, type=str(type_))
    if pt.is_null(type_):
        type_ = _BOOL
    left, right = cast(left, type_), cast(right, type_)
    if operator is Operator.SAME:
        both = pc.and_(pc.is_null(left), pc.is_null(right))
        return pc.or_(both, pc.fill_null(_compared(Operator.EQUAL, left, right), False))
    return _compared(operator, left, right)


def is_among(value: Value, options: Sequence[Value]) -> Value:
    """Return whether a value equals one of some constants.

    Nulls:  null if the value is, or if none equals it and one of them is null.
    Cost:   one hash look-up a value.
    """
    type_ = value.type
    for option in options:
        type_ = common_type(type_, option.type)
    if pt.is_nested(type_) or pt.is_null(type_):
        type_ = _BOOL if pt.is_null(type_) else common_type(type_, _BOOL)
    known = [cast(option, type_).as_py() for option in options if option.is_valid]
    return is_in(cast(value, type_), pa.array(known + [None] * (len(known) < len(options)), type_))


def is_in(value: Value, wanted: pa.Array) -> Value:
    """Return whether a value equals one of some constants of its type.

    Nulls, Cost: as `is_among`.
    """
    has_null, wanted = wanted.null_count > 0, wanted.drop_null()
    if is_float(wanted.type):
        value, wanted = (pc.add(one, pa.scalar(0.0, wanted.type)) for one in (value, wanted))
    found = pc.is_in(value, value_set=wanted)
    otherwise = pa.scalar(None if has_null else False, _BOOL)
    return pc.if_else(pc.is_null(value), pa.scalar(None, _BOOL), pc.if_else(found, pa.scalar(True), otherwise))


def matches_pattern(value: Value, pattern: str, escape: str) -> Value:
    """Return whether a text fits a pattern.

    Nulls:  null if the text is.
    Raises: ExpressionError for what is no text, and for an escape before an ordinary character.
    """
    parts = like_parts(pattern, escape)
    if pt.is_null(value.type):
        return cast(value, _BOOL)
    if value.type != pa.string():
        raise ExpressionError("use like with text only", type=str(value.type))
    kinds = [part if part in ("%", "_") else "text" for part in parts]
    plain_text = next((part[1:] for part in parts if part.startswith("=")), "")
    match kinds:
        case ["text"] | []:
            return pc.equal(value, pa.scalar(plain_text))
        case ["text", "%"]:
            return pc.starts_with(value, pattern=plain_text)
        case ["%", "text"]:
            return pc.ends_with(value, pattern=plain_text)
        case ["%", "text", "%"]:
            return pc.match_substring(value, pattern=plain_text)
    regex = "".join({"%": ".*", "_": "."}.get(part) or re.escape(part.removeprefix("=")) for part in parts)
    return pc.match_substring_regex(value, pattern=rf"(?s)\A(?:{regex})\z")


def like_parts(pattern: str, escape: str) -> list[str]:
    """Cut a pattern into `%`, `_` and runs of text, each run with `=` before it.

    Raises: ExpressionError for an escape before an ordinary character, or at the end.
    """
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == escape:
            place += 1
            if pattern[place : place + 1] not in ("%", "_", escape):
                raise ExpressionError("escape only %, _ and the escape itself", pattern=pattern, position=place)
            sign = "=" + pattern[place]
        elif sign not in "%_":
            sign = "=" + sign
        if sign.startswith("=") and parts and parts[-1].startswith("="):
            parts[-1] += sign[1:]
        else:
            parts.append(sign)
        place += 1
    return parts


def _compared(operator: Operator, left: Value, right: Value) -> Value:
    found = _COMPARED[operator](left, right)
    if not is_float(left.type) or not (_has_nan(left) or _has_nan(right)):
        return found
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    both, left_only = pc.and_(left_nan, right_nan), pc.and_not(left_nan, right_nan)
    right_only = pc.and_not(right_nan, left_nan)
    match operator:
        case Operator.EQUAL:
            return pc.or_(found, both)
        case Operator.NOT_EQUAL:
            return pc.and_not(found, both)
        case Operator.LESS:
            return pc.or_(found, right_only)
        case Operator.LESS_EQUAL:
            return pc.or_(found, right_nan)
        case Operator.GREATER:
            return pc.or_(found, left_only)
        case _:
            return pc.or_(found, left_nan)


def _has_nan(value: Value) -> bool:
    found = pc.is_nan(value)
    return bool((found if isinstance(found, pa.Scalar) else pc.any(found)).as_py())
