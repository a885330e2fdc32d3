"""What statistics tell of the values of an expression, for many files at once: bounds, and whether there are nulls.

Pure. What is not known is unbounded. Start at `range_of`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.evaluate import as_literal_of, evaluate
from pyhudi.predicate.arrow.rows import find
from pyhudi.predicate.arrow.values import Value, is_float, is_integer, plain
from pyhudi.predicate.model import Cast, Column, Expression, Literal, Opaque, walk

__all__ = ["ColumnRanges", "Flags", "Range", "Statistics", "beside", "flags", "range_of"]

Flags: TypeAlias = npt.NDArray[np.bool_]
"""One answer a file, or a single one for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRanges:
    """What statistics tell of one column, one entry a file; null is unknown.

    The bounds have the column's type and must enclose every value that is neither null nor NaN; a bound that was cut
    short must have been rounded outwards. A column that a file lacks is one of nulls only: as many nulls as rows.
    """

    min: pa.Array | pa.ChunkedArray
    max: pa.Array | pa.ChunkedArray
    nulls_count: pa.Array | pa.ChunkedArray
    rows_count: pa.Array | pa.ChunkedArray
    has_nans_in_bounds: bool = False
    """Of floats: whether max is NaN wherever a value is. Else values may lie above it, since NaN is the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Ranges of columns in files; `ranges` is keyed by column name, dotted for struct fields."""

    schema: pa.Schema
    ranges: Mapping[str, ColumnRanges]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What is known of the values of an expression, for each file; a bound that is null is unbounded."""

    low: Value
    high: Value
    has_null: Flags
    has_value: Flags


def range_of(node: Expression, known: Statistics) -> Range | None:
    """Return the range of a column, of a constant, or of either cast to a type that keeps their order; else None."""
    if isinstance(node, Column):
        return _column(node, known)
    if not any(isinstance(one, Column | Opaque) for one in walk(node)):
        return _constant(node)
    if isinstance(node, Cast):
        inner = range_of(node.value, known)
        return None if inner is None else _cast(inner, node.type)
    return None


def beside(node: Expression, found: Range, other: Range) -> Range:
    """Read the text of a literal as the evaluator reads it beside the other's type.

    Raises: ExpressionError if the text is no date or timestamp.
    """
    if not isinstance(node, Literal):
        return found
    value = as_literal_of(node, found.low, other.low.type)
    return Range(low=value, high=value, has_null=found.has_null, has_value=found.has_value)


def flags(found: Value, *, unknown: bool) -> Flags:
    """Take what was computed of bounds out of Arrow; what is null is said to be `unknown`."""
    if isinstance(found, pa.Scalar):
        return np.array(found.as_py() if found.is_valid else unknown)
    answers: Flags = pc.fill_null(found, unknown).to_numpy(zero_copy_only=False)
    return answers


def _column(node: Column, known: Statistics) -> Range | None:
    try:
        at, inner = find(known.schema, node)
    except ExpressionError:
        return None
    name = ".".join((known.schema.names[at], *inner))
    found = known.ranges.get(name)
    if found is None or (inner and name in known.schema.names):
        return None
    low, high = (_number(plain(_whole(bound))) for bound in (found.min, found.max))
    nulls, rows = _whole(found.nulls_count), _whole(found.rows_count)
    if is_float(high.type) and not found.has_nans_in_bounds:
        high = pa.nulls(len(high), high.type)
    has_bounds = flags(pc.or_(pc.is_valid(low), pc.is_valid(high)), unknown=True)
    return Range(
        low=low,
        high=high,
        has_null=flags(pc.not_equal(nulls, 0), unknown=True),
        has_value=flags(pc.less(nulls, rows), unknown=True) | has_bounds,
    )


def _constant(node: Expression) -> Range | None:
    try:
        value = pa.scalar(node.value, node.type) if isinstance(node, Literal) else _evaluated(node)
    except (ExpressionError, pa.ArrowException):
        return None
    return Range(low=value, high=value, has_null=np.array(not value.is_valid), has_value=np.array(value.is_valid))


def _evaluated(node: Expression) -> pa.Scalar:
    return plain(evaluate(node, pa.table({"row": [0]})).combine_chunks())[0]


def _cast(inner: Range, type: pa.DataType) -> Range | None:
    if not _keeps_order(inner.low.type, type):
        return None
    try:
        low, high = cast(inner.low, type), cast(inner.high, type)
    except ExpressionError:
        return None  # some row may fail in the same way, which its reader should see
    return Range(low=low, high=high, has_null=inner.has_null, has_value=inner.has_value)


def _keeps_order(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a greater value never becomes a smaller one; text does not keep its order."""
    return source == target or any(kind(source) and kind(target) for kind in (_is_number, _is_moment))


def _is_number(type: pa.DataType) -> bool:
    return is_integer(type) or is_float(type) or bool(pt.is_decimal(type))


def _is_moment(type: pa.DataType) -> bool:
    return bool(pt.is_date32(type) or pt.is_timestamp(type))


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _number(bounds: pa.Array) -> pa.Array:
    """Put null for NaN, which bounds nothing."""
    if not is_float(bounds.type):
        return bounds
    return pc.if_else(pc.is_nan(bounds), pa.scalar(None, bounds.type), bounds)
