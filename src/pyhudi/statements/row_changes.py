"""Run UPDATE and DELETE.

Where the grammar of `pyhudi.predicate` has all expressions, the table's own verb does the work, in the tasks of the
surface's session if it has one. Where it has not, the surface computes the keys of the rows that the statement means,
and the new values, and a merge or a delete by keys applies them; a commit that comes between the two makes the
statement begin again. Start at `update`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyhudi.errors import StatementError
from pyhudi.index.choice import index_of
from pyhudi.options import Settings
from pyhudi.predicate import Expression
from pyhudi.predicate.model import Column, literal
from pyhudi.statements.api import Runner, session_of
from pyhudi.statements.model import Delete, Piece, TableName, Update
from pyhudi.statements.outdated import begun_again, reading_for
from pyhudi.statements.scopes import Scope, Side, qualifiers_of_table
from pyhudi.statements.targets import Target, options_of_writes, target_of

if TYPE_CHECKING:
    from pyhudi.table import WriteResult

__all__ = ["delete", "update"]

_NEW: str = "_new_"
"""What stands in front of a column's name for its new value."""


@begun_again
def update(statement: Update, runner: Runner) -> "WriteResult":
    """Run an UPDATE.

    Raises: StatementError for a column that is not there, or that makes key or partition; what the verb raises.
    """
    target = target_of(runner, statement.table)
    values = _values(statement, target)
    scope = _scope(target, statement.table, statement.alias, runner)
    options = _options(runner, target)
    where = None if statement.where is None else scope.resolve(statement.where)
    known: dict[str, Expression] = {}
    for column, value in values.items():
        expression = _new_value(value, target, column, scope)
        if expression is not None:
            known[column] = expression
    if len(known) == len(values) and (where is None) == (statement.where is None):
        return target.table.update(set=known, where=where, options=options, spark=session_of(runner))
    with reading_for(target):
        rows = _computed(statement, target, values, runner)
    on = " and ".join(f"t.{_named(name)} = s.{_named(name)}" for name in _compared(target, options))
    changed = {column: Column(parts=("s", _NEW + column)) for column in values}
    merge = target.unchanged.merge(rows, on=on, options=options)
    return merge.when_matched_update(changed).execute()


@begun_again
def delete(statement: Delete, runner: Runner) -> "WriteResult":
    """Run a DELETE.

    Raises: StatementError; what the verb raises.
    """
    target = target_of(runner, statement.table)
    options = _options(runner, target)
    if statement.where is None:
        return target.table.delete(where="true", options=options, spark=session_of(runner))
    where = _scope(target, statement.table, statement.alias, runner).resolve(statement.where)
    if where is not None:
        return target.table.delete(where=where, options=options, spark=session_of(runner))
    columns = [_own(statement, name, runner) for name in target.row_columns]
    with reading_for(target):
        rows = _selected(statement, columns, statement.where, runner)
    return target.unchanged.delete(rows, options=options)


def _compared(target: Target, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the columns by which a merge finds rows again: where files lack the partition's, the key if that tells."""
    config = target.table.config
    if config.drops_partition_columns and index_of(Settings.of(options), config).is_global:
        return config.record_key
    return target.row_columns


def _values(statement: Update, target: Target) -> dict[str, Piece]:
    """Return the new values by column as the table spells it.   Raises: StatementError."""
    values: dict[str, Piece] = {}
    for one in statement.assignments:
        column = target.column(one.column, one.place)
        if column in values:
            raise StatementError("set each column once", column=one.column, position=one.place)
        if column in target.fixed_columns:
            raise StatementError(
                "key and partition columns of a row stay; delete the row and insert it anew",
                column=one.column,
                position=one.place,
            )
        values[column] = one.value
    return values


def _new_value(value: Piece, target: Target, column: str, scope: Scope) -> Expression | None:
    if value.text.lower() == "default":
        return literal(None, target.schema.field(column).type)
    return scope.resolve(value)


def _computed(statement: Update, target: Target, values: dict[str, Piece], runner: Runner) -> Any:  # noqa: ANN401
    """Return the keys of the rows that an update means, and their new values."""
    columns = [_own(statement, name, runner) for name in target.row_columns]
    for column, value in values.items():
        text = runner.cast(value.text, target.schema.field(column).type)
        columns.append(f"{text} AS {runner.quoted(_NEW + column)}")
    return _selected(statement, columns, statement.where, runner)


def _selected(statement: Update | Delete, columns: list[str], where: Piece | None, runner: Runner) -> Any:  # noqa: ANN401
    """Return columns of the rows for which a condition is true, as the surface evaluates it."""
    name = runner.quoted(*statement.table.parts)
    alias = runner.quoted(statement.alias or statement.table.parts[-1])
    query = f"SELECT {', '.join(columns)} FROM {name} AS {alias}"  # noqa: S608 - the statement is the user's
    return runner.rows(query if where is None else f"{query} WHERE {where.text}\n", where.place if where else 1)


def _own(statement: Update | Delete, column: str, runner: Runner) -> str:
    return runner.quoted(statement.alias or statement.table.parts[-1], column)


def _scope(target: Target, name: TableName, alias: str | None, runner: Runner) -> Scope:
    side = Side(qualifiers=qualifiers_of_table(name, alias), schema=target.schema)
    return Scope(sides=(side,), dialect=runner.dialect)


def _options(runner: Runner, target: Target) -> dict[str, str]:
    options = options_of_writes(runner, target.entry)
    options.pop("hoodie.datasource.write.operation", None)
    return options


def _named(column: str) -> str:
    """Return a column as the grammar of conditions quotes it."""
    return "`" + column.replace("`", "``") + "`"
