"""Run statements in this process: duckdb has the queries and expressions, the table's verbs the changes.

A catalog is a dictionary of tables, which lives as long as its runner. Start at `DuckRunner`.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import ExpressionError, HudiError, InvalidInput, PackageMissing, TableExists
from pyhudi.queries.indexes import expression_indexes
from pyhudi.statements.api import Entry
from pyhudi.statements.functions import FUNCTIONS, read_function
from pyhudi.statements.model import Piece, TableName
from pyhudi.statements.references import references
from pyhudi.statements.relations import AsOfKind, Reference
from pyhudi.statements.rewrite import Replacement, rewritten
from pyhudi.statements.sources import failure_of, read_of, rows_of_frame, rows_of_scan
from pyhudi.statements.tokens import Dialect, SqlKind, SqlToken, tokenize_statement
from pyhudi.table import Table, create_table, open_table, table_exists

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
        self._entries: dict[str, Entry] = {}
        for name, location in (tables or {}).items():
            self.add(name, location)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all tables."""
        return tuple(self._entries.values())

    def find(self, name: TableName) -> Entry | None:
        """Return the table of a name."""
        return self._entries.get(_key(name))

    def add(self, name: str, location: str) -> None:
        """Name a table of a location."""
        named = TableName(tuple(name.split(".")))
        self._entries[_key(named)] = Entry(name=named, location=location)

    def exists(self, name: TableName) -> bool:
        """Return whether a table has this name."""
        return _key(name) in self._entries

    def location_of_new(self, name: TableName, given: str | None = None) -> str:
        """Return the place that is given; a relative one is below the working directory.

        Raises: InvalidInput where none is given.
        """
        if given:
            return given
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
        tables: Mapping[str, Any] | None = None,
        options: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Take tables by name, as paths, opened tables or rows; options for every write; and what reaches the storage.

        Raises: PackageMissing without duckdb; InvalidInput for what is no table.
        """
        if importlib.util.find_spec("duckdb") is None:
            raise PackageMissing("install pyhudi[duckdb] for SQL without Spark", package="duckdb")
        import duckdb

        self.catalog = TableNames()
        self._options, self._storage_options = dict(options or {}), storage_options
        self._duckdb, self._connection = duckdb, duckdb.connect()
        self._connection.execute("SET python_enable_replacements = false")  # no variable of ours is a table
        self._connection.execute("SET TimeZone = 'UTC'")
        self._opened: dict[str, Table] = {}
        self._frames: dict[str, Any] = {}
        self._viewed: dict[str, Entry] = {}
        self._registered: dict[str, Any] = {}
        for name, given in (tables or {}).items():
            self._name(name, given)

    def _name(self, name: str, given: Any) -> None:  # noqa: ANN401 - a table, or rows of any kind
        if isinstance(given, Table):
            self._opened[given.path] = given
            self.catalog.add(name, given.path)
        elif isinstance(given, str) or hasattr(given, "__fspath__"):
            self.catalog.add(name, str(given))
        else:
            self._frames[name.lower()] = rows_of_frame(given)

    def open(self, location: str) -> Table:
        """Open a table."""
        if location in self._opened:
            return self._opened[location]
        return open_table(location, storage_options=self._storage_options)

    def create(self, location: str, schema: pa.Schema, **arguments: Any) -> Table:  # noqa: ANN401
        """Make a table."""
        return create_table(location, schema, storage_options=self._storage_options, **arguments)

    def options(self) -> Mapping[str, str]:
        """Return the options for every write."""
        return self._options

    def rows(self, query: str, place: int) -> pa.Table:
        """Return the rows of a query, of which duckdb gets the tables that it names.

        Raises: ExpressionError with what duckdb says; what a scan raises.
        """
        tokens = tokenize_statement(query, self.dialect)
        found = references(tokens)
        replacements: dict[Reference, Replacement] = {}
        for one in found:
            given = self._source(tokens, one)
            if given is not None:
                view = f"_pyhudi_{len(replacements)}"
                self._register(view, given)
                replacements[one] = Replacement(view, is_frame=False)
        text = rewritten(query, replacements, dialect=self.dialect)
        if text is None or not found:
            self._view_named(tokens)
            text = query
        else:
            self._refresh_views()
        return self._run(text, place)

    def has(self, name: TableName) -> bool:
        """Return whether duckdb has a table or view of this name, which is none of Hudi's."""
        asked = "SELECT count(*) FROM duckdb_tables() WHERE lower(table_name) = lower(?)"
        counts = self._connection.execute(asked, [name.parts[-1]]).fetchall()
        return len(name.parts) == 1 and counts[0][0] > 0

    def names(self) -> tuple[str, ...]:
        """Return what all tables and rows are called."""
        return (*(str(entry.name) for entry in self.catalog.entries), *self._frames)

    def is_table(self, location: str) -> bool:
        """Return whether a path leads to a Hudi table; a path that leads nowhere does not."""
        try:
            return table_exists(location, storage_options=self._storage_options)
        except HudiError:
            return False

    def has_rows(self, name: TableName) -> bool:
        """Return whether a user gave rows under this name."""
        return _key(name) in self._frames

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

    def _source(self, tokens: tuple[SqlToken, ...], reference: Reference) -> Any:  # noqa: ANN401 - Arrow has no types
        """Return the rows that a reference means; None where it is duckdb's own."""
        name = reference.name
        if reference.arguments is not None:
            return self._answer(name, reference.arguments)
        if _key(name) in self._frames:
            return self._frames[_key(name)]
        entry = Entry(name=name, location=name.path) if name.path is not None else self.catalog.find(name)
        if entry is None:
            return None
        table = self.open(entry.location)
        scan = table.scan(as_of=self._moment(reference))
        indexes = expression_indexes(table.state, scan.plan.timeline)
        return rows_of_scan(table.scan(as_of=scan.instant or None, **read_of(tokens, reference, scan.schema, indexes)))

    def _answer(self, name: TableName, arguments: Sequence[Piece]) -> Any:  # noqa: ANN401 - Arrow has no types
        """Return the rows of a table function of Hudi's; None for one of duckdb's."""
        if name.parts[-1].lower() not in FUNCTIONS:
            return None
        values = [self.value(one.text, one.place) for one in arguments]
        answer = read_function(self, name.parts[-1], values)
        return answer if isinstance(answer, pa.Table) else rows_of_scan(answer.scan(self.open(answer.location)))

    def _moment(self, reference: Reference) -> str | None:
        """Return the time or instant that a reference travels to."""
        as_of = reference.as_of
        if as_of is None:
            return None
        value = self.value(f"CAST({as_of.expression.text} AS VARCHAR)", as_of.expression.place)
        if value is None:
            raise ExpressionError("AS OF takes a time or an instant, and no null", position=as_of.expression.place)
        is_instant = as_of.kind is AsOfKind.VERSION and not str(value).isdigit()
        if is_instant:
            raise ExpressionError("VERSION AS OF takes an instant", value=value, position=as_of.expression.place)
        return str(value)

    def _view_named(self, tokens: tuple[SqlToken, ...]) -> None:
        """Register, under their own names, the tables that a text may read which is not understood."""
        words = {token.value.lower() for token in tokens if token.kind in (SqlKind.WORD, SqlKind.NAME)}
        for name, rows in self._frames.items():
            if name in words:
                self._register(name, rows)
        for entry in self.catalog.entries:
            if len(entry.name.parts) == 1 and _key(entry.name) in words:
                self._viewed[_key(entry.name)] = entry
        self._refresh_views()

    def _refresh_views(self) -> None:
        """Register anew what is registered under its own name: a view of duckdb may read it."""
        for entry in self._viewed.values():
            if self.catalog.find(entry.name) is not None:
                self._register(entry.name.parts[0], rows_of_scan(self.open(entry.location).scan()))

    def _register(self, name: str, rows: Any) -> None:  # noqa: ANN401 - Arrow has no types
        self._connection.register(name, rows)
        self._registered[name] = rows

    def _failures(self) -> list[BaseException]:
        """Return what has ended reads of tables since this was asked last."""
        return [one for one in map(failure_of, self._registered.values()) if one is not None]

    def _run(self, query: str, place: int) -> pa.Table:
        self._failures()  # what another reader of a user's dataset met is not this query's
        try:
            relation = self._connection.sql(query)
            rows = pa.table({}) if relation is None else relation.to_arrow_table()
        except self._duckdb.Error as error:
            for failure in self._failures():
                raise failure  # noqa: B904 - it has its own cause
            said = str(error).split("\n\n", 1)[0].strip()
            raise ExpressionError(f"duckdb refuses it: {said}", position=place) from error
        table: pa.Table = rows
        return table


def _key(name: TableName) -> str:
    return str(name).lower()
