"""Read stored keys in tasks: which of some keys a base file holds, or all that it holds.

Module-level functions with picklable tasks, so that either engine can run them. Start at `find_in_file`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BASE_ROW, KEY, LOCATED, STORED, ScanFile
from pyhudi.engine.row_parts import Part, rows_of_parts, with_rows
from pyhudi.engine.scanning import naming_file, read_columns
from pyhudi.filegroup.key_parts import carries_keys, parts_with_keys
from pyhudi.filegroup.model import BaseFile
from pyhudi.formats.parquet import Footer, read_footer
from pyhudi.kernels.keys import KeySpec, record_keys
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
        parts = parts_with_keys(source, footer, lookup.keys)
        keys = _stored_keys(source, spec, footer, parts)
        found, rows = common_keys(lookup.keys, keys)
        numbers = rows_of_parts(footer, parts)[rows.to_numpy(zero_copy_only=False)]
        count = len(found)
        columns = [
            found,
            pa.repeat(lookup.file.partition, count),
            pa.repeat(pa.scalar(lookup.index, pa.int32()), count),
            *(_values_at(source, stored, footer, numbers) if count else stored.empty_table()).columns,
        ]
    located = pa.table(columns, schema=located_schema(stored))
    if not lookup.numbers_rows:
        return located
    return located.append_column(BASE_ROW, _row_numbers(found, numbers, keys))


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
        return carries_keys(read_footer(source))


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


def _values_at(source: pa.NativeFile, stored: pa.Schema, footer: Footer, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Read columns of some rows of a file, in whatever order these are named."""
    parts = with_rows(footer, (), np.unique(rows))
    places = np.searchsorted(rows_of_parts(footer, parts), rows)
    return read_columns(source, stored, footer, parts).take(pa.array(places))


def _row_numbers(found: pa.Array, rows: npt.NDArray[np.int64], keys: pa.ChunkedArray) -> pa.Array:
    """Return the rows of the file that hold keys; null for a key that several have."""
    hits = pc.index_in(keys, value_set=found)
    times = np.bincount(hits.filter(pc.is_valid(hits)).to_numpy(), minlength=len(found))
    return pa.array(rows, mask=times != 1)


def _schema_of(storage: Storage, path: str) -> pa.Schema:
    with naming_file(path), storage.open_input(path) as source:
        return read_footer(source).schema


def _stored_keys(
    source: pa.NativeFile, spec: KeySpec, footer: Footer, parts: Sequence[Part] | None = None
) -> pa.ChunkedArray:
    only_key = pa.schema([(KEY, pa.string())])
    if carries_keys(footer):
        return read_columns(source, only_key, footer, parts)[KEY]
    names = list(dict.fromkeys(name.split(".")[0] for name in spec.record_key))
    wanted = pa.schema([footer.schema.field(name) for name in names if name in footer.schema.names])
    computed = record_keys(spec, read_columns(source, wanted, footer))
    if KEY not in footer.schema.names:
        return computed
    carried = read_columns(source, only_key, footer)[KEY]
    return pc.if_else(pc.not_equal(pc.fill_null(carried, ""), ""), carried, computed)
