"""Reading the metadata table: the entries of some keys, of some prefixes, or of a whole partition, layer by layer.

A file group is an HFile and the blocks of the logs on top of it. Each of these is a layer; entries come with the number
of their layer, and the kinds of records fold them (`metadata.files`, `metadata.column_stats`). Start at `read_entries`.

Spec: format/metadata-table 2.3, 8.1, 8.2.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileSlice
from pyhudi.formats.avro_rows import decode_rows, encode_rows
from pyhudi.formats.hfile import HFile, KeptBlock, open_hfile
from pyhudi.formats.log import BlockKind, decode_deletes
from pyhudi.formats.read_at import ReadAt
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.file_entries import FILE_ENTRIES
from pyhudi.metadata.records import FILES_FIELD
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.state import MetadataTable
from pyhudi.storage.process import RecentlyUsed

__all__ = ["Entries", "Wanted", "file_entries_of", "read_entries", "slice_entries", "small_layer"]

_SMALL_BYTES: Final = 1 << 20
_KEPT_BYTES: Final = 64 << 10
"""Of an HFile that is decoded whole: about one data block, which a look-up would decode anyway."""
_ALL_KEPT_BYTES: Final = 32 << 20
_BLOCKS_BYTES: Final = 64 << 20
"""Of the data blocks of larger HFiles that look-ups have decoded: a shard of a million keys of 36 bytes."""
_KEY_BYTES: Final = 64
"""What a key costs as an object of its own, beside its text."""
_SCHEMA: Final = "schema"
_NEWEST: Final = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("layer", pa.int64())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which entries to read; neither keys nor prefixes: all of them."""

    keys: tuple[str, ...] | pa.Array | None = None
    prefixes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Layer:
    """All entries of an HFile."""

    schema: str
    """In Avro, that of the values."""
    entries: pa.Table
    """`key` string, `value` binary, sorted by the keys' bytes."""
    _keys: Sequence[bytes] = field(repr=False)

    def entries_of(
        self, keys: pa.Array | pa.ChunkedArray | Sequence[str] | None, prefixes: Iterable[str] | None
    ) -> pa.Table:
        """Return the entries with some keys, or whose keys begin with some prefixes; without either all of them."""
        if keys is not None:
            wanted = keys if isinstance(keys, pa.Array | pa.ChunkedArray) else pa.array(keys, pa.string())
            return self.entries.filter(pc.is_in(self.entries.column("key"), value_set=wanted.cast(pa.string())))
        if prefixes is not None:
            rows = sorted({row for one in prefixes for row in self._beginning_with(one.encode())})
            return self.entries.take(pa.array(rows, pa.int64()))
        return self.entries

    def _beginning_with(self, prefix: bytes) -> range:
        first = end = bisect_left(self._keys, prefix)
        while end < len(self._keys) and self._keys[end].startswith(prefix):
            end += 1
        return range(first, end)


_layers: Final = RecentlyUsed[bytes, _Layer](_ALL_KEPT_BYTES)
_blocks: Final = RecentlyUsed[bytes, KeptBlock](_BLOCKS_BYTES)


@dataclass(slots=True)
class Entries:
    """What layers say of keys. Layers are numbered from the oldest; an entry that a later layer deletes is left out."""

    _parts: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    """By the Avro schema they were written with: key, value, layer."""

    def add(self, schema: str, part: pa.Table) -> None:
        """Add entries of one layer, written with a schema.   Shape: key string, value binary, layer int64."""
        if part.num_rows:
            self._parts[schema].append(part)

    def decoded(self, column: str, table_version: int) -> pa.Table:
        """Decode one field of the records, as the table's version has it.

        Shape: `key` string, `layer` int64, and the field.
        """
        tables, wanted = [], record_schema(table_version, has_meta_fields=True)
        for schema, parts in self._parts.items():
            table = pa.concat_tables(parts).combine_chunks()
            values = table.column("value").combine_chunks()
            rows = decode_rows(values, schema, wanted, columns=[column])
            tables.append(table.drop_columns(["value"]).append_column(column, rows.column(0)))
        return pa.concat_tables(tables) if tables else pa.table({"key": [], "layer": [], column: []})

    def newest(self, table_version: int) -> pa.Table:
        """Return the entry of each key's last layer, encoded as the table's version has it.

        Shape: as `records.encode_records`.
        Cost:  entries of another schema are decoded and encoded once more.
        """
        wanted = record_schema(table_version, has_meta_fields=True)
        tables = [_NEWEST.empty_table()]
        for schema, parts in self._parts.items():
            table = pa.concat_tables(parts).combine_chunks()
            if schema != wanted:
                rows = decode_rows(table.column("value").combine_chunks(), schema, wanted)
                table = table.set_column(1, "value", encode_rows(rows, wanted))
            columns = [table.column("key").cast(pa.binary()), table.column("value"), table.column("layer")]
            tables.append(pa.table(columns, schema=_NEWEST))
        found = pa.concat_tables(tables).combine_chunks()
        if _rise(found.column("key").combine_chunks()):  # as those of one layer of one file group do
            return found.drop_columns(["layer"])
        found = found.sort_by([("key", "ascending"), ("layer", "ascending")]).combine_chunks()
        keys = found.column("key").combine_chunks()
        is_last = np.append(pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False), True)
        return found.filter(pa.array(is_last)).drop_columns(["layer"])


def read_entries(table: MetadataTable, partition: str, wanted: Wanted) -> Entries:
    """Read entries of a partition; no key at all is no entry.

    Cost:   a listing of the partition once; for keys the file groups that have them, else all groups; of each its logs
            and the blocks of its base file that may have an entry.
    Raises: CorruptData.
    """
    found = Entries()
    groups = table.file_groups(partition)
    for number, asked in _asked(groups, wanted):
        for schema, part in _of_group(table, groups[number], asked):
            found.add(schema, part)
    return found


def slice_entries(table: MetadataTable, group: FileSlice, wanted: Wanted | None = None) -> Entries:
    """Read entries of one file slice, all of them without a wish.   Cost: as `read_entries`."""
    found = Entries()
    for schema, part in _of_group(table, group, wanted or Wanted()):
        found.add(schema, part)
    return found


def file_entries_of(entries: Entries, table_version: int) -> tuple[pa.Table, pa.Array]:
    """Return the names that entries of `files` tell, and the layer of each.   Shape: FILE_ENTRIES, int64."""
    rows = entries.decoded(FILES_FIELD, table_version)
    if not rows.num_rows:
        return FILE_ENTRIES.empty_table(), pa.array([], pa.int64())
    maps = rows.column(FILES_FIELD).combine_chunks()
    records = pa.array(np.repeat(np.arange(len(maps)), np.diff(maps.offsets.to_numpy())))
    keys, layers = (rows.column(name).combine_chunks().take(records) for name in ("key", "layer"))
    info = maps.items
    return pa.table([keys, maps.keys, info.field("size"), info.field("isDeleted")], schema=FILE_ENTRIES), layers


def _asked(groups: Sequence[FileSlice], wanted: Wanted) -> Iterator[tuple[int, Wanted]]:
    """Yield the number of each file group in question, and what to look for there."""
    if wanted.keys is None:
        yield from ((number, wanted) for number in range(len(groups)))
        return
    keys = pa.array(wanted.keys, pa.string()) if isinstance(wanted.keys, tuple) else wanted.keys
    places = SHARD_HASH.place_of(keys, len(groups)) if groups else np.zeros(0, np.int64)
    order = np.argsort(places, kind="stable")
    numbers, first = np.unique(places[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(order, first[1:]), strict=False):
        yield number, Wanted(keys=keys.take(pa.array(rows)))


def _of_group(table: MetadataTable, group: FileSlice, wanted: Wanted) -> Iterator[tuple[str, pa.Table]]:
    """Read the layers of one file group, those without what later ones deleted."""
    storage = table.state.storage
    layers: list[tuple[str, pa.Table]] = []
    if group.base is not None:
        read_at = partial(storage.get_range, group.base.path)
        layers.append(_layer(read_at, group.base.size_bytes, group.base.path, wanted))
    deleted: dict[int, list[pa.Array]] = {}
    """By the number of the first layer that they do not take away."""
    for block in blocks_to_merge(storage, group.logs, lambda _, block: table.is_valid(block.instant), table):
        if block.kind is BlockKind.DELETE:
            keys = decode_deletes(block.read_content()).column("record_key")
            deleted.setdefault(len(layers), []).extend(keys.chunks)
        elif block.kind is BlockKind.HFILE:
            layers.append(_layer(block.read_at, block.content_bytes, f"{group.group.file_id}, {block.instant}", wanted))
        else:
            raise CorruptData("a log of the metadata table has a block of another kind", kind=block.kind.name)
    for number, (schema, entries) in enumerate(layers):
        for before, keys in deleted.items():
            if number < before:
                gone = pc.is_in(entries.column("key"), pa.chunked_array(keys, pa.string()))
                entries = entries.filter(pc.invert(gone))  # noqa: PLW2901 - the same layer with fewer entries
        yield schema, entries.append_column("layer", pa.repeat(pa.scalar(number, pa.int64()), entries.num_rows))


def _layer(read_at: ReadAt, size_bytes: int, where: str, wanted: Wanted) -> tuple[str, pa.Table]:
    """Read the schema of an HFile, and the entries that are asked for; a small one is read and decoded whole, once."""
    if size_bytes > _SMALL_BYTES:
        return _of_hfile(open_hfile(read_at, size_bytes, _blocks), where, wanted)
    whole = read_at(0, size_bytes)
    if size_bytes > _KEPT_BYTES:
        hfile = open_hfile(lambda offset, length: whole[offset : offset + length], len(whole), _blocks)
        return _of_hfile(hfile, where, wanted)
    layer = small_layer(whole, where)
    return layer.schema, layer.entries_of(wanted.keys, wanted.prefixes)


def _of_hfile(hfile: HFile, where: str, wanted: Wanted) -> tuple[str, pa.Table]:
    """Return the entries of a file that are asked for: key as text, value."""
    if wanted.keys is not None:
        keys = pa.array(wanted.keys, pa.string()) if isinstance(wanted.keys, tuple) else wanted.keys
        found = hfile.lookup(keys.cast(pa.binary()))
    elif wanted.prefixes is not None:
        found = hfile.lookup(pa.array(wanted.prefixes, pa.string()).cast(pa.binary()), prefix=True)
    else:
        found = hfile.read()
    return _schema_of(hfile, where), _with_text_keys(found)


def _rise(keys: pa.Array) -> bool:
    """Return whether each key is greater than the one before."""
    return bool(pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py())


def small_layer(data: bytes, where: str) -> _Layer:
    """Decode a whole HFile, or find what was decoded of the same bytes; `where` is for errors.

    A write reads the same few layers several times, and the next write reads most of them again. They are known by what
    is in them and not by where they lie: a metadata table that was built anew has files of the same names.

    Raises: as `open_hfile`; CorruptData for a file without a schema.
    """
    digest = sha256(data).digest()
    known = _layers.get(digest)
    if known is not None:
        return known
    hfile = open_hfile(lambda offset, length: data[offset : offset + length], len(data))
    read = hfile.read()
    entries = _with_text_keys(read).combine_chunks()
    layer = _Layer(_schema_of(hfile, where), entries, read.column("key").to_pylist())
    return _layers.add(digest, layer, int(2 * entries.nbytes) + _KEY_BYTES * entries.num_rows)


def _with_text_keys(entries: pa.Table) -> pa.Table:
    """Return entries of an HFile with their keys as text."""
    return entries.set_column(0, "key", entries.column("key").cast(pa.string()))


def _schema_of(hfile: HFile, where: str) -> str:
    """Return the Avro schema of a file's values.   Raises: CorruptData naming the file."""
    schema = hfile.file_info.get(_SCHEMA)
    if schema is None:
        raise CorruptData("a file of the metadata table does not say its schema", file=where)
    return schema.decode()
