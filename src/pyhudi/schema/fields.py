"""Columns, and fields inside of structs, lists and maps: their types by their paths, and whether they may be null.

Pure. Start at `field_type` and `nullable_all_through`.
"""

from collections.abc import Iterable

import pyarrow as pa

__all__ = ["field_type", "nullable_all_through"]


def field_type(schema: pa.Schema, path: str) -> pa.DataType | None:
    """Return the type of a column, or of a field `a.b` inside of structs; None where there is none of that name."""
    if path in schema.names:
        return schema.field(path).type
    kind, fields = None, list(schema)
    for part in path.split("."):
        kind = _type_in(fields, part)
        fields = list(kind) if kind is not None and pa.types.is_struct(kind) else []
    return kind


def nullable_all_through(schema: pa.Schema) -> pa.Schema:
    """Return the schema with every column nullable, and every field, element and value inside of them."""
    return pa.schema([_nullable(one) for one in schema])


def _nullable(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _holding_nulls(field.type))


def _holding_nulls(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_nullable(one) for one in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _nullable(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_nullable(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_nullable(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_nullable(kind.value_field), kind.list_size)
    return kind


def _type_in(fields: Iterable[pa.Field], name: str) -> pa.DataType | None:
    return next((one.type for one in fields if one.name == name), None)
