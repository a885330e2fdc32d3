"""Thrift's compact protocol, as parquet footers and page indexes are written in it.

Knows no schema: a structure is a dict of field numbers, and what is read is written again as the same bytes. Start at
`decode` and `encode`.
"""

import struct
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias

from pyhudi.errors import CorruptData, Unsupported

__all__ = ["Kind", "Only", "Struct", "Value", "decode", "encode", "struct_end"]


class Kind(IntEnum):
    """What a value is. The numbers are the protocol's."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    STRUCT = 12


class Value(NamedTuple):
    """One value, or the elements of a list."""

    kind: Kind
    content: Any
    """int, float, bytes, a Struct; of a list its elements; of a bool nothing, the kind says it."""
    element: Kind | None = None
    """What a list is of; bools in a list count as TRUE, and are bytes."""


Struct: TypeAlias = dict[int, Value]
Only: TypeAlias = Mapping[int, "Only | None"]
"""The fields that are wanted, and of each that is a structure, or a list of such, those wanted in it; None is all."""

_MAX_DEPTH = 16
_MAX_VARINT_BYTES = 10
_LONG_LIST = 15
_LONG_STEP = 15
_KINDS: Final = {kind.value: kind for kind in Kind}
_BINARY, _STRUCT = Kind.BINARY.value, Kind.STRUCT.value
_INTEGERS: Final = frozenset({Kind.I16, Kind.I32, Kind.I64})


def decode(data: bytes, start: int = 0, *, only: Only | None = None) -> Struct:
    """Read the structure that begins at `start`; what follows it is left alone.

    Cost:   about a microsecond a value, a third of it for one that is not wanted.
    Raises: CorruptData where the bytes are no structure; Unsupported for sets and maps, which parquet has not.
    """
    try:
        return _Reader(data, start).struct(0, only)
    except IndexError as error:
        raise CorruptData("parquet metadata is damaged") from error


def struct_end(data: bytes, start: int = 0) -> int:
    """Return where the structure that begins at `start` ends.

    Raises: as `decode`.
    """
    try:
        return _struct_passed(data, start, 0)
    except IndexError as error:
        raise CorruptData("parquet metadata is damaged") from error


def encode(fields: Struct) -> bytes:
    """Write a structure.

    Bytes: fields in the order of their numbers, each number as a step from the one before.
    """
    out = bytearray()
    _put_struct(out, fields)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def struct(self, depth: int, only: Only | None) -> Struct:
        _require_shallow(depth)
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = _kind(head & 15)
            if only is None or number in only:
                fields[number] = self._value(kind, depth, None if only is None else only[number])
            else:
                self.at = _passed(self.data, self.at, kind, depth)
        return fields

    def _value(self, kind: Kind, depth: int, only: Only | None) -> Value:
        if kind is Kind.LIST:
            element, count, self.at = _list_head(self.data, self.at)
            return Value(kind, [self._content(element, depth, only, in_list=True) for _ in range(count)], element)
        return Value(kind, self._content(kind, depth, only))

    def _content(self, kind: Kind, depth: int, only: Only | None, *, in_list: bool = False) -> Any:  # noqa: ANN401 - as Value.content
        if kind in _INTEGERS:
            return self._integer()
        if kind is Kind.BINARY:
            return self._take(self._varint())
        if kind is Kind.STRUCT:
            return self.struct(depth + 1, only)
        if kind is Kind.DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind is Kind.LIST:
            _require_shallow(depth + 1)
            return self._value(kind, depth + 1, only)
        return self._byte() if in_list or kind is Kind.BYTE else None

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise CorruptData("parquet metadata ends too early")
        self.at += count
        return taken

    def _varint(self) -> int:
        number, self.at = _varint(self.data, self.at)
        return number

    def _integer(self) -> int:
        folded = self._varint()
        return (folded >> 1) ^ -(folded & 1)


def _passed(data: bytes, at: int, kind: int, depth: int, *, in_list: bool = False) -> int:
    """Return where a value ends; if that is past the end, the next byte that is read is missing."""
    if kind == _STRUCT:
        return _struct_passed(data, at, depth + 1)
    if kind in _INTEGERS:
        return _varint_end(data, at)
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == Kind.LIST:
        _require_shallow(depth + 1)
        element, count, at = _list_head(data, at)
        for _ in range(count):
            at = _passed(data, at, element, depth + 1, in_list=True)
        return at
    if kind == Kind.DOUBLE:
        return at + 8
    is_byte = in_list or _kind(kind) is Kind.BYTE
    return at + is_byte


def _struct_passed(data: bytes, at: int, depth: int) -> int:
    """Return where a structure ends. Most of a footer is short text and numbers, which are passed right here."""
    _require_shallow(depth)
    while head := data[at]:
        at = at + 1 if head > _LONG_STEP else _varint_end(data, at + 1)
        kind = head & 15
        if kind in _INTEGERS:
            while data[at] > 127:
                at += 1
            at += 1
        elif kind == _BINARY and data[at] < 128:
            at += 1 + data[at]
        else:
            at = _passed(data, at, kind, depth)
    return at + 1


def _list_head(data: bytes, at: int) -> tuple[Kind, int, int]:
    """Read what a list is of and how long it is, and say where its elements begin."""
    head = data[at]
    count, at = _varint(data, at + 1) if head >> 4 == _LONG_LIST else (head >> 4, at + 1)
    return _kind(head & 15), count, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift == 7 * _MAX_VARINT_BYTES:
            raise CorruptData("parquet metadata holds a malformed number")
    return number | byte << shift, at + 1


def _varint_end(data: bytes, at: int) -> int:
    while data[at] > 127:
        at += 1
    return at + 1


def _kind(number: int) -> Kind:
    kind = _KINDS.get(number)
    if kind is None:
        raise Unsupported("parquet metadata has a value of another kind", kind=number)
    return kind


def _require_shallow(depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise CorruptData("parquet metadata is nested too deep")


def _put_struct(out: bytearray, fields: Struct) -> None:
    before = 0
    for number, value in sorted(fields.items()):
        if 0 < number - before <= _LONG_STEP:
            out.append((number - before) << 4 | value.kind)
        else:
            out.append(value.kind)
            _put_integer(out, number)
        _put_value(out, value)
        before = number
    out.append(0)


def _put_value(out: bytearray, value: Value) -> None:
    if value.kind is not Kind.LIST:
        _put_content(out, value.kind, value.content)
        return
    element, items = Kind(value.element or Kind.STRUCT), value.content
    out.append(min(len(items), _LONG_LIST) << 4 | element)
    if len(items) >= _LONG_LIST:
        _put_varint(out, len(items))
    _put_items(out, element, items)


def _put_items(out: bytearray, element: Kind, items: Iterable[Any]) -> None:
    for item in items:
        if element in {Kind.TRUE, Kind.FALSE}:
            out.append(item)
        else:
            _put_content(out, element, item)


def _put_content(out: bytearray, kind: Kind, content: Any) -> None:  # noqa: ANN401 - as Value.content
    if kind in {Kind.I16, Kind.I32, Kind.I64}:
        _put_integer(out, content)
    elif kind is Kind.BINARY:
        _put_varint(out, len(content))
        out += content
    elif kind is Kind.STRUCT:
        _put_struct(out, content)
    elif kind is Kind.DOUBLE:
        out += struct.pack("<d", content)
    elif kind is Kind.LIST:
        _put_value(out, content)
    elif kind is Kind.BYTE:
        out.append(content)


def _put_varint(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def _put_integer(out: bytearray, number: int) -> None:
    _put_varint(out, number << 1 if number >= 0 else (-number << 1) - 1)
