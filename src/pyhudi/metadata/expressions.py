"""Indexes of what a function makes of a column: definitions as expressions, and the values of rows.

Functions and their options are those that Apache Hudi takes; zones of time are UTC. Pure. Start at `expression_of`.

Spec: format/metadata-table 10.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.errors import ExpressionError, InvalidInput
from pyhudi.predicate import Call, Column, Expression, check, evaluate, literal
from pyhudi.predicate.model import walk
from pyhudi.state.index_definition import IndexDefinition

__all__ = [
    "BLOOM_OPTIONS",
    "FUNCTIONS",
    "expression_of",
    "follows_zone",
    "is_supported",
    "names_moments",
    "type_of",
    "values_of",
]

_EXPRESSION: Final = "expr"
"""The option that names the function."""
BLOOM_OPTIONS: Final = frozenset(
    {"filtertype", "numentries", "fpp", "dynamic.max.entries", "maxnumberofentries", "bloom_filter_num_entries"}
)
"""Options of the bloom filters of an index, which are no arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    """What an index says of a function: options that are its arguments behind the column, in order."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()


FUNCTIONS: Final[Mapping[str, _Function]] = {
    **{name: _Function() for name in ("day", "hour", "length", "lower", "month", "upper", "year")},
    **{name: _Function(optional=("trimString",)) for name in ("ltrim", "rtrim", "trim")},
    **{name: _Function(required=("days",), numbers=frozenset({"days"})) for name in ("date_add", "date_sub")},
    "date_format": _Function(required=("format",)),
    **{name: _Function(optional=("format",)) for name in ("from_unixtime", "to_date", "to_timestamp")},
    "unix_timestamp": _Function(optional=("format",)),
    "substring": _Function(required=("pos", "len"), numbers=frozenset({"pos", "len"})),
    "regexp_extract": _Function(required=("pattern", "idx"), numbers=frozenset({"idx"})),
    "regexp_replace": _Function(required=("pattern", "replacement")),
}
"""By name."""
_OF_ZONE: Final = frozenset(
    {"date_format", "day", "from_unixtime", "hour", "month", "to_date", "to_timestamp", "unix_timestamp", "year"}
)


def is_supported(definition: IndexDefinition) -> bool:
    """Return whether an index can be kept up: of one column at the top, by a function that is known."""
    try:
        expression_of(definition)
    except InvalidInput:
        return False
    return True


def expression_of(definition: IndexDefinition) -> Expression:
    """Return what an index computes of a row.

    Raises: InvalidInput for a function or an option that no index has.
    """
    if len(definition.fields) != 1 or not definition.fields[0]:
        raise InvalidInput("an expression index is of one column", columns=list(definition.fields))
    return _expression(
        definition.fields[0],
        (definition.options.get(_EXPRESSION) or definition.function).lower(),
        tuple(sorted((name, value) for name, value in definition.options.items() if name != _EXPRESSION)),
    )


@lru_cache(maxsize=256)
def _expression(column: str, name: str, options: tuple[tuple[str, str], ...]) -> Expression:
    said = dict(options)
    own = Column(parts=(column,))
    if name in {"identity", ""}:
        return own
    function = FUNCTIONS.get(name)
    if function is None:
        raise InvalidInput("an expression index takes no such function", function=name, functions=sorted(FUNCTIONS))
    known = {*function.required, *function.optional}
    unknown = sorted(one for one in said if one not in known and one.lower() not in BLOOM_OPTIONS)
    missing = [one for one in function.required if one not in said]
    if unknown or missing:
        raise InvalidInput(
            "these are not the options of an expression index by this function",
            function=name,
            needed=list(function.required),
            optional=list(function.optional),
            unknown=unknown,
        )
    given = [one for one in (*function.required, *function.optional) if one in said]
    return Call(name=name, arguments=(own, *(_argument(said[one], one in function.numbers, one) for one in given)))


def _argument(text: str, is_number: bool, option: str) -> Expression:
    try:
        return literal(int(text) if is_number else text)
    except ValueError as error:
        raise InvalidInput("this option of an expression index is a whole number", option=option, value=text) from error


def follows_zone(definition: IndexDefinition, schema: pa.Schema) -> bool:
    """Return whether the values of an index are others in another zone of time: those of moments, and made of them."""
    expression = expression_of(definition)
    if not isinstance(expression, Call) or expression.name not in _OF_ZONE:
        return False
    source = check(Column(parts=definition.fields), schema)
    is_date = bool(pt.is_date(source))
    return not (is_date and expression.name in {"day", "hour", "month", "to_date", "year", "date_format"})


def names_moments(expression: Expression) -> bool:
    """Return whether a filter calls a function whose values may be others in another zone of time."""
    return any(isinstance(node, Call) and node.name in _OF_ZONE for node in walk(expression))


def type_of(definition: IndexDefinition, schema: pa.Schema) -> pa.DataType:
    """Return the type of the values of an index.

    Raises: InvalidInput for a column that the table has not, or whose type the function does not take.
    """
    try:
        return check(expression_of(definition), schema)
    except ExpressionError as error:
        raise InvalidInput(
            "an expression index cannot be of this column",
            column=definition.fields[0],
            function=definition.options.get(_EXPRESSION) or definition.function,
            why=str(error),
        ) from error


def values_of(expression: Expression, rows: pa.RecordBatch) -> pa.Array:
    """Compute the values of an index; null where a row has none, as a text that is no date has none.

    Shape: n rows -> n values.
    Cost:  of a batch with rows that have none, an evaluation for each half that has one, of distinct values.
    """
    try:
        return evaluate(expression, rows)
    except ExpressionError:
        coded = rows.column(0).dictionary_encode()
        distinct = pa.RecordBatch.from_arrays([coded.dictionary], names=rows.schema.names[:1])
        kind = check(expression, distinct.schema)
        return _halves(lambda part: evaluate(expression, part), distinct, kind).take(coded.indices)


def _halves(compute: Callable[[pa.RecordBatch], pa.Array], rows: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    try:
        return compute(rows)
    except ExpressionError:
        if rows.num_rows <= 1:
            return pa.nulls(rows.num_rows, kind)
        middle = rows.num_rows // 2
        parts = [_halves(compute, part, kind) for part in (rows.slice(0, middle), rows.slice(middle))]
        return pa.concat_arrays(parts)
