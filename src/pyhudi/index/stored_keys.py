"""Read stored keys in tasks: which of some keys a base file holds, or all that it holds.

Module-level functions with picklable tasks, so that either engine can run them. Start at `find_in_file`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BASE_ROW, KEY, LOCATED, STORED, ScanFile
from pyhudi.engine.scanning import groups_matching, naming_file, read_columns
from pyhudi.filegroup.model import BaseFile
from pyhudi.formats.parquet import Footer, read_footer, row_group_stats
from pyhudi.kernels.keys import KeySpec, record_keys
from pyhudi.predicate import Between, column, literal
from pyhudi.storage.api import Storage

__all__ = [
    "Lookup",
    "base_scan",
    "common_keys",
    "find_in_file",
    "has_stored_keys",
    "located_schema",
    "stored_keys",
    "stored_schema",
]


def base_scan(file: BaseFile) -> ScanFile:
    """Name a base file for a task that looks into it."""
    return ScanFile(path=file.path, size_bytes=file.size_bytes, partition=file.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """One file to look into, and the distinct keys to look for."""

    index: int
    file: ScanFile
    keys: pa.Array
    numbers_rows: bool = False


def find_in_file(lookup: Lookup, *, storage: Storage, spec: KeySpec, stored: pa.Schema) -> pa.Table:
    """Find which of the keys one file holds.

    Shape: LOCATED and the `stored` columns named STORED + name, one row a key that the file has; of a key that is
    there twice, the first. BASE_ROW is the last where the look-up asks for it.
    Cost: the key column, and for files with a hit the stored columns; the smaller side is hashed.
    Raises: CorruptData, and what storage raises.
    """
    with naming_file(lookup.file.path), storage.open_input(lookup.file.path) as source:
        footer = read_footer(source)
        groups = _groups_with_keys(footer, lookup.keys)
        keys = _stored_keys(source, spec, footer, groups)
        found, rows = common_keys(lookup.keys, keys)
        values = read_columns(source, stored, footer, groups) if len(found) else stored.empty_table()
        count = len(found)
        columns = [
            found,
            pa.repeat(lookup.file.partition, count),
            pa.repeat(pa.scalar(lookup.index, pa.int32()), count),
            *(values.take(rows).columns if count else values.columns),
        ]
    located = pa.table(columns, schema=located_schema(stored))
    if not lookup.numbers_rows:
        return located
    return located.append_column(BASE_ROW, _row_numbers(found, rows, keys, footer, groups))


def stored_keys(
    numbered: tuple[int, ScanFile], *, storage: Storage, spec: KeySpec, stored: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the key of every row of one file, as a look-up would give it.

    Shape: as `find_in_file`, one row a stored row.
    Raises: CorruptData, and what storage raises.
    """
    index, file = numbered
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
        keys = _stored_keys(source, spec, footer)
        count = len(keys)
        columns = [keys, pa.repeat(file.partition, count), pa.repeat(pa.scalar(index, pa.int32()), count)]
        columns += read_columns(source, stored, footer).columns
    yield from pa.table(columns, schema=located_schema(stored)).to_batches()


def located_schema(stored: pa.Schema) -> pa.Schema:
    """Return the schema of a look-up that brings `stored` columns along."""
    return pa.schema([*LOCATED, *(pa.field(STORED + field.name, field.type) for field in stored)])


def stored_schema(storage: Storage, files: Sequence[ScanFile], rows: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """Return the types that stored columns are read in: those of the rows, else those of the newest file."""
    missing = [name for name in columns if name not in rows.names]
    last = _schema_of(storage, files[-1].path) if missing and files else pa.schema([])
    known = {**{field.name: field.type for field in last}, **{field.name: field.type for field in rows}}
    return pa.schema([pa.field(name, known.get(name, pa.null())) for name in columns])


def has_stored_keys(storage: Storage, path: str) -> bool:
    """Return by a file's footer whether every row of it carries its key."""
    with naming_file(path), storage.open_input(path) as source:
        return _has_keys(read_footer(source))


def common_keys(keys: pa.Array, stored: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Return the keys on both sides and the stored row of each."""
    if len(stored) <= len(keys):
        rows = pc.index_in(keys, value_set=stored)
        is_found = pc.is_valid(rows)
        return keys.filter(is_found), rows.filter(is_found)
    codes = pc.index_in(stored, value_set=keys)
    rows = np.flatnonzero(pc.is_valid(codes).to_numpy(zero_copy_only=False))
    code, first = np.unique(codes.take(pa.array(rows)).to_numpy(), return_index=True)
    return keys.take(pa.array(code)), pa.array(rows[first])


def _row_numbers(
    found: pa.Array, rows: pa.Array, keys: pa.ChunkedArray, footer: Footer, groups: Sequence[int] | None
) -> pa.Array:
    """Return the rows of the file that hold keys, given those among the row groups that were read; null for several."""
    hits = pc.index_in(keys, value_set=found)
    times = np.bincount(hits.filter(pc.is_valid(hits)).to_numpy(), minlength=len(found))
    counts = np.array(
        [footer.metadata.row_group(at).num_rows for at in range(footer.metadata.num_row_groups)], np.int64
    )
    starts = np.cumsum(counts) - counts
    chosen = np.arange(len(counts)) if groups is None else np.array(groups, np.int64)
    ends = np.cumsum(counts[chosen])
    read = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    group = np.searchsorted(ends, read, side="right")
    numbers = starts[chosen][group] + read - (ends - counts[chosen])[group] if len(read) else read
    return pa.array(numbers, mask=times != 1)


def _schema_of(storage: Storage, path: str) -> pa.Schema:
    with naming_file(path), storage.open_input(path) as source:
        return read_footer(source).schema


def _stored_keys(
    source: pa.NativeFile, spec: KeySpec, footer: Footer, groups: Sequence[int] | None = None
) -> pa.ChunkedArray:
    only_key = pa.schema([(KEY, pa.string())])
    if _has_keys(footer):
        return read_columns(source, only_key, footer, groups)[KEY]
    names = list(dict.fromkeys(name.split(".")[0] for name in spec.record_key))
    wanted = pa.schema([footer.schema.field(name) for name in names if name in footer.schema.names])
    computed = record_keys(spec, read_columns(source, wanted, footer))
    if KEY not in footer.schema.names:
        return computed
    carried = read_columns(source, only_key, footer)[KEY]
    return pc.if_else(pc.not_equal(pc.fill_null(carried, ""), ""), carried, computed)


def _groups_with_keys(footer: Footer, keys: pa.Array) -> list[int] | None:
    """Name the row groups whose keys lie around some wanted one; all, if rows do not carry their keys."""
    if not _has_keys(footer) or not len(keys):
        return None
    bounds = pc.min_max(keys)
    low, high = (literal(str(bounds[end])) for end in ("min", "max"))
    return groups_matching(footer, Between(value=column(KEY), lower=low, upper=high), pa.schema([(KEY, pa.string())]))


def _has_keys(footer: Footer) -> bool:
    if KEY not in footer.schema.names:
        return False
    # A row group without rows has no statistics. Apache Hudi's bulk_insert puts empty texts where keys are virtual.
    return all(
        (stats.nulls_count == 0 and stats.least != "") or not stats.rows_count for stats in row_group_stats(footer, KEY)
    )
