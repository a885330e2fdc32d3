"""Tell what a statement is and which table it is about, and read it.

A statement is read in two steps. `head_of` looks at its first words only: whether the table is a Hudi table, a catalog
tells then, and every other statement goes to its engine as it is. `read_statement` reads all of it, and what it does
not understand of a statement about a Hudi table is an error with its place. Start at `head_of`.

Pure.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import StatementError
from pyhudi.statements.changes import read_delete, read_insert, read_merge, read_update
from pyhudi.statements.definitions import read_alter, read_create, read_drop, read_truncate
from pyhudi.statements.listings import (
    read_call,
    read_create_index,
    read_describe,
    read_drop_index,
    read_refresh_index,
    read_show_create,
    read_show_indexes,
    read_show_partitions,
    read_show_properties,
)
from pyhudi.statements.model import Piece, Statement, TableName
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.tokens import Dialect, SqlKind

__all__ = ["Head", "head_of", "read_statement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first words of a statement say."""

    verb: str
    """The words that tell the statement, such as `merge` or `show partitions`."""
    table: TableName | None = None
    """The table that it is about; of CREATE TABLE the new one. None where it is about none, as CALL."""
    provider: str | None = None
    """The format that a CREATE TABLE names behind USING."""
    like: TableName | None = None
    """The table of which a CREATE TABLE takes the columns."""


_FIRST_WORD: Final = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*([A-Za-z]+)")
_FIRST_WORDS: Final = frozenset(
    {"alter", "call", "create", "delete", "desc", "describe", "drop", "from", "insert", "merge"}
    | {"refresh", "replace", "show", "truncate", "update", "with"}
)
_NOT_TABLES: Final = ("catalog", "database", "function", "namespace", "procedure", "query", "schema", "view")


def head_of(text: str, dialect: Dialect = Dialect.SPARK) -> Head | None:
    """Return what a statement is; None for a query, and for what is never about one Hudi table.

    Cost:   two microseconds for a statement whose first word is none of ours.
    Raises: StatementError where a string, name or comment does not end.
    """
    first = _FIRST_WORD.match(text)
    if first is None or first[1].lower() not in _FIRST_WORDS:
        return None
    reader = TokenReader(text, dialect)
    _skip_ctes(reader)
    try:
        return _head(reader)
    except StatementError:  # a name that is none: an engine says so in its own words
        return None


def read_statement(text: str, dialect: Dialect = Dialect.SPARK) -> Statement:
    """Read a statement of which `head_of` told the verb.

    Raises: StatementError with the place of what is not understood.
    """
    reader = TokenReader(text, dialect)
    ctes = _skip_ctes(reader)
    if ctes is not None and reader.next.is_word("insert", "update", "delete", "merge"):
        return _CHANGES[reader.take().value](reader, ctes)
    if ctes is None:
        for words, read in _STATEMENTS.items():
            if reader.takes(*words):
                return read(reader)
    raise reader.unexpected("a statement about a table")


def _head(reader: TokenReader) -> Head | None:
    first = reader.take().value
    match first:
        case "insert":
            _ = reader.takes("with", "schema", "evolution")
            if not (reader.takes("into") or reader.takes("overwrite")) or reader.next.is_word("directory", "local"):
                return None
            reader.takes("table")
            return Head(verb="insert", table=reader.table())
        case "update":
            return Head(verb="update", table=reader.table())
        case "delete":
            return Head(verb="delete", table=reader.table()) if reader.takes("from") else None
        case "merge":
            reader.takes("with", "schema", "evolution")
            return Head(verb="merge", table=reader.table()) if reader.takes("into") else None
        case "from":
            return _multi_insert(reader)
        case "create" | "replace":
            return _created(reader)
        case "call":
            return Head(verb="call", table=TableName((reader.dotted()[-1],)))
        case _:
            return _definition_or_listing(reader, first)


def _definition_or_listing(reader: TokenReader, first: str) -> Head | None:
    match first:
        case "alter" | "truncate":
            return Head(verb=first, table=reader.table()) if reader.takes("table") else None
        case "drop":
            if reader.takes("index"):
                return _of_index(reader, "drop index")
            if not reader.takes("table"):
                return None
            reader.if_exists()
            return Head(verb="drop", table=reader.table())
        case "refresh":
            return _of_index(reader, "refresh index") if reader.takes("index") else None
        case "show":
            return _shown(reader)
        case "with":  # a query
            return None
        case _:
            if reader.next.is_word(*_NOT_TABLES):
                return None
            reader.takes("table")
            if not reader.takes("extended"):
                reader.takes("formatted")
            return Head(verb="describe", table=reader.table())


def _shown(reader: TokenReader) -> Head | None:
    for words in (("partitions",), ("create", "table"), ("tblproperties",)):
        if reader.takes(*words):
            return Head(verb=f"show {words[0]}", table=reader.table())
    if reader.takes("indexes") and (reader.takes("from") or reader.takes("in")):
        return Head(verb="show indexes", table=reader.table())
    return None


def _created(reader: TokenReader) -> Head | None:
    reader.takes("or", "replace")
    if reader.takes("index"):
        return _of_index(reader, "create index")
    reader.takes("external")
    if not reader.takes("table"):
        return None
    reader.if_not_exists()
    table = reader.table()
    like = reader.table() if reader.takes("like") else None
    if reader.next.is_mark("("):
        reader.balanced()
    while not (reader.is_at_end or reader.next.is_word("as", "select", "with", "values")):
        if reader.takes("using"):
            return Head(verb="create", table=table, provider=".".join(reader.dotted()).lower(), like=like)
        reader.take()
    return Head(verb="create", table=table, like=like)


def _of_index(reader: TokenReader, verb: str) -> Head | None:
    reader.if_not_exists()
    reader.if_exists()
    reader.name()
    if not reader.takes("on"):
        return None
    reader.takes("table")
    return Head(verb=verb, table=reader.table())


def _multi_insert(reader: TokenReader) -> Head | None:
    """Find the first table that a query beginning with FROM inserts into."""
    while reader.next.kind is not SqlKind.END:
        token = reader.take()
        if token.is_word("insert") and not token.depth and (reader.takes("into") or reader.takes("overwrite")):
            reader.takes("table")
            return Head(verb="multi insert", table=reader.table())
    return None


def _skip_ctes(reader: TokenReader) -> Piece | None:
    """Read a WITH in front of a change; None, and nothing read, where a query or another statement stands here."""
    mark = reader.mark()
    if not reader.takes("with"):
        return None
    while reader.next.kind is not SqlKind.END:
        if reader.next.depth == 0 and reader.next.is_word("insert", "update", "delete", "merge"):
            return reader.since(mark)
        reader.take()
    reader.back_to(mark)
    return None


def _refuse_multi_insert(reader: TokenReader) -> Statement:
    raise StatementError("write one INSERT for each table, a query does not insert into several", position=1)


_CHANGES: Final[dict[str, Callable[[TokenReader, Piece | None], Statement]]] = {
    "insert": read_insert,
    "update": read_update,
    "delete": read_delete,
    "merge": read_merge,
}
_STATEMENTS: Final[dict[tuple[str, ...], Callable[[TokenReader], Statement]]] = {
    ("insert",): lambda reader: read_insert(reader, None),
    ("update",): lambda reader: read_update(reader, None),
    ("delete",): lambda reader: read_delete(reader, None),
    ("merge",): lambda reader: read_merge(reader, None),
    ("from",): _refuse_multi_insert,
    ("create", "or", "replace", "table"): lambda reader: read_create(reader, is_replace=True),
    ("replace", "table"): lambda reader: read_create(reader, is_replace=True),
    ("create", "external", "table"): lambda reader: read_create(reader, is_replace=False),
    ("create", "table"): lambda reader: read_create(reader, is_replace=False),
    ("create", "index"): read_create_index,
    ("alter", "table"): read_alter,
    ("drop", "table"): read_drop,
    ("drop", "index"): read_drop_index,
    ("truncate", "table"): read_truncate,
    ("refresh", "index"): read_refresh_index,
    ("show", "partitions"): read_show_partitions,
    ("show", "create", "table"): read_show_create,
    ("show", "tblproperties"): read_show_properties,
    ("show", "indexes"): read_show_indexes,
    ("describe",): read_describe,
    ("desc",): read_describe,
    ("call",): read_call,
}
