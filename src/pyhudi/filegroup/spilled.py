"""Rows of a file slice on disk, put together by their keys: those of one share are read without the others.

Each row is written once and read once, whatever the memory. Start at `SpilledChanges` and `SpilledRows`.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.hashing import java_hash
from pyhudi.kernels.changes import RowChanges
from pyhudi.storage.spill import SpillFile

__all__ = ["SpilledChanges", "SpilledRows", "share_numbers"]

_HASHED_ROWS: Final = 2048
"""A hash needs several times the memory of its text."""
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""The keys of a hash bucket have like hashes; their product's upper half has not."""
_BATCH_ROWS: Final = 8192
_BESIDE: Final = (pa.field("key", pa.string()), pa.field("is_delete", pa.bool_()), pa.field("is_unordered", pa.bool_()))
_COMPRESSED_ROWS: Final = 1024
"""Of fewer rows a share, compression costs more than it saves."""


def share_numbers(keys: pa.Array | pa.ChunkedArray, count: int) -> npt.NDArray[np.int64]:
    """Return to which of `count` shares each key belongs, by its hash.   Shape: n keys -> n numbers."""
    some = (keys.slice(start, _HASHED_ROWS) for start in range(0, len(keys), _HASHED_ROWS))
    found = [_share_numbers(java_hash(one), count) for one in some]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _share_numbers(hashes: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int64]:
    spread = (hashes.astype(np.uint32).astype(np.uint64) * _SPREAD) >> np.uint64(32)
    return (spread % np.uint64(count)).astype(np.int64)


class SpilledRows:
    """Rows of one schema by shares of their keys, in the order in which they were added."""

    def __init__(self, file: SpillFile, schema: pa.Schema, count: int) -> None:
        """Begin with none, in so many shares."""
        self.count, self.schema = count, schema
        self._file = file
        self._places: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]

    def add(self, rows: pa.Table, keys: pa.Array | pa.ChunkedArray, origin: int = 0) -> None:
        """Write rows, of which `keys` are the keys; `origin` comes back with them.

        Cost: the rows twice more in memory, one of them compressed; one write.
        """
        numbers = share_numbers(keys, self.count)
        order = np.argsort(numbers, kind="stable")
        [together] = rows.take(pa.array(order)).combine_chunks().to_batches() or [_empty(self.schema)]
        ends = np.searchsorted(numbers[order], np.arange(self.count), side="right").tolist()
        codec = "lz4" if len(together) >= self.count * _COMPRESSED_ROWS else None
        written, start = pa.BufferOutputStream(), 0
        with pa.ipc.new_stream(written, self.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
            stream.write_batch(_empty(self.schema))  # the schema goes before the first batch
            for share, end in enumerate(ends):
                position = written.tell()
                if end > start:
                    stream.write_batch(together.slice(start, end - start))
                    place = (self._file.size_bytes + position, written.tell() - position, origin)
                    self._places[share].append(place)
                start = end
        self._file.append(written.getvalue())
        pa.default_memory_pool().release_unused()  # what Arrow keeps counts, too

    def batches(self, share: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of a share as they were added, each batch with its origin."""
        for position, size, origin in self._places[share]:
            message = pa.ipc.read_message(self._file.read_at(position, size))
            yield origin, pa.ipc.read_record_batch(message, self.schema)

    def gathered(self, share: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a share in batches that are worth a merge, whatever their origin."""
        held: list[pa.RecordBatch] = []
        held_rows = 0
        for _, batch in self.batches(share):
            held.append(batch)
            held_rows += batch.num_rows
            if held_rows >= _BATCH_ROWS:
                yield pa.concat_batches(held)
                held, held_rows = [], 0
        if held:
            yield pa.concat_batches(held)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)


class SpilledChanges:
    """Changes of logs by shares of their keys; without the rows of the base file that they replace."""

    def __init__(self, file: SpillFile, schema: pa.Schema, count: int) -> None:
        """Begin with none; `schema` is that of their rows."""
        self.count = count
        self._width = len(schema)
        self._kinds: dict[int, tuple[bool, tuple[str, ...] | None]] = {}
        self._rows = SpilledRows(file, pa.schema([*schema, *_BESIDE]), count)

    def add(self, changes: RowChanges, block: int) -> None:
        """Write changes of a block, whose number says where they come in the order of all."""
        self._kinds[block] = (changes.is_by_key, changes.columns)
        beside = [changes.keys, pa.array(changes.is_delete), pa.array(changes.is_unordered)]
        rows = pa.Table.from_arrays([*changes.rows.columns, *beside], schema=self._rows.schema)
        self._rows.add(rows, changes.keys, block)

    def share(self, number: int) -> list[RowChanges]:
        """Return all changes of some keys, oldest first."""
        found: dict[int, list[pa.RecordBatch]] = {}
        for block, batch in self._rows.batches(number):
            found.setdefault(block, []).append(batch)
        return [self._changes(pa.Table.from_batches(batches), *self._kinds[block]) for block, batches in found.items()]

    def _changes(self, stored: pa.Table, is_by_key: bool, columns: tuple[str, ...] | None) -> RowChanges:
        keys, is_delete, is_unordered = stored.columns[self._width :]
        return RowChanges(
            keys=keys,
            rows=stored.select(list(range(self._width))),
            is_delete=is_delete.to_numpy(),
            is_unordered=is_unordered.to_numpy(),
            is_by_key=is_by_key,
            columns=columns,
        )
