"""From a tree back to SQL text, which means the same to Spark and to `parse`.

Pure. Names are always back-quoted, and literals carry their type. A timestamp literal names its zone; dates and parts
of a timestamp with a zone are UTC here, and follow the session's zone on Spark. Start at `to_sql`.
"""

import datetime
import math
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.model import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Negative,
    Not,
    Opaque,
    Operator,
    literal,
)
from pyhudi.predicate.temporal import timestamp_text
from pyhudi.predicate.types import type_sql

__all__ = ["to_sql"]

Rename = Callable[[Column], Column]
_OR, _AND, _NOT, _PREDICATE, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)
_SUFFIX = {pa.int8(): "Y", pa.int16(): "S", pa.int32(): "", pa.int64(): "L"}
_ESCAPED = {"\\": "\\\\", "'": "\\'", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z", "$": "\\u0024"}
"""The dollar, because Spark replaces `${name}` everywhere in a text, also inside strings."""


def to_sql(expression: Expression, rename: Rename | None = None) -> str:
    """Write an expression as SQL, each column passed through `rename`.

    Raises: ExpressionError for a pyarrow expression, and for types that SQL cannot name.
    """
    return _written(expression, rename or (lambda column: column), _OR)


def _written(node: Expression, rename: Rename, needed: int) -> str:
    """Write a node, in brackets if it binds weaker than needed."""
    text = _text(node, rename)
    return text if _strength(node) >= needed else f"({text})"


def _strength(node: Expression) -> int:
    match node:
        case Logical():
            return _AND if node.is_and else _OR
        case Not():
            return _NOT
        case IsNull() | InList() | Between() | Like():
            return _PREDICATE
        case Binary():
            return _operator_strength(node.operator)
        case Negative():
            return _SIGN
        case Literal() if isinstance(node.value, int | float | Decimal) and node.value < 0:
            return _SIGN
        case _:
            return _ATOM


def _operator_strength(operator: Operator) -> int:
    if operator.is_comparison:
        return _COMPARISON
    return _SUM if operator in (Operator.ADD, Operator.SUBTRACT) else _PRODUCT


def _text(node: Expression, rename: Rename) -> str:
    match node:
        case Column():
            return ".".join("`" + part.replace("`", "``") + "`" for part in rename(node).parts)
        case Literal():
            return _literal(node)
        case Not():
            return f"not {_written(node.value, rename, _NOT)}"
        case Negative():
            inner = _written(node.value, rename, _ATOM)
            return f"-({inner})" if isinstance(node.value, Literal) and not inner.startswith("(") else f"-{inner}"
        case Binary():
            strength = _operator_strength(node.operator)
            left, right = _written(node.left, rename, strength), _written(node.right, rename, strength + 1)
            return f"{left} {node.operator.value} {right}"
        case Logical():
            strength, word = (_AND, " and ") if node.is_and else (_OR, " or ")
            return word.join(_written(term, rename, strength + 1) for term in node.terms)
        case Case():
            whens = (f"when {_text(when, rename)} then {_text(then, rename)}" for when, then in node.whens)
            otherwise = "" if node.otherwise is None else f" else {_text(node.otherwise, rename)}"
            return f"case {' '.join(whens)}{otherwise} end"
        case Cast():
            return f"cast({_text(node.value, rename)} as {type_sql(node.type)})"
        case Call():
            return f"{node.name}({', '.join(_text(argument, rename) for argument in node.arguments)})"
        case Opaque():
            raise ExpressionError("write the filter as text, a pyarrow expression has no SQL")
        case _:
            return _predicate(node, rename)


def _predicate(node: IsNull | InList | Between | Like, rename: Rename) -> str:
    value = _written(node.value, rename, _SUM)
    negation = "not " if node.is_negated else ""
    match node:
        case IsNull():
            return f"{value} is {negation}null"
        case Between():
            lower, upper = _written(node.lower, rename, _SUM), _written(node.upper, rename, _SUM)
            return f"{value} {negation}between {lower} and {upper}"
        case Like():
            escape = "" if node.escape == "\\" else f" escape {_string(node.escape)}"
            return f"{value} {negation}like {_string(node.pattern)}{escape}"
        case InList() if not node.options:
            return "true" if node.is_negated else "false"
        case InList():
            return f"{value} {negation}in ({', '.join(_text(option, rename) for option in node.options)})"


def _literal(node: Literal) -> str:
    value, type_ = node.value, node.type
    if value is None:
        return "null" if pt.is_null(type_) else f"cast(null as {type_sql(type_)})"
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case bytes():
            return f"x'{value.hex()}'"
        case datetime.datetime():
            return f"timestamp{'' if type_.tz else '_ntz'} '{timestamp_text(value)}'"
        case datetime.date():
            return f"date '{value.isoformat()}'"
        case _:
            return _number(value, type_)


def _number(value: float | Decimal, type: pa.DataType) -> str:
    if type in _SUFFIX:
        return f"{value}{_SUFFIX[type]}"
    if pt.is_decimal(type):
        exact = Decimal(value)
        written = f"{exact:f}BD"
        return written if literal(exact).type == type else f"cast({written} as {type_sql(type)})"
    double = float(value)
    if math.isfinite(double):
        return f"{double!r}{'F' if type == pa.float32() else 'D'}"
    name = "NaN" if math.isnan(double) else "Infinity" if double > 0 else "-Infinity"
    return f"cast('{name}' as {type_sql(type)})"


def _string(text: str) -> str:
    return "'" + "".join(_ESCAPED.get(sign, sign) for sign in text) + "'"
