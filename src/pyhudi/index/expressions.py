"""Filters that name what an expression index has: its values take the place of a function in the filter.

Start at `EXPRESSION_KIND`, then `with_indexes`.

Spec: format/metadata-table 8.8.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import InvalidInput
from pyhudi.index.api import IndexKind
from pyhudi.index.asking import Answer, Asked, Question, has_logs
from pyhudi.index.skipping import slices_matching
from pyhudi.metadata.expressions import expression_of, follows_zone, type_of
from pyhudi.metadata.names import EXPRESSION_PREFIX
from pyhudi.metadata.partitions.expression_blooms import has_same_text
from pyhudi.predicate import Binary, Call, Column, Expression, InList, Literal, Operator, column, conjuncts
from pyhudi.predicate.model import rewrite, walk
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["EXPRESSION_KIND", "INDEXED_BY", "IndexedFilter", "values_asked", "with_indexes"]

INDEXED_BY: Final = ("column_stats", "bloom_filters")
"""The types of expression indexes: bounds of files, and a filter a base file."""
_STATS, _FILTERS = INDEXED_BY
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


def _identities_asked(
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


def _leaves(question: Question, asked: Asked) -> Iterator[Answer]:
    calls_functions = any(isinstance(node, Call) for node in walk(question.predicate))
    if not calls_functions and not question.required:
        return
    filter_of_column = _identities_asked(question.required, question.schema, question.defined)
    yield from _by_filters(question, asked, filter_of_column)
    if not calls_functions:
        return
    found = with_indexes(question.predicate, question.schema, question.defined, _STATS)
    if found is not None and (told := _stats_of(question, asked, found)) is not None:
        names = ", ".join(sorted(one.partition for one in found.indexes.values()))
        yield Answer(names, slices_matching(asked.slices, found.expression, found.schema, told))
    if (found := with_indexes(question.predicate, question.schema, question.defined, _FILTERS)) is not None:
        yield from _by_filters(question, asked, values_asked(found))


def _by_filters(
    question: Question, asked: Asked, wanted: Iterable[tuple[IndexDefinition, pa.Array]]
) -> Iterator[Answer]:
    """Yield which slices may hold what the filter is equal to; one with logs, which have no filters, may."""
    slices = asked.slices
    for definition, values in wanted:
        is_base = pc.and_(slices.column("base").combine_chunks().is_valid(), pc.invert(has_logs(slices)))
        bases = slices.filter(is_base).select(["partition", "base"]).rename_columns(["partition", "name"])
        may_hold = question.files.files_holding(definition.partition, bases, values)
        if may_hold is not None:
            everything = pa.repeat(pa.scalar(True), slices.num_rows)
            yield Answer(definition.partition, pc.replace_with_mask(everything, is_base, may_hold))


def _stats_of(question: Question, asked: Asked, found: IndexedFilter) -> pa.Table | None:
    """Read the statistics of indexes, under the names that they have in a filter."""
    parts = []
    for name, one in found.indexes.items():
        told = question.files.stats(one.partition, one.fields, asked.partitions)
        if told is not None:
            at = told.schema.get_field_index("columnName")
            parts.append(told.set_column(at, told.schema.field(at), pa.repeat(pa.scalar(name), told.num_rows)))
    return pa.concat_tables(parts) if parts else None


EXPRESSION_KIND: Final = IndexKind(leaves=_leaves)
