"""Merge new rows into stored ones: deletes, commit-time and event-time order, cells that an older row fills.

Pure Arrow kernels. Decide on narrow columns, touch wide rows once. Start at `probe` (or `fold.fold`, for the blocks of
a log), then `merge_batch`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.key_lookup import KeyLookup
from pyhudi.kernels.mergers import KeyedChanges, merge_in_order
from pyhudi.kernels.ordering import comparable, compare_values
from pyhudi.kernels.precombine import newer_rows
from pyhudi.kernels.rules import (
    DELETE_COLUMNS,
    META_COLUMNS,
    Bools,
    Fill,
    Indices,
    LogRule,
    Merger,
    MergeSpec,
    deleted_rows,
    empty_cells,
    empty_in,
    one_array,
    ordering_values,
    to_bools,
    without_value,
)
from pyhudi.schema.meta_fields import RECORD_KEY

__all__ = [
    "DELETE_COLUMNS",
    "Burials",
    "Kept",
    "MergeSpec",
    "Merged",
    "Probe",
    "beaten_rows",
    "deleted_rows",
    "find_met",
    "keep_unbeaten",
    "merge_batch",
    "newer_rows",
    "probe",
    "replace_rows",
    "winning_updates",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Burials:
    """Deletes of a log that later rows of their keys follow: what they deleted does not come back by these rows.

    A delete without ordering value deletes whatever is stored, any other what has no greater one.
    """

    updates: Indices
    """Which updates of a probe follow a delete, ascending."""
    deletes: pa.Table
    """The ordering columns of these deletes, as the log has them."""
    wins_always: Bools
    ordering: tuple[pa.Array, ...]
    """As they compare; empty where all deletes win always."""

    @staticmethod
    def of(updates: Indices, deletes: pa.Table, wins_always: Bools, spec: MergeSpec) -> "Burials":
        """Prepare deletes to meet stored rows.   Shape: n numbers, n rows with the ordering columns, n flags."""
        ordering = ordering_values(deletes, spec) if spec.orders_stored else ()
        return Burials(
            updates=updates,
            deletes=deletes,
            wins_always=wins_always | (not ordering),
            ordering=tuple(one_array(comparable(column)) for column in ordering),
        )

    def cover(self, hits: Indices, stored: Sequence[pa.Array]) -> Bools:
        """Return which updates meet a stored row that was deleted before them.

        Shape: n numbers of updates, the comparable ordering columns of the n rows they meet -> n flags.
        """
        covered = np.zeros(len(hits), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.updates, hits), len(self.updates) - 1)
        met = np.flatnonzero(self.updates[places] == hits)
        deletes, rows = places[met], pa.array(met)
        deleted = [column.take(pa.array(deletes)) for column in self.ordering]
        smaller, _ = compare_values(deleted, [column.take(rows) for column in stored][: len(deleted)], len(met))
        covered[met] = self.wins_always[deletes] | ~smaller
        return covered


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The updates of one file group, one row a key, ready to meet base-file batches."""

    keys: pa.Array
    rows: pa.Table
    """The updates in the layout of the base file."""
    is_delete: Bools
    wins_always: Bools
    """Updates that win whatever is stored, as deletes without an ordering value do."""
    ordering: tuple[pa.Array, ...]
    """Empty where all updates win."""
    unset: Mapping[str, Bools] = field(default_factory=dict)
    """Cells that the stored row fills: column -> flags, of columns that have such cells."""
    positions: Indices | None = None
    """The row of the base file that each update meets; None where they are not known."""
    lookup: KeyLookup | None = None
    """Finds `keys` sooner than Arrow does; None where it would not."""
    buried: Burials | None = None
    """Deletes that updates follow; None where none does."""
    changes: KeyedChanges | None = None
    """What a merger of the user's makes stored rows meet instead of `rows`; None where none rules."""

    @property
    def needs_stored_rows(self) -> bool:
        """Return whether what is stored has a say in rows that are updated: it may win, or fill cells."""
        return bool(self.ordering or self.unset) or self.changes is not None

    def laid_out(self, rows: pa.Table) -> "Probe":
        """Return updates of `probe` with the same rows in another layout."""
        return replace(self, rows=rows, changes=None if self.changes is None else replace(self.changes, rows=rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One base-file batch after the merge."""

    batch: pa.RecordBatch
    hits: Indices
    """Rows of the probe that this batch's keys met, winners and losers."""
    updated_count: int
    deleted_count: int


def probe(
    rows: pa.Table, keys: pa.ChunkedArray, deletes: Bools, spec: MergeSpec, *, unordered: Bools | None = None
) -> Probe:
    """Prepare precombined updates for `merge_batch`.

    `unordered` marks deletes that win without looking at ordering values (a delete by key).

    Shape: rows, their keys and delete flags, one a key.
    """
    ordering = ordering_values(rows, spec) if spec.orders_stored else ()
    wins = deletes & without_value(ordering, len(deletes))
    if not spec.is_event_time:
        wins |= ~deletes
    known = one_array(keys)
    changes = None if spec.merger is None else KeyedChanges(codes=np.arange(len(known)), rows=rows, is_delete=deletes)
    return Probe(
        keys=known,
        lookup=KeyLookup.of(known),
        changes=changes,
        rows=rows,
        is_delete=deletes,
        wins_always=wins if unordered is None else wins | unordered,
        ordering=tuple(one_array(comparable(column)) for column in ordering),
        unset=empty_cells(rows, spec) if spec.fill is not Fill.NOTHING else {},
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
    rows of the file these are, rows meet by number, and keys are not looked at. Cells that the newer row does not set
    come from the older one, whichever of them is stored.

    Shape:  batch (n rows), its n record keys, its n row numbers, ascending -> at most n rows, same schema.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text; a tie goes to the update.
    Cost:   one hash look-up of n keys, one mask per column that changes.
    Raises: SchemaMismatch if batch and updates differ.
    Spec:   Reader Expectations 5.1; format/files 6.3, 6.5.
    """
    if batch.schema.names != updates.rows.schema.names:
        raise SchemaMismatch("base file and updates differ", base=batch.schema.names, updates=updates.rows.schema.names)
    if positions is not None and updates.positions is not None:
        rows, hits = _meet_by_position(positions, updates.positions)
    else:
        rows, hits = find_met(keys, updates)
    if not len(hits):
        return Merged(batch=batch, hits=hits, updated_count=0, deleted_count=0)
    if spec.merger is not None and updates.changes is not None:
        return _merged_by(spec.merger, batch, rows, hits, updates.changes)
    wins, is_buried = _wins(batch, rows, hits, updates, spec)
    is_delete = updates.is_delete[hits]
    meeting = _Meeting(rows=rows, hits=hits, replaces=wins & ~is_delete, loses=~wins & ~is_delete, is_buried=is_buried)
    cells = _cells(batch, meeting, updates, spec)
    merged = _replace(batch, meeting, updates.rows, cells)
    deletes = wins & is_delete
    if deletes.any():
        kept = np.ones(batch.num_rows, dtype=np.bool_)
        kept[rows[deletes]] = False
        merged = merged.filter(pa.array(kept))
    changed = np.logical_or.reduce([meeting.replaces, *cells.values()])
    return Merged(batch=merged, hits=hits, updated_count=int(changed.sum()), deleted_count=int(deletes.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The rows of one base-file batch that no update takes the place of."""

    batch: pa.RecordBatch
    won: Indices
    """Rows of the probe that beat a row of the batch, once for each."""
    lost: Indices
    """Rows of the probe that a row of the batch beats."""


def keep_unbeaten(
    batch: pa.RecordBatch, keys: pa.Array | None, updates: Probe, spec: MergeSpec, *, positions: Indices | None = None
) -> Kept:
    """Leave out the rows of one base-file batch whose key has a newer row, or a delete, among the updates.

    For readers that take the updates' rows as they are, where `merge_batch` puts each in the place of the older one:
    where a text column is kept, less than half of the cost. Of updates that a stored row fills cells of there are none.

    Shape, Nulls: as `merge_batch`.
    Cost: one hash look-up of n keys, one filter of n rows.
    """
    if positions is not None and updates.positions is not None:
        rows, hits = _meet_by_position(positions, updates.positions)
    else:
        rows, hits = find_met(keys, updates)
    if not len(hits):
        return Kept(batch=batch, won=hits, lost=hits)
    wins, _ = _wins(batch, rows, hits, updates, spec)
    is_kept = np.ones(batch.num_rows, dtype=np.bool_)
    is_kept[rows[wins]] = False
    return Kept(batch=batch.filter(pa.array(is_kept)), won=hits[wins], lost=hits[~wins])


def beaten_rows(rows: pa.Table, stored: pa.Table, spec: MergeSpec) -> Bools:
    """Return which rows have a smaller ordering value than the stored row that they meet, in whatever file that is.

    A delete without ordering value never has.

    Shape: n rows and the n that they meet, both with the ordering columns -> n flags.
    """
    given, met = ordering_values(rows, spec), ordering_values(stored, spec)
    smaller, _ = compare_values([comparable(one) for one in given], [comparable(one) for one in met], rows.num_rows)
    return smaller & ~(deleted_rows(rows, spec) & without_value(given, rows.num_rows))


def replace_rows(batch: pa.RecordBatch, where: pa.BooleanArray, fresh: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Put new values into some columns of the rows for which `where` is true.

    Shape: `fresh` has a value for each such row, in order.
    """
    places = _Places.of(batch.num_rows, np.flatnonzero(to_bools(where)))
    columns = [
        _replace_column(stored, places, fresh[name]) if name in fresh else stored
        for name, stored in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def find_met(keys: pa.Array | None, updates: Probe) -> tuple[Indices, Indices]:
    """Return the rows that meet an update by their keys, and the updates they meet.

    Shape: n keys of rows -> at most n numbers, twice.
    Cost:  one hash look-up of n keys.
    """
    assert keys is not None, "without positions rows meet by key"
    met = None if updates.lookup is None else updates.lookup.find(keys)
    if met is not None:
        return met
    found = pc.index_in(keys, value_set=updates.keys)
    rows = np.flatnonzero(to_bools(found.is_valid()))
    return rows, found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)


def _meet_by_position(rows: Indices, updates: Indices) -> tuple[Indices, Indices]:
    """Return the same by row numbers."""
    if not len(rows):
        return rows, rows
    near = np.flatnonzero((updates >= rows[0]) & (updates <= rows[-1]))
    places = updates[near] - rows[0]
    if rows[-1] - rows[0] >= len(rows):  # numbers are left out
        places = np.searchsorted(rows, updates[near])
        is_met = rows[places] == updates[near]
        near, places = near[is_met], places[is_met]
    if (np.diff(places) < 0).any():
        order = np.argsort(places)
        near, places = near[order], places[order]
    return places, near


def winning_updates(stored: pa.Table, rows: Indices, hits: Indices, updates: Probe, spec: MergeSpec) -> Bools:
    """Return which updates beat the stored rows that they meet.

    Shape: n rows with the ordering columns; numbers of some, and of the update that each meets -> as many flags.
    """
    return _wins(stored, rows, hits, updates, spec)[0]


def _wins(
    batch: pa.RecordBatch | pa.Table, rows: Indices, hits: Indices, updates: Probe, spec: MergeSpec
) -> tuple[Bools, Bools]:
    """Return which hits beat the stored row, and which of them follow a delete of it: narrow columns only."""
    buried = np.zeros(len(hits), dtype=np.bool_)
    if not updates.ordering:
        return np.ones(len(hits), dtype=np.bool_), buried if updates.buried is None else updates.buried.cover(hits, ())
    names = [name for name in spec.ordering if name in batch.schema.names]
    met, fresh = ordering_values(batch.select(names).take(pa.array(rows)), spec), pa.array(hits)
    stored = [one_array(comparable(column)) for column in met]
    if updates.buried is not None:
        buried = updates.buried.cover(hits, stored)
    given = [column.take(fresh) for column in updates.ordering]
    smaller, equal = compare_values(given, stored, len(hits))
    wins = ~smaller
    if spec.keeps_ties:  # a stored row without ordering value never stays
        wins[equal & ~updates.is_delete[hits] & ~without_value(met, len(hits))] = False
    return wins | updates.wins_always[hits] | buried, buried


def _merged_by(merger: Merger, batch: pa.RecordBatch, rows: Indices, hits: Indices, changes: KeyedChanges) -> Merged:
    """Merge as a function of the user's says."""
    stored = pa.Table.from_batches([batch.take(pa.array(rows))])
    none = np.zeros(len(rows), dtype=np.bool_)
    made, is_gone, _ = merge_in_order(stored, none, changes.of_keys(hits), merger)
    meeting = _Meeting(rows=rows, hits=np.arange(len(rows)), replaces=~is_gone, loses=none, is_buried=none)
    merged = _replace(batch, meeting, made, {})
    if is_gone.any():
        kept = np.ones(batch.num_rows, dtype=np.bool_)
        kept[rows[is_gone]] = False
        merged = merged.filter(pa.array(kept))
    deleted = int(is_gone.sum())
    return Merged(batch=merged, hits=hits, updated_count=len(rows) - deleted, deleted_count=deleted)


class _Meeting(NamedTuple):
    """Stored rows and the updates they meet."""

    rows: Indices
    hits: Indices
    replaces: Bools
    """Meetings in which the update takes the row's place."""
    loses: Bools
    """Meetings in which the stored row stays."""
    is_buried: Bools
    """Meetings with a row that was deleted before the update came, and fills no cells of it."""


def _cells(batch: pa.RecordBatch, meeting: _Meeting, updates: Probe, spec: MergeSpec) -> dict[str, Bools]:
    """Return which cells come from the update, of columns in which these are not the cells of the rows it replaces."""
    cells = {
        name: meeting.replaces & (~unset[meeting.hits] | meeting.is_buried) for name, unset in updates.unset.items()
    }
    if spec.fill is Fill.NOTHING or not meeting.loses.any():
        return cells
    filled_rows = np.zeros(len(meeting.rows), dtype=np.bool_)
    for name, stored in zip(batch.schema.names, batch.columns, strict=True):
        empty = empty_in(stored, spec)
        if empty is None:
            continue
        taken = meeting.loses & empty[meeting.rows]
        if name in updates.unset:
            taken &= ~updates.unset[name][meeting.hits]
        if taken.any():
            cells[name] = cells.get(name, meeting.replaces) | taken
            filled_rows |= taken
    if spec.marks_filled:
        marked = meeting.replaces | (filled_rows if spec.log_rule is LogRule.AS_STORED else meeting.loses)
        cells |= {name: marked for name in META_COLUMNS if name in batch.schema.names}
    return cells


def _replace(batch: pa.RecordBatch, meeting: _Meeting, updates: pa.Table, cells: Mapping[str, Bools]) -> pa.RecordBatch:
    """Put the cells of updates in place of the stored ones: of the rows they replace, or those that `cells` names."""

    def places(which: Bools) -> tuple[_Places, pa.Array]:
        return _Places.of(batch.num_rows, meeting.rows[which]), pa.array(meeting.hits[which])

    whole = places(meeting.replaces)
    columns = []
    for name, stored in zip(batch.schema.names, batch.columns, strict=True):
        where, taken = places(cells[name]) if name in cells else whole
        # rows that met have one key
        is_same = name == RECORD_KEY or not len(taken)
        columns.append(stored if is_same else _replace_column(stored, where, one_array(updates[name].take(taken))))
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
    """Replace numbers by mask; of text, taking from both is three times as fast, and often it has not changed."""
    if pa.types.is_dictionary(stored.type):
        return _replace_dictionary(stored, places, fresh)
    if pa.types.is_primitive(stored.type):
        return pc.replace_with_mask(stored, places.mask, fresh)
    if pa.types.is_string(stored.type) and stored.filter(places.mask).equals(fresh):
        return stored
    return one_array(pa.chunked_array([stored, fresh], stored.type).take(places.order))


def _replace_dictionary(stored: pa.DictionaryArray, places: _Places, fresh: pa.Array) -> pa.DictionaryArray:
    """Replace by index, after both sides share one dictionary."""
    coded = fresh if pa.types.is_dictionary(fresh.type) else fresh.dictionary_encode()
    coded = coded.cast(stored.type)
    left, right = pa.chunked_array([stored, coded]).unify_dictionaries().chunks
    if len(left.dictionary) == 1 and not left.null_count + right.null_count:
        return left
    indices = pc.replace_with_mask(left.indices, places.mask, right.indices)
    return pa.DictionaryArray.from_arrays(indices, left.dictionary)
