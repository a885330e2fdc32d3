"""Run statements in this process: duckdb has the queries and expressions, the table's verbs the changes.

A catalog is a dictionary of tables, which lives as long as its runner. Start at `DuckRunner`.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import ExpressionError, InvalidInput, PackageMissing, TableExists
from pyhudi.statements.api import Entry
from pyhudi.statements.model import TableName
from pyhudi.statements.tokens import Dialect
from pyhudi.table import Table, create_table, open_table

__all__ = ["DuckRunner", "TableNames"]

_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
}


class TableNames:
    """A catalog of one process: tables by name, without databases; case does not matter."""

    def __init__(self, tables: Mapping[str, str] | None = None) -> None:
        """Take the locations of tables by their names."""
        named = {name: TableName(tuple(name.split("."))) for name in tables or {}}
        self._entries = {
            _key(named[name]): Entry(name=named[name], location=location) for name, location in (tables or {}).items()
        }

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all tables."""
        return tuple(self._entries.values())

    def find(self, name: TableName) -> Entry | None:
        """Return the table of a name."""
        return self._entries.get(_key(name))

    def exists(self, name: TableName) -> bool:
        """Return whether a table has this name."""
        return _key(name) in self._entries

    def location_of_new(self, name: TableName) -> str:
        """Raise InvalidInput: there is no place for tables of which none is given."""
        raise InvalidInput("say where the table goes: CREATE TABLE ... LOCATION 'path'", table=str(name))

    def create(self, entry: Entry, schema: pa.Schema) -> None:
        """Add a table."""
        if self.exists(entry.name):
            raise TableExists("there is a table of this name already", table=str(entry.name))
        self._entries[_key(entry.name)] = entry

    def drop(self, name: TableName) -> None:
        """Remove a table's entry."""
        del self._entries[_key(name)]

    def rename(self, name: TableName, to: TableName) -> None:
        """Set the name of a table."""
        self._entries[_key(to)] = replace(self._entries.pop(_key(name)), name=to)

    def set_properties(self, name: TableName, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """Set some table properties, and remove others."""
        entry = self._entries[_key(name)]
        kept = {key: value for key, value in {**entry.properties, **properties}.items() if key not in unset}
        self._entries[_key(name)] = replace(entry, properties=kept)

    def set_schema(self, name: TableName, schema: pa.Schema) -> None:
        """Keep nothing: columns are the table's own."""


class DuckRunner:
    """Statements on duckdb; rows are Arrow tables."""

    dialect = Dialect.DUCKDB
    is_overwrite_dynamic = False

    def __init__(
        self,
        tables: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Take the locations of tables by name, options for every write, and what reaches the storage.

        Raises: PackageMissing without duckdb.
        """
        if importlib.util.find_spec("duckdb") is None:
            raise PackageMissing("install pyhudi[duckdb] for SQL without Spark", package="duckdb")
        import duckdb

        self.catalog = TableNames(tables)
        self._options, self._storage_options = dict(options or {}), storage_options
        self._duckdb, self._connection = duckdb, duckdb.connect()

    def open(self, location: str) -> Table:
        """Open a table."""
        return open_table(location, storage_options=self._storage_options)

    def create(self, location: str, schema: pa.Schema, **arguments: Any) -> Table:  # noqa: ANN401
        """Make a table."""
        return create_table(location, schema, storage_options=self._storage_options, **arguments)

    def options(self) -> Mapping[str, str]:
        """Return the options for every write."""
        return self._options

    def rows(self, query: str, place: int) -> pa.Table:
        """Return the rows of a query.   Raises: ExpressionError with what duckdb says."""
        for entry in self.catalog.entries:
            self._connection.register(entry.name.parts[-1], self.open(entry.location).scan().to_arrow())
        return self._run(query, place)

    def schema(self, rows: pa.Table) -> pa.Schema:
        """Return the columns of rows."""
        return rows.schema

    def project(self, rows: pa.Table, names: Sequence[str], columns: Mapping[str, str]) -> pa.Table:
        """Return rows of expressions over the rows' columns."""
        self._connection.register("_pyhudi_rows", rows.rename_columns(list(names)))
        texts = [f"{text} AS {self.quoted(name)}" for name, text in columns.items()]
        return self._run(f"SELECT {', '.join(texts)} FROM _pyhudi_rows", 1)  # noqa: S608 - the statement is the user's

    def value(self, expression: str, place: int) -> object:
        """Return the value of an expression without columns."""
        return self._run(f"SELECT {expression}", place).column(0)[0].as_py()

    def cast(self, expression: str, type: pa.DataType) -> str:
        """Return the text of a cast; duckdb refuses values that do not fit."""
        return f"CAST({expression} AS {self.type_name(type)})"

    def type_name(self, type: pa.DataType) -> str:
        """Return how duckdb spells a type."""
        if pa.types.is_decimal(type):
            return f"DECIMAL({type.precision}, {type.scale})"
        if pa.types.is_timestamp(type):
            return "TIMESTAMP" if type.tz is None else "TIMESTAMP WITH TIME ZONE"
        if pa.types.is_list(type):
            return f"{self.type_name(type.value_type)}[]"
        if pa.types.is_map(type):
            return f"MAP({self.type_name(type.key_type)}, {self.type_name(type.item_type)})"
        if pa.types.is_struct(type):
            fields = [type.field(place) for place in range(type.num_fields)]
            return f"STRUCT({', '.join(f'{self.quoted(one.name)} {self.type_name(one.type)}' for one in fields)})"
        if type not in _TYPES:
            raise InvalidInput("duckdb has no such type", type=str(type))
        return _TYPES[type]

    def quoted(self, *parts: str) -> str:
        """Return a name, quoted."""
        return ".".join('"' + part.replace('"', '""') + '"' for part in parts)

    def _run(self, query: str, place: int) -> pa.Table:
        try:
            rows = self._connection.sql(query).to_arrow_table()
        except self._duckdb.Error as error:
            raise ExpressionError(f"duckdb refuses it: {error}", position=place) from error
        table: pa.Table = rows
        return table


def _key(name: TableName) -> str:
    return str(name).lower()
