"""Fold the changes of a file group's log blocks into one row a key, ready to meet its base file.

Pure Arrow kernels. Start at `fold`; `merge.merge_batch` takes what it makes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import Burials, Probe, probe
from pyhudi.kernels.mergers import KeyedChanges, merge_in_order
from pyhudi.kernels.precombine import key_codes, order_ranks
from pyhudi.kernels.rules import (
    META_COLUMNS,
    Bools,
    Fill,
    Indices,
    LogRule,
    Merger,
    MergeSpec,
    deleted_rows,
    empty_cells,
    ordering_values,
    without_value,
)

__all__ = ["fold"]


def fold(parts: Sequence[RowChanges], spec: MergeSpec) -> Probe:
    """Fold changes into one row a key.

    In commit-time order the last change of a key counts, in event-time order the one with the greatest ordering value
    and of equal ones the last. A delete without ordering value beats every earlier change and loses to every later row;
    of the base file it beats any row. What a delete deletes stays so where a row follows it, of the base file too,
    which in Apache Hudi the row meets by its own ordering value; and a delete that deletes a row of the log deletes
    what that row would have replaced. Cells that a newer change does not set are those of
    the older one, or stay unset for the base file to fill.

    Shape:  at least one part, oldest first, with the same columns in `rows` -> rows in the order of the input.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text.
    Cost:   one hash of all keys, none where positions are known; one gather of the rows, none where no key is there
            twice. A round of narrow work for each time that a key is there.
    Raises: SchemaMismatch if the columns of the parts differ.
    Spec:   format/files 6.2-6.6.
    """
    rows = _concatenated(parts)
    keys = pa.chunked_array([chunk for part in parts for chunk in part.keys.chunks], pa.string())
    changes = _Changes.of(parts, rows, spec)
    if spec.merger is not None:
        return _folded_by(spec.merger, rows, keys, changes.is_delete)
    cells = _unset_cells(parts, rows, spec)
    unordered = changes.by_key if spec.log_rule is LogRule.PRECOMBINED else changes.is_unordered
    bury_all = unordered | changes.is_unordered
    folded = _folded(_codes(keys, changes.positions), changes, cells, spec, bury_all)
    if folded is None:
        found = probe(rows, keys, changes.is_delete, spec, unordered=unordered)
        return replace(found, positions=changes.positions, unset=cells)
    kept = folded.rows
    narrow = rows.select(spec.ordering).take(kept) if spec.orders_stored else rows.select([])
    wins = unordered[kept] | folded.covers
    found = probe(narrow, keys.take(pa.array(kept)), changes.is_delete[kept], spec, unordered=wins)
    unset = {name: flags[folded.sources.get(name, kept)] for name, flags in cells.items()}
    return replace(
        found,
        rows=folded.take(rows),
        unset={name: flags for name, flags in unset.items() if flags.any()},
        positions=None if changes.positions is None else changes.positions[kept],
        buried=_buried(rows, folded.graves, bury_all, spec),
    )


def _buried(rows: pa.Table, graves: Indices, bury_all: Bools, spec: MergeSpec) -> Burials | None:
    updates = np.flatnonzero(graves >= 0)
    if not len(updates):
        return None
    deletes = graves[updates]
    narrow = rows.select([name for name in spec.ordering if name in rows.column_names]).take(pa.array(deletes))
    return Burials.of(updates, narrow, bury_all[deletes], spec)


def _folded_by(merger: Merger, rows: pa.Table, keys: pa.ChunkedArray, is_delete: Bools) -> Probe:
    """Fold as a function of the user's says; what a stored row will meet is every change, in order."""
    every = KeyedChanges(codes=key_codes(keys), rows=rows, is_delete=is_delete)
    heads = np.unique(every.codes, return_index=True)[1]
    later = np.ones(len(every.codes), dtype=np.bool_)
    later[heads] = False
    rest = KeyedChanges(codes=every.codes[later], rows=rows.filter(pa.array(later)), is_delete=is_delete[later])
    first = pa.array(heads)
    state, is_gone, follows_delete = merge_in_order(rows.take(first), is_delete[heads], rest, merger)
    rules = MergeSpec(merger=merger)
    found = probe(state, keys.take(first), is_gone, rules)
    if not follows_delete.any():
        return replace(found, changes=every)
    updates = np.flatnonzero(follows_delete)
    deletes = state.take(pa.nulls(len(updates), pa.int64()))  # without ordering value
    always = np.ones(len(updates), dtype=np.bool_)
    return replace(found, changes=every, buried=Burials.of(updates, deletes, always, rules))


def _codes(keys: pa.ChunkedArray, positions: Indices | None) -> Indices:
    """Number the keys, which positions do, too, where they are known."""
    if positions is None:
        return key_codes(keys)
    if (np.diff(positions) > 0).all():
        return np.arange(len(positions))
    codes: Indices = np.unique(positions, return_inverse=True)[1]
    return codes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """What decides between n changes, one after the other."""

    is_delete: Bools
    is_unordered: Bools
    """Deletes without ordering value."""
    by_key: Bools
    """Deletes that have no row."""
    ordering: tuple[pa.ChunkedArray, ...]
    positions: Indices | None
    """The base-file row of every change; None unless all are known."""

    @staticmethod
    def of(parts: Sequence[RowChanges], rows: pa.Table, spec: MergeSpec) -> "_Changes":
        by_part = np.concatenate([part.is_delete for part in parts])
        by_key = by_part & np.repeat([part.is_by_key for part in parts], [part.rows.num_rows for part in parts])
        is_delete = by_part | deleted_rows(rows, spec)
        compared = replace(spec, is_binlog=False) if spec.precombines_as_text else spec
        ordering = ordering_values(rows, compared) if spec.orders_log else ()
        unordered = is_delete & without_value(ordering, rows.num_rows)
        unordered |= np.concatenate([part.is_unordered for part in parts])
        known = [part.positions for part in parts if part.positions is not None]
        positions = np.concatenate(known) if len(known) == len(parts) else None
        if positions is not None and len(positions) and positions.min() < 0:
            positions = None
        return _Changes(
            is_delete=is_delete, is_unordered=unordered, by_key=by_key, ordering=ordering, positions=positions
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folded:
    """Which changes are left, one a key, ascending, and where the cells of some columns come from instead."""

    rows: Indices
    sources: Mapping[str, Indices]
    graves: Indices
    """The delete that each of them follows, the one that deletes most; less than 0 where there is none."""
    covers: Bools
    """Deletes that took the place of a row which beats whatever is stored."""

    def take(self, rows: pa.Table) -> pa.Table:
        """Gather each column once."""
        whole = pa.array(self.rows)
        columns = [
            rows.column(name).take(pa.array(self.sources[name]) if name in self.sources else whole)
            for name in rows.column_names
        ]
        return pa.Table.from_arrays(columns, schema=rows.schema)


def _folded(
    codes: Indices, changes: _Changes, cells: Mapping[str, Bools], spec: MergeSpec, bury_all: Bools
) -> _Folded | None:
    """Let the changes of each key meet one after the other, all keys at once; None where each key is there once."""
    counts = np.bincount(codes)
    if not len(counts) or counts.max() == 1:
        return None
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(counts) - counts
    ranks = np.zeros(len(codes), dtype=np.int64)
    if changes.ordering:
        repeated = np.flatnonzero(counts[codes] > 1)
        ranks[repeated] = order_ranks(changes.ordering, repeated)
    heads = order[starts].copy()
    sources = {name: heads.copy() for name in cells} if spec.fills_log else {}
    marks, graves = heads.copy(), np.full(len(heads), -1, dtype=np.int64)
    covers, has_winners = np.zeros(len(heads), dtype=np.bool_), spec.orders_stored and not spec.is_event_time
    for number in range(1, int(counts.max())):
        met = np.flatnonzero(counts > number)
        new, old = order[starts[met] + number], heads[met]
        takes = _takes(new, old, changes, ranks, spec)
        both_rows = ~(changes.is_delete[new] | changes.is_delete[old])
        for name, source in sources.items():
            empty, current = cells[name], source[met]
            takes_cell = np.where(both_rows, np.where(takes, ~empty[new], empty[current]), takes)
            source[met] = np.where(takes_cell, new, current)
        buries = takes & changes.is_delete[old] & ~((graves[met] >= 0) & bury_all[graves[met]])
        graves[met] = np.where(buries, old, graves[met])
        if has_winners:
            covers[met] = np.where(takes, changes.is_delete[new] & (~changes.is_delete[old] | covers[met]), covers[met])
        heads[met] = np.where(takes, new, old)
        marks[met] = np.where(takes | both_rows, new, marks[met])
    if spec.marks_filled and spec.fills_log:
        sources |= dict.fromkeys(META_COLUMNS, marks)
    ascending = np.argsort(heads)
    return _Folded(
        rows=heads[ascending],
        sources={name: source[ascending] for name, source in sources.items()},
        graves=graves[ascending],
        covers=covers[ascending],
    )


def _takes(new: Indices, old: Indices, changes: _Changes, ranks: Indices, spec: MergeSpec) -> Bools:
    """Return which of two changes of a key is the newer one: true where the later is."""
    is_newer: Bools = ranks[new] >= ranks[old]
    if spec.keeps_ties and not spec.precombines_as_text:
        is_newer &= (ranks[new] > ranks[old]) | changes.is_delete[new] | changes.is_delete[old]
    unordered, by_key = changes.is_unordered, changes.by_key
    if not spec.orders_log:
        return np.ones(len(new), dtype=np.bool_)
    if spec.log_rule is LogRule.PRECOMBINED:
        return np.where(by_key[new], unordered[new], by_key[old]) | is_newer
    takes = is_newer | unordered[new] | unordered[old]
    takes &= ~(by_key[new] & unordered[old])
    if spec.log_rule is LogRule.ORDERED_DELETES and not spec.is_event_time:
        takes |= ~(changes.is_delete[new] | changes.is_delete[old])
    return takes


def _concatenated(parts: Sequence[RowChanges]) -> pa.Table:
    first = parts[0].rows.schema
    for part in parts[1:]:
        if part.rows.schema.names != first.names:
            raise SchemaMismatch("log blocks have different columns", one=first.names, other=part.rows.column_names)
    return pa.concat_tables([part.rows for part in parts])


def _unset_cells(parts: Sequence[RowChanges], rows: pa.Table, spec: MergeSpec) -> dict[str, Bools]:
    """Return the cells that an older row fills; where blocks set some columns only, just the others."""
    if all(part.columns is None for part in parts):
        return empty_cells(rows, spec) if spec.fill is not Fill.NOTHING else {}
    counts = [part.rows.num_rows for part in parts]
    found = {
        name: np.repeat([part.columns is not None and name not in part.columns for part in parts], counts)
        for name in rows.column_names
    }
    return {name: flags for name, flags in found.items() if flags.any()}
