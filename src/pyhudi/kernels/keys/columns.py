"""Find the columns that keys are made of.

A field is a column, or a path `a.b.c` into structs. Start at `find_field`.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import KeyMissing

__all__ = ["find_field", "find_fields"]


def find_fields(table: pa.Table, names: Sequence[str], meta_column: str) -> list[pa.ChunkedArray] | None:
    """Find every field; none, where some are missing but the table has the meta column made from them before.

    Raises: KeyMissing if fields and meta column are missing.
    """
    found = [find_field(table, name) for name in names]
    present = [column for column in found if column is not None]
    if len(present) == len(names):
        return present
    if meta_column in table.column_names:
        return None
    missing = ", ".join(name for name, column in zip(names, found, strict=True) if column is None)
    raise KeyMissing(
        "rows lack fields their key or partition is made of", fields=missing, columns=", ".join(table.column_names)
    )


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
