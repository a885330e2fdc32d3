"""Rows of base files, as batches.

Start at `iter_batches`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.formats.parquet.equal_columns import equal_columns
from pyhudi.formats.parquet.footer import (
    INSTANT,
    Footer,
    damage_as_corrupt_data,
    open_file,
    read_footer,
    require_rows,
)
from pyhudi.formats.parquet.old_calendar import in_new_calendar
from pyhudi.formats.parquet.page_rows import rows_at
from pyhudi.formats.parquet.row_ranges import Ranges

__all__ = ["iter_batches", "iter_rows", "rows_of_part"]

_BATCH_ROWS = 131_072
_FEW_ROWS = 4096
"""Up to so many, decoding a column twice is cheaper than finding out that it is stored twice."""
_BATCH_BYTES = 64 << 20
"""A batch is not larger, as the footer counts bytes, where rows are wide."""
_FEWEST_ROWS = 64
_LEAST_VALUE_BYTES = 32


def iter_batches(
    source: pa.NativeFile,
    columns: Sequence[str] | None = None,
    *,
    read_dictionary: Sequence[str] = (),
    batch_rows: int | None = None,
    row_groups: Sequence[int] | None = None,
    footer: Footer | None = None,
    threads: int = 1,
    buffer_bytes: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Read a file batch by batch, in the order of its rows.

    Columns the file has not are left out; INT96 timestamps come as microseconds in UTC, dates and times of the old
    calendar in today's. With `footer` it is not read
    again. A column that is stored twice is decoded once, in files of more than a few rows. With `buffer_bytes` no more
    of a column than that is read at a time, instead of its row group.

    Shape:  batches of at most `batch_rows` rows, else of so many as are not too large; columns in `read_dictionary` as
            dictionary<int32, string>.
    Cost:   one batch and the compressed pages of its row group in memory; with more `threads` than one, columns are
            decoded by Arrow's own.
    Raises: CorruptData, Unsupported; what the source raises.
    """
    footer = footer or read_footer(source)
    with damage_as_corrupt_data():
        file = open_file(source, footer.metadata, read_dictionary=read_dictionary, buffer_size=buffer_bytes)
        asked = None if columns is None else frozenset(columns)
        wanted = [name for name in footer.schema.names if asked is None or name in asked]
        groups = list(range(file.metadata.num_row_groups) if row_groups is None else row_groups)
        if not groups:  # older releases of pyarrow take no row groups for a wrong one
            return
        is_small = file.metadata.num_rows <= _FEW_ROWS
        copies = {} if is_small else equal_columns(source, file.metadata, groups, set(wanted) - set(read_dictionary))
        once = [name for name in wanted if name not in copies]
        most = batch_rows or _rows_of_batch(file.metadata, groups, frozenset(once))
        batches = file.iter_batches(most, row_groups=groups, columns=once, use_threads=threads > 1)
        instants, old = footer.instants, footer.old_calendar
    rows_count = 0
    while True:
        with damage_as_corrupt_data():
            batch = next(batches, None)
        if batch is None:
            break
        rows_count += batch.num_rows
        rows = _with_zones(_with_copies(batch, wanted, copies) if copies else batch, instants)
        yield rows if old is None else in_new_calendar(rows, old, instants)
    require_rows(rows_count, file.metadata, groups)


def iter_rows(
    source: pa.NativeFile,
    columns: Sequence[str],
    ranges: Ranges,
    *,
    row_group: int,
    footer: Footer,
    read_dictionary: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Read some rows of a row group, as `iter_batches` does with all; pages without any of them are not read.

    Cost, Raises: as `rows_at`.
    """
    asked = frozenset(columns)
    wanted = [name for name in footer.schema.names if name in asked]
    rows = rows_at(source, wanted, ranges, row_group=row_group, footer=footer, read_dictionary=read_dictionary)
    instants, old = footer.instants, footer.old_calendar
    for batch in rows.unify_dictionaries().combine_chunks().to_batches(_BATCH_ROWS):
        zoned = _with_zones(batch, instants)
        yield zoned if old is None else in_new_calendar(zoned, old, instants)


def rows_of_part(footer: Footer, row_group: int, columns: Sequence[str], part_bytes: int) -> int:
    """Return how many rows of some columns have about so many bytes.

    Units: `part_bytes` of decoded values.
    """
    group = footer.metadata.row_group(row_group)
    leaves = [group.column(at) for at in range(group.num_columns)]
    stored = sum(leaf.total_uncompressed_size for leaf in leaves if leaf.path_in_schema.split(".")[0] in columns)
    least = _LEAST_VALUE_BYTES * len(columns)  # codes are shorter than what they stand for
    row_bytes = max(least, stored // max(1, group.num_rows))
    return int(min(_BATCH_ROWS, max(_FEWEST_ROWS, part_bytes // row_bytes)))


def _rows_of_batch(metadata: pq.FileMetaData, row_groups: Iterable[int], columns: AbstractSet[str]) -> int:
    """Return how many rows a batch has: fewer of wide ones, by the row group that has the widest."""
    most = _BATCH_ROWS
    for group in map(metadata.row_group, row_groups):
        rows_count = max(1, group.num_rows)
        if min(most, rows_count) * (group.total_byte_size // rows_count) <= _BATCH_BYTES:
            continue  # all columns together are not too wide
        leaves = map(group.column, range(group.num_columns))
        stored = sum(leaf.total_uncompressed_size for leaf in leaves if leaf.path_in_schema.split(".")[0] in columns)
        most = min(most, max(1, _BATCH_BYTES // max(1, stored // rows_count)))
    return most


def _with_copies(batch: pa.RecordBatch, names: Sequence[str], copies: Mapping[str, str]) -> pa.RecordBatch:
    stored = [copies.get(name, name) for name in names]
    fields = [batch.schema.field(first).with_name(name) for name, first in zip(names, stored, strict=True)]
    return pa.RecordBatch.from_arrays([batch.column(first) for first in stored], schema=pa.schema(fields))


def _with_zones(batch: pa.RecordBatch, instants: tuple[str, ...]) -> pa.RecordBatch:
    if not instants:
        return batch
    names = frozenset(instants)
    columns = [
        column.cast(INSTANT) if name in names else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    fields = [pa.field(field.name, INSTANT) if field.name in names else field for field in batch.schema]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
