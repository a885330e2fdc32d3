"""Columns between bytes and Arrow: values of the lanes that have one, built into as many slots as the rows above need.

A lane is one value's way through the bytes. Null lanes have no value, so what is decoded for the lanes of a union's
branch spreads into more slots only when Arrow's buffers are made, once, however deep it stands. Start at `Slots`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData, LimitExceeded
from pyhudi.formats.avro_rows.source import Ints, Source, require_room

__all__ = [
    "Branches",
    "Flags",
    "Interleaved",
    "LaneColumn",
    "Lists",
    "Numbers",
    "Optional",
    "Ready",
    "Repeated",
    "Slots",
    "Structs",
    "Texts",
    "pack_bits",
]

_MOST_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Slots:
    """Where the values of a column go: value `i` into slot `at[i]` of `count`, or each into its own without `at`.

    Slots without a value are null if `is_nullable`, else they hold zeros: the row above is null there.
    """

    count: int
    at: Ints | None = None
    is_nullable: bool = False

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values in their slots, with zeros between them."""
        if self.at is None:
            return values
        full = np.zeros(self.count, values.dtype)
        full[self.at] = values
        return full

    def validity(self) -> tuple[pa.Buffer | None, int]:
        """Return the bitmap of slots with a value, and the number of nulls."""
        if self.at is None or not self.is_nullable:
            return None, 0
        mask = np.zeros(self.count, np.bool_)
        mask[self.at] = True
        return pack_bits(mask), self.count - len(self.at)

    def inside(self, *, is_nullable: bool = False) -> "Slots":
        """Return the same slots for what stands inside these values."""
        return Slots(self.count, self.at, is_nullable)

    def only(self, lanes: Ints) -> "Slots":
        """Return the slots of some of the values, nulls in all others."""
        return Slots(self.count, lanes if self.at is None else self.at[lanes], is_nullable=True)


class LaneColumn(Protocol):
    """Values read from the bytes, not yet in Arrow's form."""

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values of a fixed width."""

    type: pa.DataType
    values: npt.NDArray[Any]

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        valid, nulls = slots.validity()
        data = pa.py_buffer(np.ascontiguousarray(slots.spread(self.values)))
        return pa.Array.from_buffers(self.type, slots.count, [valid, data], nulls)


@dataclass(frozen=True, slots=True)
class Flags:
    """Booleans."""

    values: npt.NDArray[np.bool_]

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        valid, nulls = slots.validity()
        return pa.Array.from_buffers(pa.bool_(), slots.count, [valid, pack_bits(slots.spread(self.values))], nulls)


class Texts:
    """Strings or bytes: ranges of the source at ascending places."""

    __slots__ = ("lengths", "source", "starts", "type")

    def __init__(self, type: pa.DataType, source: Source, starts: Ints, lengths: Ints) -> None:
        require_room(source, starts, starts + lengths)
        self.type, self.source, self.starts, self.lengths = type, source, starts, lengths

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        valid, nulls = slots.validity()
        buffers = [valid, pa.py_buffer(_offsets(slots.spread(self.lengths))), self.gather()]
        built = pa.Array.from_buffers(self.type, slots.count, buffers, nulls)
        if pa.types.is_string(self.type):
            _require_unicode(built)
        return built

    def gather(self) -> pa.Buffer:
        """Copy the ranges to stand one behind the other.

        Cost: one copy of the bytes, and no index of theirs: ranges of one length are values of that width; else ranges
              and the gaps between them are the values of one array over the source, of which Arrow takes every other.
        """
        if not len(self.starts):
            return pa.py_buffer(b"")
        widest = int(self.lengths.max())
        if 0 < widest == self.lengths.min():
            return pa.py_buffer(self.source.gather(self.starts, f"V{widest}"))
        edges = np.empty(2 * len(self.starts), np.int32)
        edges[0::2] = self.starts
        np.add(self.starts, self.lengths, out=edges[1::2], casting="unsafe")
        ranges = pa.Array.from_buffers(
            pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), self.source.buffer], null_count=0
        )
        return ranges.take(pa.array(np.arange(0, len(edges), 2))).buffers()[2] or pa.py_buffer(b"")


@dataclass(frozen=True, slots=True)
class Structs:
    """Rows of other columns, all of as many values."""

    type: pa.DataType
    columns: Sequence[LaneColumn]

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        valid, nulls = slots.validity()
        inner = slots.inside()
        children = [column.build(inner) for column in self.columns]
        return pa.Array.from_buffers(self.type, slots.count, [valid], nulls, children=children)


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists or maps: the items of all lanes, one behind the other."""

    type: pa.DataType
    lengths: Ints
    items: LaneColumn
    count: int

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        valid, nulls = slots.validity()
        offsets = pa.py_buffer(_offsets(slots.spread(self.lengths)))
        items = self.items.build(Slots(self.count))
        return pa.Array.from_buffers(self.type, slots.count, [valid, offsets], nulls, children=[items])


@dataclass(frozen=True, slots=True)
class Optional:
    """A column that some lanes have a value of: those of `lanes`; all of them where it is None."""

    type: pa.DataType
    column: LaneColumn | None
    lanes: Ints | None

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        if self.column is None:
            return pa.nulls(slots.count, self.type)
        if self.lanes is None:
            return self.column.build(slots.inside(is_nullable=True))
        return self.column.build(slots.only(self.lanes))


@dataclass(frozen=True, slots=True)
class Branches:
    """A union of several types: a struct of one nullable field a type; `lanes` is None where no lane is null."""

    type: pa.DataType
    columns: Sequence[Optional]
    lanes: Ints | None

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        own = slots if self.lanes is None else slots.only(self.lanes)
        valid, nulls = own.validity()
        children = [column.build(slots) for column in self.columns]
        return pa.Array.from_buffers(self.type, slots.count, [valid], nulls, children=children)


@dataclass(frozen=True, slots=True)
class Ready:
    """An array that stands already in Arrow's form."""

    array: pa.Array

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        if slots.at is None:
            return self.array
        places = np.full(slots.count, -1)
        places[slots.at] = np.arange(len(self.array))
        return self.array.take(pa.array(places, mask=places < 0))


@dataclass(frozen=True, slots=True)
class Repeated:
    """The one value of an array, for every lane: a default."""

    array: pa.Array
    count: int

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        return Ready(self.array.take(pa.array(np.zeros(self.count, np.int64)))).build(slots)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Columns of one type whose lanes together are all lanes: branches of a union that are read as one type."""

    parts: Sequence[tuple[LaneColumn, Ints]]

    def build(self, slots: Slots) -> pa.Array:
        """Make the Arrow array of `slots.count` slots."""
        built = [column.build(Slots(len(lanes))) for column, lanes in self.parts]
        order = np.argsort(np.concatenate([lanes for _, lanes in self.parts]))
        return Ready(pa.concat_arrays(built).take(pa.array(order))).build(slots)


def pack_bits(mask: npt.NDArray[np.bool_]) -> pa.Buffer:
    """Pack booleans as Arrow does.

    Bytes:  one bit a boolean, the lowest first.
    """
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def _offsets(lengths: Ints) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > _MOST_BYTES:
        raise LimitExceeded("a column of Avro values is beyond 2 GiB; decode fewer records at once")
    return offsets.astype(np.int32)


def _require_unicode(array: pa.Array) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptData("Avro string is not UTF-8") from error
