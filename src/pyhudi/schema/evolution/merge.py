"""A table's schema after a write with another schema.

Types only. Start at `evolve`.
"""

import pyarrow as pa
import pyarrow.types as t

from pyhudi.schema.evolution.compare import fits, mismatch, widens
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import to_table_schema

__all__ = ["evolve"]


def evolve(table_schema: pa.Schema, writer_schema: pa.Schema) -> pa.Schema:
    """Return the schema that holds the table's rows and the writer's.

    New columns come last and are nullable; a column widens int -> long -> float -> double -> string, decimal to a wider
    decimal, date to string, between string and binary to what the writer has. What the table has and the writer has not
    stays. Nested fields follow the same rules.

    Shape:  the table's columns in their order, then the writer's new ones.
    Nulls:  nullability of known columns stays the table's.
    Raises: SchemaMismatch with one line a problem.
    Spec:   format/files 4.5.
    """
    table = without_meta_fields(table_schema)
    writer = to_table_schema(without_meta_fields(writer_schema))
    problems: list[str] = []
    fields = _merge_fields(list(table), list(writer), "", problems)
    if problems:
        raise mismatch("the table's schema cannot become that of the rows", problems)
    return pa.schema(
        [*(field for field in table_schema if field.name not in table.names), *fields], table_schema.metadata
    )


def _merge_fields(table: list[pa.Field], writer: list[pa.Field], path: str, problems: list[str]) -> list[pa.Field]:
    given = {field.name: field for field in writer}
    known = {field.name.lower(): field.name for field in table}
    merged = []
    for field in table:
        if field.name in given:
            kind = _merge_types(field.type, given[field.name].type, f"{path}{field.name}", problems)
            merged.append(field.with_type(kind))
            continue
        if not field.nullable:
            problems.append(f"{path}{field.name}: missing, not null {field.type}")
        merged.append(field)
    names = {field.name for field in table}
    for field in writer:
        if field.name in names:
            continue
        if field.name.lower() in known:
            problems.append(f"{path}{field.name}: differs from {known[field.name.lower()]} by case only")
        merged.append(field.with_nullable(True))
    return merged


def _merge_types(table: pa.DataType, writer: pa.DataType, path: str, problems: list[str]) -> pa.DataType:
    if table == writer:
        return table
    if t.is_struct(table) and t.is_struct(writer):
        return pa.struct(_merge_fields(list(table), list(writer), f"{path}.", problems))
    if t.is_list(table) and t.is_list(writer):
        kind = _merge_types(table.value_type, writer.value_type, f"{path}.element", problems)
        return pa.list_(table.value_field.with_type(kind))
    if t.is_map(table) and t.is_map(writer):
        kind = _merge_types(table.item_type, writer.item_type, f"{path}.value", problems)
        return pa.map_(table.key_type, table.item_field.with_type(kind))
    if t.is_nested(table) or t.is_nested(writer):
        problems.append(f"{path}: table has {table}, rows have {writer}")
        return table
    if widens(table, writer):
        return writer
    if fits(writer, table) or (widens(writer, table) and table not in (pa.string(), pa.binary())):
        return table
    problems.append(f"{path}: table has {table}, rows have {writer}")
    return table
