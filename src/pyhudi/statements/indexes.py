"""Run CREATE, DROP, SHOW and REFRESH INDEX. Start at `create_index_of`.

As in Apache Hudi an index without USING is of the record keys where it names all of them, or is called `record_index`,
and a secondary index else; USING column_stats or bloom_filters makes an expression index, whose function stands among
the options as `expr`, or `func` of old.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pyhudi.errors import InvalidInput, StatementError
from pyhudi.statements.api import Runner
from pyhudi.statements.model import CreateIndex, DropIndex, RefreshIndex, ShowIndexes
from pyhudi.statements.targets import Target, options_of_writes, target_of

if TYPE_CHECKING:
    from pyhudi.table import Table

__all__ = ["create_index_of", "drop_index_of", "refresh_index", "show_indexes"]

_COLUMNS: Final = pa.schema(
    [(name, pa.string()) for name in ("index_name", "col_name", "index_type", "col_options", "options")]
)
_EXPRESSIONS: Final = frozenset({"column_stats", "bloom_filters"})
_WHOLE: Final = frozenset({"bloom_filters", "column_stats", "partition_stats", "record_index"})
_FUNCTION: Final = ("expr", "func")


def create_index_of(statement: CreateIndex, runner: Runner) -> None:
    """Run a CREATE INDEX.   Raises: StatementError; what `Table.create_index` raises."""
    target = target_of(runner, statement.table)
    if statement.is_if_not_exists and _row(target.table, statement.index) is not None:
        return
    options = {**options_of_writes(runner, target.entry), **statement.options}
    kind = (statement.kind or _kind(statement, target)).lower()
    if kind in _EXPRESSIONS and statement.columns:
        function = next((options[name] for name in _FUNCTION if name in options), "identity")
        said = {name: text for name, text in options.items() if name not in _FUNCTION}
        column = _column(statement, target)
        target.table.create_index("expression", column, name=statement.index, expr=function, kind=kind, options=said)
    elif kind in {"secondary_index", "secondary"}:
        target.table.create_index("secondary", _column(statement, target), name=statement.index, options=options)
    elif kind in _WHOLE:
        target.table.create_index(kind, options=options)
    else:
        raise StatementError("there is no such kind of index", kind=kind, position=statement.table.place)


def drop_index_of(statement: DropIndex, runner: Runner) -> None:
    """Run a DROP INDEX.   Raises: InvalidInput for an index that there is not, without IF EXISTS."""
    table = target_of(runner, statement.table).table
    if not statement.is_if_exists or _row(table, statement.index) is not None:
        table.drop_index(statement.index)


def show_indexes(statement: ShowIndexes, runner: Runner) -> pa.Table:
    """List the indexes of a table.

    Shape: one row an index: `index_name`, `col_name`, `index_type`, `col_options` and `options`.
    """
    rows = target_of(runner, statement.table).table.inspect.indexes().to_pylist()
    listed = [
        {
            "index_name": row["name"],
            "col_name": ",".join(row["columns"]),
            "index_type": row["using"],
            "col_options": row["function"],
            "options": ", ".join(f"{key}={text}" for key, text in row["options"] or ()),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(listed, schema=_COLUMNS)


def refresh_index(statement: RefreshIndex, runner: Runner) -> None:
    """Run a REFRESH INDEX: build one that is planned, and anew one that is there.   Raises: InvalidInput."""
    target = target_of(runner, statement.table)
    row = _row(target.table, statement.index)
    if row is None:
        raise InvalidInput("this table has no such index", index=statement.index, table=str(statement.table))
    options = options_of_writes(runner, target.entry)
    if row["state"] == "ready":
        target.table.repair(str(row["partition"]), options=options)
    else:
        target.table.index(options=options)


def _kind(statement: CreateIndex, target: Target) -> str:
    if statement.index.lower() in _WHOLE:
        return statement.index
    named = {name.lower() for name in statement.columns}
    is_of_keys = bool(named) and named == {name.lower() for name in target.table.config.record_key}
    return "record_index" if is_of_keys else "secondary_index"


def _column(statement: CreateIndex, target: Target) -> str:
    if len(statement.columns) != 1:
        raise StatementError(
            "an index is of one column", columns=list(statement.columns), position=statement.table.place
        )
    return target.column(statement.columns[0], statement.table.place)


def _row(table: "Table", name: str) -> Mapping[str, object] | None:
    rows: list[Mapping[str, object]] = table.inspect.indexes().to_pylist()
    return next((row for row in rows if name.lower() in {str(row["name"]).lower(), row["partition"]}), None)
