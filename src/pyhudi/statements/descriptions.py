"""Answer SHOW and DESCRIBE: what a catalog and a table say, as Arrow tables with the columns of Spark's answers.

Start at `describe`.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from pyhudi.errors import NotBuilt
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.statements.api import Runner
from pyhudi.statements.model import Describe, ShowCreateTable, ShowPartitions, ShowProperties
from pyhudi.statements.partitions import stored_partitions
from pyhudi.statements.targets import Target, target_of
from pyhudi.statements.tokens import Dialect

__all__ = ["describe", "show_create_table", "show_partitions", "show_properties"]

_Row = tuple[str, str, str | None]
_COLUMNS: Final = pa.schema([("col_name", pa.string()), ("data_type", pa.string()), ("comment", pa.string())])


def show_partitions(statement: ShowPartitions, runner: Runner) -> pa.Table:
    """List partitions by their paths; a table that is not partitioned has none.

    Shape: one row a partition: `partition`.
    """
    target = target_of(runner, statement.table)
    if not target.partition_columns:
        return pa.table({"partition": pa.array([], pa.string())})
    return pa.table({"partition": pa.array(stored_partitions(target, statement.partition, runner), pa.string())})


def show_create_table(statement: ShowCreateTable, runner: Runner) -> pa.Table:
    """Return the statement that would make the table again.

    Shape: one row: `createtab_stmt`.
    """
    target, dialect = target_of(runner, statement.table), runner.dialect
    columns = [
        f"  {runner.quoted(field.name)} {runner.type_name(field.type)}{'' if field.nullable else ' NOT NULL'}"
        for field in target.schema
    ]
    lines = [f"CREATE TABLE {target.entry.name} (\n" + ",\n".join(columns) + ")", "USING hudi"]
    if target.entry.comment:
        lines.append(f"COMMENT {_text(target.entry.comment, dialect)}")
    if target.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(runner.quoted(name) for name in target.partition_columns)})")
    lines.append(f"LOCATION {_text(target.entry.location, dialect)}")
    said = ",\n".join(
        f"  {_text(key, dialect)} = {_text(value, dialect)}" for key, value in _properties(target).items()
    )
    lines.append(f"TBLPROPERTIES (\n{said})")
    return pa.table({"createtab_stmt": pa.array(["\n".join(lines) + "\n"], pa.string())})


def show_properties(statement: ShowProperties, runner: Runner) -> pa.Table:
    """List the table properties, or one of them.

    Shape: one row a property: `key`, `value`; of one key that is not there, what Spark says.
    """
    target = target_of(runner, statement.table)
    properties = _properties(target)
    if statement.key is not None:
        missing = f"Table {target.entry.name} does not have property: {statement.key}"
        properties = {statement.key: properties.get(statement.key, missing)}
    return pa.table(
        {"key": pa.array(list(properties), pa.string()), "value": pa.array(list(properties.values()), pa.string())}
    )


def describe(statement: Describe, runner: Runner) -> pa.Table:
    """List columns, the partition columns once more below them, and with EXTENDED what else is known of the table.

    On Spark `SELECT *` has Hudi's own columns, so that they are listed too.

    Shape: one row a column or fact: `col_name`, `data_type`, `comment`.
    Raises: NotBuilt for the statistics of one column.
    """
    if statement.column is not None:
        raise NotBuilt("pyhudi does not describe one column; read its statistics from footers", column=statement.column)
    target = target_of(runner, statement.table)
    shown = with_meta_fields(target.schema) if runner.dialect is Dialect.SPARK else target.schema
    rows: list[_Row] = [(field.name, runner.type_name(field.type), None) for field in shown]
    if target.partition_columns:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(name, runner.type_name(target.schema.field(name).type), None) for name in target.partition_columns]
    if statement.is_extended:
        facts = [("", ""), ("# Detailed Table Information", ""), *_facts(target)]
        rows += [(name, value, "") for name, value in facts]
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=_COLUMNS)


def _facts(target: Target) -> list[tuple[str, str]]:
    entry, config = target.entry, target.table.config
    properties = ", ".join(f"{key}={value}" for key, value in _properties(target).items())
    return [
        ("Database", ".".join(entry.name.parts[:-1])),
        ("Table", entry.name.parts[-1]),
        ("Type", "MANAGED" if entry.is_managed else "EXTERNAL"),
        ("Provider", "hudi"),
        ("Comment", entry.comment or ""),
        ("Table Properties", f"[{properties}]"),
        ("Location", entry.location),
        ("Table Version", str(config.table_version)),
    ]


def _properties(target: Target) -> Mapping[str, str]:
    """Return the properties of the statement that made the table, and what the table itself says it is."""
    config = target.table.config
    own = {"type": "mor" if config.table_type == "MERGE_ON_READ" else "cow"}
    if config.record_key:
        own["primaryKey"] = ",".join(config.record_key)
    if config.ordering_fields:
        own["orderingFields"] = ",".join(config.ordering_fields)
    said = {key: value for key, value in target.entry.properties.items() if not key.startswith("pyhudi.")}
    return dict(sorted((own | said).items()))


def _text(value: str, dialect: Dialect) -> str:
    """Return a string literal."""
    if dialect is Dialect.DUCKDB:
        return "'" + value.replace("'", "''") + "'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
