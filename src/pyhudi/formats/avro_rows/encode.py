"""Arrow columns to Avro records of one schema, byte for byte as Java's encoder writes them. Start at `encode_rows`."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows.defaults import encode_default
from pyhudi.formats.avro_rows.row_bytes import Mask, RowBytes, cut_rows, edges_of, fill_rows
from pyhudi.formats.avro_rows.scalars import put_scalar
from pyhudi.formats.avro_rows.shape import Shape, ShapeField, read_shape
from pyhudi.formats.avro_rows.source import Ints

__all__ = ["encode_rows"]

_NESTED = ("record", "array", "map")
_MOST_BRANCHES = 64
_KNOWN_CHARACTERS = 1 << 19
_KEY = Shape(kind="string", type=pa.string())


def encode_rows(batch: pa.RecordBatch | pa.Table, schema: str) -> pa.LargeBinaryArray:
    """Write each row as an Avro record of the schema.

    Columns are found by name and cast to the schema's types where nothing is lost. A field without a column has its
    default, or null. A union of several types takes a struct as `decode_rows` makes it, with at most one field set.

    Raises: SchemaMismatch naming a column that the schema has not, or whose values or nulls do not fit it.
    Bytes:  arrays and maps are one block with the number of items, then 0: as BinaryEncoder of Avro writes them.
    Spec:   Avro 1.11, Binary Encoding.
    """
    shape = _shape(schema) if len(schema) <= _KNOWN_CHARACTERS else read_shape(schema)
    columns = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in batch.columns]
    return _records(shape, dict(zip(batch.schema.names, columns, strict=True)), batch.num_rows, "").join()


@lru_cache(maxsize=64)
def _shape(schema: str) -> Shape:
    return read_shape(schema)


def _records(shape: Shape, columns: Mapping[str, pa.Array], count: int, path: str) -> RowBytes:
    if unknown := [name for name in columns if name not in {part.name for part in shape.fields}]:
        raise SchemaMismatch("the Avro schema has no such field", field=_join(path, unknown[0]))
    out = RowBytes(count)
    for part in shape.fields:
        inner = _join(path, part.name)
        if part.name in columns:
            _put(out, part.shape, columns[part.name], inner)
        else:
            out.add_constant(_absent(part, inner))
    return out


def _absent(part: ShapeField, path: str) -> bytes:
    """Return the bytes of a field that has no column."""
    can_be_null = part.shape.kind == "union" and any(branch.kind == "null" for branch in part.shape.parts)
    if not part.has_default and not can_be_null:
        raise SchemaMismatch("a field has neither column nor default", field=path)
    return encode_default(part.shape, part.default, path)


def _put(out: RowBytes, shape: Shape, array: pa.Array, path: str) -> None:
    """Add the values of one field to all rows."""
    if shape.is_wide:
        _put_wide(out, shape, array, path)
    elif shape.kind == "union":
        _put_optional(out, shape, array, path)
    elif array.null_count and shape.kind != "null":
        raise _null_in(path, array.null_count)
    elif shape.kind in _NESTED:
        out.add_rows(_nested(shape, array, path))
    else:
        put_scalar(out, shape, array, None, path)


def _put_optional(out: RowBytes, shape: Shape, array: pa.Array, path: str) -> None:
    """Add a union of one type, with or without null."""
    null, codes = _codes(shape)
    if array.null_count and null is None:
        raise _null_in(path, array.null_count)
    if array.null_count == len(array):
        out.add_constant(bytes([null or 0]) if len(array) else b"")
        return
    code, part = codes[0]
    if not array.null_count:
        out.add_constant(bytes([code]))
        _put(out, part, array, path)
        return
    mask = _valid(array)
    out.add_block(np.where(mask, np.uint8(code), np.uint8(null or 0))[:, None])
    if part.kind in _NESTED:
        lanes = np.flatnonzero(mask)
        out.add_rows(fill_rows(_nested(part, array.take(pa.array(lanes)), path), lanes, len(array)))
    else:
        put_scalar(out, part, array, mask, path)


def _put_wide(out: RowBytes, shape: Shape, array: pa.Array, path: str) -> None:
    """Add a union of several types: a struct of one field a type."""
    null, codes = _codes(shape)
    children = _children(array, path)
    names = [field.name for field in shape.type]
    if unknown := [name for name in children if name not in names]:
        raise SchemaMismatch("the Avro union has no such type", field=_join(path, unknown[0]))
    valid, found = _valid(array), np.zeros(len(array), np.int64)
    head = np.full(len(array), null or 0, np.uint8)
    parts: list[tuple[Shape, pa.Array, Ints, str]] = []
    for (code, part), name in zip(codes, names, strict=True):
        child = children.get(name)
        if child is not None and child.null_count < len(child):
            mask = _valid(child) & valid
            head[mask], found = code, found + mask
            parts.append((part, child, np.flatnonzero(mask), _join(path, name)))
    if (found > 1).any() or (null is None and (found != 1).any()):
        raise SchemaMismatch("a row has several values of a union, or none where null is not one", field=path)
    out.add_block(head[:, None])
    for part, child, lanes, inner in parts:
        rows = RowBytes(len(lanes))
        _put(rows, part, child if len(lanes) == len(child) else child.take(pa.array(lanes)), inner)
        out.add_rows(fill_rows(rows.join(), lanes, len(array)))


def _nested(shape: Shape, array: pa.Array, path: str) -> pa.LargeBinaryArray:
    """Return records, arrays or maps, none of them null."""
    if shape.kind == "record":
        return _records(shape, _children(array, path), len(array), path).join()
    is_map = shape.kind == "map"
    if not (pa.types.is_map(array.type) if is_map else _is_list(array.type)):
        raise SchemaMismatch("column does not fit its Avro type", field=path, type=str(array.type), avro=shape.kind)
    edges = np.asarray(array.offsets, np.int64)
    begin, count = int(edges[0]), int(edges[-1] - edges[0])
    items = RowBytes(count)
    if is_map:
        _put(items, _KEY, array.keys.slice(begin, count), f"{path}.key")
    values = array.items if is_map else array.values
    _put(items, shape.parts[0], values.slice(begin, count), f"{path}.value" if is_map else f"{path}.element")
    return _blocks(items.join(), edges - begin)


def _blocks(items: pa.LargeBinaryArray, edges: Ints) -> pa.LargeBinaryArray:
    """Put each list's items, which stand one behind the other, into one block and an end."""
    out, counts = RowBytes(len(edges) - 1), np.diff(edges)
    out.add_longs(counts, counts > 0)
    out.add_rows(cut_rows(items.buffers()[2] or pa.py_buffer(b""), edges_of(items)[edges]))
    out.add_constant(b"\x00")
    return out.join()


def _children(array: pa.Array, path: str) -> dict[str, pa.Array]:
    if not pa.types.is_struct(array.type):
        raise SchemaMismatch("column does not fit its Avro type", field=path, type=str(array.type), avro="record")
    names = [field.name for field in array.type]
    if len(set(names)) < len(names):
        raise SchemaMismatch("column has two fields of one name", field=path, names=names)
    return {name: array.field(place) for place, name in enumerate(names)}


def _codes(shape: Shape) -> tuple[int | None, list[tuple[int, Shape]]]:
    """Return the byte of null, if it is a type of the union, and those of the other types."""
    if len(shape.parts) > _MOST_BRANCHES:
        raise SchemaMismatch("Avro union has too many types", types=len(shape.parts), limit=_MOST_BRANCHES)
    null = next((2 * place for place, part in enumerate(shape.parts) if part.kind == "null"), None)
    return null, [(2 * place, part) for place, part in enumerate(shape.parts) if part.kind != "null"]


def _valid(array: pa.Array) -> Mask:
    return np.asarray(array.is_valid(), np.bool_)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _null_in(path: str, nulls: int) -> SchemaMismatch:
    return SchemaMismatch("a null stands in a field that has none", field=path, nulls=nulls)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
