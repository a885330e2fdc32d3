"""Which expressions mean the same in duckdb as in `pyhudi.predicate`; all others duckdb has to compute.

Pure. duckdb divides integers to doubles, rounds in casts where Spark truncates, has no escape in LIKE, skips nulls in
concat, counts substrings otherwise, and more: so what agrees is listed, and it is little. Start at `means_the_same`.
"""

from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.predicate import (
    Between,
    Binary,
    Call,
    Case,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Negative,
    Not,
    Operator,
    check,
)
from pyhudi.statements.conditions import is_alike

__all__ = ["means_the_same"]

_ARITHMETIC: Final = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})
_WIDE: Final = frozenset({pa.int32(), pa.int64(), pa.float64()})
_FUNCTIONS: Final = frozenset({"coalesce", "nullif"})


def means_the_same(node: Expression, schema: pa.Schema) -> bool:
    """Return whether duckdb gives the same values, or an error as well, for an expression that fits some columns."""
    match node:
        case Column() | IsNull(value=Column()):
            return True
        case Literal():
            return node.value is None or not (pt.is_temporal(node.type) or pt.is_binary(node.type)) or _is_date(node)
        case Logical():
            return all(means_the_same(term, schema) for term in node.terms)
        case Not() | IsNull():
            return means_the_same(node.value, schema)
        case Negative():
            return means_the_same(node.value, schema) and check(node.value, schema) in _WIDE
        case Like(value=Column()):
            return node.escape == "\\" and pt.is_string(check(node.value, schema))
        case Binary():
            return _operates_alike(node, schema)
        case InList(value=Column()):
            return all(_compare_alike(node.value, option, schema) for option in node.options)
        case Between(value=Column()):
            return all(_compare_alike(node.value, bound, schema) for bound in (node.lower, node.upper))
        case Case():
            conditions = [condition for condition, _ in node.whens]
            values = [value for _, value in node.whens] + ([] if node.otherwise is None else [node.otherwise])
            return all(means_the_same(one, schema) for one in conditions) and _are_of_one_type(values, schema)
        case Call() if node.name in _FUNCTIONS:
            return _are_of_one_type(node.arguments, schema)
        case _:
            return False


def _operates_alike(node: Binary, schema: pa.Schema) -> bool:
    if node.operator.is_comparison:
        return _compare_alike(node.left, node.right, schema)
    if node.operator not in _ARITHMETIC:
        return False
    sides = (node.left, node.right)
    return all(means_the_same(one, schema) and check(one, schema) in _WIDE for one in sides)


def _compare_alike(left: Expression, right: Expression, schema: pa.Schema) -> bool:
    if not (means_the_same(left, schema) and means_the_same(right, schema)):
        return False
    first, second = check(left, schema), check(right, schema)
    if pt.is_null(first) or pt.is_null(second) or (pt.is_signed_integer(first) and pt.is_signed_integer(second)):
        return True
    for column_type, other in ((first, right), (second, left)):
        if isinstance(other, Literal):
            return is_alike(column_type, other)
    return bool(first == second)


def _are_of_one_type(values: "list[Expression] | tuple[Expression, ...]", schema: pa.Schema) -> bool:
    types = {check(value, schema) for value in values} - {pa.null()}
    return len(types) <= 1 and all(means_the_same(value, schema) for value in values)


def _is_date(node: Literal) -> bool:
    return bool(pt.is_date32(node.type))
