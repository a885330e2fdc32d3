"""How ordering values compare: as Apache Hudi, which is Java, compares them.

Arrow takes -0.0 for 0.0, puts NaN beside the nulls, and compares bytes without sign. Every comparison of two ordering
values is made here. Pure Arrow kernels. Start at `comparable`.
"""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput

__all__ = [
    "comparable",
    "compare_values",
    "compares_as_stored",
    "lacking_value",
    "require_values",
]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_NAN_BITS = 0x7FF8000000000000
_ALL_BUT_SIGN = 0x7FFFFFFFFFFFFFFF
_SIGN_OF_BYTE = np.uint8(0x80)


def comparable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return ordering values as values that Arrow compares as Apache Hudi compares these.

    Floats have Java's order: -0.0 below 0.0, NaN above everything. Bytes compare with sign: 0x80 is the smallest, and
    the beginning of a value comes before the value. Everything else compares as it is.

    Shape: n values of a type that has an order -> n values, of the same type but for floats and dictionaries.
    Nulls: count as 0, the epoch, or the empty text, as Hudi's default ordering value is 0; the result has none.
    Spec:  format/files 6.2.
    """
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    known = pc.fill_null(plain, _smallest(plain.type)) if plain.null_count else plain
    if pa.types.is_floating(known.type):
        return _floats(known)
    return _bytes(known) if _has_bytes(known.type) else known


def compares_as_stored(kind: pa.DataType) -> bool:
    """Return whether values of a type compare as Arrow, and the statistics of files, compare them.

    Spec: format/files 6.2.
    """
    return not (pa.types.is_floating(kind) or _has_bytes(kind))


def compare_values(
    left: Sequence[pa.Array | pa.ChunkedArray], right: Sequence[pa.Array | pa.ChunkedArray], count: int
) -> tuple[Bools, Bools]:
    """Compare rows by their ordering values: by the first column that differs.

    Shape: any number of columns of `count` values, as `comparable` makes them, on both sides -> whether the left row is
           the smaller one, and whether both are equal.
    """
    smaller, equal = np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)
    for one, other in zip(left, right, strict=True):
        smaller |= equal & np.asarray(pc.less(one, other), np.bool_)
        equal &= np.asarray(pc.equal(one, other), np.bool_)
    return smaller, equal


def require_values(rows: pa.Table, columns: Sequence[str], deletes: Bools | None = None) -> None:
    """Check that rows to be stored have ordering values; deletes need none.

    Shape:  n rows with these columns, n flags.
    Raises: InvalidInput naming a column.
    """
    for name in columns:
        column = rows.column(name)
        if not column.null_count:
            continue
        if deletes is None or (np.asarray(column.is_null(), np.bool_) & ~deletes).any():
            raise lacking_value(name)


def lacking_value(column: str) -> InvalidInput:
    """Return the error of a row that has no ordering value.   Spec: format/files 6.2."""
    return InvalidInput(
        "a row to be stored has null in an ordering field; give it a value, or let the table take nulls, which count as"
        " 0: Apache Hudi then fails to read or upsert such rows (pyhudi.ordering.nulls=allow)",
        field=column,
    )


def _floats(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number floats in Java's order: the bits of a double, those of negative ones turned round."""
    doubles = np.asarray(values, np.float64)
    bits = np.where(np.isnan(doubles), _NAN_BITS, doubles.view(np.int64))
    return pa.array(bits ^ ((bits >> 63) & _ALL_BUT_SIGN))


def _bytes(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Turn the sign of every byte, so that unsigned order is the signed order of what they were."""
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_bytes(chunk) for chunk in values.chunks], values.type)
    _, ends, content = values.buffers()
    if content is None:
        return values
    turned = pa.py_buffer(np.frombuffer(content, np.uint8) ^ _SIGN_OF_BYTE)
    return pa.Array.from_buffers(values.type, len(values), [None, ends, turned], 0, values.offset)


def _has_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _smallest(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_boolean(kind):
        return pa.scalar(value=False)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _has_bytes(kind):
        return pa.scalar("").cast(kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(0), kind)
    return pa.array(np.zeros(1, dtype=f"i{kind.bit_width // 8}")).view(kind)[0]
