"""Arrow values of one type each to Avro bytes: numbers, booleans, strings, fixed bytes, decimals and enums.

Start at `put_scalar`.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows.row_bytes import Mask, RowBytes, cut_rows, edges_of, fill_rows
from pyhudi.formats.avro_rows.shape import Shape
from pyhudi.formats.avro_rows.source import Ints

__all__ = ["put_scalar"]

_DTYPES = {"int": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}
_DECIMAL_BYTES = 16


def put_scalar(out: RowBytes, shape: Shape, array: pa.Array, mask: Mask | None, path: str) -> None:
    """Add each value to its row; with a mask, only those in it: all others are null.

    Raises: SchemaMismatch naming the field whose values do not fit the type.
    """
    if shape.kind == "null":
        return
    if shape.kind == "enum":
        out.add_longs(_symbol_numbers(shape, array, path), mask)
        return
    array = _cast(array, shape.type, path)
    if shape.kind == "boolean":
        out.add_block(np.asarray(array.cast(pa.uint8()).fill_null(0))[:, None], mask)
    elif shape.kind in ("int", "long"):
        out.add_longs(_fixed_width(array, _DTYPES[shape.kind]).astype(np.int64), mask)
    elif shape.kind in ("float", "double"):
        out.add_block(_fixed_width(array, _DTYPES[shape.kind])[:, None].view(np.uint8), mask)
    elif pa.types.is_decimal(shape.type):
        _put_decimals(out, shape, array, mask, path)
    elif shape.kind == "fixed":
        out.add_block(_fixed_width(array, np.dtype(f"V{shape.size}"))[:, None].view(np.uint8), mask)
    else:
        _put_texts(out, array, mask)


def _cast(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    if array.type == kind:
        return array
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatch(
            "column does not fit its Avro type", field=path, type=str(array.type), wanted=str(kind)
        ) from error


def _fixed_width(array: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """Return the values where they stand; what is at nulls has no meaning."""
    values: npt.NDArray[np.generic] = np.frombuffer(array.buffers()[1], dtype)
    return values[array.offset : array.offset + len(array)]


def _put_texts(out: RowBytes, array: pa.Array, mask: Mask | None) -> None:
    """Add lengths and bytes of strings or bytes."""
    large = pa.large_string() if pa.types.is_string(array.type) else pa.large_binary()
    rows = array.cast(large) if mask is None else array.drop_null().cast(large)
    edges = edges_of(rows)
    rows = cut_rows(rows.buffers()[2] or pa.py_buffer(b""), edges)
    sizes = np.diff(edges)
    if mask is not None:
        lanes = np.flatnonzero(mask)
        rows, spread = fill_rows(rows, lanes, len(array)), np.zeros(len(array), np.int64)
        spread[lanes] = sizes
        sizes = spread
    out.add_longs(sizes, mask)
    out.add_rows(rows)


def _symbol_numbers(shape: Shape, array: pa.Array, path: str) -> Ints:
    texts = _cast(array, pa.string(), path)
    numbers = pc.index_in(texts, pa.array(shape.symbols, pa.string()))
    if numbers.null_count > texts.null_count:
        unknown = pc.filter(texts, pc.and_(numbers.is_null(), texts.is_valid()))[0]
        raise SchemaMismatch("the Avro enum has no such symbol", field=path, symbol=str(unknown))
    return np.asarray(numbers.fill_null(0)).astype(np.int64)


def _put_decimals(out: RowBytes, shape: Shape, array: pa.Array, mask: Mask | None, path: str) -> None:
    """Add two's complement numbers, the highest byte first: as few bytes as hold them, or as many as are fixed."""
    values = _fixed_width(array, np.dtype(f"V{_DECIMAL_BYTES}"))
    block = values[:, None].view(np.uint8)[:, ::-1]
    if mask is not None:
        block = np.where(mask[:, None], block, np.uint8(0))
    sign = (block[:, :1] >= 0x80).astype(np.uint8) * np.uint8(0xFF)
    spare = (block[:, :-1] == sign) & ((block[:, 1:] ^ sign) < 0x80)
    sizes = _DECIMAL_BYTES - np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    if shape.kind == "bytes":
        out.add_longs(sizes, mask)
        used = np.arange(_DECIMAL_BYTES) >= (_DECIMAL_BYTES - sizes)[:, None]
        out.add_block(block, used if mask is None else used & mask[:, None])
        return
    if len(sizes) and sizes.max() > shape.size:
        raise SchemaMismatch("decimal needs more bytes than its Avro type has", field=path, size_bytes=shape.size)
    wide = np.repeat(sign, max(shape.size - _DECIMAL_BYTES, 0), axis=1)
    kept = block[:, max(_DECIMAL_BYTES - shape.size, 0) :]
    out.add_block(np.concatenate([wide, kept], axis=1), mask)
