"""Which files and partitions may hold a row for which an expression is true.

Pure and conservative: what is not known may match. A pair of answers is kept for every condition, whether some row may
make it true and whether some row may make it false, so that `not` only exchanges them and null is neither.
Start at `may_match` for files with statistics, `partitions_matching` for partitions.
"""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.comparing import like_parts
from pyhudi.predicate.arrow.evaluate import mask
from pyhudi.predicate.arrow.rows import find
from pyhudi.predicate.model import (
    Between,
    Binary,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Not,
    Opaque,
    Operator,
    binary,
    walk,
)
from pyhudi.predicate.temporal import date_of, timestamp_of

__all__ = ["ColumnRange", "may_match", "partitions_matching"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRange:
    """What statistics tell of one column in one file; None is unknown.

    The bounds are Python values of the column's type and must enclose every value that is neither null nor NaN; a
    bound that was cut short must have been rounded outwards.
    """

    min: Any = None
    max: Any = None
    nulls_count: int | None = None
    rows_count: int | None = None
    nans_count: int | None = None
    """Of a column of floats; unless it is 0, the column may hold values above max, since NaN is the largest."""


class _Answers(NamedTuple):
    true: bool
    false: bool


class _Range(NamedTuple):
    """Bounds of an operand; None is unbounded."""

    low: Any
    high: Any
    has_null: bool
    has_value: bool


_UNKNOWN = _Answers(true=True, false=True)
_Ranges = Mapping[str, ColumnRange]


def may_match(expression: Expression, ranges: Mapping[str, ColumnRange]) -> bool:
    """Return whether a file may hold a row for which the expression is true.

    `ranges` is keyed by column name, dotted for struct fields; a column that is not there is unknown. A column that the
    file lacks is one of nulls only: `nulls_count` equal to `rows_count`.
    """
    folded = {name.lower(): found for name, found in ranges.items()}
    return _answers(expression, folded if len(folded) == len(ranges) else ranges).true


def partitions_matching(expression: Expression, partitions: pa.Table) -> pa.BooleanArray:
    """Keep the partitions that may hold a row for which the expression is true.

    Shape:  one row a partition, its columns the partition columns with their types -> one boolean a row.
    Nulls:  a null value is a null partition value, not an unknown one; columns that are not there are unknown.
    """
    true, _ = _masks(expression, partitions)
    return pa.array(true)


def _masks(expression: Expression, partitions: pa.Table) -> tuple[Any, Any]:
    match expression:
        case Not():
            true, false = _masks(expression.value, partitions)
            return false, true
        case Logical():
            pairs = [_masks(term, partitions) for term in expression.terms]
            every, some = (np.logical_and, np.logical_or) if expression.is_and else (np.logical_or, np.logical_and)
            return reduce(every, [pair[0] for pair in pairs]), reduce(some, [pair[1] for pair in pairs])
    unknown = np.ones(partitions.num_rows, dtype=bool)
    if not _is_known(expression, partitions.schema):
        return unknown, unknown
    try:
        # The batch as one, so that a partition whose value fails an expression cannot hide another.
        answers = [
            mask(node, partitions).to_numpy(zero_copy_only=False) for node in (expression, Not(value=expression))
        ]
    except ExpressionError:
        return unknown, unknown
    return answers[0], answers[1]


def _is_known(expression: Expression, schema: pa.Schema) -> bool:
    for node in walk(expression):
        if isinstance(node, Opaque):
            return False
        if isinstance(node, Column):
            try:
                find(schema, node)
            except ExpressionError:
                return False
    return True


def _answers(expression: Expression, ranges: _Ranges) -> _Answers:
    match expression:
        case Not():
            inner = _answers(expression.value, ranges)
            return _Answers(true=inner.false, false=inner.true)
        case Logical():
            terms = [_answers(term, ranges) for term in expression.terms]
            every, some = (all, any) if expression.is_and else (any, all)
            return _Answers(true=every(t.true for t in terms), false=some(t.false for t in terms))
        case Binary() if expression.operator.is_comparison:
            return _comparison(expression, ranges)
        case IsNull() | InList() | Between() | Like():
            answers = _predicate(expression, ranges)
            return _Answers(true=answers.false, false=answers.true) if expression.is_negated else answers
        case Column() | Literal():
            return _truth(_range(expression, ranges))
        case _:
            return _UNKNOWN


def _truth(found: _Range | None) -> _Answers:
    if found is None:
        return _UNKNOWN
    return _Answers(true=found.has_value and found.high is not False, false=found.has_value and found.low is not True)


def _predicate(node: IsNull | InList | Between | Like, ranges: _Ranges) -> _Answers:
    match node:
        case IsNull():
            found = _range(node.value, ranges)
            return _UNKNOWN if found is None else _Answers(true=found.has_null, false=found.has_value)
        case Like():
            return _like(node, ranges)
        case Between():
            lower = binary(Operator.GREATER_EQUAL, node.value, node.lower)
            upper = binary(Operator.LESS_EQUAL, node.value, node.upper)
            return _answers(Logical(is_and=True, terms=(lower, upper)), ranges)
        case InList():
            terms = tuple(binary(Operator.EQUAL, node.value, option) for option in node.options)
            return _answers(Logical(is_and=False, terms=terms), ranges) if terms else _Answers(true=False, false=True)


def _comparison(node: Binary, ranges: _Ranges) -> _Answers:
    left, right = _range(node.left, ranges), _range(node.right, ranges)
    if left is None or right is None:
        return _UNKNOWN
    try:
        left, right = _alike(left, right), _alike(right, left)
        has_values = left.has_value and right.has_value
        answers = _compared(node.operator, left, right) if has_values else _Answers(true=False, false=False)
    except (TypeError, ArithmeticError, ValueError):
        return _UNKNOWN
    if node.operator is not Operator.SAME:
        return answers
    is_mixed = (left.has_null and right.has_value) or (left.has_value and right.has_null)
    return _Answers(true=answers.true or (left.has_null and right.has_null), false=answers.false or is_mixed)


def _compared(operator: Operator, left: _Range, right: _Range) -> _Answers:
    match operator:
        case Operator.LESS:
            return _Answers(true=_before(left.low, right.high), false=_not_after(right.low, left.high))
        case Operator.LESS_EQUAL:
            return _Answers(true=_not_after(left.low, right.high), false=_before(right.low, left.high))
        case Operator.GREATER | Operator.GREATER_EQUAL:
            return _compared(operator.mirrored, right, left)
        case Operator.NOT_EQUAL:
            same = _compared(Operator.EQUAL, left, right)
            return _Answers(true=same.false, false=same.true)
    bounds = (left.low, left.high, right.low, right.high)
    is_one = None not in bounds and all(bound == left.low for bound in bounds)
    return _Answers(true=_not_after(left.low, right.high) and _not_after(right.low, left.high), false=not is_one)


def _before(low: Any, high: Any) -> bool:  # noqa: ANN401 - bounds of any type
    return low is None or high is None or bool(low < high)


def _not_after(low: Any, high: Any) -> bool:  # noqa: ANN401 - bounds of any type
    return low is None or high is None or bool(low <= high)


def _like(node: Like, ranges: _Ranges) -> _Answers:
    found = _range(node.value, ranges)
    parts = like_parts(node.pattern, node.escape)
    if found is None or not parts or not parts[0].startswith("="):
        return _UNKNOWN
    if not found.has_value:
        return _Answers(true=False, false=False)
    prefix = parts[0][1:]
    bounds = [bound for bound in (found.low, found.high) if bound is not None]
    if not all(isinstance(bound, str) for bound in bounds):
        return _UNKNOWN
    reaches = _not_after(found.low and found.low[: len(prefix)], prefix) and _not_after(prefix, found.high)
    is_all = len(bounds) == 2 and parts[1:] == ["%"] and all(bound.startswith(prefix) for bound in bounds)
    return _Answers(true=reaches, false=not is_all)


def _range(node: Expression, ranges: _Ranges) -> _Range | None:
    if isinstance(node, Literal):
        value = None if _is_nan(node.value) else node.value
        return _Range(low=value, high=value, has_null=node.value is None, has_value=node.value is not None)
    if not isinstance(node, Column):
        return None
    known = ranges.get(node.name) or ranges.get(node.name.lower())
    if known is None:
        return None
    low = None if _is_nan(known.min) else known.min
    high = None if _is_nan(known.max) or (_has_nans(known) and known.nans_count != 0) else known.max
    has_value = known.nulls_count is None or known.rows_count is None or known.nulls_count < known.rows_count
    return _Range(low=low, high=high, has_null=known.nulls_count != 0, has_value=has_value)


def _has_nans(known: ColumnRange) -> bool:
    return isinstance(known.min, float) or isinstance(known.max, float)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _alike(one: _Range, other: _Range) -> _Range:
    """Cast bounds to the type in which they compare with the other's: doubles beside doubles, moments beside text."""
    bounds = [bound for bound in (one.low, one.high, other.low, other.high) if bound is not None]
    kinds = {type(bound) for bound in bounds}
    if len(kinds) <= 1:
        return one
    if kinds <= {int, float, Decimal}:
        change: Any = float if float in kinds else Decimal
    elif kinds <= {str, datetime.date, datetime.datetime}:
        finest = datetime.datetime if datetime.datetime in kinds else datetime.date
        change = _moment_reader(next(bound for bound in bounds if isinstance(bound, finest)))
    else:
        raise TypeError(kinds)
    low, high = (None if bound is None else change(bound) for bound in (one.low, one.high))
    return one._replace(low=low, high=high)


def _moment_reader(example: datetime.date) -> Any:  # noqa: ANN401 - a function of a bound
    zone = example.tzinfo and datetime.UTC if isinstance(example, datetime.datetime) else None

    def moment(bound: Any) -> Any:  # noqa: ANN401 - text, a date or a timestamp
        if not isinstance(example, datetime.datetime):
            return date_of(bound) if isinstance(bound, str) else bound
        if isinstance(bound, datetime.datetime):
            return bound
        return timestamp_of(bound if isinstance(bound, str) else bound.isoformat(), zone=zone)

    return moment
