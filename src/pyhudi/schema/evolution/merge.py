"""A table's schema after a write with another schema.

Types only. Start at `evolve`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.types as t

from pyhudi.options import option
from pyhudi.schema.evolution.compare import MayBecome, alike_names, fits_values, mismatch, widens, widens_exactly
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import to_table_schema

__all__ = [
    "RECONCILE",
    "added",
    "evolve",
    "is_spelled_alike",
    "require_names_apart",
    "require_same_spelling",
    "widened",
]

RECONCILE: Final = option(
    "hoodie.datasource.write.reconcile.schema",
    False,
    "The rows' columns may widen the table's where stored values may lose digits or become text (long to double, "
    "anything to string, string to binary), and columns that the rows lack are null.",
)


_SPELLED_ALIKE: Final = (
    (pa.int32(), pa.int64()),
    (pa.int32(), pa.string()),
    (pa.int64(), pa.string()),
)
"""From which type to which a column may change without another text for any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    """How columns may change, and what keeps them from it."""

    may_change: MayBecome
    problems: list[str] = field(default_factory=list)


def evolve(table_schema: pa.Schema, writer_schema: pa.Schema, *, reconciles: bool = False) -> pa.Schema:
    """Return the schema that holds the table's rows and the writer's.

    New columns come last and are nullable. A column widens to what the writer has where that holds each stored value as
    it is: int to long or double, float to double, a decimal to a wider one. If it `reconciles`, also int and long to
    float, long to double, numbers and dates to string, and between string and binary. What the table has and the
    writer has not stays. Nested fields follow the same rules.

    Shape:  the table's columns in their order, then the writer's new ones.
    Nulls:  nullability of known columns stays the table's.
    Raises: SchemaMismatch with one line a problem.
    Spec:   format/files 4.5.
    """
    table = without_meta_fields(table_schema)
    writer = to_table_schema(without_meta_fields(writer_schema))
    merging = _Merging(may_change=widens if reconciles else widens_exactly)
    fields = _merge_fields(list(table), list(writer), "", merging)
    if merging.problems:
        raise mismatch("the table's schema cannot become that of the rows", merging.problems)
    known = frozenset(table.names)
    return pa.schema([*(one for one in table_schema if one.name not in known), *fields], table_schema.metadata)


def require_names_apart(schema: pa.Schema) -> None:
    """Check that no two columns of a new table differ by case only: other engines take them for one.

    Raises: SchemaMismatch.
    """
    problems = alike_names(schema)
    if problems:
        raise mismatch("a table's columns must differ by more than case", problems)


def widened(before: pa.Schema, after: pa.Schema) -> dict[str, str]:
    """Return the columns, by their path, whose type changed, and from what to what."""
    pairs = _pairs(list(before), list(after), "")
    return {path: f"{old} -> {new}" for path, old, new in pairs if old is not None and old != new}


def require_same_spelling(before: pa.Schema, after: pa.Schema, columns: Collection[str]) -> None:
    """Check that columns of keys and partition paths spell stored values as before: else a key comes twice.

    The key of 1 is `1`, and that of 1.0 is `1.0`.

    Raises: SchemaMismatch.
    """
    problems = [
        f"{path}: {old} -> {new}"
        for path, old, new in _pairs(list(before), list(after), "")
        if path in columns and old is not None and not is_spelled_alike(old, new)
    ]
    if problems:
        raise mismatch("a column of the key or the partition path keeps its type: stored keys have its text", problems)


def is_spelled_alike(before: pa.DataType, after: pa.DataType) -> bool:
    """Return whether a value of one type and what becomes of it have one text, in keys, paths and indexes."""
    return before == after or (before, after) in _SPELLED_ALIKE


def added(before: pa.Schema, after: pa.Schema) -> dict[str, str]:
    """Return the columns and fields of structs, by their path, that only the later schema has, and their types."""
    return {path: str(new) for path, old, new in _pairs(list(before), list(after), "") if old is None}


def _pairs(
    before: list[pa.Field], after: list[pa.Field], path: str
) -> Iterator[tuple[str, pa.DataType | None, pa.DataType]]:
    """Yield every field of the later schema by its path, with its type before and after; None before it was there."""
    known = {one.name: one.type for one in before}
    for one in after:
        if one.name in known:
            yield from _type_pairs(known[one.name], one.type, f"{path}{one.name}")
        else:
            yield f"{path}{one.name}", None, one.type


def _type_pairs(
    before: pa.DataType, after: pa.DataType, path: str
) -> Iterator[tuple[str, pa.DataType | None, pa.DataType]]:
    if t.is_struct(before) and t.is_struct(after):
        yield from _pairs(list(before), list(after), f"{path}.")
    elif t.is_list(before) and t.is_list(after):
        yield from _type_pairs(before.value_type, after.value_type, f"{path}.element")
    elif t.is_map(before) and t.is_map(after):
        yield from _type_pairs(before.item_type, after.item_type, f"{path}.value")
    else:
        yield path, before, after


def _merge_fields(table: list[pa.Field], writer: list[pa.Field], path: str, merging: _Merging) -> list[pa.Field]:
    given = {one.name: one for one in writer}
    merged = []
    for one in table:
        if one.name in given:
            kind = _merge_types(one.type, given[one.name].type, f"{path}{one.name}", merging)
            merged.append(one.with_type(kind))
            continue
        if not one.nullable:
            merging.problems.append(f"{path}{one.name}: missing, not null {one.type}")
        merged.append(one)
    names = {one.name for one in table}
    new = [one.with_nullable(True) for one in writer if one.name not in names]
    known = {one.name.lower(): one.name for one in table}
    for one in new:
        if one.name.lower() in known:
            merging.problems.append(f"{path}{one.name}: differs from {known[one.name.lower()]} by case only")
    merging.problems.extend(alike_names(new, path))
    merged += new
    return merged


def _merge_types(table: pa.DataType, writer: pa.DataType, path: str, merging: _Merging) -> pa.DataType:
    if table == writer:
        return table
    if t.is_struct(table) and t.is_struct(writer):
        return pa.struct(_merge_fields(list(table), list(writer), f"{path}.", merging))
    if t.is_list(table) and t.is_list(writer):
        kind = _merge_types(table.value_type, writer.value_type, f"{path}.element", merging)
        return pa.list_(table.value_field.with_type(kind))
    if t.is_map(table) and t.is_map(writer):
        kind = _merge_types(table.item_type, writer.item_type, f"{path}.value", merging)
        return pa.map_(table.key_type, table.item_field.with_type(kind))
    is_plain = not t.is_nested(table) and not t.is_nested(writer)
    if is_plain and merging.may_change(table, writer):
        return writer
    is_wider = widens(writer, table) and table not in (pa.string(), pa.binary())
    if is_plain and (fits_values(writer, table) or is_wider):
        return table
    asked = f"; {RECONCILE.key}=true makes the column {writer}" if is_plain and widens(table, writer) else ""
    merging.problems.append(f"{path}: table has {table}, rows have {writer}{asked}")
    return table
