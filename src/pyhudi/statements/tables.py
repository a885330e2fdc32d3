"""Run CREATE, ALTER, DROP and TRUNCATE TABLE.

A table is made before its entry in the catalog, so that no entry leads nowhere; it is dropped the other way round.
Start at `create_table_of`.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyhudi.errors import NotBuilt, OptionError, StatementError, TableExists, TableNotFound
from pyhudi.options import current_key
from pyhudi.state.agreement import is_table_option
from pyhudi.state.config import FENCE_KEY, INDEX_KEYS, LOCK_KEYS, TableType
from pyhudi.state.kept_options import may_be_kept
from pyhudi.statements.api import Entry, Runner, session_of
from pyhudi.statements.model import (
    AddColumns,
    ChangeColumn,
    ColumnDefinition,
    CreateTable,
    DropColumns,
    DropPartitions,
    DropTable,
    PartitionValue,
    RenameColumn,
    RenameTable,
    SetProperties,
    TruncateTable,
    UnsetProperties,
)
from pyhudi.statements.partitions import stored_partitions
from pyhudi.statements.targets import Target, entry_of, options_of_writes, require_distinct, target_of
from pyhudi.table import drop_table, table_exists

if TYPE_CHECKING:
    from pyhudi.table import Table

__all__ = [
    "add_columns_of",
    "change_column",
    "create_table_of",
    "drop_columns",
    "drop_partitions",
    "drop_table_of",
    "rename_column",
    "rename_table",
    "set_properties",
    "truncate_table",
    "unset_properties",
]

_log = logging.getLogger("pyhudi.statements")

_LISTS: Final[Mapping[str, str]] = {
    "primarykey": "record_key",
    "precombinefield": "ordering",
    "orderingfields": "ordering",
}
"""Properties that list columns, by their names in lower case, and the arguments of `create_table` for them."""
_SHORT: Final[Mapping[str, str]] = {
    "payloadclass": "hoodie.datasource.write.payload.class",
    "recordmergemode": "hoodie.write.record.merge.mode",
    "recordmergestrategyid": "hoodie.write.record.merge.strategy.id",
}
"""Properties that have a short name in SQL, by it in lower case."""
_HIVE_STYLE: Final = "hoodie.datasource.write.hive_style_partitioning"
_KEPT: Final = frozenset({*LOCK_KEYS, *INDEX_KEYS, FENCE_KEY})
_LATER: Final = "it comes with schema-on-read; write a new table by CREATE TABLE ... AS SELECT"


def create_table_of(statement: CreateTable, runner: Runner) -> None:
    """Run a CREATE TABLE: make the table, fill it where there is a query, and add it to the catalog.

    Raises: TableExists, StatementError; what `pyhudi.create_table` and a bulk insert raise.
    """
    if statement.is_replace:
        raise StatementError("pyhudi does not replace tables; DROP TABLE first, or INSERT OVERWRITE", position=1)
    if runner.catalog.exists(statement.name):
        if statement.is_if_not_exists:
            return
        raise TableExists("there is a table or view of this name already", table=str(statement.name))
    said = {**statement.options, **statement.properties}
    given = statement.location or said.pop("path", None)
    location = runner.catalog.location_of_new(statement.name, given)
    if statement.like is None and not statement.columns and statement.query is None:
        table = _found(location, statement, runner)
        runner.catalog.create(_entry(statement, location, said, is_managed=False), table.schema)
        return
    if statement.query is not None and table_exists(location):
        raise TableExists(
            "there is a table at the location already; INSERT INTO it, or name another", location=location
        )
    new = _new_table(statement, said, runner)
    with _undone(location):
        made = runner.create(location, new.schema, **_arguments(statement, new))
        entry = _entry(statement, location, new.said, is_managed=given is None)
        if new.rows is not None:
            made.bulk_insert(new.rows, options=_without_operation(options_of_writes(runner, entry)))
        runner.catalog.create(entry, made.schema)


def drop_table_of(statement: DropTable, runner: Runner) -> None:
    """Run a DROP TABLE; files go only where the catalog chose their place, or with PURGE.   Raises: TableNotFound."""
    entry = runner.catalog.find(statement.table)
    if entry is None:
        if statement.is_if_exists:
            return
        raise TableNotFound("there is no Hudi table of this name", table=str(statement.table))
    runner.catalog.drop(entry.name)
    if entry.is_managed or statement.is_purge:
        drop_table(entry.location, missing_ok=True)


def truncate_table(statement: TruncateTable, runner: Runner) -> None:
    """Run a TRUNCATE TABLE: delete all rows, or whole partitions."""
    target = target_of(runner, statement.table)
    if statement.partition:
        _drop_stored(target, [statement.partition], runner, is_if_exists=False)
    else:
        options = _without_operation(options_of_writes(runner, target.entry))
        target.table.delete(where="true", options=options, spark=session_of(runner))


def drop_partitions(statement: DropPartitions, runner: Runner) -> None:
    """Run an ALTER TABLE ... DROP PARTITION.   Raises: StatementError where there is no such partition."""
    target = target_of(runner, statement.table)
    _drop_stored(target, statement.partitions, runner, is_if_exists=statement.is_if_exists)


def rename_table(statement: RenameTable, runner: Runner) -> None:
    """Run an ALTER TABLE ... RENAME TO: the entry gets another name, the files stay.   Raises: TableExists."""
    entry = entry_of(runner, statement.table)
    if runner.catalog.exists(statement.to):
        raise TableExists("there is a table or view of this name already", table=str(statement.to))
    runner.catalog.rename(entry.name, statement.to)


def set_properties(statement: SetProperties, runner: Runner) -> None:
    """Run an ALTER TABLE ... SET TBLPROPERTIES; what a table can keep goes into its own properties as well.

    Raises: OptionError for what says what the table is, which is given when it is made.
    """
    entry = entry_of(runner, statement.table)
    fixed = [one for one in statement.properties if is_table_option(one) or one.lower() in {*_LISTS, *_SHORT, "type"}]
    if fixed:
        raise OptionError("this says what a table is, and is given when it is made", key=fixed[0])
    kept = {key: value for key, value in statement.properties.items() if _is_kept(key)}
    if kept:
        runner.open(entry.location).set_options(kept)
    runner.catalog.set_properties(entry.name, statement.properties)


def unset_properties(statement: UnsetProperties, runner: Runner) -> None:
    """Run an ALTER TABLE ... UNSET TBLPROPERTIES.   Raises: StatementError for one that is not set."""
    entry = entry_of(runner, statement.table)
    missing = [key for key in statement.keys if key not in entry.properties]
    if missing and not statement.is_if_exists:
        raise StatementError("these properties are not set; IF EXISTS passes them over", keys=missing, position=1)
    kept = {key: None for key in statement.keys if _is_kept(key)}
    if kept:
        runner.open(entry.location).set_options(kept)
    runner.catalog.set_properties(entry.name, {}, tuple(key for key in statement.keys if key not in missing))


def add_columns_of(statement: AddColumns, runner: Runner) -> None:
    """Run an ALTER TABLE ... ADD COLUMNS: behind those that the table has.   Raises: StatementError, SchemaMismatch."""
    target = target_of(runner, statement.table)
    for column in statement.columns:
        if column.position is not None:
            raise NotBuilt(f"pyhudi does not put columns in front of others yet; {_LATER}", column=column.name)
        if not column.is_nullable:
            raise StatementError(
                "rows that are stored have null in a new column", column=column.name, position=column.type.place
            )
        if "." in column.name:
            raise NotBuilt(f"pyhudi does not add fields to structs yet; {_LATER}", column=column.name)
    added = _typed(statement.columns, runner)
    target.table.add_columns(added, options=_without_operation(options_of_writes(runner, target.entry)))
    runner.catalog.set_schema(target.entry.name, runner.open(target.entry.location).schema)


def change_column(statement: ChangeColumn, runner: Runner) -> None:
    """Run an ALTER TABLE ... ALTER COLUMN: widen a type; what needs schema-on-read is refused by name.

    Raises: NotBuilt, StatementError.
    """
    target = target_of(runner, statement.table)
    name = target.column(statement.column, statement.table.place)
    if statement.position is not None:
        raise NotBuilt(f"pyhudi does not reorder columns yet; {_LATER}", column=name)
    if statement.is_nullable is not None:
        if statement.is_nullable == target.schema.field(name).nullable:
            return
        raise NotBuilt(f"pyhudi does not change whether a column may be null yet; {_LATER}", column=name)
    if statement.type is not None:
        wanted = ColumnDefinition(name=name, type=statement.type)
        (field,) = _typed([wanted], runner)
        if field.type != target.schema.field(name).type:
            options = _without_operation(options_of_writes(runner, target.entry))
            target.table.widen_columns({name: field.type}, options=options)
            runner.catalog.set_schema(target.entry.name, runner.open(target.entry.location).schema)
    if statement.comment is not None:
        _log.warning("a Hudi table keeps no comment of a column; it is left out: column %s", name)


def drop_columns(statement: DropColumns, runner: Runner) -> None:
    """Raise NotBuilt: dropping a column needs schema-on-read."""
    raise NotBuilt(f"pyhudi does not drop columns yet; {_LATER}", columns=list(statement.columns))


def rename_column(statement: RenameColumn, runner: Runner) -> None:
    """Raise NotBuilt: renaming a column needs schema-on-read."""
    raise NotBuilt(f"pyhudi does not rename columns yet; {_LATER}", column=statement.column)


# --- parts of CREATE TABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class _New:
    """What a table is made of."""

    schema: pa.Schema
    """Its columns, those of the partition path last, as positional inserts expect them."""
    partition_by: tuple[str, ...]
    said: Mapping[str, str]
    """The properties of the statement, and those of the table that it is like."""
    rows: Any = None


def _new_table(statement: CreateTable, said: Mapping[str, str], runner: Runner) -> _New:
    partition_by, rows = statement.partition_by, None
    if statement.like is not None:
        source = target_of(runner, statement.like)
        schema, said = source.schema, {**_said_of(source), **said}
        partition_by = tuple(source.table.config.partition_fields)
    elif statement.query is not None:
        rows = runner.rows(statement.query.text, statement.query.place)
        schema = _plain(require_distinct(runner.schema(rows), statement.query.place))
    else:
        schema = _typed(statement.columns, runner)
    spelled = {name.lower(): name for name in schema.names}
    missing = [name for name in partition_by if name.partition(":")[0].lower() not in spelled]
    if missing:
        raise StatementError(
            "partition columns are columns of the table", missing=missing, position=statement.name.place
        )
    columns = [spelled.get(name.lower(), name) for name in partition_by]
    return _New(schema=_partitions_last(schema, columns), partition_by=tuple(columns), said=said, rows=rows)


def _arguments(statement: CreateTable, new: _New) -> dict[str, Any]:
    """Return the arguments of `create_table` for the properties of a statement."""
    arguments: dict[str, Any] = {"name": statement.name.parts[-1], "if_exists": "open"}
    options: dict[str, str] = {_HIVE_STYLE: "true"} if new.partition_by else {}
    spelled = {name.lower(): name for name in new.schema.names}
    for key, text in new.said.items():
        short = key.lower()
        if short in _LISTS:
            names = [part.strip() for part in text.split(",")]
            arguments[_LISTS[short]] = [spelled.get(name.lower(), name) for name in names]
        elif short == "type":
            arguments["table_type"] = text
        elif short in _SHORT:
            options[_SHORT[short]] = text
        elif is_table_option(key) or _is_kept(key):
            options[key] = text
    return {**arguments, "partition_by": list(new.partition_by) or None, "options": options}


def _is_kept(key: str) -> bool:
    return key.startswith(("hoodie.", "pyhudi.")) and (current_key(key) in _KEPT or may_be_kept(current_key(key)))


def _typed(columns: Sequence[ColumnDefinition], runner: Runner) -> pa.Schema:
    """Return columns with their types, which the surface knows."""
    for column in columns:
        nulls = f"SELECT CAST(NULL AS {column.type.text}) AS {runner.quoted('a')}"
        _ = runner.rows(nulls, column.type.place)  # an unknown type is told by its place
    texts = [f"CAST(NULL AS {column.type.text}) AS {runner.quoted(column.name)}" for column in columns]
    schema = runner.schema(runner.rows(f"SELECT {', '.join(texts)}", columns[0].type.place))
    pairs = zip(schema, columns, strict=True)
    return pa.schema([field.with_nullable(column.is_nullable) for field, column in pairs])


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a query without Hudi's meta columns, all nullable: no rows promise what later ones have."""
    return pa.schema([field.with_nullable(True) for field in schema if not field.name.startswith("_hoodie_")])


def _partitions_last(schema: pa.Schema, partition_by: Sequence[str]) -> pa.Schema:
    last = [name.lower() for name in partition_by]
    fields = [field for field in schema if field.name.lower() not in last]
    by_name = {field.name.lower(): field for field in schema}
    return pa.schema([*fields, *(by_name[name] for name in last if name in by_name)])


def _said_of(source: Target) -> dict[str, str]:
    """Return the properties that make a table like another."""
    config = source.table.config
    said = {"type": "mor" if config.table_type is TableType.MERGE_ON_READ else "cow"}
    if config.record_key:
        said["primaryKey"] = ",".join(config.record_key)
    if config.ordering_fields:
        said["orderingFields"] = ",".join(config.ordering_fields)
    said[_HIVE_STYLE] = str(config.is_hive_style).lower()
    return said | {key: text for key, text in source.entry.properties.items() if key.startswith("hoodie.")}


def _found(location: str, statement: CreateTable, runner: Runner) -> "Table":
    """Open the table that a statement without columns only gives a name."""
    try:
        return runner.open(location)
    except TableNotFound as error:
        raise StatementError(
            "give the columns, or a query: there is no Hudi table at the location",
            location=location,
            position=statement.name.place,
        ) from error


def _entry(statement: CreateTable, location: str, said: Mapping[str, str], *, is_managed: bool) -> Entry:
    return Entry(
        name=statement.name, location=location, properties=dict(said), is_managed=is_managed, comment=statement.comment
    )


@contextmanager
def _undone(location: str) -> Iterator[None]:
    """Take a table away again where what comes after it fails; one that was there before stays."""
    was_there = table_exists(location)
    try:
        yield
    except BaseException:
        if not was_there:
            drop_table(location, missing_ok=True)
        raise


# --- parts of the others


def _drop_stored(
    target: Target, named: Sequence[tuple[PartitionValue, ...]], runner: Runner, *, is_if_exists: bool
) -> None:
    paths: dict[str, None] = {}
    for values in named:
        found = stored_partitions(target, values, runner)
        if not found and not is_if_exists:
            text = ", ".join(f"{one.column} = {one.value.text if one.value else '*'}" for one in values)
            raise StatementError("there is no such partition", partition=text, position=values[0].place)
        paths |= dict.fromkeys(found)
    if paths:
        options = _without_operation(options_of_writes(runner, target.entry))
        target.table.delete_partitions([_literally(path) for path in paths], options=options)


def _literally(path: str) -> str:
    """Return a pattern that fits one path only."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


def _without_operation(options: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in options.items() if key != "hoodie.datasource.write.operation"}
