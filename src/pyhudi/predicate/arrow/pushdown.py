"""The part of a filter that a parquet scan can take over.

Pure. A scan may drop no row for which the filter is true; rows that it keeps are filtered again. So of an `and` only
some terms may go down, and a term goes down only where Arrow's answer is ours. Start at `to_arrow`.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.comparing import compare
from pyhudi.predicate.arrow.evaluate import as_literal_of
from pyhudi.predicate.arrow.rows import find
from pyhudi.predicate.arrow.values import common_type, is_float, plain
from pyhudi.predicate.model import (
    Between,
    Binary,
    Column,
    Expression,
    InList,
    IsNull,
    Literal,
    Logical,
    Opaque,
    Operator,
    binary,
)

__all__ = ["to_arrow"]

_PUSHED = {
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.binary()),
    *(pa.string(), pa.large_string(), pa.date32(), pa.timestamp("us"), pa.timestamp("ms")),
    *(pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="UTC")),
}
_Operand = tuple[pc.Expression, pa.DataType]


def to_arrow(expression: Expression, schema: pa.Schema) -> pc.Expression | None:
    """Return a pyarrow filter that is true wherever the expression is; None if there is none worth a scan's while.

    What goes down: columns compared with literals, ranges, lists, null tests, and these under `and` and `or`.

    Raises: ExpressionError for a column that there is not.
    """
    match expression:
        case Logical() if expression.is_and:
            known = [term for term in (to_arrow(node, schema) for node in expression.terms) if term is not None]
            return _joined(known, is_and=True) if known else None
        case Logical():
            terms = [to_arrow(node, schema) for node in expression.terms]
            found = [term for term in terms if term is not None]
            return _joined(found, is_and=False) if len(found) == len(terms) else None
        case Binary():
            return _comparison(expression, schema)
        case Between() if not expression.is_negated:
            lower = binary(Operator.GREATER_EQUAL, expression.value, expression.lower)
            upper = binary(Operator.LESS_EQUAL, expression.value, expression.upper)
            return to_arrow(Logical(is_and=True, terms=(lower, upper)), schema)
        case InList() if not expression.is_negated:
            return _membership(expression, schema)
        case IsNull() if isinstance(expression.value, Column):
            at = _reference(expression.value, schema)
            return None if at is None else (at[0].is_valid() if expression.is_negated else at[0].is_null())
        case Opaque():
            return expression.expression
        case _:
            return None


def _joined(terms: list[pc.Expression], *, is_and: bool) -> pc.Expression:
    """Join in halves, so that long chains are not deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    left, right = _joined(terms[:half], is_and=is_and), _joined(terms[half:], is_and=is_and)
    return left & right if is_and else left | right


def _comparison(node: Binary, schema: pa.Schema) -> pc.Expression | None:
    operator, left, right = node.operator, node.left, node.right
    if not operator.is_comparison:
        return None
    if isinstance(left, Literal):
        operator, left, right = operator.mirrored, right, left
    if not (isinstance(left, Column) and isinstance(right, Literal)) or right.value is None:
        return None
    at = _reference(left, schema)
    constant = None if at is None else _constant(right, at[1])
    return None if at is None or constant is None else _compared(operator, at[0], constant)


def _compared(operator: Operator, column: pc.Expression, constant: pa.Scalar) -> pc.Expression:
    value = pc.scalar(constant)
    match operator:
        case Operator.EQUAL | Operator.SAME:
            return column == value
        case Operator.LESS:
            return column < value
        case Operator.LESS_EQUAL:
            return column <= value
    # NaN is larger than any number to us, and beside everything to Arrow.
    larger = {Operator.GREATER: column > value, Operator.GREATER_EQUAL: column >= value}.get(operator, column != value)
    return larger | column.is_nan() if is_float(constant.type) else larger


def _membership(node: InList, schema: pa.Schema) -> pc.Expression | None:
    if not isinstance(node.value, Column):
        return None
    at = _reference(node.value, schema)
    if at is None or is_float(at[1]):
        return None
    values: list[pa.Scalar] = []
    for option in node.options:
        constant = _constant(option, at[1]) if isinstance(option, Literal) else None
        if constant is None:
            return None
        values.append(constant)
    return at[0].isin(pa.array([value.as_py() for value in values], at[1]))


def _reference(name: Column, schema: pa.Schema) -> _Operand | None:
    index, inner = find(schema, name)
    type_ = schema.field(index).type
    for part in inner:
        type_ = type_.field(part).type
    reference = pc.field((schema.names[index], *inner)) if inner else pc.field(schema.names[index])
    return None if pt.is_nested(type_) else (reference, type_)


def _constant(node: Literal, type: pa.DataType) -> pa.Scalar | None:
    """Return a literal in exactly the column's type; None where it does not fit, and the filter is left to us."""
    if node.value is None or (type not in _PUSHED and not pt.is_decimal128(type)):
        return None
    if is_float(node.type) and not (is_float(type) and node.value == node.value):
        return None
    target = plain(pa.array([], type)).type
    try:
        value = as_literal_of(node, pa.scalar(node.value, node.type), target)
        constant = cast(value, target)
        is_same = common_type(value.type, target) is not None and compare(Operator.EQUAL, constant, value).as_py()
        return constant.cast(type) if is_same else None
    except (ExpressionError, pa.ArrowException):
        return None
