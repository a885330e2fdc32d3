"""What a surface gives to statements: a catalog of tables, the rows of queries and the values of expressions.

Spark and duckdb are the two surfaces. Start at `Runner`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pyhudi.statements.model import TableName
from pyhudi.statements.tokens import Dialect

if TYPE_CHECKING:
    import pyarrow as pa

    from pyhudi.table import Table

__all__ = ["Catalog", "CopyRunner", "Entry", "Finder", "ProcedureRunner", "Runner", "SessionRunner", "session_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A table as a catalog has it."""

    name: TableName
    """The name in full: with its database, where the catalog has databases."""
    location: str
    """The table's base path or URL."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Table properties of the statement that made it: `primaryKey`, `type`, and options for every write."""
    is_managed: bool = False
    """Whether the catalog chose the location, so that dropping the table deletes its files."""
    comment: str | None = None
    is_read_optimized: bool = False
    """Whether reads by this name leave logs out: the entry `trips_ro` that Apache Hudi's sync makes beside `trips`."""


class Catalog(Protocol):
    """Tables by name. Names are matched as the surface matches them."""

    def find(self, name: TableName) -> Entry | None:
        """Return the Hudi table of a name; None for a view, a table of another format, and a name that is not there."""
        ...

    def exists(self, name: TableName) -> bool:
        """Return whether a table or view of any format has this name."""
        ...

    def location_of_new(self, name: TableName, given: str | None = None) -> str:
        """Return where a table goes: to the place that is given, as the catalog reads it, or to one of its own.

        Raises: InvalidInput where there is none.
        """
        ...

    def create(self, entry: Entry, schema: "pa.Schema") -> None:
        """Add a table whose files are there.   Raises: TableExists."""
        ...

    def drop(self, name: TableName) -> None:
        """Remove a table's entry; its files stay."""
        ...

    def rename(self, name: TableName, to: TableName) -> None:
        """Set the name of a table.   Raises: TableExists."""
        ...

    def set_properties(self, name: TableName, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """Set some table properties, and remove others."""
        ...

    def set_schema(self, name: TableName, schema: "pa.Schema") -> None:
        """Show the columns that the table has now."""
        ...


class Runner(Protocol):
    """A surface: what runs the queries and expressions that statements contain."""

    @property
    def catalog(self) -> Catalog:
        """Return the tables by name."""
        ...

    @property
    def dialect(self) -> Dialect:
        """Return how statements quote strings and names."""
        ...

    @property
    def is_overwrite_dynamic(self) -> bool:
        """Return whether the session overwrites only the partitions that rows come for."""
        ...

    def open(self, location: str) -> "Table":
        """Open a table.   Raises: TableNotFound."""
        ...

    def create(self, location: str, schema: "pa.Schema", **arguments: Any) -> "Table":  # noqa: ANN401
        """Make a table, or open one that is what the arguments of `pyhudi.create_table` say.   Raises: InvalidInput."""
        ...

    def options(self) -> Mapping[str, str]:
        """Return the session's `hoodie.*` and `pyhudi.*` options."""
        ...

    def rows(self, query: str, place: int) -> Any:  # noqa: ANN401 - a DataFrame of the surface, which every verb takes
        """Return the rows of a query; `place` is where it stands in the statement, for errors."""
        ...

    def schema(self, rows: Any) -> "pa.Schema":  # noqa: ANN401 - what `rows` returned
        """Return the columns of rows, without computing them."""
        ...

    def project(self, rows: Any, names: Sequence[str], columns: Mapping[str, str]) -> Any:  # noqa: ANN401
        """Return rows of other columns: `names` are those of the rows, `columns` are expressions over them by name."""
        ...

    def value(self, expression: str, place: int) -> object:
        """Return the value of an expression without columns, as a Python value."""
        ...

    def cast(self, expression: str, type: "pa.DataType") -> str:
        """Return the text of a cast by which a value that does not fit its column is an error, never another value."""
        ...

    def type_name(self, type: "pa.DataType") -> str:
        """Return how the surface spells a type."""
        ...

    def quoted(self, *parts: str) -> str:
        """Return a name of some parts, quoted."""
        ...


class Finder(Protocol):
    """What is asked of a catalog where tables are only read and kept in order."""

    def find(self, name: TableName) -> Entry | None:
        """Return the Hudi table of a name, as `Catalog.find` does."""
        ...


class ProcedureRunner(Protocol):
    """What procedures and table functions need of a surface; every `Runner` has it, the command line no more."""

    @property
    def catalog(self) -> Finder:
        """Return the tables by name."""
        ...

    def open(self, location: str) -> "Table":
        """Open a table.   Raises: TableNotFound."""
        ...

    def options(self) -> Mapping[str, str]:
        """Return the session's `hoodie.*` and `pyhudi.*` options."""
        ...

    def value(self, expression: str, place: int) -> object:
        """Return the value of an expression without columns, as a Python value."""
        ...


@runtime_checkable
class SessionRunner(Protocol):
    """A surface whose session does the work of table services: what `spark=` of a table's verbs takes."""

    @property
    def session(self) -> Any:  # noqa: ANN401 - a session of Spark, whose types stay in the Spark room
        """Return the session."""
        ...


def session_of(runner: object) -> Any:  # noqa: ANN401 - a session of Spark
    """Return the session in which a surface's work is done; None for one that works in this process."""
    return runner.session if isinstance(runner, SessionRunner) else None


@runtime_checkable
class CopyRunner(Protocol):
    """A surface that can keep the rows of a read: what `copy_to_temp_view` and `copy_to_table` need beside a Runner.

    A surface that does not have it is refused by the name of the procedure.
    """

    def read(self, location: str, options: Mapping[str, str], columns: tuple[str, ...] = ()) -> Any:  # noqa: ANN401
        """Return the rows of a table, by the options that a read through the data source has.

        They are a DataFrame of the surface; without names it has all columns.
        """
        ...

    def make_view(self, name: str, rows: Any, *, is_replace: bool, is_global: bool) -> None:  # noqa: ANN401
        """Keep rows under a name of the session.   Raises: TableExists without `is_replace`."""
        ...

    def save_table(self, name: TableName, rows: Any, mode: str) -> None:  # noqa: ANN401
        """Store rows as a table of the catalog: `mode` is append, overwrite, ignore or errorifexists."""
        ...
