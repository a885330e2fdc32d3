"""Avro container files of metadata size: one record with its schema and a sync marker.

The frame is laid out and checked here, the record itself is fastavro's. Row-sized Avro does not come through here.
Start at `encode_container` and `decode_container`.
"""

import io
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import fastavro

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded, Unsupported
from pyhudi.formats.avro_schema import parse_avro_schema
from pyhudi.schema.json_text import parse_json

__all__ = ["decode_container", "decode_record", "encode_container", "encode_record"]

Schema: TypeAlias = Mapping[str, Any]

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MAX_BYTES = 1 << 30
_MAX_ENTRY_BYTES = 16 << 20
_MAX_ENTRIES = 64
_KNOWN_BYTES = 1 << 16
"""Schemas up to this size are remembered: a table's commits have one."""


def encode_container(schema: Schema, record: Mapping[str, Any], sync_marker: bytes) -> bytes:
    """Write one record as Java's DataFileWriter does.

    Bytes:  `Obj` 1, a map of the one entry `avro.schema`, sync, then one block: count 1, size, record, sync.
    Raises: InvalidInput if the record does not fit the schema, or the marker is not 16 bytes.
    Spec:   format/timeline 2.5.
    """
    if len(sync_marker) != _SYNC_BYTES:
        raise InvalidInput("a sync marker has 16 bytes", size_bytes=len(sync_marker))
    text = _text_of(schema).encode()
    header = b"".join([_MAGIC, _long(1), _text(b"avro.schema"), _text(text), _long(0), sync_marker])
    return b"".join([header, _long(1), _text(encode_record(schema, record)), sync_marker])


def encode_record(schema: Schema, record: Mapping[str, Any]) -> bytes:
    """Write one record that stands for itself, as a container or a block of a log file has it.

    Raises: InvalidInput if the record does not fit the schema.
    Spec:   format/timeline 2.5.
    """
    body = io.BytesIO()
    try:
        fastavro.schemaless_writer(body, _parsed(_text_of(schema)), dict(record))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise InvalidInput("record does not fit its Avro schema", schema=str(schema.get("name"))) from error
    return body.getvalue()


def decode_container(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Read the one record of a container file: (record, its schema, sync marker).

    Raises: CorruptData where bytes and format differ, or there is not exactly one record; LimitExceeded for declared
            sizes beyond what metadata has; Unsupported for codecs other than null and deflate.
    Spec:   format/timeline 2.5.
    """
    if len(data) > _MAX_BYTES:
        raise LimitExceeded("Avro file is too large for metadata", size_bytes=len(data))
    if data[: len(_MAGIC)] != _MAGIC:
        raise CorruptData("not an Avro container file", begins=data[:8].hex())
    entries, position = _read_entries(data, len(_MAGIC))
    sync, position = _read_bytes(data, position, _SYNC_BYTES)
    count, position = _read_long(data, position)
    size, position = _read_long(data, position)
    body, position = _read_bytes(data, position, size)
    closing, position = _read_bytes(data, position, _SYNC_BYTES)
    if count != 1 or position != len(data):
        raise CorruptData("Avro file must hold exactly one record", records=count, bytes_left=len(data) - position)
    if closing != sync:
        raise CorruptData("sync marker does not match; the Avro file is damaged")
    text = entries.get("avro.schema", b"")
    schema = _known_schema(text) if len(text) <= _KNOWN_BYTES else _read_schema(text)
    return decode_record(_decompress(body, entries.get("avro.codec", b"null")), schema), schema, sync


def _text_of(schema: Schema) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:  # noqa: ANN401 - fastavro's own form of a schema
    try:
        return fastavro.parse_schema(parse_json(text))
    except (fastavro.schema.SchemaParseException, TypeError, ValueError, KeyError, AttributeError) as error:
        raise CorruptData("Avro schema does not parse") from error
    except fastavro.schema.UnknownType as error:
        raise CorruptData("Avro schema names an unknown type") from error


@lru_cache(maxsize=64)
def _known_schema(text: bytes) -> dict[str, Any]:
    return _read_schema(text)


def _read_schema(text: bytes) -> dict[str, Any]:
    schema = parse_avro_schema(text)
    if not isinstance(schema, dict):
        raise CorruptData("Avro file does not hold a record")
    return schema


def decode_record(body: bytes, schema: Schema) -> dict[str, Any]:
    """Read one record that stands for itself, as a container or a block of a log file has it.

    Raises: CorruptData where bytes and schema differ, or bytes are left.
    Spec:   format/timeline 2.5; format/files 2.4.
    """
    parsed = _parsed(_text_of(schema))
    source = io.BytesIO(body)
    try:
        record = fastavro.schemaless_reader(source, parsed, None)
    except Exception as error:  # fastavro meets hostile bytes with whatever Python raises
        raise CorruptData("Avro record does not decode") from error
    if not isinstance(record, dict):
        raise CorruptData("Avro file does not hold a record")
    if source.tell() != len(body):
        raise CorruptData("bytes are left behind the Avro record", bytes_left=len(body) - source.tell())
    return record


def _decompress(body: bytes, codec: bytes) -> bytes:
    if codec == b"null":
        return body
    if codec != b"deflate":
        raise Unsupported("only the Avro codecs null and deflate are read", codec=codec.decode("ascii", "replace"))
    limit = min(100 * len(body) + (1 << 20), _MAX_BYTES)
    inflater = zlib.decompressobj(-15)
    try:
        plain = inflater.decompress(body, limit)
    except zlib.error as error:
        raise CorruptData("Avro block does not inflate") from error
    if inflater.unconsumed_tail:
        raise LimitExceeded("Avro block inflates beyond what metadata has", limit_bytes=limit)
    if not inflater.eof:
        raise CorruptData("Avro block does not inflate")
    return plain


def _read_entries(data: bytes, position: int) -> tuple[dict[str, bytes], int]:
    entries: dict[str, bytes] = {}
    while True:
        count, position = _read_long(data, position)
        if count == 0:
            return entries, position
        if count < 0:  # a negative count is followed by the size of the block
            count = -count
            _, position = _read_long(data, position)
        if count + len(entries) > _MAX_ENTRIES:
            raise LimitExceeded("Avro file has too many header entries", entries=count)
        for _ in range(count):
            key, position = _read_sized(data, position)
            value, position = _read_sized(data, position)
            entries[key.decode("utf-8", "replace")] = value


def _read_sized(data: bytes, position: int) -> tuple[bytes, int]:
    size, position = _read_long(data, position)
    if size > _MAX_ENTRY_BYTES:
        raise LimitExceeded("Avro header entry is too large", size_bytes=size)
    return _read_bytes(data, position, size)


def _read_bytes(data: bytes, position: int, size: int) -> tuple[bytes, int]:
    if not 0 <= size <= len(data) - position:
        raise CorruptData("Avro file is cut off or names an impossible size", offset=position, size_bytes=size)
    return data[position : position + size], position + size


def _read_long(data: bytes, position: int) -> tuple[int, int]:
    """Read a zigzag varint of at most ten bytes."""
    value = 0
    for shift, byte in zip(range(0, 70, 7), data[position : position + 10], strict=False):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + shift // 7 + 1
    raise CorruptData("Avro file is cut off or holds a malformed number", offset=position)


def _long(value: int) -> bytes:
    left, out = value << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data
