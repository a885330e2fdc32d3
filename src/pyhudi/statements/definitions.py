"""Read CREATE, ALTER, DROP and TRUNCATE TABLE.

Each function begins behind the words that told the statement, and reads to its end. Start at `read_create`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyhudi.errors import StatementError
from pyhudi.statements.model import (
    AddColumns,
    ChangeColumn,
    ColumnDefinition,
    CreateTable,
    DropColumns,
    DropPartitions,
    DropTable,
    RenameColumn,
    RenameTable,
    SetProperties,
    Statement,
    TableName,
    TruncateTable,
    UnsetProperties,
)
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.tokens import SqlKind

__all__ = ["read_alter", "read_create", "read_drop", "read_truncate"]

_QUERY: Final = ("as", "select", "with", "values", "from", "table")
_REFUSED: Final = {
    "clustered": "hash buckets: TBLPROPERTIES (hoodie.index.type = 'BUCKET', hoodie.bucket.index.num.buckets = '8')",
    "cluster": "an order of rows: table.cluster(order_by=...) or CALL run_clustering",
    "skewed": "another layout",
    "row": "USING hudi alone",
    "stored": "USING hudi alone",
    "default": "columns alone",
}


def read_create(reader: TokenReader, *, is_replace: bool) -> CreateTable:
    """Read a CREATE TABLE behind its TABLE.

    Raises: StatementError.
    """
    is_if_not_exists = reader.if_not_exists()
    name = reader.table()
    if reader.takes("like"):
        like = reader.table()
        said = _create_clauses(reader)
        reader.require_end()
        return CreateTable(name=name, is_if_not_exists=is_if_not_exists, like=like, **said)
    columns = reader.listed(reader.column) if reader.next.is_mark("(") else ()
    said = _create_clauses(reader)
    typed: tuple[ColumnDefinition, ...] = said.pop("typed_partitions", ())
    query = None
    if not reader.is_at_end:
        reader.takes("as")
        query = reader.rest("a query")
    return CreateTable(
        name=name,
        is_if_not_exists=is_if_not_exists,
        is_replace=is_replace,
        columns=(*columns, *typed),
        query=query,
        **said,
    )


def read_alter(reader: TokenReader) -> Statement:
    """Read an ALTER TABLE behind its TABLE.

    Raises: StatementError where it asks for what a Hudi table has not.
    """
    table = reader.table()
    for words, read in _ALTERATIONS.items():
        if reader.takes(*words):
            statement = read(reader, table)
            reader.require_end()
            return statement
    raise reader.unexpected(
        "ADD COLUMNS, ALTER COLUMN, DROP COLUMN, RENAME COLUMN, RENAME TO, DROP PARTITION, SET or UNSET TBLPROPERTIES"
    )


def read_drop(reader: TokenReader) -> DropTable:
    """Read a DROP TABLE behind its TABLE.

    Raises: StatementError.
    """
    is_if_exists = reader.if_exists()
    table = reader.table()
    is_purge = reader.takes("purge")
    reader.require_end()
    return DropTable(table=table, is_if_exists=is_if_exists, is_purge=is_purge)


def read_truncate(reader: TokenReader) -> TruncateTable:
    """Read a TRUNCATE TABLE behind its TABLE.

    Raises: StatementError.
    """
    table = reader.table()
    partition = reader.partition() if reader.takes("partition") else ()
    reader.require_end()
    return TruncateTable(table=table, partition=partition)


# --- CREATE TABLE


def _create_clauses(reader: TokenReader) -> dict[str, Any]:
    """Return what the clauses between name and query say, in any order, each once."""
    said: dict[str, Any] = {}
    while not (reader.is_at_end or reader.next.is_word(*_QUERY) or reader.next.is_mark("(")):
        place = reader.next.place
        values = _create_clause(reader)
        for key, value in values.items():
            if key in said:
                raise StatementError("give each clause once", clause=key.replace("_", " "), position=place)
            said[key] = value
    return said


def _create_clause(reader: TokenReader) -> dict[str, Any]:
    if reader.takes("using"):
        return {"provider": ".".join(reader.dotted("a format"))}
    if reader.takes("options"):
        return {"options": reader.properties()}
    if reader.takes("tblproperties"):
        return {"properties": reader.properties()}
    if reader.takes("location"):
        return {"location": reader.string("a path in quotes")}
    if reader.takes("comment"):
        return {"comment": reader.string("a comment in quotes")}
    if reader.takes("partitioned", "by"):
        return _partitioned_by(reader)
    instead = _REFUSED.get(reader.next.value)
    raise reader.unexpected(
        f"a clause of Hudi tables; use {instead}"
        if instead
        else "USING, OPTIONS, PARTITIONED BY, LOCATION, COMMENT, TBLPROPERTIES or AS"
    )


def _partitioned_by(reader: TokenReader) -> dict[str, Any]:
    """Read names, or columns with types, which are columns of the table as well."""
    typed: list[ColumnDefinition] = []

    def read() -> str:
        if reader.ahead(1).is_mark("("):
            raise reader.unexpected("the name of a column; transforms of columns are not part of Hudi tables")
        if reader.ahead(1).kind in (SqlKind.WORD, SqlKind.NAME):
            typed.append(reader.column())
            return typed[-1].name
        return ".".join(reader.dotted("the name of a column"))

    names = reader.listed(read)
    return {"partition_by": names, **({"typed_partitions": tuple(typed)} if typed else {})}


# --- ALTER TABLE


def _add_columns(reader: TokenReader, table: TableName) -> AddColumns:
    return AddColumns(table=table, columns=reader.columns())


def _drop_columns(reader: TokenReader, table: TableName) -> DropColumns:
    is_if_exists = reader.if_exists()

    def read() -> str:
        return ".".join(reader.dotted("the name of a column"))

    columns = reader.listed(read) if reader.next.is_mark("(") else reader.separated(read)
    return DropColumns(table=table, columns=columns, is_if_exists=is_if_exists)


def _rename_column(reader: TokenReader, table: TableName) -> RenameColumn:
    column = ".".join(reader.dotted("the name of a column"))
    reader.require("to")
    return RenameColumn(table=table, column=column, to=reader.name("the new name"))


def _rename_table(reader: TokenReader, table: TableName) -> RenameTable:
    return RenameTable(table=table, to=reader.table())


def _change_column(reader: TokenReader, table: TableName) -> ChangeColumn | RenameColumn:
    """Read one change of a column; Hive's `CHANGE a b type` names the column twice."""
    column = ".".join(reader.dotted("the name of a column"))
    if reader.takes("type"):
        return ChangeColumn(table=table, column=column, type=reader.type())
    if reader.takes("set", "not", "null"):
        return ChangeColumn(table=table, column=column, is_nullable=False)
    if reader.takes("drop", "not", "null"):
        return ChangeColumn(table=table, column=column, is_nullable=True)
    if reader.takes("comment"):
        return ChangeColumn(table=table, column=column, comment=reader.string("a comment in quotes"))
    if reader.next.is_word("first", "after"):
        return ChangeColumn(table=table, column=column, position=reader.position())
    if reader.next.is_word("set", "drop"):
        raise reader.unexpected("TYPE, COMMENT, FIRST, AFTER, SET NOT NULL or DROP NOT NULL")
    named = reader.column()
    if named.name.lower() != column.lower():
        return RenameColumn(table=table, column=column, to=named.name)
    return ChangeColumn(table=table, column=column, type=named.type, comment=named.comment, position=named.position)


def _set_properties(reader: TokenReader, table: TableName) -> SetProperties:
    return SetProperties(table=table, properties=reader.properties())


def _unset_properties(reader: TokenReader, table: TableName) -> UnsetProperties:
    is_if_exists = reader.if_exists()
    return UnsetProperties(table=table, keys=reader.keys(), is_if_exists=is_if_exists)


def _drop_partitions(reader: TokenReader, table: TableName, *, is_if_exists: bool = False) -> DropPartitions:
    def read_next() -> Any:  # noqa: ANN401 - the values of one PARTITION clause
        reader.takes("partition")
        return reader.partition()

    partitions = reader.separated(read_next)
    return DropPartitions(table=table, partitions=partitions, is_if_exists=is_if_exists, is_purge=reader.takes("purge"))


def _drop_partitions_if_there(reader: TokenReader, table: TableName) -> DropPartitions:
    return _drop_partitions(reader, table, is_if_exists=True)


_ALTERATIONS: Final[Mapping[tuple[str, ...], Callable[[TokenReader, TableName], Statement]]] = {
    ("add", "columns"): _add_columns,
    ("add", "column"): _add_columns,
    ("drop", "columns"): _drop_columns,
    ("drop", "column"): _drop_columns,
    ("drop", "if", "exists", "partition"): _drop_partitions_if_there,
    ("drop", "partition"): _drop_partitions,
    ("rename", "column"): _rename_column,
    ("rename", "to"): _rename_table,
    ("alter", "column"): _change_column,
    ("change", "column"): _change_column,
    ("alter",): _change_column,
    ("change",): _change_column,
    ("set", "tblproperties"): _set_properties,
    ("set", "serdeproperties"): _set_properties,
    ("unset", "tblproperties"): _unset_properties,
}
