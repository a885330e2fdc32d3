"""Rows of a write on disk, those of a partition together: each is written once and read once.

A part of a stream is gathered in memory, put in order of its partitions and written; a partition's rows stay in the
order in which they came. Only the local engine looks in here. Start at `SpooledFrame`.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BUCKET, IS_MOVED, KEY, ORDER, PARTITION, TASK, Placing, Routes, RowsMemory, too_many_keys
from pyhudi.engine.frames import Indices, LocalFrame, counts_of
from pyhudi.storage.spill import SpilledBatch, SpilledBatches

__all__ = [
    "Group",
    "RoutedSpool",
    "Share",
    "Spool",
    "SpooledFrame",
    "chosen",
    "in_parts",
    "located_spool",
    "routed_spool",
    "spooled",
]

Group: TypeAlias = str | int
"""What rows lie together of: a partition, or a bucket."""

_PARTS: Final = 4
"""Of the memory for rows, one part is gathered before it is written, and is there twice while it is put in order."""
_PIECES: Final = 16
"""So many of the largest pieces are as much as the memory for rows."""
_SHARES: Final = 8
"""Of the memory for keys, those of one share: they are there several times as they are looked up, found and matched."""
_KEYED: Final = (KEY, PARTITION, ORDER)
_ROUTING: Final = (pa.field(BUCKET, pa.int32()), pa.field(TASK, pa.int32()), pa.field(IS_MOVED, pa.bool_()))


@dataclass(frozen=True, slots=True)
class _Piece:
    place: SpilledBatch
    keys_bytes: int


@dataclass(frozen=True, slots=True)
class Share:
    """Rows of a spool that are looked at together; the same as often as they are asked for."""

    pieces: tuple[_Piece, ...]


class Spool:
    """Rows of one schema in a file, by groups."""

    def __init__(self, schema: pa.Schema, memory: RowsMemory) -> None:
        """Begin with none."""
        self.schema, self.memory = schema, memory
        self._batches = SpilledBatches(schema, memory.spill_directory)
        self._pieces: dict[Group, list[_Piece]] = defaultdict(list)
        self._held: list[pa.Table] = []
        self._held_bytes = 0

    @property
    def counts(self) -> dict[Group, int]:
        """Return the rows of each group, in the order in which they first came."""
        return {group: sum(piece.place.rows_count for piece in pieces) for group, pieces in self._pieces.items()}

    def size_bytes(self, group: Group) -> int:
        """Return what the rows of a group take, about as much in memory as on disk."""
        return sum(piece.place.size_bytes for piece in self._pieces.get(group, ()))

    @property
    def keys_bytes(self) -> int:
        """Return what KEY, PARTITION and ORDER of all rows take."""
        return sum(piece.keys_bytes for pieces in self._pieces.values() for piece in pieces)

    def add(self, rows: pa.Table, by: str) -> None:
        """Take rows, whose groups a column names."""
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        if self._held_bytes * _PARTS > self.memory.rows_bytes:
            self.flush(by)

    def flush(self, by: str) -> None:
        """Write what is held, each group's rows in one piece, or in several of a size that a task holds some of."""
        rows, self._held, self._held_bytes = pa.concat_tables(self._held or [self.schema.empty_table()]), [], 0
        most_rows = max(1, rows.num_rows * self.memory.rows_bytes // (_PIECES * max(1, rows.nbytes)))
        for group, some in _split(rows, by):
            for batch in some.combine_chunks().to_batches(max_chunksize=most_rows):
                keys_bytes = sum(batch.column(name).nbytes for name in _KEYED if name in self.schema.names)
                self._pieces[group].append(_Piece(self._batches.add(batch), keys_bytes))

    def read(self, group: Group, start: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield some rows of a group, or all, in the order in which they came."""
        first = 0
        for piece in self._pieces.get(group, ()):
            low, high = max(start - first, 0), piece.place.rows_count
            high = high if end is None else min(high, end - first)
            if low < high:
                yield self._batches.read(piece.place).slice(low, high - low)
            first += piece.place.rows_count

    def read_share(self, share: "Share") -> Iterator[pa.RecordBatch]:
        """Yield the rows of a share, group by group."""
        return (self._batches.read(piece.place) for piece in share.pieces)

    def shares(self, most_keys_bytes: float) -> Iterator["Share"]:
        """Cut the rows, as they lie group by group, into shares with so many bytes of keys, or one piece."""
        held, held_bytes = list[_Piece](), 0
        for piece in chain.from_iterable(self._pieces.values()):
            if held and held_bytes + piece.keys_bytes > most_keys_bytes:
                yield Share(tuple(held))
                held, held_bytes = [], 0
            held.append(piece)
            held_bytes += piece.keys_bytes
        yield Share(tuple(held))


def _split(rows: pa.Table, by: str) -> Iterator[tuple[Group, pa.Table]]:
    """Cut rows by the values of a column; those of each stay in order."""
    if not rows.num_rows:
        return
    values = rows[by].combine_chunks()
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = coded.indices.to_numpy()
    if np.any(codes[1:] < codes[:-1]):
        rows = rows.combine_chunks().take(pa.array(np.argsort(codes, kind="stable")))
    counted, start = pc.value_counts(rows[by]), 0
    counts = cast("dict[Group, int]", counts_of(pa.table(counted.flatten(), names=[by, "count"])))
    for name, count in counts.items():
        yield name, rows.slice(start, count)
        start += count


def spooled(batches: Iterable[pa.Table], schema: pa.Schema, memory: RowsMemory) -> "SpooledFrame":
    """Write keyed rows to disk by their partitions."""
    spool = Spool(schema, memory)
    for rows in batches:
        spool.add(rows.cast(schema) if rows.schema != schema else rows, PARTITION)
    spool.flush(PARTITION)
    return SpooledFrame(schema=schema, spool=spool)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpooledFrame:
    """Rows with keys, by partitions."""

    schema: pa.Schema
    spool: Spool

    @property
    def counts(self) -> dict[str | None, int]:
        """Return the rows of each partition."""
        return {str(partition): count for partition, count in self.spool.counts.items()}

    def narrow(self, names: Iterable[str]) -> pa.Table:
        """Gather narrow columns of all rows.

        Raises: InvalidInput where they do not fit into memory.
        """
        [everything] = self.spool.shares(math.inf)
        return self.narrow_share(everything, names)

    def narrow_share(self, share: Share, names: Iterable[str]) -> pa.Table:
        """Gather narrow columns of some rows.   Raises: as `narrow`."""
        names, held, held_bytes = list(names), [], 0
        for batch in self.spool.read_share(share):
            some = pa.Table.from_batches([batch]).select(names)
            some = pa.concat_tables([some]).take(pa.array(np.arange(some.num_rows)))  # lets the wide columns go
            held.append(some)
            held_bytes += some.nbytes
            if held_bytes > self.spool.memory.keys_bytes:
                raise too_many_keys(self.spool.memory.max_bytes, sum(self.spool.counts.values()))
        schema = pa.schema([self.schema.field(name) for name in names])
        return pa.concat_tables([schema.empty_table(), *held])

    def shares(self) -> Iterator[Share]:
        """Cut the rows into shares whose keys are a part of those that memory is for: what is found of them is, too."""
        return self.spool.shares(self.spool.memory.keys_bytes / _SHARES)

    def resident(self) -> LocalFrame:
        """Return all rows in memory as they came, for what cannot be done by partitions: of ties the later one wins."""
        batches = [batch for partition in self.spool.counts for batch in self.spool.read(partition)]
        return LocalFrame.of(_in_order(pa.Table.from_batches(batches, schema=self.schema)))

    def sample(self, rows_count: int) -> pa.Table:
        """Return the first rows of the largest partition."""
        counts = self.spool.counts
        largest = max(counts, key=lambda one: counts[one], default="")
        batches = list(self.spool.read(largest, 0, rows_count))
        return pa.Table.from_batches(batches, schema=self.schema)


def chosen(frame: SpooledFrame, names: Iterable[str], choose: Callable[[pa.Table], Indices | None]) -> SpooledFrame:
    """Keep the rows that a function chooses by narrow columns; None: all of them.

    It is asked again with the rows in the order in which they came, where it does not keep all: it may go by that.

    Cost:   the columns of all rows in memory; rows of which some go are written once more.
    Raises: InvalidInput where the columns do not fit.
    """
    narrow = frame.narrow([*names, ORDER])
    if choose(narrow) is None:
        return frame
    narrow = _in_order(narrow)
    places, kept = narrow[ORDER].to_numpy(), choose(narrow)
    is_kept = np.zeros(int(places.max(initial=-1)) + 1, dtype=np.bool_)
    is_kept[places if kept is None else places[kept]] = True

    def rows() -> Iterator[pa.Table]:
        for partition in frame.spool.counts:
            for batch in frame.spool.read(partition):
                some = pa.Table.from_batches([batch])
                yield some.filter(pa.array(is_kept[some[ORDER].to_numpy()]))

    return spooled(rows(), frame.schema, frame.spool.memory)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a bucket that lie together."""

    bucket: int
    group: Group
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedSpool:
    """Rows by the buckets that they go to, and these by tasks."""

    schema: pa.Schema
    spool: Spool
    parts: tuple[_Part, ...]
    task_of_bucket: tuple[int, ...]

    @property
    def tasks_count(self) -> int:
        """Count the tasks."""
        return max(self.task_of_bucket, default=-1) + 1

    @property
    def bucket_keys_bytes(self) -> int:
        """Return about what KEY, PARTITION and ORDER of the largest bucket take."""
        counts, of_group = Counter[int](), self.spool.counts
        for one in self.parts:
            counts[one.bucket] += (of_group[one.group] if one.end is None else one.end) - one.start
        return self.spool.keys_bytes * max(counts.values(), default=0) // max(1, sum(of_group.values()))

    def resident(self) -> LocalFrame:
        """Return all rows in memory."""
        batches = (batch for number in range(self.tasks_count) for batch in self.task(number))
        return LocalFrame.of(pa.Table.from_batches(batches, schema=self.schema))

    def task(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task, by BUCKET; those that came from one partition in the order in which they came."""
        mine = sorted((one for one in self.parts if self.task_of_bucket[one.bucket] == number), key=_bucket_of)
        for bucket, parts in groupby(mine, key=_bucket_of):
            for part in parts:
                for batch in self.spool.read(part.group, part.start, part.end):
                    yield batch if BUCKET in self.spool.schema.names else self._with_bucket(batch, bucket, number)

    def _with_bucket(self, batch: pa.RecordBatch, bucket: int, task: int) -> pa.RecordBatch:
        count = batch.num_rows
        routing = [pa.array(np.full(count, value, np.int32)) for value in (bucket, task)]
        return pa.RecordBatch.from_arrays(
            [*batch.columns, *routing, pa.array(np.zeros(count, np.bool_))], schema=self.schema
        )


def _bucket_of(part: _Part) -> int:
    return part.bucket


def _in_order(rows: pa.Table) -> pa.Table:
    order = rows[ORDER].to_numpy()
    return rows if np.all(order[1:] >= order[:-1]) else rows.take(pa.array(np.argsort(order, kind="stable")))


def routed_spool(frame: SpooledFrame, routes: Routes, route: Callable[[LocalFrame, Routes], LocalFrame]) -> RoutedSpool:
    """Route rows of which none is stored as `Routes` says; `route` does so for some rows that are in memory.

    Rows that are placed in order are where they can be read from already. Others are written to disk once more, by
    their buckets, where their keys say.
    """
    if routes.placing is Placing.IN_ORDER and routes.key_hash is None:
        schema = pa.schema([*frame.schema, *_ROUTING])
        parts = tuple(_parts_in_order(frame.spool, routes))
        return RoutedSpool(schema=schema, spool=frame.spool, parts=parts, task_of_bucket=routes.task_of_bucket)
    by_key = replace(routes, placing=Placing.BY_KEY)
    empty = route(LocalFrame.of(frame.schema.empty_table()), by_key)
    given = (rows for partition in frame.spool.counts for rows in in_parts(frame.spool, partition))
    routed = (route(LocalFrame.of(rows), by_key).table() for rows in given)
    return _by_bucket(frame.spool.memory, routes, empty.schema, routed)


def located_spool(frame: SpooledFrame, routes: Routes, routed: Iterable[tuple[Share, LocalFrame]]) -> RoutedSpool:
    """Write rows by their buckets, which `routed` has for those of each share; there is one at least.

    Shape: it chooses from narrow rows in the order of the share, ascending, and puts the routing columns over.
    """
    shares = iter(routed)
    first = next(shares)
    schema = LocalFrame.of(frame.schema.empty_table()).putting(_nothing_of(first[1])).schema
    rows = (some for share, chosen in chain([first], shares) for some in _located(frame.spool, share, chosen))
    return _by_bucket(frame.spool.memory, routes, schema, rows)


def _located(spool: Spool, share: Share, routed: LocalFrame) -> Iterator[pa.Table]:
    """Yield the rows of a share as they are routed."""
    numbers, first = routed.rows, 0
    assert numbers is not None, "routing chooses rows"
    for batch in spool.read_share(share):
        low, high = np.searchsorted(numbers, [first, first + batch.num_rows])
        some = LocalFrame.of(pa.Table.from_batches([batch])).taking(numbers[low:high] - first)
        yield some.putting({name: one.slice(low, high - low) for name, one in routed.added.items()}).table()
        first += batch.num_rows


def _nothing_of(routed: LocalFrame) -> dict[str, pa.Array | pa.ChunkedArray]:
    return {name: values.slice(0, 0) for name, values in routed.added.items()}


def _by_bucket(memory: RowsMemory, routes: Routes, schema: pa.Schema, routed: Iterable[pa.Table]) -> RoutedSpool:
    spool = Spool(schema, memory)
    for rows in routed:
        spool.add(rows.cast(schema), BUCKET)
    spool.flush(BUCKET)
    parts = tuple(_Part(int(bucket), bucket) for bucket in spool.counts)
    return RoutedSpool(schema=schema, spool=spool, parts=parts, task_of_bucket=routes.task_of_bucket)


def _parts_in_order(spool: Spool, routes: Routes) -> Iterator[_Part]:
    """Cut each partition's rows into as many equal parts as it has slots; neighbouring slots of a bucket are one."""
    places = dict(zip(routes.partitions, zip(routes.first_slot, routes.slots_count, strict=True), strict=True))
    for partition, rows_count in spool.counts.items():
        first, count = places.get(str(partition), (0, 0))
        buckets = routes.bucket_of_slot[first : first + count]
        start = 0
        for bucket, slots in groupby(enumerate(buckets, 1), key=lambda one: one[1]):
            *_, (last, _) = slots
            end = -(-last * rows_count // count)
            if bucket >= 0 and start < end:
                yield _Part(bucket, partition, start, end)
            start = end


def in_parts(spool: Spool, group: Group) -> Iterator[pa.Table]:
    """Yield the rows of a group in parts that are worth a look at each."""
    held: list[pa.RecordBatch] = []
    for batch in spool.read(group):
        held.append(batch)
        if sum(one.nbytes for one in held) * _PARTS > spool.memory.rows_bytes:
            yield pa.Table.from_batches(held, schema=spool.schema)
            held = []
    if held:
        yield pa.Table.from_batches(held, schema=spool.schema)
