"""Values on their way into a column that users set by an expression.

Pure. Start at `in_type_of`.
"""

from typing import Final

import pyarrow as pa

from pyhudi.errors import SchemaMismatch
from pyhudi.schema.evolution import conform

__all__ = ["in_type_of"]

_INTEGER_DIGITS: Final = 20


def in_type_of(column: pa.Field, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return values in a column's type: numbers as any number, all else as rows are fitted.

    Shape:  n values -> n values.
    Raises: SchemaMismatch where a value would change.
    """
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if array.type == column.type:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), column.type)
    if not (_is_number(column.type) and _is_number(array.type)):
        given = pa.table([array], names=[column.name])
        return conform(given, pa.schema([column])).column(0).combine_chunks()
    try:
        if pa.types.is_decimal(column.type) and pa.types.is_integer(array.type):
            # Arrow asks for room for any integer; what does not fit is refused by the second cast.
            array = array.cast(pa.decimal256(_INTEGER_DIGITS + column.type.scale, column.type.scale))
        return array.cast(column.type)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(f"a value does not fit its column: {error}", column=column.name) from error


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
