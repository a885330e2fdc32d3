"""Values that a filter requires of columns: what they are equal to, or one of, in terms that `and` joins.

Such a term may also be several of one column that `or` joins.

Pure. Start at `values_required`.

Spec: format/metadata-table 8.6, 8.7.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.predicate import Binary, Column, Expression, InList, Literal, Logical, Operator, conjuncts
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.evaluate import as_literal_of
from pyhudi.predicate.arrow.values import plain

__all__ = ["values_required"]


def values_required(expression: Expression, schema: pa.Schema) -> Mapping[str, pa.Array]:
    """Return of each column that a filter compares for equality the values one of which a row must have.

    Columns whose type has no index of values are left out, and so is a term with a null, or with a constant that is
    compared otherwise than as a value of its column.

    Shape: each value once, in the type of the column.
    Cost:  one pass over the constants.
    """
    found: dict[str, pa.Array] = {}
    for term in conjuncts(expression):
        compared = _compared(term)
        if compared is None or compared[0] not in schema.names:
            continue
        name, options = compared
        values = _values(options, schema.field(name).type)
        if values is not None:
            known = found.get(name)
            found[name] = values if known is None else known.filter(pc.is_in(known, value_set=values))
    return found


def _compared(term: Expression) -> tuple[str, tuple[Expression, ...]] | None:
    match term:
        case Binary(operator=Operator.EQUAL, left=Column(parts=(name,)), right=Literal() as value):
            return name, (value,)
        case Binary(operator=Operator.EQUAL, left=Literal() as value, right=Column(parts=(name,))):
            return name, (value,)
        case InList(value=Column(parts=(name,)), is_negated=False):
            return name, term.options
        case Logical(terms=terms, is_and=False):
            each = [_compared(one) for one in terms]
            names = {one[0] for one in each if one is not None}
            if None in each or len(names) != 1:
                return None
            return names.pop(), tuple(option for one in each if one is not None for option in one[1])
        case _:
            return None


def _values(options: Sequence[Expression], kind: pa.DataType) -> pa.Array | None:
    """Return constants in the type of a column; None where one is compared otherwise than as such a value."""
    if not can_index(kind):
        return None
    by_type: dict[pa.DataType, list[Any]] = defaultdict(list)
    for option in options:
        if not isinstance(option, Literal) or option.value is None:
            return None
        by_type[option.type].append(option.value)
    parts = [_converted(values, own, kind) for own, values in by_type.items()]
    whole = [one for one in parts if one is not None]
    if len(whole) < len(parts):
        return None
    return pc.unique(pa.concat_arrays([pa.array([], kind), *(one.cast(kind) for one in whole)]))


def _converted(values: list[Any], own: pa.DataType, kind: pa.DataType) -> pa.Array | None:
    """Convert constants of one type, so that each of them is the same value as before."""
    try:
        if pt.is_string(own) and not (pt.is_string(kind) or pt.is_large_string(kind)):
            values, own = _as_moments(values, own, kind)
        given = pa.array(values, own)
        made = plain(given) if own == kind else cast(given, kind)
        return made if cast(made, own).equals(given) else None
    except (ExpressionError, pa.ArrowException):
        return None


def _as_moments(values: list[Any], own: pa.DataType, kind: pa.DataType) -> tuple[list[Any], pa.DataType]:
    """Read texts beside a date or a moment as such; beside any other type they stay what they are."""
    read = [as_literal_of(Literal(value=one, type=own), pa.scalar(one, own), kind) for one in values]
    return [one.as_py() for one in read], read[0].type
