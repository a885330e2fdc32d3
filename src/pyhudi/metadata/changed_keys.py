"""Which keys an action brought to a file group, and which it took away: by the rows that readers see before and after.

Runs in tasks, one file group each. Counts of the action say what need not be looked at. Start at `changed_keys`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileGroupId, FileSlice, LogFile
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import batches_with_keys, last_keys, may_delete, rows_with_keys, stored_rows
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import InstantTime

__all__ = ["SliceChange", "changed_keys", "keys_of_slice"]

_ONLY_KEYS = pa.schema([])


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceChange:
    """One file group before and after an action, as readers see its rows."""

    before: FileSlice | None
    """None: it is new."""
    after: FileSlice | None
    """None: it is replaced, and its rows are gone or lie elsewhere."""
    instant: InstantTime
    """Of the action that wrote what is new."""
    inserts_count: int
    """Rows of new keys, at least where it is 0. Units: rows."""
    deletes_count: int
    """Rows that went, at least where it is 0. Units: rows."""

    @property
    def group(self) -> FileGroupId:
        """Return the file group."""
        one = self.after or self.before
        assert one is not None, "a change is of a file group"
        return one.group


def changed_keys(change: SliceChange, *, storage: Storage, reads: SliceSpec) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Yield, in parts, the keys that have a row now and had none, and those that had one and have none.

    Where rows are written to a base file, keys that had a row may be among the first. Of a file group that is new or
    replaced the keys come batch by batch: it is never in memory whole, but for its logs.

    Shape: keys, keys; a key twice where the slice has it twice.
    Cost:  nothing where the action counts neither; of a base file from which no row goes the keys of its new rows, else
           the key columns of both slices; of a log that is put on a slice its keys, and those of the slice around them.
    """
    before, after = change.before, change.after
    if before is not None and after is not None:
        yield _difference_of(change, before, after, storage, reads)
    elif after is not None:
        yield from ((keys, _no_keys()) for keys in _batches_of_keys(after, storage, reads))
    elif before is not None:
        yield from ((_no_keys(), keys) for keys in _batches_of_keys(before, storage, reads))


def keys_of_slice(one: FileSlice, *, storage: Storage, reads: SliceSpec) -> pa.Array:
    """Return the distinct keys that a slice has rows of."""
    return pc.unique(rows_with_keys(one, storage=storage, spec=reads, stored=_ONLY_KEYS).column(0))


def _difference_of(
    change: SliceChange, before: FileSlice, after: FileSlice, storage: Storage, reads: SliceSpec
) -> tuple[pa.Array, pa.Array]:
    """Compare two slices of a file group as far as the action's counts ask for it."""
    logs = tuple(log for log in after.logs if log not in before.logs)
    if after.base == before.base:
        return _by_logs(change, logs, storage, reads)
    if before.logs or after.logs:
        return _difference(keys_of_slice(before, storage=storage, reads=reads), after, storage, reads)
    if not change.inserts_count and not change.deletes_count:
        return _no_keys(), _no_keys()
    if change.deletes_count:
        return _difference(keys_of_slice(before, storage=storage, reads=reads), after, storage, reads)
    assert after.base is not None, "a base file follows another"
    # What merges rows into a base file without logs puts the new ones last: `filegroup.writer`.
    fresh = last_keys(after.base, change.inserts_count, storage=storage, spec=reads)
    return pc.unique(fresh), _no_keys()


def _batches_of_keys(one: FileSlice, storage: Storage, reads: SliceSpec) -> Iterator[pa.Array]:
    return (rows.column(0) for rows in batches_with_keys(one, storage=storage, spec=reads, stored=_ONLY_KEYS))


def _difference(had: pa.Array, after: FileSlice, storage: Storage, reads: SliceSpec) -> tuple[pa.Array, pa.Array]:
    has = keys_of_slice(after, storage=storage, reads=reads)
    return _without(has, had), _without(had, has)


def _without(keys: pa.Array, others: pa.Array) -> pa.Array:
    return keys.filter(pc.invert(pc.is_in(keys, value_set=others)))


def _by_logs(
    change: SliceChange, logs: tuple[LogFile, ...], storage: Storage, reads: SliceSpec
) -> tuple[pa.Array, pa.Array]:
    """Find what the rows and deletes of new logs make of their keys: a delete may lose, and so may a row."""
    before, after = change.before, change.after
    assert before is not None, "logs lie on a slice"
    assert after is not None, "logs lie on a slice"
    if not logs:
        return _no_keys(), _no_keys()
    ours = replace(after, base=None, logs=logs)
    brings_only_rows = not change.deletes_count and not may_delete(ours, storage=storage, spec=reads)
    if brings_only_rows and not change.inserts_count and not may_delete(before, storage=storage, spec=reads):
        return _no_keys(), _no_keys()
    keys = _keys_of_logs(ours, storage, reads)
    had, has = (
        pc.unique(stored_rows(one, keys=keys, storage=storage, spec=reads, stored=_ONLY_KEYS).column(0))
        for one in (before, after)
    )
    return _without(has, had), _without(had, has)


def _keys_of_logs(ours: FileSlice, storage: Storage, reads: SliceSpec) -> pa.Array:
    wanted = ReadSpec.of_keys(reads.layout)
    blocks = blocks_to_merge(storage, ours.logs, reads.counts, reads.instants)
    found = [chunk for block in blocks for chunk in read_changes(block, wanted).keys.chunks]
    return pc.unique(pa.chunked_array(found, pa.string()))


def _no_keys() -> pa.Array:
    """Return no key; made when it is asked for, because to make an array loads pandas."""
    return pa.array([], pa.string())
