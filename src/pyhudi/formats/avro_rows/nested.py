"""Decoders of records, arrays, maps and unions: each moves the places of all records through its parts in turn.

Start at `Records`, then `Unions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData, LimitExceeded, SchemaMismatch
from pyhudi.formats.avro_rows.columns import Branches, Interleaved, LaneColumn, Lists, Optional, Repeated, Structs
from pyhudi.formats.avro_rows.source import Ints, Source, read_lengths, read_longs
from pyhudi.formats.avro_rows.values import Decoder, Nulls
from pyhudi.formats.avro_rows.walk import Stride, find_items

__all__ = ["Arrays", "Chosen", "Member", "Records", "Refused", "Unions"]

_NULL = -1
_MOST_BRANCHES = 64


@dataclass(frozen=True, slots=True)
class Member:
    """A field of the writer's: where it goes among the reader's fields, or None to skip it."""

    name: str
    decoder: Decoder
    place: int | None


@dataclass(frozen=True, slots=True)
class Records:
    """Records: the writer's fields in their order, and a value of each field that only the reader has."""

    type: pa.DataType
    members: Sequence[Member]
    defaults: Sequence[tuple[int, pa.Array]]

    def read(self, source: Source, at: Ints) -> tuple[Structs, Ints]:
        """Read the values at these places: (values, places behind them)."""
        columns: dict[int, LaneColumn] = {place: Repeated(value, len(at)) for place, value in self.defaults}
        for member in self.members:
            if member.place is None:
                at = member.decoder.skip(source, at)
            else:
                columns[member.place], at = _read_member(member, source, at)
        return Structs(self.type, [columns[place] for place in range(len(columns))]), at

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        for member in self.members:
            at = member.decoder.skip(source, at)
        return at


@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays, and maps, whose items are records of key and value."""

    type: pa.DataType
    item: Decoder
    stride: Stride

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        lengths, starts, after = self._walk(source, at)
        items, _ = self.item.read(source, starts)
        return Lists(self.type, lengths, items, len(starts)), after

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return self._walk(source, at)[2]

    def _walk(self, source: Source, at: Ints) -> tuple[Ints, Ints, Ints]:
        """Find all items: (items of each lane, their places, places behind the lanes)."""
        lengths = np.zeros(len(at), np.int64)
        live, at, found = np.arange(len(at)), at.copy(), []
        while len(live):
            counts, places = _read_block(source, at[live])
            at[live] = places
            going = np.flatnonzero(counts)
            live, counts = live[going], counts[going]
            if len(live):
                starts, at[live] = find_items(source, self.item, self.stride, at[live], counts)
                lengths[live] += counts
                found.append(starts)
        starts = found[0] if len(found) == 1 else np.sort(np.concatenate([*found, np.empty(0, np.int64)]))
        return lengths, starts, at


@dataclass(frozen=True, slots=True)
class Unions:
    """Unions of the writer's: branch `i` is read by `branches[i]` into the reader's slot `slots[i]`, -1 for null.

    A reader's type that is no union, or one type beside null, has the slot 0; a union of several types has one a type.
    """

    type: pa.DataType
    branches: Sequence[Decoder]
    slots: Sequence[int]
    is_wide: bool

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        after = at + 1
        parts: dict[int, list[tuple[LaneColumn, Ints | None]]] = {}
        for branch, lanes in self._split(source, at):
            inner = after if lanes is None else after[lanes]
            column, inner = self.branches[branch].read(source, inner)
            if lanes is None:
                after = inner
            else:
                after[lanes] = inner
            if self.slots[branch] != _NULL:
                parts.setdefault(self.slots[branch], []).append((column, lanes))
        return self._gather(parts, len(at)), after

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        after = at + 1
        if source.is_loose:
            return self._skip_loosely(source, at)
        for branch, lanes in self._split(source, at):
            if lanes is None:
                return self.branches[branch].skip(source, after)
            after[lanes] = self.branches[branch].skip(source, after[lanes])
        return after

    def _skip_loosely(self, source: Source, at: Ints) -> Ints:
        head = source.data[at]
        after = source.settle(at + 1, (head & 1 > 0) | (head >= 2 * len(self.branches)))
        for branch, decoder in enumerate(self.branches):
            lanes = np.flatnonzero(head == 2 * branch)
            if len(lanes):
                after[lanes] = decoder.skip(source, after[lanes])
        return after

    def _split(self, source: Source, at: Ints) -> list[tuple[int, Ints | None]]:
        """Return the branches that lanes take, each with its lanes, or None if it has all; null has nothing to read."""
        if not len(at):
            return []
        head = source.data[at]
        same = head == head[0]
        if same.all():
            return [(self._branch(int(head[0])), None)]
        second = head[same.argmin()]
        codes = [head[0], second] if (same | (head == second)).all() else np.flatnonzero(np.bincount(head))
        taken = [(code, self._branch(int(code))) for code in codes]
        return [
            (branch, np.flatnonzero(head == code))
            for code, branch in taken
            if not isinstance(self.branches[branch], Nulls)
        ]

    def _branch(self, code: int) -> int:
        if code & 1 or code >= 2 * len(self.branches):
            raise CorruptData("Avro union has a number beyond its types", types=len(self.branches))
        return code >> 1

    def _gather(self, parts: dict[int, list[tuple[LaneColumn, Ints | None]]], count: int) -> LaneColumn:
        """Make the reader's column of what the branches gave."""
        columns = {slot: _merge(found) for slot, found in parts.items()}
        if not self.is_wide:
            column, lanes = columns.get(0, (None, None))
            return Optional(self.type, column, lanes)
        children = [
            Optional(self.type.field(slot).type, *columns.get(slot, (None, None)))
            for slot in range(self.type.num_fields)
        ]
        return Branches(self.type, children, _union_lanes([lanes for _, lanes in columns.values()], count))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is no union for the writer and one of several types for the reader."""

    type: pa.DataType
    decoder: Decoder
    slot: int

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        column, after = self.decoder.read(source, at)
        fields = range(self.type.num_fields)
        children = [
            Optional(self.type.field(place).type, column if place == self.slot else None, None) for place in fields
        ]
        return Branches(self.type, children, None), after

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return self.decoder.skip(source, at)


@dataclass(frozen=True, slots=True)
class Refused:
    """A branch that the reader has no type for: it may stand in the schema, not in a record."""

    decoder: Decoder
    reason: SchemaMismatch

    def read(self, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
        """Read the values at these places: (values, places behind them)."""
        raise SchemaMismatch(self.reason.message, **self.reason.values)

    def skip(self, source: Source, at: Ints) -> Ints:
        """Return the places behind the values at these places, and build nothing."""
        return self.decoder.skip(source, at)


def _read_member(member: Member, source: Source, at: Ints) -> tuple[LaneColumn, Ints]:
    try:
        return member.decoder.read(source, at)
    except CorruptData as error:
        if "field" in error.values:
            raise
        raise type(error)(error.message, **error.values, field=member.name) from error


def _read_block(source: Source, at: Ints) -> tuple[Ints, Ints]:
    """Read the head of a block: (items, place of the first). A count below zero has the block's bytes behind it."""
    counts, after = read_longs(source, at)
    below = np.flatnonzero(counts < 0)
    if len(below):
        counts[below] = -counts[below]
        after[below] = read_lengths(source, after[below])[1]
    if (counts.view(np.uint64) > source.size).any():
        raise LimitExceeded("Avro array has more items than there are bytes", items=int(counts.max()))
    return counts, after


def _merge(found: list[tuple[LaneColumn, Ints | None]]) -> tuple[LaneColumn, Ints | None]:
    if len(found) == 1:
        return found[0]
    parts = [(column, lanes) for column, lanes in found if lanes is not None]
    lanes = np.sort(np.concatenate([lanes for _, lanes in parts]))
    return Interleaved([(column, np.searchsorted(lanes, own)) for column, own in parts]), lanes


def _union_lanes(lanes: Sequence[Ints | None], count: int) -> Ints | None:
    """Return the lanes of any branch, None where that is all of them."""
    if any(own is None for own in lanes):
        return None
    mask: npt.NDArray[np.bool_] = np.zeros(count, np.bool_)
    for own in lanes:
        mask[own] = True
    return None if mask.all() else np.flatnonzero(mask)
