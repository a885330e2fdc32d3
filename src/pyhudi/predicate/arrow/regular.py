"""Functions by regular expressions, with the results of Java's where RE2 has the same: it has no look-around.

Pure kernels. Start at `regexp_extract` and `regexp_replace`.
"""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.values import Value, is_integer

__all__ = ["regexp_extract", "regexp_replace"]

_ODD: Final = re.compile(r"\\[1-9BGRXZhkvHV]|\\p\{(?!L|N|Lu|Ll|Nd)|[*+?}]\+|&&|\(\?<[=!]|\(\?[=!>]")
"""What RE2 has not, or takes for something else than Java does."""
_GROUP: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?<([A-Za-z]\w*)>", re.DOTALL)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)


def regexp_extract(value: Value, pattern: pa.Scalar, group: pa.Scalar | None = None) -> Value:
    """Return what a group of the first match holds; empty text where nothing matches.

    Raises: ExpressionError for a pattern that is not the same here and in Java, and for a group that it has not.
    """
    index = 1 if group is None else _whole(group)
    expression = _pattern(pattern, "regexp_extract")
    if expression is None or index is None:
        return _nothing(value)
    named, count = _with_names(expression)
    if not 0 <= index <= count:
        raise ExpressionError("the regular expression has no such group", group=index, groups=count)
    found = pc.struct_field(pc.extract_regex(_text(value, "regexp_extract"), f"(?P<g0>{named})"), [f"g{index}"])
    return pc.if_else(pc.is_valid(value), pc.fill_null(found, ""), pa.scalar(None, pa.string()))


def regexp_replace(value: Value, pattern: pa.Scalar, replacement: pa.Scalar) -> Value:
    r"""Replace every match; `$1` in the replacement is the first group.

    Raises: as `regexp_extract`.
    """
    expression, text = _pattern(pattern, "regexp_replace"), _string(replacement, "regexp_replace")
    if expression is None or text is None:
        return _nothing(value)
    named, _ = _with_names(expression)
    return pc.replace_substring_regex(
        _text(value, "regexp_replace"), pattern=named, replacement=_REFERENCE.sub(_reference, text)
    )


def _reference(match: re.Match[str]) -> str:
    r"""Write a reference as RE2 does: `\1` for `$1`; what Java takes as it is behind a backslash is that."""
    quoted, number = match.groups()
    if number is not None:
        return f"\\{number}"
    return "\\\\" if quoted == "\\" else quoted


def _with_names(expression: str) -> tuple[str, int]:
    """Name each group that captures g1 and so on; returns how many there are."""
    count = 0

    def name(match: re.Match[str]) -> str:
        nonlocal count
        if not match[0].startswith("("):
            return match[0]
        count += 1
        return f"(?P<g{count}>"

    return _GROUP.sub(name, expression), count


def _pattern(pattern: pa.Scalar, name: str) -> str | None:
    text = _string(pattern, name)
    if text is not None and _ODD.search(text):
        raise ExpressionError(
            "write the regular expression without look-around, possessive repeats and back references", pattern=text
        )
    return text


def _string(value: pa.Scalar, name: str) -> str | None:
    if not (pt.is_string(value.type) or pt.is_null(value.type)):
        raise ExpressionError("write this argument as text", function=name, type=str(value.type))
    text: str | None = value.as_py()
    return text


def _text(value: Value, name: str) -> Value:
    if value.type != pa.string() and not pt.is_null(value.type):
        raise ExpressionError("cast the argument to string", function=name, type=str(value.type))
    return value.cast(pa.string())


def _whole(value: pa.Scalar) -> int | None:
    if not (is_integer(value.type) or pt.is_null(value.type)):
        raise ExpressionError("give a whole number", function="regexp_extract", type=str(value.type))
    number: int | None = value.as_py()
    return number


def _nothing(value: Value) -> Value:
    return pa.scalar(None, pa.string()) if isinstance(value, pa.Scalar) else pa.nulls(len(value), pa.string())
