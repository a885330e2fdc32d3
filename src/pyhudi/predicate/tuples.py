"""Filters as other libraries take them: tuples in disjunctive normal form, and pyarrow expressions.

Pure. Start at `to_expression`, which takes whatever a user gives as a filter.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import pyarrow.compute as pc

from pyhudi.errors import ExpressionError
from pyhudi.predicate.model import (
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Not,
    Opaque,
    Operator,
    all_of,
    any_of,
    binary,
    column,
    literal,
    require_shallow,
)
from pyhudi.predicate.parse import parse

__all__ = ["Filter", "to_expression", "to_value"]

Filter: TypeAlias = str | Expression | pc.Expression | Sequence[Any] | None
"""SQL text, a tree, a pyarrow expression, `[("city", "=", "sf")]` (all hold), or lists of those (any holds)."""

_OPERATORS = {operator.value: operator for operator in Operator if operator.is_comparison} | {
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
}
_KNOWN = [*_OPERATORS, "in", "not in", "like", "is null", "is not null"]


def to_expression(filter: Filter) -> Expression | None:
    """Take a filter in any of its forms; None means every row.

    Raises: ExpressionError for text that does not parse, and tuples that are no filter.
    """
    if filter is None:
        return None
    if isinstance(filter, Expression):
        return require_shallow(filter)
    if isinstance(filter, str):
        return parse(filter)
    if isinstance(filter, pc.Expression):
        return Opaque(expression=filter)
    if not isinstance(filter, Sequence) or isinstance(filter, bytes):
        raise ExpressionError("give a filter as text, expression or tuples", type=type(filter).__name__)
    if len(filter) == 0:
        return None
    if _is_term(filter):
        return _term(filter)
    if all(isinstance(item, Sequence) and _is_term(item) for item in filter):
        return all_of(*[_term(item) for item in filter])
    return any_of(*[_conjunction(item) for item in filter])


def to_value(given: Any) -> Expression:  # noqa: ANN401 - any value Arrow has a type for
    """Take what a column is set to: an expression, as text or built, or a value that is no text.

    Raises: ExpressionError.
    """
    if isinstance(given, str):
        try:
            return parse(given)
        except ExpressionError as error:
            hint = f"a text is an expression; for the text itself, quote it: {_quoted(given)}"
            raise ExpressionError(f"{error.message}; {hint}", **error.values) from error
    if isinstance(given, Expression | pc.Expression):
        built = to_expression(given)
        assert built is not None, "only None is no expression"
        return built
    return literal(given)


def _quoted(text: str) -> str:
    """Spell a text as an expression that means it."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"\"'{quoted}'\""


def _is_term(item: Sequence[Any]) -> bool:
    return not isinstance(item, str) and 2 <= len(item) <= 3 and all(isinstance(part, str) for part in item[:2])


def _conjunction(item: object) -> Expression:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) == 0:
        raise ExpressionError("give a list of tuples (column, operator, value)", found=item)
    return _term(item) if _is_term(item) else all_of(*[_term(term) for term in item])


def _term(item: object) -> Expression:
    if not isinstance(item, Sequence) or not _is_term(item):
        raise ExpressionError("give a tuple (column, operator, value)", found=item)
    name, operator = column(item[0]), " ".join(item[1].lower().split())
    if operator in ("is null", "is not null"):
        return IsNull(value=name, is_negated=operator == "is not null")
    if len(item) != 3:
        raise ExpressionError("give a tuple (column, operator, value)", found=item)
    if operator in _OPERATORS:
        return _comparison(name, _OPERATORS[operator], item[2])
    if operator in ("in", "not in"):
        return _membership(name, item[2], is_negated=operator == "not in")
    if operator == "like" and isinstance(item[2], str):
        return Like(value=name, pattern=item[2])
    raise ExpressionError("use an operator that filters have", operator=item[1], known=_KNOWN)


def _comparison(name: Column, operator: Operator, value: object) -> Expression:
    """Compare with a value; `= None` asks for nulls, as in deltalake."""
    if value is not None or operator is Operator.SAME:
        return binary(operator, name, literal(value))
    if operator in (Operator.EQUAL, Operator.NOT_EQUAL):
        return IsNull(value=name, is_negated=operator is Operator.NOT_EQUAL)
    raise ExpressionError("compare with a value, not with None", column=name.name, operator=operator.value)


def _membership(name: Column, values: object, *, is_negated: bool) -> Expression:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ExpressionError("give a list of values", column=name.name)
    listed = list(values)
    known = tuple(literal(value) for value in listed if value is not None)
    found: Expression = InList(value=name, options=known)
    if len(known) < len(listed):
        found = any_of(found, IsNull(value=name))
    elif is_negated:
        return InList(value=name, options=known, is_negated=True)
    return Not(value=found) if is_negated else found
