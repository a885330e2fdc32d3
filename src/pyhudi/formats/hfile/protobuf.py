"""Protocol buffers, as far as HFiles are written in them: a message is a list of field numbers and values.

Knows no schema; varints are unsigned. Start at `decode_message` and `encode_message`.
"""

from collections.abc import Iterable
from typing import TypeAlias

from pyhudi.errors import CorruptData

__all__ = ["Field", "decode_message", "decode_varint", "encode_message", "encode_varint", "split_delimited"]

Field: TypeAlias = tuple[int, int | bytes]

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_FIXED_BYTES = {_LONG: 8, _SHORT: 4}
_MAX_VARINT_BYTES = 10
_MAX_VARINT = (1 << 64) - 1


def decode_message(data: bytes) -> list[Field]:
    """Read the fields of a message, in the order in which they are written.

    Raises: CorruptData where the bytes are no message.
    Spec:   format/files 5.5, 5.7.
    """
    fields: list[Field] = []
    at = 0
    while at < len(data):
        tag, at = decode_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = decode_varint(data, at)
            fields.append((tag >> 3, value))
            continue
        if kind == _BYTES:
            length, at = decode_varint(data, at)
        elif kind in _FIXED_BYTES:
            length = _FIXED_BYTES[kind]
        else:
            raise CorruptData("protocol buffer has a field of an unknown kind", kind=kind, offset=at)
        if length > len(data) - at:
            raise CorruptData("protocol buffer is cut off", size_bytes=len(data), offset=at)
        fields.append((tag >> 3, data[at : at + length]))
        at += length
    return fields


def encode_message(fields: Iterable[Field]) -> bytes:
    """Write fields in the order given.

    Bytes: for each a varint of number and kind, then a varint, or a length and bytes.
    """
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += encode_varint(number << 3 | _VARINT) + encode_varint(value)
        else:
            out += encode_varint(number << 3 | _BYTES) + encode_varint(len(value)) + value
    return bytes(out)


def split_delimited(data: bytes) -> bytes:
    """Return the message that begins with its own length; what follows it is left alone.

    Raises: CorruptData if it is longer than the bytes.
    """
    length, at = decode_varint(data, 0)
    if length > len(data) - at:
        raise CorruptData("protocol buffer is cut off", size_bytes=len(data), expected=at + length)
    return data[at : at + length]


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned integer: (value, where the next byte is).

    Raises: CorruptData if it is cut off or longer than 64 bits.
    """
    value = 0
    for place, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if value > _MAX_VARINT:
                break
            return value, at + place + 1
    raise CorruptData("protocol buffer has a damaged integer", offset=at)


def encode_varint(value: int) -> bytes:
    """Write an unsigned integer.

    Bytes: seven bits a byte, lowest first, the high bit of all but the last set.
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
