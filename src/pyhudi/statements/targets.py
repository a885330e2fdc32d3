"""Find the table that a statement is about, its columns by the names that users type, and its options for a write.

Start at `target_of`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyhudi.errors import StatementError, TableNotFound
from pyhudi.queries.slices import table_schema
from pyhudi.queries.source_options import QUERY_TYPE
from pyhudi.schema.meta_fields import RECORD_KEY
from pyhudi.state.agreement import is_table_option
from pyhudi.statements.api import Entry, Runner
from pyhudi.statements.model import TableName
from pyhudi.timeline.view import Timeline

if TYPE_CHECKING:
    from pyhudi.table import Table

__all__ = ["Target", "entry_of", "options_of_reads", "options_of_writes", "require_distinct", "target_of"]

_OPTIONS: Final = ("hoodie.", "pyhudi.")
_OWN: Final = ("pyhudi.managed", "pyhudi.path")
"""Properties by which a catalog remembers what is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table of a statement."""

    entry: Entry
    table: "Table"
    schema: pa.Schema
    """Its columns when the statement began."""
    seen: Timeline
    """What it was then."""

    @property
    def unchanged(self) -> "Table":
        """Return the table for a write of what was read from it: one that fails where it has changed meanwhile."""
        return self.table.unchanged_since(self.seen)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Return the columns that make the partition path."""
        return tuple(name.partition(":")[0] for name in self.table.config.partition_fields)

    @property
    def fixed_columns(self) -> tuple[str, ...]:
        """Return the columns that make key and partition of a row, which stay what they are."""
        return tuple(dict.fromkeys([*self.table.config.record_key, *self.partition_columns]))

    @property
    def row_columns(self) -> tuple[str, ...]:
        """Return the columns by which a stored row is found again: those, or its key where keys are generated."""
        return self.fixed_columns if self.table.config.record_key else (RECORD_KEY, *self.partition_columns)

    def column(self, name: str, place: int) -> str:
        """Return how the table spells a column; case does not matter.   Raises: StatementError."""
        spelled: dict[str, str] = {column.lower(): column for column in self.schema.names}
        if name.lower() in spelled:
            return spelled[name.lower()]
        if name.split(".")[0].lower() in spelled:
            raise StatementError(
                "set the whole column; fields of a struct are not set one by one", column=name, position=place
            )
        raise StatementError("the table has no such column", column=name, table=str(self.entry.name), position=place)

    def columns(self, names: Sequence[str], place: int) -> tuple[str, ...]:
        """Return how the table spells some columns.   Raises: StatementError for one that is missing or comes twice."""
        found = tuple(self.column(name, place) for name in names)
        if len({*found}) != len(found):
            raise StatementError("name each column once", columns=list(names), position=place)
        return found


def target_of(runner: Runner, name: TableName) -> Target:
    """Open the table of a statement.   Raises: TableNotFound."""
    entry = entry_of(runner, name)
    table = runner.open(entry.location)
    seen = table.timeline
    return Target(entry=entry, table=table, schema=table_schema(table.state, seen), seen=seen)


def require_distinct(columns: pa.Schema, place: int) -> pa.Schema:
    """Return the columns of a query.   Raises: StatementError where two have one name."""
    if len({*columns.names}) != len(columns):
        twice = sorted({name for name in columns.names if columns.names.count(name) > 1})
        raise StatementError("name each column once", columns=twice, position=place)
    return columns


def entry_of(runner: Runner, name: TableName) -> Entry:
    """Find a table by its name, or by its path as in ``hudi.`path` ``.   Raises: TableNotFound."""
    if name.path is not None:
        return Entry(name=name, location=name.path)
    entry = runner.catalog.find(name)
    if entry is None:
        raise TableNotFound("there is no Hudi table of this name", table=str(name), position=name.place)
    return entry


def options_of_reads(entry: Entry) -> dict[str, str]:
    """Return what a table's entry says of reads by its name; it wins over what a query says."""
    return {QUERY_TYPE.key: "read_optimized"} if entry.is_read_optimized else {}


def options_of_writes(runner: Runner, entry: Entry) -> dict[str, str]:
    """Return what acts on a write: the session's options, over the properties of the table's entry.

    What says what the table is stands in its own properties, and is left out.
    """
    said: Mapping[str, str] = {**entry.properties, **runner.options()}
    return {
        key: text
        for key, text in said.items()
        if key.startswith(_OPTIONS) and key not in _OWN and not is_table_option(key)
    }
