"""Run INSERT INTO and INSERT OVERWRITE.

Columns of the query meet columns of the table by position, by the list of columns, or by name; each value is cast to
its column's type, and one that would become another value is an error. Start at `insert_rows`.

Spec: Apache Hudi 1.1: `hoodie.spark.sql.insert.into.operation`, `hoodie.datasource.overwrite.mode`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyhudi.commit.call import OPERATION
from pyhudi.errors import OptionError, SchemaMismatch, StatementError
from pyhudi.options import one_of, option
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.statements.api import Runner
from pyhudi.statements.model import Insert, PartitionValue
from pyhudi.statements.outdated import begun_again, reading_for, unchanged_if_read
from pyhudi.statements.partitions import stored_partitions
from pyhudi.statements.targets import Target, options_of_writes, target_of

if TYPE_CHECKING:
    from pyhudi.table import WriteResult

__all__ = ["OVERWRITE_MODE", "insert_rows"]

INTO_OPERATION: Final = option(
    "hoodie.spark.sql.insert.into.operation",
    "insert",
    "SQL: what INSERT INTO does: insert, upsert or bulk_insert.",
    parse=one_of("insert", "upsert", "bulk_insert"),
)
OVERWRITE_MODE: Final = option(
    "hoodie.datasource.overwrite.mode",
    "",
    "SQL: INSERT OVERWRITE replaces the partitions of its rows (dynamic), or all that the statement names (static).",
    parse=one_of("dynamic", "static", "DYNAMIC", "STATIC", ""),
)
_COMBINE: Final = "hoodie.combine.before.insert"
_OVERWRITES: Final = ("insert_overwrite", "insert_overwrite_table")


@begun_again
def insert_rows(statement: Insert, runner: Runner) -> "WriteResult":
    """Run an INSERT.

    Raises: StatementError, SchemaMismatch where columns or values do not fit; what the write raises.
    """
    target = target_of(runner, statement.table)
    options = options_of_writes(runner, target.entry)
    static = _static_values(statement, target)
    with reading_for(target):
        rows = _rows(statement, target, runner, static)
    if statement.is_if_not_exists:
        raise StatementError("a partition that is there is not passed over; leave IF NOT EXISTS out", position=1)
    target = replace(target, table=unchanged_if_read(target, statement.query.text, runner))
    if not statement.is_overwrite:
        return _into(target, rows, options)
    named = stored_partitions(target, tuple(static.values()), runner) if static else None
    return _overwrite(target, rows, named, options, is_dynamic=runner.is_overwrite_dynamic)


def _into(target: Target, rows: Any, options: dict[str, str]) -> "WriteResult":  # noqa: ANN401
    table, config = target.table, target.table.config
    operation = options.pop(OPERATION.key, "")
    verb = operation or options.pop(INTO_OPERATION.key, "") or INTO_OPERATION.default
    match verb:
        case "upsert" if config.record_key:
            return table.upsert(rows, options=options)
        case "insert" | "upsert":
            if config.record_key and config.ordering_fields:
                options.setdefault(_COMBINE, "true")
            return table.insert(rows, options=options)
        case "bulk_insert":
            return table.bulk_insert(rows, options=options)
        case _:
            raise OptionError(
                "INSERT INTO inserts, upserts or bulk inserts; leave the operation out",
                key=OPERATION.key if operation else INTO_OPERATION.key,
                value=verb,
            )


def _overwrite(
    target: Target,
    rows: Any,  # noqa: ANN401 - rows of the surface
    named: Sequence[str] | None,
    options: dict[str, str],
    *,
    is_dynamic: bool,
) -> "WriteResult":
    """Replace what the mode says: the whole table, the partitions that are `named` by values, or those of the rows."""
    table, operation = target.table, options.pop(OPERATION.key, "")
    mode = options.pop(OVERWRITE_MODE.key, "").lower()
    is_dynamic = operation == "insert_overwrite" or (mode == "dynamic" if mode else is_dynamic)
    is_whole = not target.partition_columns or (named is None and not is_dynamic)
    if operation == "insert_overwrite_table" or is_whole:
        return table.insert_overwrite_table(rows, options=options)
    return table.insert_overwrite(rows, partitions=() if is_dynamic else named or (), options=options)


def _static_values(statement: Insert, target: Target) -> dict[str, PartitionValue]:
    """Return the partition columns that the statement gives a value, by the table's spelling.

    Raises: StatementError for a column that is no partition column, or for a PARTITION clause that leaves one out.
    """
    named: dict[str, PartitionValue] = {}
    for value in statement.partition:
        column = target.column(value.column, value.place)
        if column not in target.partition_columns:
            raise StatementError("PARTITION names partition columns", column=value.column, position=value.place)
        if column in named:
            raise StatementError("name each partition column once", column=value.column, position=value.place)
        named[column] = value
    left_out = [name for name in target.partition_columns if named and name not in named]
    if left_out:
        raise StatementError(
            "PARTITION names all partition columns, with or without a value",
            missing=left_out,
            position=statement.partition[0].place,
        )
    return {column: value for column, value in named.items() if value.value is not None}


def _rows(statement: Insert, target: Target, runner: Runner, static: Mapping[str, PartitionValue]) -> Any:  # noqa: ANN401
    """Return the query's rows as rows of the table's columns; Hudi's own columns, as of `SELECT *`, are left out."""
    rows = runner.rows(statement.query.text, statement.query.place)
    given = runner.schema(rows)
    names = [f"_c{place}" for place in range(len(given))]
    own = [place for place, name in enumerate(given.names) if name in META_FIELDS]
    if own:
        kept = [place for place in range(len(given)) if place not in own]
        rows = runner.project(rows, names, {names[place]: runner.quoted(names[place]) for place in kept})
        given, names = pa.schema([given.field(place) for place in kept]), [names[place] for place in kept]
    places = _places(statement, target, given, [name for name in target.schema.names if name not in static])
    columns: dict[str, str] = {}
    for field in target.schema:
        if field.name in static:
            value = static[field.name].value
            assert value is not None, "values that are not given were left out"
            columns[field.name] = runner.cast(value.text, field.type)
        elif field.name in places:
            place = places[field.name]
            _require_assignable(given.field(place).type, field)
            name = runner.quoted(names[place])
            columns[field.name] = name if given.field(place).type == field.type else runner.cast(name, field.type)
        elif field.nullable:
            columns[field.name] = f"CAST(NULL AS {runner.type_name(field.type)})"
        else:
            raise StatementError("give the column a value", column=field.name, position=statement.query.place)
    return runner.project(rows, names, columns)


def _places(statement: Insert, target: Target, given: pa.Schema, wanted: Sequence[str]) -> dict[str, int]:
    """Return from which column of the query each column of the table comes.

    Raises: StatementError where the numbers of columns differ, or a name is not the table's.
    """
    place = statement.query.place
    if statement.is_by_name:
        columns = target.columns(given.names, place)
        return {column: number for number, column in enumerate(columns)}
    columns = target.columns(statement.columns, statement.table.place) if statement.columns else tuple(wanted)
    both = [name for name in columns if name not in wanted]
    if both:
        raise StatementError("PARTITION gives this column its value already", columns=both, position=place)
    if len(columns) != len(given):
        raise StatementError(
            "the query has another number of columns than the table takes",
            query=len(given),
            table=list(columns),
            position=place,
        )
    return {column: number for number, column in enumerate(columns)}


def _require_assignable(given: pa.DataType, column: pa.Field) -> None:
    """Check that values of a type may go to a column without a cast in the query, as Spark's ANSI assignment does.

    Raises: SchemaMismatch.
    """
    wanted = column.type
    is_fine = (
        given == wanted
        or pa.types.is_null(given)
        or (_is_number(given) and _is_number(wanted))
        or (_is_text(wanted) and not pa.types.is_nested(given))
        or (_is_moment(given) and _is_moment(wanted))
        or (pa.types.is_binary(given) and pa.types.is_binary(wanted))
        or (_is_text(given) and _is_text(wanted))
        or (pa.types.is_nested(given) and pa.types.is_nested(wanted))
    )
    if not is_fine:
        raise SchemaMismatch(
            "the query's column has another type; write a cast", column=column.name, table=str(wanted), query=str(given)
        )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
