"""BLOOM and GLOBAL_BLOOM: footers are read first, and keys only of base files that may have one.

A footer says the key range, and a bloom filter what inside it is there. The metadata table may have both, too, so that
no footer is read: `may_hold_told`. Start at `BLOOM`; `prune_file` runs in tasks.

Spec: format/metadata-table 8.9, 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, Engine, KeyedRows, ScanFile
from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import BaseFile, FileSlice
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.index.api import Index, IndexKind, Place
from pyhudi.index.stored_keys import base_scan
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.options import Settings, boolean, option
from pyhudi.storage.api import Storage

__all__ = [
    "BLOOM",
    "BLOOM_KIND",
    "BLOOM_MOVES",
    "GLOBAL_BLOOM",
    "USE_METADATA",
    "by_metadata",
    "may_hold_told",
    "prune_file",
    "told_key_ranges",
]

BLOOM_MOVES: Final = option(
    "hoodie.bloom.index.update.partition.path",
    True,
    "GLOBAL_BLOOM: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
USE_METADATA: Final = option(
    "hoodie.bloom.index.use.metadata",
    False,
    "BLOOM, GLOBAL_BLOOM: bloom filters are those of the metadata table, and key ranges those of its statistics of"
    " columns, where it has them; false: those of the footers.",
    parse=boolean,
)
_PRUNABLE_KEYS: Final = 1_000_000


def _pruned(
    engine: Engine, storage: Storage, rows: KeyedRows, slices: Sequence[FileSlice], by_partition: bool
) -> tuple[KeyedRows, list[FileSlice]]:
    """Leave out base files that surely hold none of the keys; all stay where the keys are too many to be here."""
    rows = engine.fetch_keys(rows)
    if rows.keys is None or rows.keys.num_rows > _PRUNABLE_KEYS:
        return rows, list(slices)
    prune = partial(prune_file, storage=storage, keys=rows.keys.select([KEY, PARTITION]), by_partition=by_partition)
    candidates = engine.run(prune, [base_scan(one.base) for one in slices if one.base is not None])
    return rows, [one for one, is_candidate in zip(slices, candidates, strict=True) if is_candidate]


def prune_file(file: ScanFile, *, storage: Storage, keys: pa.Table, by_partition: bool) -> bool:
    """Return whether a file may hold one of the keys (KEY, PARTITION); a file without key range or filter may.

    Cost: one footer; the filter is asked only for keys inside the range.
    Spec: format/files 4.2, 4.3.
    """
    candidates = keys.column(KEY)
    if by_partition:
        candidates = candidates.filter(pc.equal(keys.column(PARTITION), file.partition))
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
    if footer.rows_count == 0:
        return False
    known = base_file_footer(footer.key_values)
    if known.min_key is not None and known.max_key is not None:
        inside = pc.and_(pc.greater_equal(candidates, known.min_key), pc.less_equal(candidates, known.max_key))
        candidates = candidates.filter(inside)
    with naming_file(file.path):
        bloom = known.bloom() if len(candidates) else None
    if bloom is None:
        return len(candidates) > 0
    return bool(pc.any(might_contain(bloom, candidates)).as_py())


BLOOM: Final = Index(name="BLOOM", place=Place.PARTITION, narrow=_pruned)
GLOBAL_BLOOM: Final = Index(name="GLOBAL_BLOOM", place=Place.TABLE, narrow=_pruned)


def _bloom(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the footers of a row's partition first."""
    return replace(BLOOM, asks_metadata=settings.get(USE_METADATA))


def _global_bloom(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the footers of all partitions first."""
    made = GLOBAL_BLOOM.moving(follows=settings.get(BLOOM_MOVES))
    return replace(made, asks_metadata=settings.get(USE_METADATA))


BLOOM_KIND: Final = IndexKind(types={BLOOM.name: _bloom, GLOBAL_BLOOM.name: _global_bloom})


def by_metadata(index: Index, files: FileIndex) -> Index:
    """Return the index, but one that asks the metadata table first; files of which it cannot tell it asks themselves.

    `files` is that of the reading of the timeline whose slices are looked into.
    """
    return replace(index, narrow=partial(_pruned_as_told, files=files))


def _pruned_as_told(
    engine: Engine,
    storage: Storage,
    rows: KeyedRows,
    slices: Sequence[FileSlice],
    by_partition: bool,
    *,
    files: FileIndex,
) -> tuple[KeyedRows, list[FileSlice]]:
    """Leave out base files by the metadata table; by their footers where that has no filters or cannot be read."""
    rows = engine.fetch_keys(rows)
    if rows.keys is None or rows.keys.num_rows > _PRUNABLE_KEYS:
        return rows, list(slices)
    bases = [one.base for one in slices if one.base is not None]
    told = may_hold_told(files, rows.keys.select([KEY, PARTITION]), bases, by_partition=by_partition)
    if told is None:
        return _pruned(engine, storage, rows, slices, by_partition)
    return rows, [one for one, is_candidate in zip(slices, told, strict=True) if is_candidate]


def may_hold_told(
    files: FileIndex, keys: pa.Table, bases: Sequence[BaseFile], *, by_partition: bool
) -> list[bool] | None:
    """Return which base files may hold one of the keys (KEY, PARTITION), by the metadata table; None without filters.

    A file of which it has no filter may.

    Cost: the entries of the filters of files whose key range lets one of the keys be there.
    """
    if MetadataPartition.BLOOM_FILTERS not in files.state.config.metadata_partitions:
        return None
    ranges = told_key_ranges(files, bases)
    wanted = _KeysByFile(keys=keys, bases=bases, ranges=ranges, by_partition=by_partition)
    near = [row for row in range(len(bases)) if len(wanted.of(row))]
    names = pa.table(
        [pa.array([bases[row].partition for row in near], pa.string()), [bases[row].name for row in near]],
        schema=pa.schema([("partition", pa.string()), ("name", pa.string())]),
    )
    holding = files.files_holding(MetadataPartition.BLOOM_FILTERS, names, lambda row: wanted.of(near[row]))
    if holding is None:
        return None
    found = {row for row, holds in zip(near, holding.to_pylist(), strict=True) if holds}
    return [row in found for row in range(len(bases))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeysByFile:
    """The keys that a file may have, by its partition and its key range."""

    keys: pa.Table
    bases: Sequence[BaseFile]
    ranges: Mapping[str, tuple[str, str]]
    by_partition: bool

    def of(self, row: int) -> pa.Array:
        """Return the keys that one of the files may have."""
        base, keys = self.bases[row], self.keys.column(KEY)
        if self.by_partition:
            keys = keys.filter(pc.equal(self.keys.column(PARTITION), base.partition))
        bounds = self.ranges.get(base.name)
        if bounds is not None:
            keys = keys.filter(pc.and_(pc.greater_equal(keys, bounds[0]), pc.less_equal(keys, bounds[1])))
        return keys.combine_chunks()


def told_key_ranges(files: FileIndex, bases: Sequence[BaseFile]) -> dict[str, tuple[str, str]]:
    """Return the least and the greatest key of files by their names, as far as the metadata table tells."""
    partitions = sorted({one.partition for one in bases})
    stats = files.stats(MetadataPartition.COLUMN_STATS, [KEY], partitions)
    if stats is None or not stats.num_rows:
        return {}
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    least, greatest = (stats.column(name).combine_chunks() for name in ("minValue", "maxValue"))
    low, high = decode_bounds(least, greatest, said, pa.string())
    is_told, names = pc.and_(low.is_valid(), high.is_valid()), stats.column("fileName").combine_chunks()
    columns = (one.filter(is_told).to_pylist() for one in (names, low, high))
    return {name: (first, last) for name, first, last in zip(*columns, strict=True)}
