"""Rows that come as a stream and are more than memory is for: read once, batch by batch.

What a write does to them first (types, keys, checks) is remembered and done to each batch as it comes. Only the local
engine looks in here. Start at `stream_of`; `StreamedFrame.batches` gives the rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from pyhudi.engine.api import KEY, ORDER, PARTITION, RowsMemory
from pyhudi.engine.frames import LocalFrame, plain_rows
from pyhudi.errors import HudiError, InvalidInput
from pyhudi.kernels.keys import KeySpec, keys_and_paths
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, deleted_rows
from pyhudi.kernels.ordering import require_values
from pyhudi.schema.evolution import conform
from pyhudi.storage.spill import SpilledBatch, SpilledBatches

__all__ = [
    "Conformed",
    "Keyed",
    "RowStream",
    "StreamStep",
    "StreamedFrame",
    "WithValues",
    "is_read_once",
    "reading",
    "stream_of",
]

_PIECES: Final = 8
"""A batch is cut to so small a part of what is held."""


class RowStream:
    """Batches that can be read once, or again and again once they are on disk."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], memory: RowsMemory) -> None:
        """Begin before the first one."""
        self.schema, self.memory = schema, memory
        self.kept: tuple[tuple[StreamStep, ...], object] | None = None
        """What was made of the rows by which steps: a write that begins again finds it here."""
        self._batches: Iterable[pa.RecordBatch] | None = batches
        self._table: pa.Table | None = None
        self._on_disk: tuple[SpilledBatches, list[SpilledBatch]] | None = None

    def keep(self) -> None:
        """Write the rows to disk, where all of them have to be looked at before they are written."""
        if self._on_disk is None and self._table is None:
            spilled = SpilledBatches(self.schema, self.memory.spill_directory)
            self._on_disk = spilled, [spilled.add(batch) for batch in self.batches()]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows.

        Raises: InvalidInput where they were read before, or the caller's own code fails.
        """
        if self._table is not None:
            yield from self._table.to_batches()
            return
        if self._on_disk is not None:
            spilled, places = self._on_disk
            yield from map(spilled.read, places)
            return
        given, self._batches = self._batches, None
        if given is None:
            raise InvalidInput("these rows were a stream, which is read once; give them again")
        for batch in reading(given):
            for piece in self._pieces(batch):
                yield from plain_rows(pa.Table.from_batches([piece])).to_batches()

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Cut a batch that takes more than a small part of the memory."""
        pieces_count = max(1, -(-batch.nbytes * _PIECES // self.memory.rows_bytes))
        rows = max(1, -(-batch.num_rows // pieces_count))
        yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))

    def table(self) -> pa.Table:
        """Return all rows in memory, and keep them."""
        if self._table is None:
            self._table = pa.Table.from_batches(self.batches(), schema=self.schema)
        return self._table


def stream_of(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], memory: RowsMemory, *, is_here: bool = False
) -> "LocalFrame | StreamedFrame":
    """Make a frame of batches: in memory if they fit, else of the stream.

    Rows that the caller has in memory (`is_here`) are a stream only where they are more than all of it, or than Arrow
    can put together.
    """
    most = memory.given_bytes if is_here else memory.rows_bytes
    held: list[pa.RecordBatch] = []
    held_bytes, rest = 0, iter(reading(batches))
    for batch in rest:
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes > most:
            wanted = plain_rows(schema.empty_table()).schema
            return StreamedFrame(schema=wanted, stream=RowStream(wanted, chain(held, rest), memory))
    return LocalFrame.of(plain_rows(pa.Table.from_batches(held, schema=schema)))


def reading(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches.   Raises: InvalidInput where reading fails: it runs code of the caller's."""
    try:
        yield from batches
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(f"these rows cannot be read as Arrow: {error}", type=type(batches).__name__) from error


class StreamStep(Protocol):
    """Something that is done to each batch; equal steps do the same."""

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the columns that rows have afterwards."""
        ...

    def apply(self, rows: pa.Table, first_row: int) -> pa.Table:
        """Return as many rows; the first one has this place among all."""
        ...


@dataclass(frozen=True, slots=True)
class Conformed:
    """Casts to a schema by name."""

    wanted: pa.Schema

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the wanted columns.   Raises: SchemaMismatch where no row could have them."""
        return self.apply(given.empty_table(), 0).schema

    def apply(self, rows: pa.Table, first_row: int) -> pa.Table:
        """Cast column by column."""
        known = rows.select([name for name in rows.column_names if name in self.wanted.names])
        return conform(known, self.wanted, fills_missing=True)


@dataclass(frozen=True, slots=True)
class Keyed:
    """Adds KEY, PARTITION and ORDER."""

    spec: KeySpec

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the columns with those three; a generator of the user's is not asked for it."""
        kinds = ((KEY, pa.string()), (PARTITION, pa.string()), (ORDER, pa.int64()))
        return _put(given.empty_table(), {name: pa.array([], kind) for name, kind in kinds}).schema

    def apply(self, rows: pa.Table, first_row: int) -> pa.Table:
        """Make keys by the kernels; generated ones count on from the first row."""
        keys, paths = keys_and_paths(self.spec, rows, first_row=first_row)
        order = pa.array(np.arange(first_row, first_row + rows.num_rows, dtype=np.int64))
        return _put(rows, {KEY: keys, PARTITION: paths, ORDER: order})


def _put(rows: pa.Table, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Put columns over those of the same names."""
    for name, values in columns.items():
        place = rows.schema.get_field_index(name)
        rows = rows.append_column(name, values) if place < 0 else rows.set_column(place, name, values)
    return rows


@dataclass(frozen=True, slots=True)
class WithValues:
    """Refuses rows without ordering value."""

    columns: tuple[str, ...]
    spec: MergeSpec

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the same columns."""
        return given

    def apply(self, rows: pa.Table, first_row: int) -> pa.Table:
        """Look at narrow columns.   Raises: InvalidInput."""
        flags = [name for name in (*DELETE_COLUMNS, self.spec.delete_field) if name in rows.column_names]
        narrow = rows.select(list(dict.fromkeys([*self.columns, *flags])))
        require_values(narrow, list(self.columns), deleted_rows(narrow, self.spec))
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedFrame:
    """Rows of a stream, and what is done to them."""

    schema: pa.Schema
    stream: RowStream
    steps: tuple[StreamStep, ...] = ()

    def then(self, step: StreamStep) -> "StreamedFrame":
        """Return the rows after one more step."""
        return replace(self, schema=step.schema(self.schema), steps=(*self.steps, step))

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows after all steps, as they come."""
        first_row = 0
        for batch in self.stream.batches():
            rows = pa.Table.from_batches([batch])
            for step in self.steps:
                rows = step.apply(rows, first_row)
            first_row += rows.num_rows
            yield rows

    def resident(self) -> LocalFrame:
        """Return the same rows in memory, for what cannot be done by batches."""
        rows = self.stream.table()
        for step in self.steps:
            rows = step.apply(rows, 0)
        return LocalFrame.of(rows)


def is_read_once(frame: object) -> bool:
    """Return whether rows come from a stream that is too large to be kept in memory."""
    return isinstance(frame, StreamedFrame)
