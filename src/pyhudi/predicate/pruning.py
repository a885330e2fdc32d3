"""Which files and partitions may hold a row for which an expression is true.

Pure and conservative: what is not known may match. A pair of answers is kept for every condition, whether some row may
make it true and whether some row may make it false, so that `not` only exchanges them and null is neither. Bounds are
compared as the evaluator compares values: cast to the same type first. Start at `files_matching` for what has
statistics (files, row groups, partitions), `partitions_matching` for partitions whose values are known.
"""

from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.comparing import compare, like_parts
from pyhudi.predicate.arrow.evaluate import literals_of, mask
from pyhudi.predicate.arrow.rows import find
from pyhudi.predicate.arrow.values import Value, common_type, is_float
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
    literal,
    walk,
)
from pyhudi.predicate.ranges import Flags, Range, Statistics, beside, flags, range_of

__all__ = ["files_matching", "partitions_matching"]


class _Answers(NamedTuple):
    true: Flags
    false: Flags


_UNKNOWN = _Answers(true=np.array(True), false=np.array(True))


def files_matching(expression: Expression, known: Statistics, count: int) -> pa.BooleanArray:
    """Keep the files that may hold a row for which the expression is true.

    Shape:  statistics of `count` files -> one boolean a file.
    Nulls:  a statistic that is null is unknown, and so is a column that has none; neither leaves a file out.
    """
    return pa.array(np.broadcast_to(_answers(expression, known).true, count))


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


def _answers(expression: Expression, known: Statistics) -> _Answers:
    match expression:
        case Not():
            return _negated(_answers(expression.value, known))
        case Logical():
            terms = [_answers(term, known) for term in expression.terms]
            every, some = (np.logical_and, np.logical_or) if expression.is_and else (np.logical_or, np.logical_and)
            return _Answers(true=reduce(every, [t.true for t in terms]), false=reduce(some, [t.false for t in terms]))
        case Binary() if expression.operator.is_comparison:
            return _comparison(expression, known)
        case IsNull() | InList() | Between() | Like():
            answers = _predicate(expression, known)
            return _negated(answers) if expression.is_negated else answers
        case Column() | Literal():
            return _truth(range_of(expression, known))
        case _:
            return _UNKNOWN


def _negated(answers: _Answers) -> _Answers:
    return _Answers(true=answers.false, false=answers.true)


def _truth(found: Range | None) -> _Answers:
    if found is not None and pa.types.is_null(found.low.type):
        return _Answers(true=np.array(False), false=np.array(False))
    if found is None or not pa.types.is_boolean(found.low.type):
        return _UNKNOWN
    return _Answers(
        true=found.has_value & flags(found.high, unknown=True),
        false=found.has_value & ~flags(found.low, unknown=False),
    )


def _predicate(node: IsNull | InList | Between | Like, known: Statistics) -> _Answers:
    match node:
        case IsNull():
            found = range_of(node.value, known)
            return _UNKNOWN if found is None else _Answers(true=found.has_null, false=found.has_value)
        case Like():
            return _like(node, known)
        case Between():
            lower = binary(Operator.GREATER_EQUAL, node.value, node.lower)
            upper = binary(Operator.LESS_EQUAL, node.value, node.upper)
            return _answers(Logical(is_and=True, terms=(lower, upper)), known)
        case InList():
            return _among(node, known)


def _comparison(node: Binary, known: Statistics) -> _Answers:
    left, right = range_of(node.left, known), range_of(node.right, known)
    if left is None or right is None:
        return _UNKNOWN
    try:
        left, right = beside(node.left, left, right), beside(node.right, right, left)
        answers = _compared(node.operator, left, right)
    except (ExpressionError, pa.ArrowException):
        return _UNKNOWN
    if node.operator is not Operator.SAME:
        return answers
    is_mixed = (left.has_null & right.has_value) | (left.has_value & right.has_null)
    return _Answers(true=answers.true | (left.has_null & right.has_null), false=answers.false | is_mixed)


def _compared(operator: Operator, left: Range, right: Range) -> _Answers:
    match operator:
        case Operator.GREATER | Operator.GREATER_EQUAL:
            return _compared(operator.mirrored, right, left)
        case Operator.NOT_EQUAL:
            return _negated(_compared(Operator.EQUAL, left, right))
        case Operator.LESS:
            true, false = _before(left.low, right.high), _not_after(right.low, left.high)
        case Operator.LESS_EQUAL:
            true, false = _not_after(left.low, right.high), _before(right.low, left.high)
        case _:
            pairs = (left.low, left.high), (right.low, right.high), (left.low, right.low)
            true = _not_after(left.low, right.high) & _not_after(right.low, left.high)
            false = ~reduce(np.logical_and, [_is_same(*pair) for pair in pairs])
    has_values = left.has_value & right.has_value
    return _Answers(true=true & has_values, false=false & has_values)


def _before(low: Value, high: Value) -> Flags:
    return flags(compare(Operator.LESS, low, high), unknown=True)


def _not_after(low: Value, high: Value) -> Flags:
    return flags(compare(Operator.LESS_EQUAL, low, high), unknown=True)


def _is_same(one: Value, other: Value) -> Flags:
    return flags(compare(Operator.EQUAL, one, other), unknown=False)


def _among(node: InList, known: Statistics) -> _Answers:
    """Answer for a list, compared in the one type that all its values have in common, as the evaluator does."""
    if not node.options:
        return _Answers(true=np.array(False), false=np.array(True))
    value = range_of(node.value, known)
    if value is None:
        return _UNKNOWN
    try:
        constants = literals_of(node.options, value.low.type)
        if constants is not None and not isinstance(value.low, pa.Scalar):
            return _among_constants(value, constants)
        options = [range_of(option, known) for option in node.options]
        found = [option for option in options if option is not None]
        if len(found) < len(options):
            return _UNKNOWN
        found = [beside(option, one, value) for option, one in zip(node.options, found, strict=True)]
        type_ = reduce(common_type, [one.low.type for one in found], value.low.type)
        value, *found = (_as_type(one, type_) for one in (value, *found))
        is_constant = [isinstance(one.low, pa.Scalar) and not isinstance(value.low, pa.Scalar) for one in found]
        scalars = [one.low for one, is_one in zip(found, is_constant, strict=True) if is_one]
        others = [one for one, is_one in zip(found, is_constant, strict=True) if not is_one]
        answers = [_compared(Operator.EQUAL, value, one) for one in others]
        if scalars:
            answers.append(_among_constants(value, pa.array([one.as_py() for one in scalars], type_)))
    except (ExpressionError, pa.ArrowException):
        return _UNKNOWN
    return _Answers(
        true=reduce(np.logical_or, [one.true for one in answers]),
        false=reduce(np.logical_and, [one.false for one in answers]),
    )


def _among_constants(value: Range, constants: pa.Array) -> _Answers:
    """Find the least constant that is not below each lower bound: a range holds one if it holds that one.

    Cost: one sort of bounds and constants.
    """
    type_ = value.low.type
    wanted = constants.drop_null()
    reaches = np.array(False)
    if is_float(type_):
        if pc.any(pc.is_nan(wanted), min_count=0).as_py():
            reaches = flags(pc.is_null(value.high), unknown=True)
        wanted = wanted.filter(pc.invert(pc.is_nan(wanted)))
    wanted = wanted.take(pc.sort_indices(wanted))
    order = pc.sort_indices(pa.concat_arrays([value.low, wanted])).to_numpy()
    count = len(value.low)
    below = np.empty(len(order), np.int64)
    below[order] = np.cumsum(order >= count)
    first = np.where(value.low.is_valid().to_numpy(zero_copy_only=False), below[:count], 0)
    nearest = wanted.take(pa.array(first, mask=first == len(wanted)))
    reaches = reaches | (flags(compare(Operator.LESS_EQUAL, nearest, value.high), unknown=True) & (first < len(wanted)))
    is_one = _is_same(value.low, value.high) & flags(pc.is_in(value.low, value_set=wanted), unknown=False)
    has_no_null = np.array(not constants.null_count)
    return _Answers(true=value.has_value & reaches, false=value.has_value & has_no_null & ~is_one)


def _as_type(found: Range, type: pa.DataType) -> Range:
    return replace(found, low=cast(found.low, type), high=cast(found.high, type))


def _like(node: Like, known: Statistics) -> _Answers:
    found, parts = range_of(node.value, known), like_parts(node.pattern, node.escape)
    if not parts or parts == [f"={parts[0][1:]}"]:
        return _comparison(binary(Operator.EQUAL, node.value, literal("".join(parts)[1:])), known)
    if found is None or found.low.type != pa.string():
        return _UNKNOWN
    if not parts[0].startswith("="):
        return _Answers(true=found.has_value, false=found.has_value)
    prefix = parts[0][1:]
    least = pc.utf8_slice_codeunits(found.low, 0, len(prefix))
    reaches = _not_after(least, pa.scalar(prefix)) & _not_after(pa.scalar(prefix), found.high)
    is_all = np.array(parts[1:] == ["%"])
    for bound in (found.low, found.high):
        is_all = is_all & flags(pc.starts_with(bound, prefix), unknown=False)
    return _Answers(true=found.has_value & reaches, false=found.has_value & ~is_all)
