"""Decide which bucket every row goes to: the local engine's rendering of `Routes`.

Pure numpy and Arrow over narrow columns. Start at `route`; a task takes its rows apart again by `runs_by_bucket`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BASE_ROW, BUCKET, FILE_INDEX, IS_MOVED, KEY, PARTITION, TASK, Moves, Placing, Routes
from pyhudi.engine.frames import Indices
from pyhudi.hashing import java_hash, places_among
from pyhudi.kernels.rules import Bools, MergeSpec

__all__ = ["FindLosers", "Routed", "bucket_runs", "match", "route", "runs_by_bucket", "settled"]

FindLosers = Callable[[MergeSpec, Indices, Indices], Bools]
"""Compares pairs of row and located row: which rows lose."""

_HASHED_ROWS = 8192
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """The rows to write: numbers of the frame's rows, and what is put over them."""

    rows: Indices
    columns: dict[str, pa.Array]


def route(keyed: pa.Table, located: pa.Table, routes: Routes, find_losers: FindLosers) -> Routed:
    """Send each row to the files that hold its key, or to an insert bucket of its partition.

    Shape: keyed (KEY, PARTITION) -> rows in the input's order, with BUCKET, TASK, IS_MOVED, PARTITION, and BASE_ROW
    where `located` has it.
    Cost: narrow columns only; a few sorts.
    """
    rows, found = match(keyed, located, by_partition=routes.moves is Moves.IMPOSSIBLE)
    is_known = np.zeros(keyed.num_rows, dtype=np.bool_)
    is_moved = np.zeros(len(rows), dtype=np.bool_)
    if routes.moves is Moves.DELETE_AND_INSERT and len(rows):
        is_moved = _is_elsewhere(keyed, located, rows, found)
        is_lost = _is_lost(keyed.num_rows, rows[is_moved], found[is_moved], routes, find_losers)
        is_known |= is_lost
        kept = ~is_lost[rows]
        rows, found, is_moved = rows[kept], found[kept], is_moved[kept]
    is_known[rows[~is_moved]] = True
    new = np.flatnonzero(~is_known)
    bucket_of_file = np.array(routes.bucket_of_file, dtype=np.int32)
    stored_bucket = bucket_of_file[_integers(located, FILE_INDEX)[found]]
    bucket: Indices = np.concatenate((stored_bucket, _insert_bucket(keyed.take(pa.array(new)), routes)))
    everything = np.concatenate((rows, new))
    order = np.argsort(everything, kind="stable")
    order = order[bucket[order] >= 0]
    takes_stored = is_moved | (routes.moves is Moves.KEEP_PARTITION)
    partition_row = np.concatenate((np.where(takes_stored, keyed.num_rows + found, rows), new))
    partitions = pa.chunked_array([*keyed[PARTITION].chunks, *located[PARTITION].chunks], type=pa.string())
    moved = np.concatenate((is_moved, np.zeros(len(new), dtype=np.bool_)))
    columns = {
        PARTITION: _one(partitions.take(pa.array(partition_row[order]))),
        BUCKET: pa.array(bucket[order], pa.int32()),
        TASK: pa.array(np.array(routes.task_of_bucket, dtype=np.int32)[bucket[order]], pa.int32()),
        IS_MOVED: pa.array(moved[order]),
    }
    if BASE_ROW in located.column_names:
        places = np.concatenate((found, np.zeros(len(new), dtype=np.int64)))[order]
        numbers = located[BASE_ROW].take(pa.array(places, mask=order >= len(found)))
        columns[BASE_ROW] = _one(numbers)
    return Routed(rows=everything[order], columns=columns)


def match(keyed: pa.Table, located: pa.Table, *, by_partition: bool) -> tuple[Indices, Indices]:
    """Pair every row with each located row of its key, and of its partition if asked.

    Shape: two arrays of one length, row numbers of either side, in order of the first.
    """
    code, stored_code = _codes(keyed[KEY], located[KEY])
    if by_partition:
        part, stored_part = _codes(keyed[PARTITION], located[PARTITION])
        width = int(stored_part.max(initial=0)) + 1
        code = np.where((code < 0) | (part < 0), -1, code * width + part)
        stored_code = stored_code * width + stored_part
    order = np.argsort(stored_code, kind="stable")
    ordered = stored_code[order]
    first = np.searchsorted(ordered, code, side="left")
    count = np.searchsorted(ordered, code, side="right") - first
    rows = np.repeat(np.arange(len(code)), count)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    return rows, order[np.repeat(first, count) + within]


def settled(located: pa.Table, dead: pa.Table) -> Indices:
    """Leave out places in which a key is deleted, but the first one of a key that is alive nowhere in its partition.

    Shape: LOCATED and LOCATED, each with any other columns -> row numbers of the first, ascending.
    """
    code, _ = _codes(located[KEY], located[KEY])
    part, _ = _codes(located[PARTITION], located[PARTITION])
    code = code * (int(part.max(initial=0)) + 1) + part
    file = _integers(located, FILE_INDEX)
    is_dead = np.zeros(located.num_rows, dtype=np.bool_)
    is_dead[_in_same_file(located, dead)] = True
    is_homeless = is_dead & ~np.isin(code, code[~is_dead])
    homeless = np.flatnonzero(is_homeless)
    homeless = homeless[np.lexsort((file[homeless], code[homeless]))]
    first = homeless[np.append(True, np.diff(code[homeless]) != 0)] if len(homeless) else homeless
    kept: Indices = np.sort(np.concatenate((np.flatnonzero(~is_dead), first)))
    return kept


def _in_same_file(located: pa.Table, dead: pa.Table) -> Indices:
    """Return the rows whose key the other table has in the same file."""
    code, dead_code = _codes(located[KEY], dead[KEY])
    width = max(int(_integers(one, FILE_INDEX).max(initial=0)) for one in (located, dead)) + 1
    places = code * width + _integers(located, FILE_INDEX)
    known = dead_code * width + _integers(dead, FILE_INDEX)
    found: Indices = np.flatnonzero((code >= 0) & np.isin(places, known))
    return found


def _codes(values: pa.ChunkedArray, stored: pa.ChunkedArray) -> tuple[Indices, Indices]:
    known = pc.unique(stored)
    return _numbers(pc.index_in(values, value_set=known)), _numbers(pc.index_in(stored, value_set=known))


def _numbers(codes: pa.ChunkedArray) -> Indices:
    numbers: Indices = pc.fill_null(codes, -1).to_numpy().astype(np.int64)
    return numbers


def _integers(table: pa.Table, name: str) -> Indices:
    numbers: Indices = table[name].to_numpy().astype(np.int64)
    return numbers


def _is_elsewhere(
    keyed: pa.Table, located: pa.Table, rows: Indices, found: Indices
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    code, stored_code = _codes(keyed[PARTITION], located[PARTITION])
    elsewhere: np.ndarray[tuple[int], np.dtype[np.bool_]] = code[rows] != stored_code[found]
    return elsewhere


def _is_lost(
    rows_count: int,
    rows: Indices,
    found: Indices,
    routes: Routes,
    find_losers: FindLosers,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    is_lost = np.zeros(rows_count, dtype=np.bool_)
    if routes.beaten_by is not None and len(rows):
        is_lost[rows[find_losers(routes.beaten_by, rows, found)]] = True
    return is_lost


def _insert_bucket(keyed: pa.Table, routes: Routes) -> Indices:
    """Find the bucket of rows that were not located; -1 where their partition has no slots."""
    place = pc.index_in(keyed[PARTITION], value_set=pa.array(routes.partitions, pa.string()))
    partition = _numbers(place)
    first = np.append(np.array(routes.first_slot, dtype=np.int64), len(routes.bucket_of_slot))[partition]
    count = np.append(np.array(routes.slots_count, dtype=np.int64), 1)[partition]
    buckets = np.append(np.array(routes.bucket_of_slot, dtype=np.int64), -1)
    if routes.key_hash is not None:
        return buckets[first + places_among(routes.key_hash, _one(keyed[KEY]), count)]
    return buckets[first + _slot_numbers(keyed[KEY], partition, np.maximum(count, 1), routes.placing)]


def _slot_numbers(keys: pa.ChunkedArray, partition: Indices, count: Indices, placing: Placing) -> Indices:
    """Choose a slot among the `count` ones that each row's partition has."""
    if placing is Placing.BY_KEY:
        spread = (_hashes(keys).astype(np.uint64) * _SPREAD) >> np.uint64(32)
        return (spread % count.astype(np.uint64)).astype(np.int64)
    if count.max(initial=0) <= 1:
        return np.zeros(len(partition), dtype=np.int64)
    place, rows_count = _places(partition)
    if placing is Placing.IN_ORDER_OF_KEYS:
        code = _key_codes(keys)
        # Codes count keys as they come first, so that the first row of a key has a greater one than all before it.
        first = np.flatnonzero(np.append(True, code[1:] > np.maximum.accumulate(code)[:-1]))
        # It may be in another partition: any place will do that is the same for all rows of the key.
        place = np.minimum(place[first][code], rows_count - 1)
    slots: Indices = place * count // rows_count
    return slots


def _hashes(keys: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Hash keys some at a time: a hash needs several times the memory of its text."""
    some = [java_hash(_one(keys.slice(start, _HASHED_ROWS))) for start in range(0, len(keys), _HASHED_ROWS)]
    return np.concatenate(some).astype(np.uint32) if some else np.zeros(0, np.uint32)


def _key_codes(keys: pa.ChunkedArray) -> Indices:
    codes: Indices = _one(keys).dictionary_encode().indices.to_numpy()
    return codes


def _places(partition: Indices) -> tuple[Indices, Indices]:
    """Return which row of its partition each row is, from 0, and how many rows that has."""
    order = np.argsort(partition, kind="stable")
    ordered = partition[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else ordered
    lengths = np.diff(np.append(starts, len(ordered)))
    place, rows_count = np.empty_like(partition), np.empty_like(partition)
    place[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    rows_count[order] = np.repeat(lengths, lengths)
    return place, rows_count


def _one(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    return values


def runs_by_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Cut a stream that is ordered by BUCKET at its changes, holding one bucket's rows at a time."""
    for bucket, run in groupby(bucket_runs(batches), key=lambda one: one[0]):
        yield bucket, pa.Table.from_batches(rows for _, rows in run)


def bucket_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut each batch where the bucket changes; a bucket may go on in the next one."""
    return (run for batch in batches for run in _runs(batch))


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    if not batch.num_rows:
        return
    buckets = batch.column(BUCKET).to_numpy()
    starts = np.flatnonzero(np.append(True, buckets[1:] != buckets[:-1]))
    for start, end in zip(starts, np.append(starts[1:], len(buckets)), strict=True):
        yield int(buckets[start]), batch.slice(int(start), int(end - start))
