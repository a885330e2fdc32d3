"""Look keys up in file slices: from this process where they are few, else by a join of the engine.

No files are opened here but in tasks, by `index.stored_keys`. Start at `locate`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BASE_ROW, KEY, PARTITION, Engine, Frame, KeyedRows, ScanFile
from pyhudi.engine.frames import LocalFrame
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.index.merged_keys import MergedSlices, find_in_slice, slice_keys
from pyhudi.index.stored_keys import Lookup, find_in_file, located_schema, stored_keys, stored_schema
from pyhudi.kernels.keys import KeySpec
from pyhudi.storage.api import Storage

__all__ = ["Located", "WantedKeys", "find_in_merged", "find_wanted", "locate"]

_NO_KEYS = pa.nulls(0, pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Which file holds which key."""

    frame: Frame
    """Rows (KEY, PARTITION of the file, FILE_INDEX, and each column that was asked for, of the stored row, named
    STORED + name); a key that no file holds has no row, a key that several files hold has several."""
    rows: KeyedRows
    """The rows that were looked up, with their keys where the look-up brought them here."""


def locate(
    engine: Engine,
    storage: Storage,
    rows: KeyedRows,
    files: Sequence[ScanFile],
    spec: KeySpec,
    *,
    by_partition: bool,
    columns: Sequence[str] = (),
    merged: MergedSlices | None = None,
    numbers_rows: bool = False,
) -> Located:
    """Find which base file holds which key of the rows, or which of the slices that are `merged` with their logs.

    With `by_partition` a file answers only for keys of its own partition; without, for all (global indexes). FILE_INDEX
    counts the files, then the merged slices.

    With `numbers_rows` there is BASE_ROW, too, where the look-up is from this process; of a merged slice it is null.

    Cost: one pass over the key columns of the files that can hold a key. Few keys travel to every task, and what was
          found stays here.
    """
    given = engine.schema(rows.frame)
    stored = stored_schema(storage, files, given, columns)
    merged = merged if merged is not None and merged.slices else None
    if merged is not None:
        known = merged.spec.layout.file_schema
        stored = pa.schema([known.field(name) if name in known.names else stored.field(name) for name in columns])
    if not files and merged is None:
        return Located(frame=LocalFrame.of(located_schema(stored).empty_table()), rows=rows)
    rows = engine.fetch_keys(rows, [name for name in stored.names if name in given.names])
    if rows.keys is not None:
        keys = WantedKeys.of(rows.keys, by_partition=by_partition)
        find = partial(find_wanted, keys=keys, storage=storage, spec=spec, stored=stored, numbers_rows=numbers_rows)
        found = engine.run(find, [(place, file) for place, file in enumerate(files) if len(keys.in_file(file))])
        if merged is not None:
            look = partial(find_in_merged, keys=keys, storage=storage, spec=merged.spec, stored=stored)
            found += engine.run(look, list(enumerate(merged.slices, len(files))))
        schema = located_schema(stored)
        schema = schema.append(pa.field(BASE_ROW, pa.int64())) if numbers_rows else schema
        frame = LocalFrame.of(pa.concat_tables([schema.empty_table(), *found], promote_options="default"))
        return Located(frame=frame, rows=rows)
    read = partial(stored_keys, storage=storage, spec=spec, stored=stored)
    if merged is None:
        everything = engine.scan_keys(files, spec, stored, read)
    else:
        merge = partial(slice_keys, storage=storage, spec=merged.spec, stored=stored)
        either = partial(_keys_of, read=read, merge=merge)
        everything = engine.rows(either, list(enumerate([*files, *merged.slices])), located_schema(stored))
    return Located(frame=engine.match_keys(everything, rows, by_partition=by_partition), rows=rows)


def _keys_of(
    numbered: tuple[int, ScanFile | FileSlice],
    *,
    read: Callable[[tuple[int, ScanFile]], Iterator[pa.RecordBatch]],
    merge: Callable[[tuple[int, FileSlice]], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    index, place = numbered
    return read((index, place)) if isinstance(place, ScanFile) else merge((index, place))


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedKeys:
    """The distinct keys of a frame; a file is asked for those of its partition, or for all."""

    everywhere: pa.Array | None = None
    by_partition: Mapping[str, pa.Array]

    @staticmethod
    def of(keyed: pa.Table, *, by_partition: bool) -> "WantedKeys":
        """Gather the keys of rows.   Shape: KEY and PARTITION, any other column."""
        if by_partition:
            return WantedKeys(by_partition=_keys_by_partition(keyed))
        return WantedKeys(by_partition={}, everywhere=pc.unique(keyed[KEY]))

    def in_file(self, file: ScanFile) -> pa.Array:
        """Return the keys that a file may hold."""
        return self.in_partition(file.partition)

    def in_partition(self, partition: str) -> pa.Array:
        """Return the keys that a file of a partition may hold."""
        return self.by_partition.get(partition, _NO_KEYS) if self.everywhere is None else self.everywhere


def find_wanted(
    numbered: tuple[int, ScanFile],
    *,
    keys: WantedKeys,
    storage: Storage,
    spec: KeySpec,
    stored: pa.Schema,
    numbers_rows: bool = False,
) -> pa.Table:
    """Look into one file, given its place in the list.   Shape, Cost, Raises: as `find_in_file`."""
    index, file = numbered
    lookup = Lookup(index=index, file=file, keys=keys.in_file(file), numbers_rows=numbers_rows)
    return find_in_file(lookup, storage=storage, spec=spec, stored=stored)


def find_in_merged(
    numbered: tuple[int, FileSlice], *, keys: WantedKeys, storage: Storage, spec: SliceSpec, stored: pa.Schema
) -> pa.Table:
    """Look into one slice merged with its logs, given its place in the list.   Shape, Cost: as `find_in_slice`."""
    wanted = keys.in_partition(numbered[1].group.partition)
    if not len(wanted):
        return located_schema(stored).empty_table()
    return find_in_slice(numbered, keys=wanted, storage=storage, spec=spec, stored=stored)


def _keys_by_partition(keyed: pa.Table) -> dict[str, pa.Array]:
    """Split the distinct keys by partition: sort once, then slice."""
    encoded = keyed[PARTITION].combine_chunks().dictionary_encode()
    partitions = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
    if len(partitions) <= 1:
        return {partition: pc.unique(keyed[KEY]) for partition in partitions}
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    keys = keyed[KEY].take(pa.array(order))
    starts = np.searchsorted(codes[order], np.arange(len(partitions) + 1))
    return {
        partition: pc.unique(keys.slice(start, end - start))
        for partition, start, end in zip(partitions, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }
