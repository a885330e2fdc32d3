"""The expression tree: frozen, picklable, hashable values, the same for every engine.

It holds what was said, not what it means: `parse` makes trees, `arrow` evaluates them, `sql` writes them for Spark.
Never put a schema, a batch or an engine into a node. Start at `Expression`; `walk` visits every node.
"""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.arguments import is_unicode
from pyhudi.errors import ExpressionError

__all__ = [
    "DEPTH_LIMIT",
    "Between",
    "Binary",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Expression",
    "InList",
    "IsNull",
    "Like",
    "Literal",
    "Logical",
    "Negative",
    "Not",
    "Opaque",
    "Operator",
    "all_of",
    "any_of",
    "binary",
    "call",
    "children_of",
    "column",
    "literal",
    "require_shallow",
    "rewrite",
    "walk",
]

DEPTH_LIMIT = 100
"""Nodes above each other in one tree; every walk over a tree recurses this deep at most."""
_UTC = pa.timestamp("us", tz="UTC")


class Operator(StrEnum):
    """What stands between two values; the text is Spark's."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    DIV = "div"
    REMAINDER = "%"
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    SAME = "<=>"
    """Equal, where two nulls are equal and the answer is never null."""

    @property
    def is_comparison(self) -> bool:
        """Return whether the result is a boolean."""
        return self in _MIRRORED

    @property
    def mirrored(self) -> "Operator":
        """Return the comparison that holds with its sides exchanged."""
        return _MIRRORED[self]


_MIRRORED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.NOT_EQUAL: Operator.NOT_EQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.LESS_EQUAL: Operator.GREATER_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_EQUAL: Operator.LESS_EQUAL,
    Operator.SAME: Operator.SAME,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, a field of a struct, or either behind a qualifier: `fare`, `a.b`, `t.uuid`."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the dotted name."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A value and its Arrow type; null has the type `pa.null()`, a timestamp is UTC or has no zone."""

    value: Any
    type: pa.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """Three-valued `not`."""

    value: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Negative:
    """Arithmetic minus."""

    value: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """Arithmetic or a comparison of two values."""

    operator: Operator
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True)
class Logical:
    """Two or more terms joined by `and`, or by `or`; flat, so that long chains are not deep."""

    is_and: bool
    terms: tuple["Expression", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """Whether a value is null."""

    value: "Expression"
    is_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InList:
    """Whether a value is one of the options; null if it is none and any of them is null."""

    value: "Expression"
    options: tuple["Expression", ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Whether a value lies in a closed range."""

    value: "Expression"
    lower: "Expression"
    upper: "Expression"
    is_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """Whether a text fits a pattern of `%` and `_`."""

    value: "Expression"
    pattern: str
    escape: str = "\\"
    is_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The value beside the first condition that is true, else `otherwise` (null if there is none)."""

    whens: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """A value as another type; what does not fit is an error, never null."""

    value: "Expression"
    type: pa.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function by its lowercase name."""

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opaque:
    """A pyarrow expression: it is evaluated as pyarrow does, and prunes nothing."""

    expression: pc.Expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and bool(self.expression.equals(other.expression))

    def __hash__(self) -> int:
        return hash((Opaque, str(self.expression)))


Expression: TypeAlias = (
    Column
    | Literal
    | Not
    | Negative
    | Binary
    | Logical
    | IsNull
    | InList
    | Between
    | Like
    | Case
    | Cast
    | Call
    | Opaque
)
"""Any node. `isinstance(x, Expression)` holds for exactly these."""


def column(name: str) -> Column:
    """Name a column; a dot separates qualifier, column and struct fields."""
    return Column(parts=tuple(name.split(".")))


def literal(value: Any, type: pa.DataType | None = None) -> Literal:  # noqa: ANN401 - any value Arrow has a type for
    """Take a Python value in, with the type Spark's parser would give its text.

    A datetime with a zone becomes UTC, one without stays without.

    Raises: ExpressionError if the value has no such type.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and not is_unicode(value):
        raise ExpressionError("a text has a character that is none, half of a surrogate pair", value=value)
    if isinstance(value, datetime.datetime) and value != value:
        value = None
    try:
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            value = value.astimezone(datetime.UTC)
        return Literal(value=value, type=type if type is not None else _type_of(value))
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise ExpressionError("give a literal that has an SQL type", type=value.__class__.__name__) from error


def binary(operator: Operator | str, left: Expression, right: Expression) -> Binary:
    """Join two values by an operator."""
    return Binary(operator=Operator(operator), left=left, right=right)


def call(name: str, *arguments: Expression) -> Call:
    """Call a function."""
    return Call(name=name, arguments=arguments)


def all_of(*terms: Expression) -> Expression:
    """Join terms by `and`; none is true."""
    return _joined(terms, is_and=True)


def any_of(*terms: Expression) -> Expression:
    """Join terms by `or`; none is false."""
    return _joined(terms, is_and=False)


def children_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the nodes right below one, from left to right."""
    match expression:
        case Column() | Literal() | Opaque():
            return ()
        case Not() | Negative() | IsNull() | Like() | Cast():
            return (expression.value,)
        case Binary():
            return expression.left, expression.right
        case Logical():
            return expression.terms
        case InList():
            return expression.value, *expression.options
        case Between():
            return expression.value, expression.lower, expression.upper
        case Case():
            pairs = tuple(node for pair in expression.whens for node in pair)
            return pairs if expression.otherwise is None else (*pairs, expression.otherwise)
        case Call():
            return expression.arguments


def walk(expression: Expression) -> Iterator[Expression]:
    """Visit a node and all below it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children_of(node)))


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild a tree from its leaves up, each rebuilt node passed through `change`."""
    return change(_with_children(expression, [rewrite(child, change) for child in children_of(expression)]))


def require_shallow(expression: Expression) -> Expression:
    """Refuse a tree that is too deep to be walked.

    Raises: ExpressionError beyond DEPTH_LIMIT.
    """
    level: list[Expression] = [expression]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in children_of(node)]
        if not level:
            return expression
    raise ExpressionError("split the expression, it is nested too deeply", limit=DEPTH_LIMIT)


def _with_children(node: Expression, new: list[Expression]) -> Expression:
    match node:
        case Column() | Literal() | Opaque():
            return node
        case Not() | Negative() | IsNull() | Like() | Cast():
            return replace(node, value=new[0])
        case Binary():
            return Binary(operator=node.operator, left=new[0], right=new[1])
        case Logical():
            return _joined(tuple(new), is_and=node.is_and)
        case InList():
            return InList(value=new[0], options=tuple(new[1:]), is_negated=node.is_negated)
        case Between():
            return Between(value=new[0], lower=new[1], upper=new[2], is_negated=node.is_negated)
        case Case():
            pairs = new[: 2 * len(node.whens)]
            whens = tuple(zip(pairs[::2], pairs[1::2], strict=True))
            return Case(whens=whens, otherwise=None if node.otherwise is None else new[-1])
        case Call():
            return Call(name=node.name, arguments=tuple(new))


def _joined(terms: tuple[Expression, ...], *, is_and: bool) -> Expression:
    flat: list[Expression] = []
    for term in terms:
        flat.extend(term.terms if isinstance(term, Logical) and term.is_and is is_and else (term,))
    if len(flat) == 1:
        return flat[0]
    return Logical(is_and=is_and, terms=tuple(flat)) if flat else Literal(value=is_and, type=pa.bool_())


def _type_of(value: object) -> pa.DataType:
    match value:
        case str():
            return pa.string()
        case bool() | None | float() | bytes():
            return pa.scalar(value).type
        case int():
            return _integer_type(value)
        case Decimal():
            return _decimal_type(value)
        case datetime.datetime():
            return _UTC if value.tzinfo is not None else pa.timestamp("us")
        case datetime.date():
            return pa.date32()
        case _:
            raise TypeError(value)


def _integer_type(value: int) -> pa.DataType:
    if -(2**31) <= value < 2**31:
        return pa.int32()
    return pa.int64() if -(2**63) <= value < 2**63 else pa.decimal128(len(str(abs(value))), 0)


def _decimal_type(value: Decimal) -> pa.DataType:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise TypeError(value)
    scale = max(0, -exponent)
    return pa.decimal128(max(len(digits) + max(exponent, 0), scale, 1), scale)
