"""Filters that say which values a column with a secondary index has to have. Pure. Start at `secondary_values`.

Spec: format/metadata-table 8.7.
"""

from collections.abc import Iterator, Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import ExpressionError
from pyhudi.metadata.names import SECONDARY_PREFIX
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.predicate import Binary, Column, Expression, InList, Literal, Operator, conjuncts
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.evaluate import as_literal_of
from pyhudi.predicate.arrow.values import plain
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["compares_columns", "secondary_values", "slices_placed"]


def compares_columns(expression: Expression) -> bool:
    """Return whether a filter may say which values a column has to have."""
    return any(_asked(term) is not None for term in conjuncts(expression))


def secondary_values(
    expression: Expression, schema: pa.Schema, defined: Mapping[str, IndexDefinition]
) -> Iterator[tuple[IndexDefinition, pa.Array]]:
    """Yield of each secondary index values one of which a row must have for the filter to be true.

    Those are what its column is equal to, or one of, in a term that `and` joins to the others.
    """
    by_column = {one.fields[0]: one for one in defined.values() if one.partition.startswith(SECONDARY_PREFIX)}
    for term in conjuncts(expression):
        asked = _asked(term)
        if asked is None or asked[0] not in by_column or asked[0] not in schema.names:
            continue
        kind = schema.field(asked[0]).type
        values = _values(asked[1], kind) if can_index(kind) else None
        if values is not None:
            yield by_column[asked[0]], values


def slices_placed(slices: pa.Table, places: pa.Table) -> pa.BooleanArray:
    """Return which slices are of the file groups of some places.

    Shape: n of `filegroup.view.SLICES`, `metadata.record_places.PLACES` -> n booleans.
    """
    ours, theirs = (
        pc.binary_join_element_wise(one.column("partition"), one.column("file_id"), "/") for one in (slices, places)
    )
    return pc.is_in(ours.combine_chunks(), value_set=pc.unique(theirs))


def _asked(term: Expression) -> tuple[str, tuple[Expression, ...]] | None:
    match term:
        case Binary(operator=Operator.EQUAL, left=Column(parts=(name,)), right=Literal() as value):
            return name, (value,)
        case Binary(operator=Operator.EQUAL, left=Literal() as value, right=Column(parts=(name,))):
            return name, (value,)
        case InList(value=Column(parts=(name,)), is_negated=False):
            return name, term.options
        case _:
            return None


def _values(options: tuple[Expression, ...], kind: pa.DataType) -> pa.Array | None:
    """Return constants in the type of a column; None where one is compared otherwise than as such a value."""
    found = [_value(one, kind) for one in options]
    whole = [one for one in found if one is not None]
    return None if len(whole) < len(found) else reduce(_joined, whole, pa.array([], kind))


def _value(option: Expression, kind: pa.DataType) -> pa.Array | None:
    if not isinstance(option, Literal) or option.value is None:
        return None
    try:
        value = as_literal_of(option, pa.scalar(option.value, option.type), kind)
        own = pa.array([value.as_py()], value.type)
        made = plain(own) if own.type == kind else cast(own, kind)
        return made if cast(made, own.type).equals(own) else None
    except (ExpressionError, pa.ArrowException):
        return None


def _joined(one: pa.Array, other: pa.Array) -> pa.Array:
    return pa.concat_arrays([one, other.cast(one.type)])
