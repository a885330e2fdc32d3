"""A procedure as a value: its parameters, its result's columns, and the function that answers a call.

A function gets a `ProcedureCall`, whose arguments were checked, and yields the rows of its answer: one an instant, a
file or a setting, never one a record of the table. Start at `Procedure`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa

from pyhudi.errors import InvalidInput, NotBuilt, TableNotFound
from pyhudi.statements.api import ProcedureRunner
from pyhudi.statements.model import TableName
from pyhudi.table import Table

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "INT",
    "LONG",
    "PATH",
    "STRING",
    "TABLE",
    "Parameter",
    "Procedure",
    "ProcedureCall",
    "Rows",
    "about_table",
    "columns",
    "rows_table",
    "table_location",
    "table_named",
    "unbuilt_procedure",
]

STRING: Final = pa.string()
INT: Final = pa.int32()
LONG: Final = pa.int64()
BOOLEAN: Final = pa.bool_()
DOUBLE: Final = pa.float64()

Rows: TypeAlias = Iterable[tuple[Any, ...]]
_PART: Final = re.compile(r"`([^`]*)`|([^.`]+)")
_OPTION_PREFIXES: Final = ("hoodie.", "pyhudi.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What a procedure is told, by name or by its place."""

    name: str
    type: pa.DataType = STRING
    default: object = None
    is_required: bool = False


TABLE: Final = Parameter(name="table")
"""The table by its name in the catalog, or by its path. Where `path` is given it may be left out."""
PATH: Final = Parameter(name="path")
"""The table's path; Apache Hudi has it for some procedures, and here each that is about a table takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What CALL can name. Parameters stand in the order of their positions."""

    name: str
    summary: str
    """What it does, for `help`: a sentence without its full stop."""
    parameters: tuple[Parameter, ...]
    columns: pa.Schema
    function: "Callable[[ProcedureCall], Rows] | None" = None
    instead: str = ""
    """What to do in place of a procedure that has no function yet."""

    @property
    def names(self) -> list[str]:
        """Return the names of its parameters, in order."""
        return [one.name for one in self.parameters]

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of a name, in whatever case."""
        return next((one for one in self.parameters if one.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """A call whose arguments are there and of their types; those that were not given have their defaults."""

    runner: ProcedureRunner
    procedure: Procedure
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a text; empty where it was not given."""
        return str(self.values.get(name) or "")

    def number(self, name: str) -> int | None:
        """Return a number; None where it was not given."""
        given = self.values[name]
        return None if given is None else int(given)

    def switch(self, name: str) -> bool:
        """Return whether a switch is on."""
        return bool(self.values[name])

    def limited(self, rows: Rows) -> Rows:
        """Yield rows up to `limit`; a negative number is none."""
        limit = self.number("limit")
        return islice(rows, None if limit is None or limit < 0 else limit)

    def instant(self, name: str = "instant_time") -> str:
        """Return the text of an instant.

        Raises: InvalidInput where none is given.
        """
        given = self.text(name).strip()
        if not given:
            raise InvalidInput(f"{self.procedure.name} needs {name}: an instant, as show_timeline lists them")
        return given

    def open(self) -> Table:
        """Open the table that `table` or `path` names.

        Raises: InvalidInput where both or none are given; TableNotFound.
        """
        name, path = self.text("table").strip(), self.text("path").strip()
        if bool(name) == bool(path):
            which = "both are given" if name else "none is given"
            raise InvalidInput(f"{self.procedure.name} needs table or path, one of them; {which}")
        return self.runner.open(path) if path else self.open_named(name)

    def open_named(self, name: str) -> Table:
        """Open a table by its name in the catalog, or by its path.

        Raises: TableNotFound.
        """
        return self.runner.open(table_location(self.runner, name))

    def options(self, more: Mapping[str, object] | None = None) -> dict[str, object]:
        """Return the options of a write or service: those given, over the session's, over those of the table's entry.

        Text in the parameter `options` is `key=value,key=value`.

        Raises: InvalidInput for such text that is not.
        """
        name = self.text("table").strip()
        entry = self.runner.catalog.find(table_named(name)) if name and not _is_path(name) else None
        properties = {} if entry is None else entry.properties
        kept = {key: text for key, text in properties.items() if key.startswith(_OPTION_PREFIXES)}
        given = self._given_options() if "options" in self.values else {}
        return {**kept, **self.runner.options(), **given, **(more or {})}

    def _given_options(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for pair in filter(None, (one.strip() for one in self.text("options").split(","))):
            key, equals, value = pair.partition("=")
            if not equals or not key.strip():
                raise InvalidInput("options are written 'key=value,key=value'", option=pair)
            found[key.strip()] = value.strip()
        return found


def about_table(
    name: str, summary: str, function: Callable[[ProcedureCall], Rows], result: pa.Schema, *more: Parameter
) -> Procedure:
    """Return a procedure about one table, whose first parameter is the table's name, and the last its path."""
    parameters = (TABLE, *more) if PATH in more else (TABLE, *more, PATH)
    return Procedure(name=name, summary=summary, parameters=parameters, columns=result, function=function)


def table_location(runner: ProcedureRunner, name: str) -> str:
    """Return where a table is that text names: by its name in the catalog, or by its path.

    Raises: TableNotFound.
    """
    if _is_path(name):
        return name
    table = table_named(name)
    entry = None if table.path else runner.catalog.find(table)
    if table.path is None and entry is None:
        raise TableNotFound("the catalog has no Hudi table of this name; name another, or give its path", table=name)
    return table.path or (entry.location if entry else "")


def rows_table(schema: pa.Schema, rows: Rows) -> pa.Table:
    """Make a table of rows that are one an instant, a file or a setting.   Shape: the schema, also without rows."""
    found = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(found, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def columns(**types: pa.DataType) -> pa.Schema:
    """Return the columns of a result, in order."""
    return pa.schema(list(types.items()))


def unbuilt_procedure(procedure: Procedure) -> NotBuilt:
    """Return the error of a procedure that has no function yet."""
    return NotBuilt(f"pyhudi does not have the procedure `{procedure.name}` yet; {procedure.instead}")


def table_named(text: str) -> TableName:
    """Read the name of a table: parts between dots, each in backticks or bare."""
    return TableName(tuple((quoted or plain).strip() for quoted, plain in _PART.findall(text)))


def _is_path(name: str) -> bool:
    return "/" in name and "`" not in name
