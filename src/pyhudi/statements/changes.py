"""Read INSERT, UPDATE, DELETE and MERGE; queries and expressions in them stay text.

Each function begins behind the words that told the statement, and reads to its end. Start at `read_merge`.
"""

from typing import Final

from pyhudi.errors import StatementError
from pyhudi.statements.model import (
    Assignment,
    Delete,
    Insert,
    Merge,
    MergeClause,
    Piece,
    TableName,
    Update,
)
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.tokens import SqlKind

__all__ = ["read_delete", "read_insert", "read_merge", "read_update"]

_QUERY: Final = ("select", "with", "values", "from", "table", "map", "reduce")
_CLAUSE_KINDS: Final = {
    (False, None): "matched",
    (True, None): "not matched",
    (True, "target"): "not matched",
    (True, "source"): "not matched by source",
}
_ACTIONS: Final = {
    "matched": ("update", "delete"),
    "not matched": ("insert",),
    "not matched by source": ("update", "delete"),
}


def read_insert(reader: TokenReader, ctes: Piece | None) -> Insert:
    """Read an INSERT behind its first word; `ctes` is a WITH in front of it, which belongs to its query.

    Raises: StatementError.
    """
    is_overwrite = reader.takes("overwrite")
    if not is_overwrite:
        reader.require("into")
    reader.takes("table")
    table = reader.table()
    partition = reader.partition() if reader.takes("partition") else ()
    is_if_not_exists = reader.if_not_exists()
    is_by_name = reader.takes("by", "name")
    if reader.next.is_word("replace"):
        raise reader.unexpected("a query; instead of REPLACE WHERE, delete the rows and insert, or use MERGE INTO")
    columns = reader.listed(lambda: reader.name("the name of a column")) if _are_columns(reader) else ()
    query = reader.rest("a query or VALUES")
    if ctes is not None:
        query = Piece(f"{ctes.text} {query.text}", ctes.place)
    return Insert(
        table=table,
        query=query,
        is_overwrite=is_overwrite,
        partition=partition,
        is_if_not_exists=is_if_not_exists,
        columns=columns,
        is_by_name=is_by_name,
    )


def read_update(reader: TokenReader, ctes: Piece | None) -> Update:
    """Read an UPDATE behind its first word.

    Raises: StatementError.
    """
    _refuse_ctes(ctes)
    table = reader.table()
    alias = _alias(reader, "set")
    reader.require("set")
    assignments = reader.separated(lambda: _assignment(reader, _names_of(table, alias), "where"))
    where = reader.rest("a condition") if reader.takes("where") else None
    reader.require_end()
    return Update(table=table, alias=alias, assignments=assignments, where=where)


def read_delete(reader: TokenReader, ctes: Piece | None) -> Delete:
    """Read a DELETE behind its first word.

    Raises: StatementError.
    """
    _refuse_ctes(ctes)
    reader.require("from")
    table = reader.table()
    alias = _alias(reader, "where")
    where = reader.rest("a condition") if reader.takes("where") else None
    reader.require_end()
    return Delete(table=table, alias=alias, where=where)


def read_merge(reader: TokenReader, ctes: Piece | None) -> Merge:
    """Read a MERGE behind its first word; `ctes` is a WITH in front of it, which belongs to its source.

    Raises: StatementError.
    """
    is_schema_evolution = reader.takes("with", "schema", "evolution")
    reader.require("into")
    table = reader.table()
    alias = _alias(reader, "using")
    reader.require("using")
    source = _source(reader)
    source_alias = _alias(reader, "on")
    reader.require("on")
    on = reader.piece("a condition", "when")
    clauses = []
    while not reader.is_at_end:
        clauses.append(_clause(reader, _names_of(table, alias)))
    if not clauses:
        raise reader.unexpected("WHEN MATCHED or WHEN NOT MATCHED")
    if ctes is not None:
        source_alias = source_alias or _last_name(source)
        source = Piece(f"({ctes.text} SELECT * FROM {source.text})", source.place)  # noqa: S608 - it is the user's
    return Merge(
        table=table,
        alias=alias,
        source=source,
        source_alias=source_alias,
        on=on,
        clauses=tuple(clauses),
        is_schema_evolution=is_schema_evolution,
    )


def _clause(reader: TokenReader, names: frozenset[str]) -> MergeClause:
    place = reader.next.place
    reader.require("when")
    is_negated = reader.takes("not")
    reader.require("matched")
    side = None
    if reader.takes("by"):
        side = reader.name("SOURCE or TARGET").lower()
    kind = _CLAUSE_KINDS.get((is_negated, side))
    if kind is None:
        raise StatementError("write WHEN MATCHED, NOT MATCHED [BY TARGET] or NOT MATCHED BY SOURCE", position=place)
    condition = reader.piece("a condition", "then") if reader.takes("and") else None
    reader.require("then")
    action = reader.next
    if not action.is_word(*_ACTIONS[kind]):
        raise reader.unexpected(" or ".join(_ACTIONS[kind]).upper())
    reader.take()
    assignments: tuple[Assignment, ...] = ()
    is_star = False
    if action.value == "update":
        reader.require("set")
        is_star = reader.takes_mark("*")
        if not is_star:
            assignments = reader.separated(lambda: _assignment(reader, names, "when"))
    elif action.value == "insert":
        is_star = reader.takes_mark("*")
        if not is_star:
            assignments = _inserted(reader, names)
    return MergeClause(
        kind=kind, action=action.value, condition=condition, assignments=assignments, is_star=is_star, place=place
    )


def _inserted(reader: TokenReader, names: frozenset[str]) -> tuple[Assignment, ...]:
    columns = reader.listed(lambda: (reader.next.place, _column(reader, names)))
    reader.require("values")
    place = reader.next.place
    values = reader.listed(lambda: reader.piece("a value", marks=(",",)))
    if len(columns) != len(values):
        raise StatementError("give as many values as columns", columns=len(columns), values=len(values), position=place)
    return tuple(
        Assignment(column=column, value=value, place=at) for (at, column), value in zip(columns, values, strict=True)
    )


def _assignment(reader: TokenReader, names: frozenset[str], stop: str) -> Assignment:
    place = reader.next.place
    column = _column(reader, names)
    if not (reader.takes_mark("=") or reader.takes_mark("==")):
        raise reader.unexpected("=")
    return Assignment(column=column, value=reader.piece("a value", stop, marks=(",",)), place=place)


def _column(reader: TokenReader, names: frozenset[str]) -> str:
    """Return a column of the table, without the table's name or alias in front of it."""
    parts = reader.dotted("the name of a column")
    while len(parts) > 1 and ".".join(parts[:-1]).lower() in names:
        parts = parts[-1:]
    if len(parts) > 1 and parts[0].lower() in names:
        parts = parts[1:]
    return ".".join(parts)


def _names_of(table: TableName, alias: str | None) -> frozenset[str]:
    """Return what may stand in front of a column of the table: its alias, else its name, with or without database."""
    if alias is not None:
        return frozenset({alias.lower()})
    return frozenset(".".join(table.parts[-count:]).lower() for count in range(1, len(table.parts) + 1))


def _alias(reader: TokenReader, stop: str) -> str | None:
    if reader.takes("as"):
        return reader.name("an alias")
    is_name = reader.next.kind in (SqlKind.WORD, SqlKind.NAME) and not reader.next.is_word(stop)
    return reader.name() if is_name else None


def _source(reader: TokenReader) -> Piece:
    """Return what a merge reads, without its alias: a query in parentheses, a table, a table function."""
    if reader.next.is_mark("("):
        return reader.balanced()
    mark = reader.mark()
    reader.table()
    if reader.next.is_mark("("):
        reader.balanced()
    moment = reader.mark()
    reader.takes("for")
    if reader.next.is_word("timestamp", "version", "system_time", "system_version") and reader.ahead(1).is_word("as"):
        reader.take()
        reader.require("as", "of")
        reader.take()
        if reader.next.is_mark("("):
            reader.balanced()
    else:
        reader.back_to(moment)
    return reader.since(mark)


def _last_name(source: Piece) -> str | None:
    reader = TokenReader(source.text)
    return None if reader.next.is_mark("(") else reader.table().parts[-1]


def _are_columns(reader: TokenReader) -> bool:
    """Return whether a list of columns stands here, and not a query in parentheses."""
    if not reader.next.is_mark("(") or reader.ahead(1).is_mark("("):
        return False
    if not reader.ahead(1).is_word(*_QUERY):
        return True
    return reader.ahead(2).is_mark(",", ")")


def _refuse_ctes(ctes: Piece | None) -> None:
    if ctes is not None:
        raise StatementError("move the query of WITH into the condition, or use MERGE INTO", position=ctes.place)
