"""The pages of a column in one row group: where they lie, which rows they have, what bounds their values.

The page index lies between the rows and the footer. It only saves work: one that is missing, damaged or does not fit
its column is no index. Start at `read_pages` and `read_page_bounds`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.parquet.footer import Footer, bounded_leaf, damage_as_corrupt_data
from pyhudi.formats.parquet.row_ranges import Ranges
from pyhudi.formats.parquet.statistics import ColumnStats, bound_value, has_column_order
from pyhudi.formats.parquet.thrift import Kind, Struct, Value, decode

__all__ = ["Pages", "flat_leaf", "read_page_bounds", "read_pages"]

# Numbers of fields, as in parquet.thrift.
_GROUPS, _GROUP_CHUNKS, _GROUP_ROWS = 4, 1, 3
_CHUNK_META, _CHUNK_ELSEWHERE = 3, frozenset({1, 8, 9})
"""Chunks in another file, and encrypted ones."""
_OFFSETS_START, _OFFSETS_BYTES, _BOUNDS_START, _BOUNDS_BYTES = 4, 5, 6, 7
_META_TYPE, _META_VALUES, _META_STORED_BYTES, _META_DATA_PAGE, _META_DICTIONARY = 1, 5, 7, 9, 11
_LOCATIONS, _LOCATION_FIELDS = 1, (1, 2, 3)
_LIST_OF_STRUCTS, _LONG_LIST = 0x19, 0xFC
_PLAIN_LOCATION: Final = ((0, 0x16), (2, 0x15), (4, 0x16), (6, 0))
"""Numbers of a location as writers store it: its fields in their order, each behind what it is, and the end."""
_NUMBERS_A_LOCATION: Final = 7
_MOST_NUMBER_BYTES: Final = 9
_NULL_PAGES, _LEASTS, _GREATESTS, _NULLS_COUNTS = 1, 2, 3, 5
_DAMAGE: Final = (
    CorruptData, Unsupported, KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The data pages of a flat column in one row group, in their order."""

    about: Struct
    """What the footer says of the chunk."""
    start: int
    """Where the chunk begins: with its dictionary, if it has one."""
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    """Units: bytes, the header included."""
    first_rows: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    """The row behind the last of each; rows are those of the row group."""

    @property
    def dictionary_bytes(self) -> int:
        """Return the size of the dictionary page, with its header; 0 without one."""
        return int(self.starts[0]) - self.start

    def with_rows(self, ranges: Ranges) -> npt.NDArray[np.int64]:
        """Number the pages that have one of some rows, ascending."""
        first = np.searchsorted(self.ends, ranges[:, 0], side="right")
        last = np.searchsorted(self.ends, ranges[:, 1] - 1, side="right")
        steps = np.zeros(len(self.ends) + 1, np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, last + 1, -1)
        return np.flatnonzero(np.cumsum(steps[:-1]))


def flat_leaf(footer: Footer, column: str) -> int | None:
    """Return the number of a column that has no other beneath it.

    Nulls: None for a nested or an absent one.
    """
    leaf = footer.leaves.get(column)
    if leaf is None or column not in footer.types:
        return None
    about = footer.metadata.schema.column(leaf)
    is_flat = about.name == column and about.max_repetition_level == 0 and about.max_definition_level <= 1
    return leaf if is_flat else None


def read_pages(source: pa.NativeFile, footer: Footer, row_group: int, column: str) -> Pages | None:
    """Read where the pages of a column lie; None for a nested column, and where no index says it that fits.

    Cost:   a small read near the footer, about 5 microseconds a page.
    Raises: CorruptData for a footer that is none; what the source raises.
    """
    leaf = flat_leaf(footer, column)
    if leaf is None:
        return None
    with damage_as_corrupt_data():
        try:
            group = footer.layout[_GROUPS].content[row_group]
            about = group[_GROUP_CHUNKS].content[leaf]
            stored = _part(source, about, _OFFSETS_START, _OFFSETS_BYTES)
            if not stored or not _CHUNK_ELSEWHERE.isdisjoint(about):
                return None
            pages = _located(about, _locations(stored), group[_GROUP_ROWS].content)
            return pages if _do_fit(pages, source.size()) else None
        except _DAMAGE:
            return None


def read_page_bounds(
    source: pa.NativeFile, footer: Footer, row_group: int, column: str, pages: Pages
) -> list[ColumnStats] | None:
    """Read the bounds of a column, one a page; None where they are not known, or are not those of its row group.

    Raises: as `read_pages`.
    """
    leaf = bounded_leaf(footer, column)
    if leaf is None:
        return None
    with damage_as_corrupt_data():
        try:
            stored = _part(source, pages.about, _BOUNDS_START, _BOUNDS_BYTES)
            physical = pages.about[_CHUNK_META].content[_META_TYPE].content
            if not stored or not has_column_order(footer.layout, leaf, physical):
                return None
            bounds = _bounds(decode(stored), pages, physical, footer.types[column])
            whole = footer.statistics.of(row_group, leaf, footer.types[column], int(pages.ends[-1]))
        except _DAMAGE:
            return None
        return bounds if _do_agree(bounds, whole) else None


def _locations(stored: bytes) -> npt.NDArray[np.int64]:
    """Decode an offset index.   Shape: (pages, 3): place, bytes, first row."""
    if (found := _plain_locations(stored)) is not None:
        return found
    locations = decode(stored)[_LOCATIONS].content
    return np.array([[one[number].content for number in _LOCATION_FIELDS] for one in locations], np.int64)


def _plain_locations(stored: bytes) -> npt.NDArray[np.int64] | None:
    """Decode an offset index in which every location has the same fields; None for any other.

    All that such locations are made of are numbers, each of which ends with a byte below 128.
    """
    is_long = stored[1:2] >= bytes([_LONG_LIST])
    if stored[:1] != bytes([_LIST_OF_STRUCTS]):
        return None
    data = np.frombuffer(stored, np.uint8, offset=2)
    ends = np.flatnonzero(data < 128)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if not len(ends) or (ends - starts).max() >= _MOST_NUMBER_BYTES:
        return None
    places = np.arange(ends[-1] + 1)
    digits = (data[: ends[-1] + 1] & 127).astype(np.int64) << 7 * (places - np.repeat(starts, ends - starts + 1))
    numbers = np.add.reduceat(digits, starts)
    count = int(numbers[0]) if is_long else stored[1] >> 4
    numbers = numbers[1:] if is_long else numbers
    rows = numbers[: count * _NUMBERS_A_LOCATION].reshape(-1, _NUMBERS_A_LOCATION)
    if len(rows) != count or any((rows[:, at] != kind).any() for at, kind in _PLAIN_LOCATION):
        return None
    folded = rows[:, 1::2]
    return (folded >> 1) ^ -(folded & 1)


def _located(about: Struct, locations: npt.NDArray[np.int64], rows_count: int) -> Pages:
    starts, sizes, first_rows = locations.T
    meta = about[_CHUNK_META].content
    # Old writers store 0 where there is no dictionary.
    begins = [meta[number].content for number in (_META_DICTIONARY, _META_DATA_PAGE) if number in meta]
    return Pages(
        about=about,
        start=min(one for one in begins if one > 0),
        starts=starts,
        sizes=sizes,
        first_rows=first_rows,
        ends=np.append(first_rows[1:], rows_count),
    )


def _do_fit(pages: Pages, file_bytes: int) -> bool:
    """Return whether pages lie one behind the other in their chunk, and have its rows."""
    meta = pages.about[_CHUNK_META].content
    stored_bytes, values_count = (meta[number].content for number in (_META_STORED_BYTES, _META_VALUES))
    page_ends = pages.starts + pages.sizes
    return bool(
        len(pages.starts)
        and pages.first_rows[0] == 0
        and (pages.ends > pages.first_rows).all()
        and pages.ends[-1] == values_count
        and (pages.sizes > 0).all()
        and pages.starts[0] >= pages.start
        and (pages.starts[1:] >= page_ends[:-1]).all()
        and page_ends[-1] <= pages.start + stored_bytes <= file_bytes
    )


def _bounds(index: Struct, pages: Pages, physical: int, kind: pa.DataType) -> list[ColumnStats]:
    are_null = [flag == Kind.TRUE for flag in index[_NULL_PAGES].content]
    leasts, greatests = index[_LEASTS].content, index[_GREATESTS].content
    nulls: Sequence[int | None] = index[_NULLS_COUNTS].content if _NULLS_COUNTS in index else [None] * len(are_null)
    counts = (pages.ends - pages.first_rows).tolist()
    return [
        ColumnStats(
            least=None if is_null else bound_value(Value(Kind.BINARY, least), physical, kind),
            greatest=None if is_null else bound_value(Value(Kind.BINARY, greatest), physical, kind),
            nulls_count=count if is_null else nulls_count,
            rows_count=count,
        )
        for is_null, least, greatest, nulls_count, count in zip(are_null, leasts, greatests, nulls, counts, strict=True)
    ]


def _do_agree(bounds: Sequence[ColumnStats], whole: ColumnStats) -> bool:
    """Return whether pages can be those of a row group with these bounds: so damage that leaves rows out is seen.

    Bounds of text may be cut short, where one of the two is.
    """
    known: list[tuple[Any, Any]] = [
        (one.least, one.greatest) for one in bounds if one.least is not None and one.greatest is not None
    ]
    if any(least > greatest for least, greatest in known):
        return False
    nulls_count = sum(one.nulls_count == one.rows_count for one in bounds)
    if not known or len(known) + nulls_count < len(bounds) or isinstance(whole.least, str | bytes | None):
        return True
    ends = min(least for least, _ in known), max(greatest for _, greatest in known)
    return ends == (whole.least, whole.greatest)


def _part(source: pa.NativeFile, about: Struct, start: int, size: int) -> bytes:
    """Read a part of the page index; nothing where the file has none."""
    if start not in about or size not in about:
        return b""
    at, length = about[start].content, about[size].content
    if min(at, length) < 0 or at + length > source.size():
        return b""
    source.seek(at)
    data: bytes = source.read(length)
    return data
