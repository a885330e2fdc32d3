"""Decoders of single values: numbers, booleans, strings, fixed bytes, decimals and enums of many records at once.

A decoder takes the places of its values and returns them with the places behind them. Start at `Decoder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyhudi.errors import CorruptData, SchemaMismatch
from pyhudi.formats.avro_rows.columns import Flags, LaneColumn, Numbers, Optional, Ready, Slots, Texts
from pyhudi.formats.avro_rows.source import (
    Ints,
    Source,
    read_lengths,
    read_longs,
    require_room,
    skip_lengths,
    skip_longs,
)

__all__ = [
    "Booleans",
    "Decimals",
    "Decoder",
    "Enums",
    "FixedBytes",
    "FixedDecimals",
    "Floats",
    "Integers",
    "Nulls",
    "Strings",
]

_DECIMAL_BYTES = 16
_MOST_DECIMAL_BYTES = 64
_INT_BITS = 32


class Decoder(Protocol):
    """Reads the values of one Avro type."""

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        ...

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Nulls:
    """Null, which has no bytes."""

    type: pa.DataType

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        return Optional(self.type, None, None), at

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return at


@dataclass(frozen=True, slots=True)
class Integers:
    """Int and long, stored as any number: `bits` is the writer's, `dtype` and `type` are the reader's."""

    type: pa.DataType
    dtype: str
    bits: int

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        values, after = read_longs(source, at)
        if self.bits == _INT_BITS and len(values) and (values.max() >= 1 << 31 or values.min() < -(1 << 31)):
            raise CorruptData("Avro int has more than 32 bits")
        column = Numbers(self.type, values.astype(self.dtype, copy=False))
        if pa.types.is_time(self.type):
            _require_valid(column, "Avro time of day is not within a day")
        return column, after

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return skip_longs(source, at)


@dataclass(frozen=True, slots=True)
class Floats:
    """Float and double: `stored` is the writer's width, `dtype` the reader's."""

    type: pa.DataType
    dtype: str
    stored: str

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        values = source.gather(at, self.stored)
        return Numbers(self.type, values.astype(self.dtype, copy=False)), self.skip(source, at)

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return at + np.dtype(self.stored).itemsize


@dataclass(frozen=True, slots=True)
class Booleans:
    """One byte, 0 or 1."""

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        flags = source.data[at]
        if len(flags) and flags.max() > 1:
            raise CorruptData("Avro boolean is neither 0 nor 1")
        return Flags(flags.view(np.bool_)), at + 1

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return source.settle(at + 1, source.data[at] > 1) if source.is_loose else at + 1


@dataclass(frozen=True, slots=True)
class Strings:
    """String and bytes, as either."""

    type: pa.DataType

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        lengths, starts = read_lengths(source, at)
        return Texts(self.type, source, starts, lengths), starts + lengths

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return skip_lengths(source, at)


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """Fixed: as many bytes as its type is wide."""

    type: pa.DataType

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        width = self.type.byte_width
        require_room(source, at, at + width)
        values = source.gather(at, f"V{width}")
        return Numbers(self.type, values), at + width

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return at + int(self.type.byte_width)


@dataclass(frozen=True, slots=True)
class FixedDecimals:
    """Decimals in fixed bytes: two's complement, the highest byte first."""

    type: pa.DataType
    width: int

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        require_room(source, at, at + self.width)
        return _to_decimals(source, at, np.full(len(at), self.width), self.type), at + self.width

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return at + self.width


@dataclass(frozen=True, slots=True)
class Decimals:
    """Decimals in bytes of any length."""

    type: pa.DataType

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        lengths, starts = read_lengths(source, at)
        require_room(source, starts, starts + lengths)
        if len(lengths) and not lengths.all():
            raise CorruptData("Avro decimal has no bytes")
        return _to_decimals(source, starts, lengths, self.type), starts + lengths

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return skip_lengths(source, at)


@dataclass(frozen=True, slots=True)
class Enums:
    """Enums as strings: `symbols` are the writer's, `known` what the reader makes of each, None where it knows none."""

    name: str
    symbols: Sequence[str]
    known: Sequence[str | None]

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        codes, after = read_longs(source, at)
        if len(codes) and codes.view(np.uint64).max() >= len(self.symbols):
            raise CorruptData("Avro enum has a number beyond its symbols", enum=self.name)
        values = pa.array(self.known, pa.string()).take(pa.array(codes))
        if values.null_count:
            symbol = self.symbols[codes[np.flatnonzero(values.is_null())[0]]]
            raise SchemaMismatch("the reader's enum lacks a symbol that records have", enum=self.name, symbol=symbol)
        return Ready(values), after

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return skip_longs(source, at)


def _to_decimals(source: Source, starts: Ints, lengths: Ints, type: pa.DataType) -> Numbers:
    """Read two's complement numbers, the highest byte first, into the sixteen bytes of Arrow's, the lowest first.

    Bytes above the sixteenth must repeat the sign.
    """
    if len(lengths) and lengths.max() > _MOST_DECIMAL_BYTES:
        raise CorruptData("Avro decimal has more digits than its type", type=str(type))
    last = starts + lengths - 1
    sign = np.where(source.data[starts] >= 0x80, 0xFF, 0).astype(np.uint8)
    out = np.empty((len(starts), _DECIMAL_BYTES), np.uint8)
    for place in range(_DECIMAL_BYTES):
        byte = source.data[np.maximum(last - place, 0)]
        out[:, place] = np.where(place < lengths, byte, sign)
    for place in range(_DECIMAL_BYTES, int(lengths.max()) if len(lengths) else 0):
        if (source.data[np.maximum(last - place, 0)] != sign)[place < lengths].any():
            raise CorruptData("Avro decimal has more digits than its type", type=str(type))
    if ((out[:, -1] >= 0x80) != (sign > 0)).any():
        raise CorruptData("Avro decimal has more digits than its type", type=str(type))
    column = Numbers(type, out.view("V16").reshape(-1))
    _require_valid(column, "Avro decimal has more digits than its type")
    return column


def _require_valid(column: Numbers, message: str) -> None:
    try:
        column.build(Slots(len(column.values))).validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptData(message, type=str(column.type)) from error
