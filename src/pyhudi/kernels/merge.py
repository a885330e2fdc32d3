"""Merge new rows into stored ones: precombine, deletes, commit-time and event-time order.

Pure Arrow kernels. Decide on narrow columns, touch wide rows once. Start at `probe` (or `fold.fold`, for the blocks of
a log), then `merge_batch`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import SchemaMismatch

__all__ = [
    "DELETE_COLUMNS",
    "Deletes",
    "Indices",
    "MergeSpec",
    "Merged",
    "Probe",
    "decisive_columns",
    "deleted_rows",
    "key_codes",
    "merge_batch",
    "newer_rows",
    "newest_rows",
    "probe",
    "replace_rows",
]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
Indices = np.ndarray[tuple[int], np.dtype[np.int64]]

_RECORD_KEY = "_hoodie_record_key"
_IS_DELETED = "_hoodie_is_deleted"
_OPERATION = "_hoodie_operation"
DELETE_COLUMNS = (_IS_DELETED, _OPERATION)
"""Columns by which a row itself says that it is a delete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """How two rows of one key become one.   Spec: format/files 6."""

    ordering: tuple[str, ...] = ()
    is_event_time: bool = False
    """The greater ordering value wins against the stored row; else the later commit does."""
    delete_field: str = ""
    delete_marker: str = ""
    """A row whose `delete_field` equals this is a delete; both or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The updates of one file group, one row a key, ready to meet base-file batches."""

    keys: pa.Array
    rows: pa.Table
    """The updates in the layout of the base file."""
    is_delete: Bools
    is_unordered_delete: Bools
    """Deletes without an ordering value: they win whatever is stored."""
    ordering: tuple[pa.Array, ...]
    """Empty for commit-time order."""
    positions: Indices | None = None
    """The row of the base file that each update meets; None where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One base-file batch after the merge."""

    batch: pa.RecordBatch
    hits: Indices
    """Rows of the probe that this batch's keys met, winners and losers."""
    updated_count: int
    deleted_count: int


def deleted_rows(rows: pa.Table, spec: MergeSpec) -> Bools:
    """Return which rows are deletes by their own columns.   Spec: format/files 6.4."""
    deleted = np.zeros(rows.num_rows, dtype=np.bool_)
    if _IS_DELETED in rows.column_names:
        deleted |= _bools(pc.equal(rows[_IS_DELETED], pa.scalar(value=True)))
    if _OPERATION in rows.column_names:
        deleted |= _bools(pc.is_in(rows[_OPERATION], value_set=pa.array(["D", "-U"])))
    if spec.delete_field and spec.delete_field in rows.column_names:
        deleted |= _bools(pc.equal(pc.cast(rows[spec.delete_field], pa.string()), spec.delete_marker))
    return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletes:
    """Which of n rows are deletes, and of what kind."""

    flags: Bools
    unordered: Bools | None = None
    """Deletes that have no ordering value, whatever their row says; beside those whose row has none."""
    by_key: Bools | None = None
    """Deletes that are a key only, as delete blocks have them."""


def newer_rows(keys: pa.ChunkedArray, ordering: Sequence[pa.ChunkedArray], deletes: Bools) -> Indices | None:
    """Precombine: choose one row a key; None when every key is there once.

    The greatest ordering value wins and a tie goes to the later row. A delete without ordering value beats every
    earlier row of its key and loses to every later one.

    Shape:  n keys, ordering columns and flags in input order -> indices into them, ascending.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text.
    Cost:   one hash of n keys; sorts only the rows of keys that are there more than once.
    Spec:   format/files 6.2, 6.3.
    """
    return newest_rows(key_codes(keys), ordering, Deletes(flags=deletes))


def newest_rows(codes: Indices, ordering: Sequence[pa.ChunkedArray], deletes: Deletes) -> Indices | None:
    """Choose one row a key, as `newer_rows`, where keys are numbered.

    A delete by key is passed over where the newest before it is a delete without ordering value.

    Shape:  n numbers below n or so, the same for the same key; ordering columns -> indices into them, ascending.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text.
    Cost:   sorts only the rows of keys that are there more than once.
    Spec:   format/files 6.2, 6.3.
    """
    counts = np.bincount(codes)
    if not len(counts) or counts.max() == 1:
        return None
    repeated = counts[codes] > 1
    rows = np.flatnonzero(repeated)
    if deletes.flags.any() and len(ordering):
        unordered = _defaults(ordering) & deletes.flags
        if deletes.unordered is not None:
            unordered |= deletes.unordered
        rows = _after_last_unordered_delete(rows, codes, unordered, deletes.by_key)
    ranks = [_ranks(column.take(pa.array(rows))) for column in reversed([_filled(column) for column in ordering])]
    order = np.lexsort((rows, *ranks, codes[rows]))
    sorted_codes = codes[rows][order]
    last = np.append(sorted_codes[1:] != sorted_codes[:-1], True)
    kept = ~repeated
    kept[rows[order[last]]] = True
    return np.flatnonzero(kept)


def decisive_columns(rows: pa.Table, spec: MergeSpec) -> tuple[pa.ChunkedArray, ...]:
    """Return the columns whose values decide which row is newer.

    Shape: n rows -> a column of n values for each ordering field; none in commit-time order.
    """
    return tuple(_column(rows, name) for name in spec.ordering) if spec.is_event_time else ()


def probe(
    rows: pa.Table, keys: pa.ChunkedArray, deletes: Bools, spec: MergeSpec, *, unordered: Bools | None = None
) -> Probe:
    """Prepare precombined updates for `merge_batch`.

    `unordered` marks deletes that win without looking at ordering values (a delete by key).

    Shape: rows, their keys and delete flags, one a key.
    """
    ordering = decisive_columns(rows, spec)
    without_value = deletes & _defaults(ordering) if ordering else deletes
    return Probe(
        keys=_one_array(keys),
        rows=rows,
        is_delete=deletes,
        is_unordered_delete=without_value if unordered is None else without_value | unordered,
        ordering=tuple(_one_array(_filled(column)) for column in ordering),
    )


def merge_batch(
    batch: pa.RecordBatch,
    keys: pa.Array | None,
    updates: Probe,
    spec: MergeSpec,
    *,
    positions: Indices | None = None,
) -> Merged:
    """Replace the rows of one base-file batch whose key has a newer row among the updates.

    Order is kept, so row groups stay clustered. Rows that the probe deletes are dropped. Rows of the probe that no
    batch hits are its inserts: the caller collects `hits`. Where the updates know positions and the caller says which
    rows of the file these are, rows meet by number, and keys are not looked at.

    Shape:  batch (n rows), its n record keys, its n row numbers, ascending -> at most n rows, same schema.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text; a tie goes to the update.
    Cost:   one hash look-up of n keys, one mask per column that changes.
    Raises: SchemaMismatch if batch and updates differ.
    Spec:   Reader Expectations 5.1; format/files 6.3.
    """
    if batch.schema.names != updates.rows.schema.names:
        raise SchemaMismatch("base file and updates differ", base=batch.schema.names, updates=updates.rows.schema.names)
    if positions is not None and updates.positions is not None:
        rows, hits = _meet_by_position(positions, updates.positions)
    else:
        rows, hits = _meet_by_key(keys, updates.keys)
    if not len(hits):
        return Merged(batch=batch, hits=hits, updated_count=0, deleted_count=0)
    wins = _wins(batch, rows, hits, updates, spec)
    deletes = wins & updates.is_delete[hits]
    replaces = wins & ~deletes
    merged = _replace(batch, rows[replaces], hits[replaces], updates.rows)
    if deletes.any():
        kept = np.ones(batch.num_rows, dtype=np.bool_)
        kept[rows[deletes]] = False
        merged = merged.filter(pa.array(kept))
    return Merged(batch=merged, hits=hits, updated_count=int(replaces.sum()), deleted_count=int(deletes.sum()))


def replace_rows(batch: pa.RecordBatch, where: pa.BooleanArray, fresh: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Put new values into some columns of the rows for which `where` is true.

    Shape: `fresh` has a value for each such row, in order.
    """
    places = _Places.of(batch.num_rows, np.flatnonzero(_bools(where)))
    columns = [
        _replace_column(stored, places, fresh[name]) if name in fresh else stored
        for name, stored in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _meet_by_key(keys: pa.Array | None, updates: pa.Array) -> tuple[Indices, Indices]:
    """Return the rows that meet an update, and the updates they meet."""
    assert keys is not None, "without positions rows meet by key"
    found = pc.index_in(keys, value_set=updates)
    rows = np.flatnonzero(_bools(found.is_valid()))
    return rows, found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)


def _meet_by_position(rows: Indices, updates: Indices) -> tuple[Indices, Indices]:
    """Return the same by row numbers."""
    if not len(rows):
        return rows, rows
    places = np.searchsorted(rows, updates)
    places[places == len(rows)] = 0
    hits = np.flatnonzero(rows[places] == updates)
    hits = hits[np.argsort(places[hits])]
    return places[hits], hits


def _wins(batch: pa.RecordBatch, rows: Indices, hits: Indices, updates: Probe, spec: MergeSpec) -> Bools:
    """Return which hits beat the stored row: narrow columns only."""
    if not updates.ordering:
        return np.ones(len(hits), dtype=np.bool_)
    taken = pa.array(rows)
    wins = np.ones(len(hits), dtype=np.bool_)
    undecided = np.ones(len(hits), dtype=np.bool_)
    for name, new in zip(spec.ordering, updates.ordering, strict=True):
        stored = _filled(_plain(batch.column(name)).take(taken))
        fresh = new.take(pa.array(hits))
        smaller = _bools(pc.less(fresh, stored)) & undecided
        wins[smaller] = False
        undecided &= _bools(pc.equal(fresh, stored))
    return wins | updates.is_unordered_delete[hits]


def _replace(batch: pa.RecordBatch, rows: Indices, hits: Indices, updates: pa.Table) -> pa.RecordBatch:
    """Put row `hits[i]` of the updates in place of row `rows[i]` of the batch."""
    if not len(rows):
        return batch
    places, taken = _Places.of(batch.num_rows, rows), pa.array(hits)
    columns = [
        # rows that met have one key
        stored if name == _RECORD_KEY else _replace_column(stored, places, _one_array(updates[name].take(taken)))
        for name, stored in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


class _Places(NamedTuple):
    """Which rows of a batch are replaced, in the two forms that columns need."""

    mask: pa.BooleanArray
    order: pa.Array
    """Numbers the rows of a batch that is followed by new rows, each new one in the place of the one it replaces."""

    @staticmethod
    def of(count: int, rows: Indices) -> "_Places":
        mask, order = np.zeros(count, dtype=np.bool_), np.arange(count, dtype=np.int64)
        mask[rows] = True
        order[rows] = count + np.arange(len(rows))
        return _Places(pa.array(mask), pa.array(order))


def _replace_column(stored: pa.Array, places: _Places, fresh: pa.Array) -> pa.Array:
    """Replace numbers by mask; of text, taking from both is three times as fast."""
    if pa.types.is_dictionary(stored.type):
        return _replace_dictionary(stored, places, fresh)
    if pa.types.is_primitive(stored.type):
        return pc.replace_with_mask(stored, places.mask, fresh)
    return _one_array(pa.chunked_array([stored, fresh], stored.type).take(places.order))


def _replace_dictionary(stored: pa.DictionaryArray, places: _Places, fresh: pa.Array) -> pa.DictionaryArray:
    """Replace by index, after both sides share one dictionary."""
    coded = fresh if pa.types.is_dictionary(fresh.type) else fresh.dictionary_encode()
    coded = coded.cast(stored.type)
    left, right = pa.chunked_array([stored, coded]).unify_dictionaries().chunks
    if len(left.dictionary) == 1 and not left.null_count + right.null_count:
        return left
    indices = pc.replace_with_mask(left.indices, places.mask, right.indices)
    return pa.DictionaryArray.from_arrays(indices, left.dictionary)


def _after_last_unordered_delete(rows: Indices, codes: Indices, unordered: Bools, by_key: Bools | None) -> Indices:
    """Drop rows that a later delete without ordering value beats, and such deletes where a later row follows.

    Deletes by key that follow such a delete directly are dropped too.
    """
    if not unordered[rows].any():
        return rows
    last_delete = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(last_delete, codes[rows[unordered[rows]]], rows[unordered[rows]])
    follows = rows[rows > last_delete[codes[rows]]]
    if by_key is not None and by_key.any():
        wakes = follows[~by_key[follows]]
        first = np.full_like(last_delete, len(codes))
        np.minimum.at(first, codes[wakes], wakes)
        first[last_delete < 0] = -1
        follows = follows[follows >= first[codes[follows]]]
    is_final = last_delete >= 0
    is_final[codes[follows]] = False
    finals = rows[is_final[codes[rows]] & (rows == last_delete[codes[rows]])]
    return np.sort(np.concatenate([follows, finals]))


def _defaults(ordering: Sequence[pa.ChunkedArray]) -> Bools:
    """Return which rows have no ordering value: all null, or, as in Java, the 32-bit integer 0."""
    flags = [
        _bools(pc.is_null(column)) | (_bools(pc.equal(column, 0)) if pa.types.is_int32(column.type) else False)
        for column in ordering
    ]
    every: Bools = np.logical_and.reduce(flags)
    return every


def _filled(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Put the smallest natural value in place of null, as Hudi's default ordering value is 0."""
    if column.null_count == 0:
        return column
    return pc.fill_null(column, _smallest(column.type))


def _smallest(kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_boolean(kind):
        return pa.scalar(value=False)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return pa.scalar("").cast(kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(0), kind)
    return pa.array(np.zeros(1, dtype=f"i{kind.bit_width // 8}")).view(kind)[0]


def _ranks(column: pa.ChunkedArray) -> Indices:
    """Rank values densely, so that numpy can sort any Arrow type."""
    ranks: Indices = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks


def key_codes(keys: pa.ChunkedArray) -> Indices:
    """Number keys, the same ones by the same number.

    Shape: n keys -> n numbers, from 0 on without a gap.
    """
    encoded = _one_array(keys.dictionary_encode())
    codes: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _column(rows: pa.Table, name: str) -> pa.ChunkedArray:
    column = rows.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _bools(flags: pa.Array | pa.ChunkedArray) -> Bools:
    plain: Bools = pc.fill_null(flags, fill_value=False).to_numpy(zero_copy_only=False)
    return plain
