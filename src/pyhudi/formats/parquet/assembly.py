"""One parquet file put together from columns that were encoded apart: by several threads, and equal ones once.

pyarrow encodes the columns of a row group one after the other. Here each column is written by pyarrow as a file of its
own, in memory; its pages are then put into the one file, and what the footer says about them is moved along. No page is
changed. Start at `AssemblingWriter`.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.formats.parquet.thrift import Kind, Struct, Value, decode, encode

__all__ = ["AssemblingWriter", "Chunk", "Copied", "footer_of"]

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
_LISTINGS: Final = ("use_dictionary", "write_statistics")
"""Options that name columns."""

# Numbers of fields, as in parquet.thrift.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_CHUNKS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_START, _GROUP_STORED_BYTES = 1, 2, 3, 5, 6
_CHUNK_META = 3
_META_PATH, _META_BYTES, _META_STORED_BYTES = 3, 6, 7
_OFFSETS_START, _OFFSETS_BYTES, _BOUNDS_START, _BOUNDS_BYTES = 4, 5, 6, 7
_META_STARTS = (9, 10, 11)
"""Of data pages, index pages and the dictionary."""
_OFFSETS_PAGES, _PAGE_START = 1, 1


class _Sink(Protocol):
    """Where a file goes."""

    def write(self, data: bytes | memoryview) -> int:
        """Append all of it."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """One leaf column of one row group, with its part of the page index."""

    about: Struct
    offsets: Struct | None
    """None where the file has no page index."""
    bounds: bytes


@dataclass(frozen=True, slots=True)
class Copied:
    """One leaf column of one row group, as it lies in another file."""

    pages: bytes | memoryview
    start: int
    """Where they begin in that file."""
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A column that was written as a file of its own, with one row group."""

    pages: memoryview
    """All of them; in that file they begin behind the magic bytes."""
    group: Struct
    chunks: list[Chunk]
    """One a leaf."""


class AssemblingWriter:
    """Writes a file as `pq.ParquetWriter` does.

    Bytes:  those of `pq.ParquetWriter`, whatever the number of threads.
    Cost:   a few encoded columns in memory, besides the row group. A text column that equals another, as a
            key equals `_hoodie_record_key`, costs a comparison.
    """

    def __init__(self, sink: _Sink, schema: pa.Schema, *, threads: int, **options: Any) -> None:  # noqa: ANN401
        """Begin a file; `options` are those of `pq.ParquetWriter`, a page index included."""
        self._sink, self._schema, self._threads, self._options = sink, schema, threads, options
        self._listed = {name: frozenset(value) for name, value in options.items() if isinstance(value, list)}
        self._groups: list[Struct] = []
        self._chunks: list[Chunk] = []
        self._key_values: dict[str, str] = {}
        self._at = 0
        self._put(_MAGIC)

    def write_columns(self, columns: dict[str, pa.ChunkedArray]) -> None:
        """Write all columns as one row group, and take them out of `columns` as they go, to free their memory."""
        start, groups, chunks = self._at, [], []
        names = list(columns)
        copies = self._equal_columns(columns)
        kept: dict[str, _Encoded] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix="pyhudi-encode") as pool:
            alone = (self._table_of(name, columns.pop(name)) for name in names if name not in copies)
            apart = _ahead(pool, self._encoded, alone, count=self._threads)
            for name in names:
                encoded = _renamed(kept[copies[name]], name) if name in copies else next(apart)
                if name in copies.values():
                    kept[name] = encoded
                chunks += [_placed(chunk, self._at - len(_MAGIC)) for chunk in encoded.chunks]
                groups.append(encoded.group)
                self._put(encoded.pages)
        self._chunks += chunks
        self._groups.append(_joined(groups, chunks, start))

    def copy_row_group(self, rows_count: int, leaves: Sequence[Copied | str]) -> None:
        """Write leaf columns of another file as one row group, as they are.

        A text stands for a column with this value in every row, which is encoded; such columns are flat and first.
        """
        start, chunks = self._at, []
        for at, leaf in enumerate(leaves):
            copied = self._constant(at, leaf, rows_count) if isinstance(leaf, str) else leaf
            chunks.append(_placed(copied.chunk, self._at - copied.start))
            self._put(copied.pages)
        self._chunks += chunks
        metas = [chunk.about[_CHUNK_META].content for chunk in chunks]
        self._groups.append(
            {
                _GROUP_CHUNKS: Value(Kind.LIST, [chunk.about for chunk in chunks], Kind.STRUCT),
                _GROUP_BYTES: Value(Kind.I64, sum(meta[_META_BYTES].content for meta in metas)),
                _GROUP_ROWS: Value(Kind.I64, rows_count),
                _GROUP_START: Value(Kind.I64, start),
                _GROUP_STORED_BYTES: Value(Kind.I64, sum(meta[_META_STORED_BYTES].content for meta in metas)),
            }
        )

    def _constant(self, at: int, text: str, rows_count: int) -> Copied:
        name = self._schema.names[at]
        codes = pa.array(np.zeros(rows_count, np.int32))
        column = pa.DictionaryArray.from_arrays(codes, pa.array([text]).cast(self._schema.field(name).type))
        schema = pa.schema([self._schema.field(name).with_type(column.type)])
        encoded = self._encoded(pa.table([column], schema=schema))
        [chunk] = encoded.chunks
        return Copied(encoded.pages, len(_MAGIC), chunk)

    def add_key_value_metadata(self, key_values: Mapping[str, str]) -> None:
        """Put entries into the footer."""
        self._key_values |= key_values

    def close(self) -> None:
        """Write the page index and the footer: pyarrow's own for a file without rows, with the row groups put in."""
        self._put_page_index()
        footer = footer_of(self._file_of(self._schema.empty_table(), self._key_values))
        rows_count = sum(group[_GROUP_ROWS].content for group in self._groups)
        footer[_FILE_ROWS] = Value(Kind.I64, rows_count)
        footer[_FILE_GROUPS] = Value(Kind.LIST, self._groups, Kind.STRUCT)
        data = encode(footer)
        self._put(data + len(data).to_bytes(4, "little") + _MAGIC)

    def _put_page_index(self) -> None:
        for start, size, parts in (
            (_BOUNDS_START, _BOUNDS_BYTES, [chunk.bounds for chunk in self._chunks]),
            (
                _OFFSETS_START,
                _OFFSETS_BYTES,
                [encode(chunk.offsets) if chunk.offsets else b"" for chunk in self._chunks],
            ),
        ):
            for chunk, part in zip(self._chunks, parts, strict=True):
                if part:
                    chunk.about[start] = Value(Kind.I64, self._at)
                    chunk.about[size] = Value(Kind.I32, len(part))
                    self._put(part)

    def _put(self, data: bytes | memoryview) -> None:
        self._sink.write(data)
        self._at += len(data)

    def _equal_columns(self, columns: dict[str, pa.ChunkedArray]) -> dict[str, str]:
        """Find columns that equal another, and drop their memory."""
        table = pa.table(columns, schema=self._schema)
        copies = _equal_columns(table, *(self._listed.get(name, False) for name in _LISTINGS))
        for name in copies:
            del columns[name]
        return copies

    def _table_of(self, name: str, column: pa.ChunkedArray) -> pa.Table:
        return pa.table([column], schema=pa.schema([self._schema.field(name)]))

    def _encoded(self, column: pa.Table) -> _Encoded:
        data = self._file_of(column, {})
        [group] = footer_of(data)[_FILE_GROUPS].content
        chunks = [_chunk_of(data, about) for about in group[_GROUP_CHUNKS].content]
        end = len(_MAGIC) + group[_GROUP_STORED_BYTES].content
        return _Encoded(data[len(_MAGIC) : end], group, chunks)

    def _file_of(self, rows: pa.Table, key_values: Mapping[str, str]) -> memoryview:
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, rows.schema, **self._options_for(rows.schema.names)) as file:
            if rows.num_rows:
                file.write_table(rows, row_group_size=rows.num_rows)
            file.add_key_value_metadata(dict(key_values))
        return memoryview(sink.getvalue())

    def _options_for(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the options with the listed columns that are among some: a list of all for each column is long."""
        chosen = {option: [name for name in names if name in listed] for option, listed in self._listed.items()}
        return self._options | {option: listed or False for option, listed in chosen.items()}


def _ahead(
    pool: Executor, work: Callable[[pa.Table], _Encoded], columns: Iterable[pa.Table], *, count: int
) -> Iterator[_Encoded]:
    """Encode `count` columns ahead of the one that is asked for: no thread waits, and few columns are in memory."""
    pending: deque[Future[_Encoded]] = deque()
    for column in columns:
        pending.append(pool.submit(work, column))
        if len(pending) > count:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def footer_of(data: memoryview) -> Struct:
    """Decode the footer of a whole file.   Raises: CorruptData."""
    end = len(data) - _TAIL_BYTES
    size = int.from_bytes(data[end : end + 4], "little")
    return decode(bytes(data[end - size : end]))


def _chunk_of(data: memoryview, about: Struct) -> Chunk:
    def part(start: int, size: int) -> bytes:
        at = about[start].content
        return bytes(data[at : at + about[size].content])

    bounds = part(_BOUNDS_START, _BOUNDS_BYTES) if _BOUNDS_START in about else b""
    return Chunk(about, decode(part(_OFFSETS_START, _OFFSETS_BYTES)), bounds)


def _equal_columns(table: pa.Table, *listings: bool | Collection[str]) -> dict[str, str]:
    """Find columns of text that equal another; give for each the first that is the same.

    Two columns that one of `listings` (names, or all, or none) tells apart are not equal. Dictionaries are cheap, and
    left out.

    Cost: one comparison of values, which ends at the first that differs.
    """
    alike: dict[object, list[str]] = defaultdict(list)
    copies: dict[str, str] = {}
    for field in table.schema:
        if not (pa.types.is_string(field.type) or pa.types.is_binary(field.type)):
            continue
        column = table[field.name]
        listed = tuple(names if isinstance(names, bool) else field.name in names for names in listings)
        others = alike[field.type, field.nullable, listed, *_look(column)]
        first = next((name for name in others if table[name].equals(column)), None)
        if first is None:
            others.append(field.name)
        else:
            copies[field.name] = first
    return copies


def _look(column: pa.ChunkedArray) -> tuple[object, ...]:
    """Return what is cheap to see of a column, so that few of many are compared."""
    ends = (column[0].as_buffer(), column[-1].as_buffer()) if len(column) else ()  # which need not be UTF-8
    return column.null_count, *(None if end is None else end.to_pybytes() for end in ends)


def _placed(chunk: Chunk, shift: int) -> Chunk:
    """Record that the pages lie `shift` bytes further on."""
    meta = chunk.about[_CHUNK_META].content
    starts = {number: _further(meta[number], shift) for number in _META_STARTS if number in meta}
    about = chunk.about | {_CHUNK_META: Value(Kind.STRUCT, meta | starts)}
    if chunk.offsets is None:
        return Chunk(about, None, chunk.bounds)
    pages = [page | {_PAGE_START: _further(page[_PAGE_START], shift)} for page in chunk.offsets[_OFFSETS_PAGES].content]
    return Chunk(about, chunk.offsets | {_OFFSETS_PAGES: Value(Kind.LIST, pages, Kind.STRUCT)}, chunk.bounds)


def _renamed(encoded: _Encoded, name: str) -> _Encoded:
    """Make another column of the same pages."""
    [chunk] = encoded.chunks
    path = {_META_PATH: Value(Kind.LIST, [name.encode()], Kind.BINARY)}
    about = chunk.about | {_CHUNK_META: Value(Kind.STRUCT, chunk.about[_CHUNK_META].content | path)}
    return replace(encoded, chunks=[replace(chunk, about=about)])


def _further(start: Value, shift: int) -> Value:
    return start._replace(content=start.content + shift)


def _joined(groups: list[Struct], chunks: list[Chunk], start: int) -> Struct:
    """Make one row group of those that hold a column each."""
    return groups[0] | {
        _GROUP_CHUNKS: Value(Kind.LIST, [chunk.about for chunk in chunks], Kind.STRUCT),
        _GROUP_BYTES: Value(Kind.I64, sum(group[_GROUP_BYTES].content for group in groups)),
        _GROUP_START: Value(Kind.I64, start),
        _GROUP_STORED_BYTES: Value(Kind.I64, sum(group[_GROUP_STORED_BYTES].content for group in groups)),
    }
