"""Defaults of a schema, JSON, as the bytes that a writer would have written for them. Start at `encode_default`."""

import struct
from typing import Any

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows.shape import Shape

__all__ = ["encode_default"]


def encode_default(shape: Shape, value: Any, path: str) -> bytes:  # noqa: ANN401 - JSON
    """Write a default as Avro does: of a union, the first type that the value fits.

    Raises: SchemaMismatch naming the field whose default does not fit its type.
    Spec:   Avro 1.11, Complex Types: bytes and fixed are text of code points 0 to 255.
    """
    if shape.kind == "union":
        return _encode_union(shape, value, path)
    try:
        return _encode(shape, value, path)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise SchemaMismatch("default does not fit its type", field=path, default=str(value)[:80]) from error


def _encode_union(shape: Shape, value: Any, path: str) -> bytes:  # noqa: ANN401 - JSON
    for place, part in enumerate(shape.parts):
        try:
            return _long(place) + encode_default(part, value, path)
        except SchemaMismatch:
            continue
    raise SchemaMismatch("default fits no type of its union", field=path, default=str(value)[:80])


def _encode(shape: Shape, value: Any, path: str) -> bytes:  # noqa: ANN401 - JSON, one line a kind
    match shape.kind, value:
        case "null", None:
            return b""
        case "boolean", bool():
            return bytes([value])
        case "int" | "long", int() if not isinstance(value, bool):
            return _long(_within(value, 32 if shape.kind == "int" else 64))
        case "float" | "double", int() | float() if not isinstance(value, bool):
            return struct.pack("<f" if shape.kind == "float" else "<d", value)
        case "string", str():
            return _sized(value.encode())
        case "bytes", str():
            return _sized(value.encode("latin-1"))
        case "fixed", str() if len(value) == shape.size:
            return value.encode("latin-1")
        case "enum", str():
            return _long(shape.symbols.index(value))
        case "array", list():
            return _block([encode_default(shape.parts[0], item, path) for item in value])
        case "map", dict():
            return _block([_sized(key.encode()) + encode_default(shape.parts[0], value[key], path) for key in value])
        case "record", dict():
            return b"".join(
                encode_default(part.shape, value.get(part.name, part.default), f"{path}.{part.name}")
                for part in shape.fields
            )
    raise ValueError(shape.kind)


def _within(value: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(value)
    return value


def _block(items: list[bytes]) -> bytes:
    return (_long(len(items)) if items else b"") + b"".join(items) + _long(0)


def _sized(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(value: int) -> bytes:
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])
