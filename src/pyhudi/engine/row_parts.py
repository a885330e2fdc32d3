"""Which rows of a base file a filter has to look at, as statistics of row groups and of pages tell.

Nothing here reads rows. Start at `parts_matching`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.formats.parquet import (
    ColumnStats,
    Footer,
    Ranges,
    joined,
    read_page_bounds,
    read_pages,
    row_group_stats,
    rows_count,
    rows_in,
    runs_near,
    runs_where,
)
from pyhudi.predicate import ColumnRanges, Expression, Statistics, fields_of, files_matching

__all__ = [
    "Part",
    "are_few",
    "group_rows",
    "groups_matching",
    "part_of",
    "parts_matching",
    "rows_of_parts",
    "with_rows",
]

_FEWEST_ROWS: Final = 8192
"""A smaller row group is read as a whole."""
_MOST_OF_A_GROUP: Final = 0.5
"""A row group of which more rows are wanted is read as a whole."""
_NEAR_ROWS: Final = 256
"""Rows that are not further apart are read in one run."""


class Part(NamedTuple):
    """Rows of one row group."""

    group: int
    rows: Ranges | None
    """Numbered within the row group; None: all."""


def groups_matching(footer: Footer, predicate: Expression, schema: pa.Schema) -> list[int]:
    """Name the row groups that may hold a row for which the predicate is true."""
    known = {
        name: _ranges_of(row_group_stats(footer, name), schema.field(name).type)
        for name in _comparable(footer, predicate, schema)
    }
    kept = files_matching(predicate, Statistics(schema=schema, ranges=known), footer.metadata.num_row_groups)
    return np.flatnonzero(kept.to_numpy(zero_copy_only=False)).tolist()


def parts_matching(
    source: pa.NativeFile,
    footer: Footer,
    predicate: Expression,
    schema: pa.Schema,
    *,
    fewest_rows: int = 0,
) -> list[Part]:
    """Name the rows that may be some for which the predicate is true, by row groups and their pages.

    Of a row group with fewer than `fewest_rows` all pages are named.

    Cost:   of each row group that is left the page index of the filter's columns.
    Raises: CorruptData for a footer that is none; what the source raises.
    """
    parts = [
        _paged(source, footer, group, predicate, schema)
        if footer.metadata.row_group(group).num_rows >= max(fewest_rows, _FEWEST_ROWS)
        else Part(group, None)
        for group in groups_matching(footer, predicate, schema)
    ]
    return [part for part in parts if part.rows is None or len(part.rows)]


def part_of(footer: Footer, group: int, rows: npt.NDArray[np.int64]) -> Part:
    """Return some rows of a row group, ascending, with those between near ones; all of it where that is hardly more."""
    return _part(footer, group, runs_near(rows, _NEAR_ROWS))


def are_few(rows: npt.NDArray[np.int64], count: int) -> bool:
    """Return whether to read these rows of so many is much less than to read all."""
    return rows_count(runs_near(rows, _NEAR_ROWS)) <= _MOST_OF_A_GROUP * count


def with_rows(footer: Footer, parts: Iterable[Part], rows: npt.NDArray[np.int64]) -> list[Part]:
    """Return parts with some more rows; these are numbered within the file, ascending, and those behind it no rows."""
    found = {part.group: part.rows for part in parts}
    ends = _group_ends(footer)
    rows = rows[rows < footer.rows_count]
    of_group = np.searchsorted(ends, rows, side="right")
    for group in np.unique(of_group).tolist():
        start = int(ends[group - 1]) if group else 0
        more = runs_near(rows[of_group == group] - start, _NEAR_ROWS)
        known = found.get(group, more)
        found[group] = None if known is None else joined(known, more)
    return [Part(group, None) if runs is None else _part(footer, group, runs) for group, runs in sorted(found.items())]


def group_rows(footer: Footer, part: Part) -> npt.NDArray[np.int64]:
    """Number the rows of a part within their row group."""
    return np.arange(footer.metadata.row_group(part.group).num_rows) if part.rows is None else rows_in(part.rows)


def rows_of_parts(footer: Footer, parts: Iterable[Part] | None) -> npt.NDArray[np.int64]:
    """Number the rows of parts within the file, in the order in which they are read; None: all rows."""
    if parts is None:
        return np.arange(footer.rows_count)
    starts = np.concatenate(([0], _group_ends(footer)))
    return np.concatenate([starts[:0], *(starts[part.group] + group_rows(footer, part) for part in parts)])


def _group_ends(footer: Footer) -> npt.NDArray[np.int64]:
    metadata = footer.metadata
    counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return np.cumsum(np.array(counts, np.int64))


def _part(footer: Footer, group: int, rows: Ranges) -> Part:
    count = footer.metadata.row_group(group).num_rows
    is_whole = rows_count(rows) > _MOST_OF_A_GROUP * count or (count < _FEWEST_ROWS and len(rows))
    return Part(group, None if is_whole else rows)


def _paged(source: pa.NativeFile, footer: Footer, group: int, predicate: Expression, schema: pa.Schema) -> Part:
    """Leave out pages of a row group.

    Pages of two columns do not begin at the same rows. Each row where one of some column begins starts a segment,
    which lies in one page of each column.
    """
    ends, bounds = {}, {}
    for name in _comparable(footer, predicate, schema):
        pages = read_pages(source, footer, group, name)
        stats = None if pages is None else read_page_bounds(source, footer, group, name, pages)
        if pages is not None and stats is not None:
            ends[name], bounds[name] = pages.ends, stats
    if not ends:
        return Part(group, None)
    segments = np.unique(np.concatenate(list(ends.values())))
    known = {}
    for name, stats in bounds.items():
        page = np.searchsorted(ends[name], segments)
        known[name] = _ranges_of([stats[at] for at in page.tolist()], schema.field(name).type)
    kept = files_matching(predicate, Statistics(schema=schema, ranges=known), len(segments))
    return _part(footer, group, runs_where(kept.to_numpy(zero_copy_only=False), segments))


def _comparable(footer: Footer, predicate: Expression, schema: pa.Schema) -> list[str]:
    """Name the columns of a filter that the file has in the table's type: other bounds would be compared wrongly."""
    names = fields_of(predicate, schema)
    return [name for name in names if name in footer.types and footer.types[name] == schema.field(name).type]


def _ranges_of(stats: Sequence[ColumnStats], kind: pa.DataType) -> ColumnRanges:
    return ColumnRanges(
        min=_bounds([one.least for one in stats], kind),
        max=_bounds([one.greatest for one in stats], kind),
        nulls_count=pa.array([one.nulls_count for one in stats], pa.int64()),
        rows_count=pa.array([one.rows_count for one in stats], pa.int64()),
    )


def _bounds(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return bounds in the column's type; a damaged one, which does not fit, makes all unknown."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError):
        return pa.nulls(len(values), kind)
