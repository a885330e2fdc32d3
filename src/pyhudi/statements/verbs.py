"""Run a statement: each is a function over the surface, and the answer is an Arrow table.

Start at `run`.
"""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from pyhudi.statements import descriptions, tables
from pyhudi.statements.api import Runner
from pyhudi.statements.indexes import create_index_of, drop_index_of, refresh_index, show_indexes
from pyhudi.statements.inserts import insert_rows
from pyhudi.statements.merges import merge
from pyhudi.statements.model import (
    AddColumns,
    CallProcedure,
    ChangeColumn,
    CreateIndex,
    CreateTable,
    Delete,
    Describe,
    DropColumns,
    DropIndex,
    DropPartitions,
    DropTable,
    Insert,
    Merge,
    RefreshIndex,
    RenameColumn,
    RenameTable,
    SetProperties,
    ShowCreateTable,
    ShowIndexes,
    ShowPartitions,
    ShowProperties,
    Statement,
    TruncateTable,
    UnsetProperties,
    Update,
)
from pyhudi.statements.procedures import call_procedure
from pyhudi.statements.row_changes import delete, update
from pyhudi.table import WriteResult

__all__ = ["run"]

_COUNTS: Final = pa.schema(
    [
        ("num_affected_rows", pa.int64()),
        ("num_updated_rows", pa.int64()),
        ("num_deleted_rows", pa.int64()),
        ("num_inserted_rows", pa.int64()),
    ]
)
_NOTHING: Final = pa.schema([])


def run(statement: Statement, runner: Runner) -> pa.Table:
    """Run a statement about a Hudi table.

    Shape:  of a change of rows one row of counts; of a listing its rows; else a table without columns.
    Raises: StatementError with the place of what cannot be run; NotBuilt; what the table's verbs raise.
    """
    answer = _VERBS[type(statement)](statement, runner)
    if isinstance(answer, pa.Table):
        return answer
    return _NOTHING.empty_table() if answer is None else _counts(answer)


def _counts(result: WriteResult) -> pa.Table:
    counts = [result.updated or 0, result.deleted or 0, result.inserted or 0]
    return pa.table([[count] for count in (sum(counts), *counts)], schema=_COUNTS)


_VERBS: Final[dict[type, Callable[[Any, Runner], pa.Table | WriteResult | None]]] = {
    AddColumns: tables.add_columns_of,
    CallProcedure: lambda statement, runner: call_procedure(runner, statement),
    ChangeColumn: tables.change_column,
    CreateIndex: create_index_of,
    CreateTable: tables.create_table_of,
    Delete: delete,
    Describe: descriptions.describe,
    DropColumns: tables.drop_columns,
    DropIndex: drop_index_of,
    DropPartitions: tables.drop_partitions,
    DropTable: tables.drop_table_of,
    Insert: insert_rows,
    Merge: merge,
    RefreshIndex: refresh_index,
    RenameColumn: tables.rename_column,
    RenameTable: tables.rename_table,
    SetProperties: tables.set_properties,
    ShowCreateTable: descriptions.show_create_table,
    ShowIndexes: show_indexes,
    ShowPartitions: descriptions.show_partitions,
    ShowProperties: descriptions.show_properties,
    TruncateTable: tables.truncate_table,
    UnsetProperties: tables.unset_properties,
    Update: update,
}
