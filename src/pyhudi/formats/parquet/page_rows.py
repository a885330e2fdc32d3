"""Some rows of a row group, decoded from the pages that have them.

pyarrow reads a column in one row group as a whole. Here the pages that are wanted are put, with the dictionary, into a
parquet file in memory whose columns have only these pages, and pyarrow decodes that. Columns without a page index are
read as a whole. Start at `rows_at`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.parquet.footer import Footer, damage_as_corrupt_data, open_file, require_rows
from pyhudi.formats.parquet.page_index import Pages, flat_leaf, read_pages
from pyhudi.formats.parquet.row_ranges import Ranges, rows_count, rows_in
from pyhudi.formats.parquet.thrift import Kind, Only, Struct, Value, decode, encode, struct_end

__all__ = ["rows_at"]

_MAGIC: Final = b"PAR1"
_ARROW_SCHEMA: Final = "ARROW:schema"
"""Tells of types that pages do not, and of all columns together."""
_MOST_GAP_BYTES: Final = 1 << 20
"""Between two pages that are read at once: a request to a store costs as much."""
_MOST_SLICES: Final = 64
_BATCH_ROWS: Final = 131_072
_FEWEST_PAGES: Final = 4
"""Fewer are always read by themselves."""

# Numbers of fields, as in parquet.thrift.
_FILE_VERSION, _FILE_SCHEMA, _FILE_ROWS, _FILE_GROUPS, _FILE_WRITER = 1, 2, 3, 4, 6
_GROUP_CHUNKS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_CHUNK_OFFSET, _CHUNK_META = 2, 3
_META_TYPE, _META_ENCODINGS, _META_PATH, _META_CODEC, _META_VALUES, _META_BYTES, _META_STORED_BYTES = range(1, 8)
_META_DATA_PAGE, _META_DICTIONARY = 9, 11
_ELEMENT_TYPE, _ELEMENT_NAME, _ELEMENT_CHILDREN = 1, 4, 5
_PAGE_KIND, _PAGE_STORED_BYTES = 1, 3
_PAGE_VALUES: Final = {0: 5, 3: 8}
"""Data pages of both versions: what they are called, and the field that says how many values they have."""
_PAGE_WANTED: Final[Only] = {_PAGE_KIND: None, _PAGE_STORED_BYTES: None, 5: {1: None}, 8: {1: None}}
_DAMAGE: Final = (CorruptData, Unsupported, KeyError, TypeError, AttributeError)


def rows_at(
    source: pa.NativeFile,
    columns: Sequence[str],
    ranges: Ranges,
    *,
    row_group: int,
    footer: Footer,
    read_dictionary: Sequence[str] = (),
) -> pa.Table:
    """Read some rows of a row group, in their order, as pyarrow decodes them.

    Shape:  as many rows as the ranges have; columns of the file.
    Cost:   the pages with these rows, with their dictionaries, and the rows in memory; of a column that is nested, has
            no page index that fits, or rows in most pages, all in the row group, decoded batch by batch.
    Raises: CorruptData, Unsupported; what the source raises.
    """
    with damage_as_corrupt_data():
        chosen = {} if _ARROW_SCHEMA in footer.key_values else _chosen(source, columns, ranges, row_group, footer)
        whole = [name for name in columns if name not in chosen]
        found = _decoded(list(chosen.values()), footer, read_dictionary) if chosen else {}
        arrays = {name: _cut(found[name], ranges, one) for name, one in chosen.items()}
        if whole:
            coded = [name for name in read_dictionary if name in whole]
            file = open_file(source, footer.metadata, read_dictionary=coded)
            arrays |= _streamed(file, whole, ranges, row_group)
        return pa.table({name: arrays[name] for name in columns})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """The pages of a column that are read."""

    name: str
    pages: Pages
    numbers: npt.NDArray[np.int64]
    """Those of the pages, ascending."""
    data: Sequence[memoryview]
    """The dictionary, if there is one, and these pages."""

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Return how many rows each has."""
        return self.pages.ends[self.numbers] - self.pages.first_rows[self.numbers]

    @property
    def has_dictionary(self) -> bool:
        """Return whether a dictionary comes first."""
        return self.pages.dictionary_bytes > 0

    def are_pages(self) -> bool:
        """Return whether the pages say of themselves what the index says."""
        return all(map(_is_page, self.data[self.has_dictionary :], self.counts.tolist()))


def _chosen(
    source: pa.NativeFile, columns: Iterable[str], ranges: Ranges, row_group: int, footer: Footer
) -> dict[str, _Chosen]:
    """Read the pages of columns that have some rows; without columns that have them in most, or no index that fits."""
    found = {name: pages for name in columns if (pages := read_pages(source, footer, row_group, name)) is not None}
    numbers = {name: pages.with_rows(ranges) for name, pages in found.items()}
    located = {name: pages for name, pages in found.items() if not _are_most(len(numbers[name]), len(pages.starts))}
    spans = {
        name: [(pages.start, pages.dictionary_bytes)] * (pages.dictionary_bytes > 0)
        + list(zip(pages.starts[numbers[name]].tolist(), pages.sizes[numbers[name]].tolist(), strict=True))
        for name, pages in located.items()
    }
    read = _read_spans(source, {span for wanted in spans.values() for span in wanted})
    chosen = [
        _Chosen(name=name, pages=pages, numbers=numbers[name], data=[read[span] for span in spans[name]])
        for name, pages in located.items()
    ]
    return {one.name: one for one in chosen if one.are_pages()}


def _are_most(pages_count: int, all_count: int) -> bool:
    """Return whether so many pages are read as quickly with the others: checked and put together they cost more."""
    return pages_count >= _FEWEST_PAGES and 2 * pages_count > all_count


def _read_spans(source: pa.NativeFile, spans: Collection[tuple[int, int]]) -> dict[tuple[int, int], memoryview]:
    """Read parts of a file, each a place and a size; those that lie close to each other at once."""
    found: dict[tuple[int, int], memoryview] = {}
    near: list[tuple[int, int]] = []
    for span in [*sorted(spans), None]:
        if near and (span is None or span[0] > sum(near[-1]) + _MOST_GAP_BYTES):
            first = near[0][0]
            source.seek(first)
            data = memoryview(source.read_buffer(max(map(sum, near)) - first))
            found |= {one: data[one[0] - first : sum(one) - first] for one in near}
            near = []
        if span is not None:
            near.append(span)
    return found


def _is_page(data: memoryview, values_count: int) -> bool:
    page = bytes(data)
    try:
        end = struct_end(page)
        header = decode(page[:end], only=_PAGE_WANTED)
        counts = header[_PAGE_VALUES[header[_PAGE_KIND].content]].content
        return bool(end + header[_PAGE_STORED_BYTES].content == len(page) and counts[1].content == values_count)
    except _DAMAGE:
        return False


def _decoded(chosen: Sequence[_Chosen], footer: Footer, read_dictionary: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """Decode all rows of the pages; columns may have different numbers of them.

    Raises: what pyarrow raises; CorruptData for pages that hold other rows than they say.
    """
    file = pa.BufferReader(_file_of(chosen, footer))
    coded = [name for name in read_dictionary if any(one.name == name for one in chosen)]
    reader = open_file(file, None, read_dictionary=coded).reader
    found = {one.name: reader.read_column(at) for at, one in enumerate(chosen)}
    for one in chosen:
        if len(found[one.name]) != one.counts.sum():
            raise CorruptData("a page of the parquet file has other rows than it says", column=one.name)
    return found


def _file_of(chosen: Sequence[_Chosen], footer: Footer) -> bytes:
    """Make a parquet file of pages: one row group, whose columns have different numbers of rows."""
    root, *_ = footer.layout[_FILE_SCHEMA].content
    elements = [one for one in footer.layout[_FILE_SCHEMA].content if _ELEMENT_TYPE in one]
    leaves = [flat_leaf(footer, one.name) for one in chosen]
    schema = [
        root | {_ELEMENT_CHILDREN: Value(Kind.I32, len(chosen))},
        *(elements[leaf] for leaf in leaves if leaf is not None),
    ]
    pieces, chunks, at = [memoryview(_MAGIC)], [], len(_MAGIC)
    for one in chosen:
        chunks.append(_chunk(one, at))
        pieces += one.data
        at += sum(map(len, one.data))
    rows = Value(Kind.I64, int(max(one.counts.sum() for one in chosen)))
    group: Struct = {
        _GROUP_CHUNKS: Value(Kind.LIST, chunks, Kind.STRUCT),
        _GROUP_BYTES: Value(Kind.I64, at),
        _GROUP_ROWS: rows,
    }
    fields: Struct = {
        _FILE_VERSION: Value(Kind.I32, 1),
        _FILE_SCHEMA: Value(Kind.LIST, schema, Kind.STRUCT),
        _FILE_ROWS: rows,
        _FILE_GROUPS: Value(Kind.LIST, [group], Kind.STRUCT),
    }
    if _FILE_WRITER in footer.layout:
        fields[_FILE_WRITER] = footer.layout[_FILE_WRITER]
    data = encode(fields)
    return b"".join([*pieces, data, len(data).to_bytes(4, "little"), _MAGIC])


def _chunk(one: _Chosen, at: int) -> Struct:
    """Describe the pages of a column that begin at a place."""
    stored = one.pages.about[_CHUNK_META].content
    meta: Struct = {number: stored[number] for number in (_META_TYPE, _META_ENCODINGS, _META_CODEC, _META_BYTES)}
    meta |= {
        _META_PATH: Value(Kind.LIST, [one.name.encode()], Kind.BINARY),
        _META_VALUES: Value(Kind.I64, int(one.counts.sum())),
        _META_STORED_BYTES: Value(Kind.I64, sum(map(len, one.data))),
        _META_DATA_PAGE: Value(Kind.I64, at + one.pages.dictionary_bytes),
    }
    if one.has_dictionary:
        meta[_META_DICTIONARY] = Value(Kind.I64, at)
    return {_CHUNK_OFFSET: Value(Kind.I64, at), _CHUNK_META: Value(Kind.STRUCT, meta)}


def _cut(column: pa.ChunkedArray, ranges: Ranges, chosen: _Chosen) -> pa.ChunkedArray:
    """Take the rows that are wanted out of those of the pages that have them."""
    page = np.searchsorted(chosen.pages.ends, ranges[:, 0], side="right")
    before = np.cumsum(chosen.counts) - chosen.counts
    starts = before[np.searchsorted(chosen.numbers, page)] + ranges[:, 0] - chosen.pages.first_rows[page]
    return _slices(column, np.stack((starts, starts + ranges[:, 1] - ranges[:, 0]), axis=1))


def _slices(column: pa.ChunkedArray, ranges: Ranges) -> pa.ChunkedArray:
    if len(ranges) > _MOST_SLICES:
        return column.take(pa.array(rows_in(ranges)))
    pieces = [column.slice(start, end - start) for start, end in ranges.tolist()]
    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], column.type)


def _streamed(
    file: pq.ParquetFile, columns: Sequence[str], ranges: Ranges, row_group: int
) -> Mapping[str, pa.ChunkedArray]:
    """Read columns of the whole row group, and keep some rows.   Raises: as `_decoded`."""
    kept, at = [], 0
    for batch in file.iter_batches(_BATCH_ROWS, row_groups=[row_group], columns=list(columns), use_threads=False):
        inside = np.clip(ranges - at, 0, batch.num_rows)
        inside = inside[inside[:, 1] > inside[:, 0]]
        at += batch.num_rows
        if len(inside):
            kept.append(pa.Table.from_batches([batch]))
            kept[-1] = pa.table({name: _slices(kept[-1][name], inside) for name in columns})
    require_rows(at, file.metadata, [row_group])
    rows = pa.concat_tables(kept)
    if rows.num_rows != rows_count(ranges):
        raise CorruptData("a row group has fewer rows than are asked for", rows=at, asked=int(ranges[-1, 1]))
    return dict(zip(rows.column_names, rows.columns, strict=True))
