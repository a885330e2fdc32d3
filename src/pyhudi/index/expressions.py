"""Filters that name what an expression index has: its values take the place of a function in the filter.

Pure. Start at `with_indexes`.

Spec: format/metadata-table 8.8.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.errors import InvalidInput
from pyhudi.metadata.expressions import expression_of, follows_zone, type_of
from pyhudi.metadata.names import EXPRESSION_PREFIX
from pyhudi.metadata.partitions.expression_blooms import has_same_text
from pyhudi.predicate import Binary, Call, Column, Expression, InList, Literal, Operator, column, conjuncts
from pyhudi.predicate.model import rewrite, walk
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["INDEXED_BY", "IndexedFilter", "calls_functions", "identities_asked", "values_asked", "with_indexes"]

INDEXED_BY: Final = ("column_stats", "bloom_filters")
"""The types of expression indexes: bounds of files, and a filter a base file."""
_FILTERS: Final = "bloom_filters"
_UTC: Final = "UTC"
_COLUMN: Final = "index of {}"
"""How the values of an index are called in a filter: no column of a table has a blank in its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFilter:
    """A filter over the values of indexes."""

    expression: Expression
    schema: pa.Schema
    """The table's columns, and those of the indexes."""
    indexes: Mapping[str, IndexDefinition]
    """By the name that their values have in the filter."""


def calls_functions(expression: Expression) -> bool:
    """Return whether a filter may name what an expression index has."""
    return any(isinstance(node, Call) for node in walk(expression))


def with_indexes(
    expression: Expression, schema: pa.Schema, defined: Mapping[str, IndexDefinition], kind: str
) -> IndexedFilter | None:
    """Put the values of expression indexes of one type into a filter; None where it names none.

    An index whose values depend on a zone of time that is not known to be UTC, as this filter's, has no say.
    """
    found: dict[Expression, IndexDefinition] = {}
    for definition in defined.values():
        is_of_kind = definition.partition.startswith(EXPRESSION_PREFIX) and definition.type == kind
        if is_of_kind and _holds(definition, schema):
            found.setdefault(expression_of(definition), definition)
    wanted: dict[Expression, IndexDefinition]
    wanted = {node: found[node] for node in walk(expression) if isinstance(node, Call) and node in found}
    if not wanted:
        return None
    names = {node: _COLUMN.format(one.partition) for node, one in wanted.items()}
    fields = [pa.field(names[node], type_of(one, schema)) for node, one in wanted.items()]
    return IndexedFilter(
        expression=rewrite(expression, lambda node: column(names[node]) if node in names else node),
        schema=pa.schema([*schema, *fields]),
        indexes={names[node]: one for node, one in wanted.items()},
    )


def values_asked(found: IndexedFilter) -> Iterator[tuple[IndexDefinition, pa.Array]]:
    """Yield of each index values one of which a row must have for the filter to be true, as text.

    Those are what it is equal to, or one of, in a term that `and` joins to the others.
    """
    for term in conjuncts(found.expression):
        match term:
            case Binary(operator=Operator.EQUAL, left=Column() as own, right=Literal() as value):
                options: tuple[Expression, ...] = (value,)
            case Binary(operator=Operator.EQUAL, left=Literal() as value, right=Column() as own):
                options = (value,)
            case InList(value=Column() as own, is_negated=False):
                options = term.options
            case _:
                continue
        definition = found.indexes.get(own.name)
        if definition is not None and (texts := _texts(options, found.schema.field(own.name).type)) is not None:
            yield definition, texts


def identities_asked(
    required: Mapping[str, pa.Array], schema: pa.Schema, defined: Mapping[str, IndexDefinition]
) -> Iterator[tuple[IndexDefinition, pa.Array]]:
    """Yield, as `values_asked` does, of each filter of a column itself the values that a filter requires of it.

    `required` are those of `index.required_values`.
    """
    for definition in defined.values():
        is_filter = definition.partition.startswith(EXPRESSION_PREFIX) and definition.type == _FILTERS
        values = required.get(definition.fields[0]) if is_filter and definition.fields else None
        if values is None or not has_same_text(values.type) or not _holds(definition, schema):
            continue
        if isinstance(expression_of(definition), Column):
            yield definition, values.cast(pa.string())


def _texts(options: Sequence[Expression], kind: pa.DataType) -> pa.Array | None:
    """Return constants as values of an index spell them; None where one is no such value."""
    constants = [one for one in options if isinstance(one, Literal) and one.value is not None]
    is_alike = pt.is_string if pt.is_string(kind) else pt.is_integer
    if len(constants) < len(options) or not has_same_text(kind) or not all(is_alike(one.type) for one in constants):
        return None
    return pa.array([str(one.value) for one in constants], pa.string())


def _holds(definition: IndexDefinition, schema: pa.Schema) -> bool:
    try:
        type_of(definition, schema)
        return definition.zone == _UTC or not follows_zone(definition, schema)
    except InvalidInput:
        return False
