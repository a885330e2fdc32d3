"""What a query block says about its one table: conditions that leave out rows, and the columns that it names.

Pure. Both are only an acceleration: the engine keeps the WHERE of the query, and columns may be too many. So what could
mean anything else to an engine than it does to `pyhudi.predicate` is left out. Start at `pushed_condition`.
"""

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.index.expressions import INDEXED_BY, with_indexes
from pyhudi.predicate import (
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
    all_of,
    check,
    conjuncts,
    parse,
    to_sql,
)
from pyhudi.predicate.model import rewrite, walk
from pyhudi.predicate.temporal import date_of
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.statements.cursor import is_name
from pyhudi.statements.relations import Reference
from pyhudi.statements.tokens import SqlKind, SqlToken

__all__ = [
    "columns_named",
    "fitting_condition",
    "fitting_part",
    "indexed_condition",
    "is_alike",
    "pushed_condition",
    "terms_of_and",
]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_BEFORE_A_STAR = frozenset({"select", "distinct", "all"})
_NAMES_BY_TEXT = frozenset({"identifier", "columns"})
"""Functions that name columns by a string or a pattern."""


def pushed_condition(tokens: tuple[SqlToken, ...], reference: Reference) -> str | None:
    """Return the part of a block's WHERE that the rows of its one table must fulfil; None if there is no such part.

    It compares columns with constants, and no more; fields of structs are left out, since `a.b` may be a column of an
    outer query. Columns have lost the name of the table. So may a bare name, and types are not known here: give the
    condition to `fitting_condition` with the table's columns before a scan takes it as a filter.
    """
    block = reference.block
    if block.where is None or not _is_alone(reference):
        return None
    terms = [
        without_table
        for part in terms_of_and(tokens[block.where.start : block.where.end])
        if (without_table := _understood(part, reference)) is not None
    ]
    return to_sql(all_of(*terms)) if terms else None


def indexed_condition(
    tokens: tuple[SqlToken, ...],
    reference: Reference,
    schema: pa.Schema,
    defined: Mapping[str, IndexDefinition],
) -> Expression | None:
    """Return the terms of a block's WHERE that compare the values of expression indexes with constants; None for none.

    They leave out files of the block's one table, and are for no row: the engine computes its own functions. Give it
    only indexes of functions that mean the same to the engine.
    """
    block = reference.block
    if block.where is None or not defined or not _is_alone(reference):
        return None
    terms = [
        term
        for part in terms_of_and(tokens[block.where.start : block.where.end])
        if (term := _bare(part, reference)) is not None and _compares_indexed(term, schema, defined)
    ]
    return all_of(*terms) if terms else None


def fitting_condition(condition: str, schema: pa.Schema) -> str | None:
    """Return the terms of a pushed condition that compare like with like among some columns; None if there are none.

    Spark and duckdb convert otherwise than Arrow where types differ (a text with a number, a float with a decimal), so
    such terms are left to them; so are names that no column has.

    Raises: ExpressionError if the condition does not parse.
    """
    fitting = fitting_part(parse(condition), schema)
    return None if fitting is None else to_sql(fitting)


def fitting_part(condition: Expression, schema: pa.Schema) -> Expression | None:
    """Return what `fitting_condition` leaves of a condition that is parsed; None if nothing."""
    terms = [term for term in conjuncts(condition) if _fits(term, schema)]
    return all_of(*terms) if terms else None


def columns_named(tokens: tuple[SqlToken, ...], reference: Reference) -> frozenset[str] | None:
    """Return the names, in lower case, among which are all columns of a table that its block reads; None for any.

    There are other names among them: keywords, functions, columns of inner queries.
    """
    if not _is_alone(reference):
        return None
    names: set[str] = set()
    for place in range(reference.block.tokens.start, reference.block.tokens.end):
        token = tokens[place]
        if _is_of(token, reference):
            continue
        if _may_be_any(tokens, place, reference):
            return None
        if is_name(token) or token.kind is SqlKind.STRING:  # a string in double quotes may be a name in Spark
            names.add(token.value.lower())
    return frozenset(names)


def _is_alone(reference: Reference) -> bool:
    block = reference.block
    return block.is_simple and len(block.names) == 1 and not reference.has_column_aliases


def _is_of(token: SqlToken, reference: Reference) -> bool:
    spans = (reference.span, reference.alias_span)
    return any(span is not None and span.start <= token.start < span.end for span in spans)


def _may_be_any(tokens: tuple[SqlToken, ...], place: int, reference: Reference) -> bool:
    """Return whether a token stands for columns that it does not name."""
    token, before, behind = tokens[place], tokens[place - 1], tokens[place + 1]
    if token.is_mark("*"):
        is_counted = before.is_mark("(") and tokens[place - 2].is_word("count") and behind.is_mark(")")
        is_product = before.is_mark(")", "]") or (
            before.kind is not SqlKind.MARK and not before.is_word(*_BEFORE_A_STAR)
        )
        return not (is_counted or is_product)
    if is_name(token) and behind.is_mark("(") and token.value in _NAMES_BY_TEXT:
        return True
    is_row = is_name(token) and token.value.lower() == reference.visible_name and not behind.is_mark(".")
    return is_row or token.is_mark("{", "#", "$")


# --- terms of WHERE


def terms_of_and(tokens: tuple[SqlToken, ...]) -> Iterator[tuple[SqlToken, ...]]:
    """Yield what AND joins; all of it, if OR does."""
    depth = min((token.depth for token in tokens), default=0)
    ends: list[int] = []
    cases = ranges = 0
    for place, token in enumerate(tokens):
        if token.depth != depth or token.kind is not SqlKind.WORD:
            continue
        cases += token.is_word("case") - (cases > 0 and token.is_word("end"))
        if cases:
            continue
        if token.is_word("or"):
            yield tokens
            return
        if token.is_word("between"):
            ranges += 1
        elif token.is_word("and") and ranges:
            ranges -= 1
        elif token.is_word("and"):
            ends.append(place)
    for first, last in zip([0, *(end + 1 for end in ends)], [*ends, len(tokens)], strict=True):
        yield tokens[first:last]


def _understood(tokens: tuple[SqlToken, ...], reference: Reference) -> Expression | None:
    term = _bare(tokens, reference)
    return term if term is not None and _compares_constants(term) else None


def _bare(tokens: tuple[SqlToken, ...], reference: Reference) -> Expression | None:
    """Return a term with columns of its table alone, without the table's name; None where it is not understood."""
    text = _as_predicate(tokens)
    if text is None:
        return None
    try:
        term = parse(text)
    except ExpressionError:
        return None
    bare = rewrite(term, lambda node: _without_table(node, reference))
    return bare if all(len(node.parts) == 1 for node in walk(bare) if isinstance(node, Column)) else None


def _compares_indexed(term: Expression, schema: pa.Schema, defined: Mapping[str, IndexDefinition]) -> bool:
    found = (with_indexes(term, schema, defined, kind) for kind in INDEXED_BY)
    return any(
        one is not None and _compares_constants(one.expression) and _fits(one.expression, one.schema) for one in found
    )


def _as_predicate(tokens: tuple[SqlToken, ...]) -> str | None:
    """Return text for `parse`; None where a string means one thing or another by the engine's settings."""
    parts: list[str] = []
    for token in tokens:
        if token.kind is SqlKind.STRING:
            inner = token.text[1:-1]
            if token.text[0] != "'" or inner != token.value or "\\" in inner:
                return None
        is_quoted = token.kind is SqlKind.NAME
        parts.append(f"`{token.value.replace('`', '``')}`" if is_quoted else token.text)
    return " ".join(parts)


def _compares_constants(node: Expression) -> bool:
    match node:
        case Logical():
            return all(_compares_constants(term) for term in node.terms)
        case Not():
            return _compares_constants(node.value)
        case IsNull() | Like():
            return isinstance(node.value, Column)
        case _:
            return _compared(node) is not None


def _compared(node: Expression) -> tuple[Column, tuple[Literal, ...]] | None:
    """Return a column and the constants that it is compared with; None if this is no such comparison."""
    values: tuple[Expression, ...]
    match node:
        case Binary(left=Literal() as left, right=Column() as right) if node.operator.is_comparison:
            column, values = right, (left,)
        case Binary(left=Column() as left, right=Literal() as right) if node.operator.is_comparison:
            column, values = left, (right,)
        case InList(value=Column() as column):
            values = node.options
        case Between(value=Column() as column):
            values = (node.lower, node.upper)
        case _:
            return None
    constants = tuple(value for value in values if isinstance(value, Literal) and value.value is not None)
    is_sure = len(constants) == len(values) and not any(pt.is_timestamp(one.type) for one in constants)
    return (column, constants) if is_sure else None


def _without_table(node: Expression, reference: Reference) -> Expression:
    """Return a column without the name or alias of its table in front."""
    if not isinstance(node, Column):
        return node
    names = tuple(part.lower() for part in node.parts)
    own = (reference.visible_name,) if reference.alias else tuple(part.lower() for part in reference.name.parts)
    for count in range(min(len(own), len(names) - 1), 0, -1):
        if names[:count] == own[-count:]:
            return Column(parts=node.parts[count:])
    return node


# --- types


def _fits(term: Expression, schema: pa.Schema) -> bool:
    try:
        check(term, schema)
        return _compares_alike(term, schema)
    except ExpressionError:
        return False


def _compares_alike(node: Expression, schema: pa.Schema) -> bool:
    match node:
        case Logical():
            return all(_compares_alike(term, schema) for term in node.terms)
        case Not():
            return _compares_alike(node.value, schema)
        case IsNull():
            return True
        case Like():
            return _is_text(check(node.value, schema))
        case _:
            compared = _compared(node)
            if compared is None:
                return False
            column, constants = compared
            type_ = check(column, schema)
            return all(is_alike(type_, constant) for constant in constants)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pt.is_string(type_) or pt.is_large_string(type_))


def is_alike(type_: pa.DataType, constant: Literal) -> bool:
    """Return whether every engine compares values of a type with a constant in the same way."""
    is_whole = bool(pt.is_integer(constant.type))
    if _is_text(type_):
        return _is_text(constant.type)
    if pt.is_boolean(type_):
        return bool(pt.is_boolean(constant.type))
    if pt.is_date32(type_):
        return bool(pt.is_date32(constant.type)) or (_is_text(constant.type) and _is_day(constant.value))
    if pt.is_signed_integer(type_):
        return is_whole
    if pt.is_decimal128(type_):
        return is_whole or bool(pt.is_decimal128(constant.type))
    return bool(pt.is_float64(type_)) and (
        is_whole or bool(pt.is_decimal128(constant.type) or pt.is_floating(constant.type))
    )


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date_of(text)
    except ExpressionError:
        return False
    return True
