"""Find the columns that keys are made of.

A field is a column, or a path `a.b.c` into structs. Start at `find_field`.
"""

from bisect import bisect_left
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput, KeyMissing

__all__ = ["find_field", "find_fields", "require_utf8"]

_AS_TEXT = {
    **{kind: kind for kind in (pa.string(), pa.large_string(), pa.string_view())},
    pa.binary(): pa.string(),
    pa.large_binary(): pa.large_string(),
    pa.binary_view(): pa.string_view(),
}


def find_fields(table: pa.Table, names: Sequence[str], meta_column: str) -> list[pa.ChunkedArray] | None:
    """Find every field; none, where some are missing but the table has the meta column made from them before.

    Raises: KeyMissing if fields and meta column are missing; InvalidInput for text or bytes that are not UTF-8.
    """
    found = [find_field(table, name) for name in names]
    present = [require_utf8(column, name) for column, name in zip(found, names, strict=True) if column is not None]
    if len(present) == len(names):
        return present
    if meta_column in table.column_names:
        return None
    missing = ", ".join(name for name, column in zip(names, found, strict=True) if column is None)
    raise KeyMissing(
        "rows lack fields their key or partition is made of", fields=missing, columns=", ".join(table.column_names)
    )


def require_utf8(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Check that text, or bytes that are to be text, are UTF-8: no other engine would find such a key again.

    Shape:  n values -> the same.
    Cost:   one pass over text and bytes, at the speed of memory; nothing for other types.
    Raises: InvalidInput with the first row that is not.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if kind not in _AS_TEXT or _is_utf8(column, kind):
        return column
    # The shortest beginning that fails ends in the first wrong value.
    row = bisect_left(range(len(column)), True, key=lambda at: not _is_utf8(column.slice(0, at + 1), kind))
    value = column.slice(row, 1).cast(kind).cast(pa.binary()).to_numpy()[0]
    raise InvalidInput("a key or partition value must be UTF-8 text; encode it", field=name, row=row, value=value[:40])


def _is_utf8(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    values = column if column.type == _AS_TEXT[kind] else column.cast(kind).cast(_AS_TEXT[kind], safe=False)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def find_field(table: pa.Table, name: str) -> pa.ChunkedArray | None:
    """Find one field, or none.

    Nulls: a field of a null struct is null.
    """
    if name in table.column_names:
        return table.column(name)
    first, _, rest = name.partition(".")
    if not rest or first not in table.column_names:
        return None
    column = table.column(first)
    for part in rest.split("."):
        if not pa.types.is_struct(column.type) or column.type.get_field_index(part) < 0:
            return None
        column = pc.struct_field(column, part)
    return column
