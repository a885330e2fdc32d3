"""Add columns to a table, or let them become wider, by a commit without rows.

Start at `add_columns`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile

import pyarrow as pa

from pyhudi.arguments import as_mapping
from pyhudi.commit.begin import begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.finish import finish
from pyhudi.commit.planned import PlannedWrite, planned
from pyhudi.commit.restart import restarting
from pyhudi.commit.work import WriteWork, start_write
from pyhudi.errors import InvalidInput, SchemaMismatch
from pyhudi.schema.evolution import RECONCILE, evolve
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import to_table_schema
from pyhudi.state.config import TableConfig
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["add_columns", "given_columns", "widen_columns"]


def add_columns(call: WriteCall, columns: pa.Schema) -> WriteResult | PlannedWrite:
    """Put columns behind those that the table has, but for partition columns that stand last; stored rows have nulls.

    Raises: SchemaMismatch for a column that the table has; WriteConflict.
    Spec:   format/timeline 3.2: operation ALTER_SCHEMA.
    """
    return _alter(call, partial(_with_new, new_columns=columns, config=call.state.config))


def widen_columns(call: WriteCall, columns: pa.Schema) -> WriteResult | PlannedWrite:
    """Let columns have wider types, by the rules of rows that have them; stored rows are read as of those.

    Raises: SchemaMismatch for a column that the table has not, or that cannot become of its type; WriteConflict.
    """
    return _alter(call, partial(_with_wider, columns=columns, reconciles=call.settings.get(RECONCILE)))


@restarting
def _alter(call: WriteCall, alter: Callable[[pa.Schema], pa.Schema]) -> WriteResult | PlannedWrite:
    with begin_write(call, None, WriteOperation.ALTER_SCHEMA, alter=alter) as write:
        if call.is_dry_run:
            return planned(write, WriteWork(), inserts=0, updates=0, deletes=0)
        start_write(write, WriteWork())
        return finish(write, WriteWork(), [])


def _with_new(stored: pa.Schema, new_columns: pa.Schema, config: TableConfig) -> pa.Schema:
    """Return a table's columns with others behind them, but before partition columns that stand last.

    There SQL has partition columns, whose rows come by position.

    Raises: SchemaMismatch for one that the table has, or that no table can have.
    """
    new = to_table_schema(new_columns)
    if known := sorted({*new.names} & {*stored.names}):
        raise SchemaMismatch("the table has this column already", columns=known)
    partitions = {name.partition(":")[0] for name in config.partition_fields}
    count = len(stored) - len(list(takewhile(partitions.__contains__, reversed(stored.names))))
    evolved = list(evolve(stored, pa.schema([*stored, *new])))
    return pa.schema([*evolved[:count], *evolved[len(stored) :], *evolved[count : len(stored)]])


def _with_wider(stored: pa.Schema, columns: pa.Schema, *, reconciles: bool) -> pa.Schema:
    """Return a table's columns with the types of others.   Raises: SchemaMismatch."""
    if unknown := sorted({*columns.names} - {*stored.names}):
        raise SchemaMismatch("the table does not have this column", columns=unknown)
    asked = to_table_schema(columns)
    wider = evolve(stored, asked, reconciles=reconciles)
    if kept := {one.name: str(wider.field(one.name).type) for one in asked if wider.field(one.name).type != one.type}:
        raise SchemaMismatch("a column does not become narrower", columns=kept)
    return wider


def given_columns(given: object) -> pa.Schema:
    """Take columns as a mapping from their names to their types, or as a schema.

    Raises: InvalidInput for anything else, for no column, and for names that no column of a table has.
    """
    fields = list(as_mapping("columns", given).items()) if isinstance(given, Mapping) else given
    try:
        schema = pa.schema(fields)
    except Exception as error:  # an object of the caller's own
        raise InvalidInput("columns are types of Arrow by name: {'tip': pyarrow.float64()}", columns=given) from error
    if not schema.names:
        raise InvalidInput("give at least one column", columns=given)
    if own := [name for name in schema.names if not name or name in META_FIELDS or name.startswith("_pyhudi_")]:
        raise InvalidInput("a column of a table cannot have this name", columns=own)
    return schema
