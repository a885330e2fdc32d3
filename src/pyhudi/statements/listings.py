"""Read SHOW, DESCRIBE, CALL, and the statements about indexes.

Each function begins behind the words that told the statement, and reads to its end. Start at `read_call`.
"""

from pyhudi.errors import StatementError
from pyhudi.statements.model import (
    CallProcedure,
    CreateIndex,
    Describe,
    DropIndex,
    Piece,
    RefreshIndex,
    ShowCreateTable,
    ShowIndexes,
    ShowPartitions,
    ShowProperties,
)
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.tokens import SqlKind

__all__ = [
    "read_call",
    "read_create_index",
    "read_describe",
    "read_drop_index",
    "read_refresh_index",
    "read_show_create",
    "read_show_indexes",
    "read_show_partitions",
    "read_show_properties",
]


def read_call(reader: TokenReader) -> CallProcedure:
    """Read a CALL behind its first word.   Raises: StatementError."""
    procedure = reader.dotted("the name of a procedure")
    positional: list[Piece] = []
    named: list[tuple[str, Piece]] = []
    reader.require_mark("(")
    while not reader.next.is_mark(")"):
        is_named = reader.next.kind in (SqlKind.WORD, SqlKind.NAME) and reader.ahead(1).is_mark("=>")
        if is_named:
            name = reader.name()
            reader.require_mark("=>")
            named.append((name, reader.piece("a value", marks=(",",))))
        elif named:
            raise StatementError("give arguments by position before those by name", position=reader.next.place)
        else:
            positional.append(reader.piece("a value", marks=(",",)))
        if not reader.takes_mark(","):
            break
    reader.require_mark(")")
    reader.require_end()
    return CallProcedure(procedure=procedure[-1], positional=tuple(positional), named=tuple(named))


def read_describe(reader: TokenReader) -> Describe:
    """Read a DESCRIBE behind its first word.   Raises: StatementError."""
    reader.takes("table")
    is_extended = reader.takes("extended") or reader.takes("formatted")
    table = reader.table()
    column = None
    if not reader.is_at_end:
        column = ".".join(reader.dotted("the name of a column"))
    reader.require_end()
    return Describe(table=table, is_extended=is_extended, column=column)


def read_show_partitions(reader: TokenReader) -> ShowPartitions:
    """Read a SHOW PARTITIONS behind its words.   Raises: StatementError."""
    table = reader.table()
    partition = reader.partition() if reader.takes("partition") else ()
    reader.require_end()
    return ShowPartitions(table=table, partition=partition)


def read_show_create(reader: TokenReader) -> ShowCreateTable:
    """Read a SHOW CREATE TABLE behind its words.   Raises: StatementError."""
    table = reader.table()
    reader.takes("as", "serde")
    reader.require_end()
    return ShowCreateTable(table=table)


def read_show_properties(reader: TokenReader) -> ShowProperties:
    """Read a SHOW TBLPROPERTIES behind its words.   Raises: StatementError."""
    table = reader.table()
    key = None
    if reader.takes_mark("("):
        key = reader.key()
        reader.require_mark(")")
    reader.require_end()
    return ShowProperties(table=table, key=key)


def read_show_indexes(reader: TokenReader) -> ShowIndexes:
    """Read a SHOW INDEXES behind its words.   Raises: StatementError."""
    if not (reader.takes("from") or reader.takes("in")):
        raise reader.unexpected("FROM or IN")
    table = reader.table()
    reader.require_end()
    return ShowIndexes(table=table)


def read_create_index(reader: TokenReader) -> CreateIndex:
    """Read a CREATE INDEX behind its words.   Raises: StatementError."""
    is_if_not_exists = reader.if_not_exists()
    index = reader.name("the name of an index")
    reader.require("on")
    reader.takes("table")
    table = reader.table()
    kind = reader.name("the kind of the index") if reader.takes("using") else None
    columns = reader.listed(lambda: ".".join(reader.dotted("the name of a column")))
    options = reader.properties() if reader.takes("options") else {}
    reader.require_end()
    return CreateIndex(
        table=table, index=index, columns=columns, kind=kind, options=options, is_if_not_exists=is_if_not_exists
    )


def read_drop_index(reader: TokenReader) -> DropIndex:
    """Read a DROP INDEX behind its words.   Raises: StatementError."""
    is_if_exists = reader.if_exists()
    index = reader.name("the name of an index")
    reader.require("on")
    reader.takes("table")
    table = reader.table()
    reader.require_end()
    return DropIndex(table=table, index=index, is_if_exists=is_if_exists)


def read_refresh_index(reader: TokenReader) -> RefreshIndex:
    """Read a REFRESH INDEX behind its words.   Raises: StatementError."""
    index = reader.name("the name of an index")
    reader.require("on")
    reader.takes("table")
    table = reader.table()
    reader.require_end()
    return RefreshIndex(table=table, index=index)
