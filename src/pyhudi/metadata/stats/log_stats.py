"""Statistics of the columns of one log file: of the rows that its blocks hold, whatever becomes of them in the merge.

Start at `log_stats`.

Spec: format/metadata-table 5.2, 7.2.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.bounds import Bounds, enclosing, measured
from pyhudi.filegroup.log_records import open_parquet
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock, read_blocks, split_rows
from pyhudi.formats.parquet import iter_batches, read_footer
from pyhudi.metadata.stats.file_stats import FileStats, parquet_stats
from pyhudi.metadata.stats.values import can_encode
from pyhudi.schema.evolution import project
from pyhudi.schema.types import avro_to_arrow
from pyhudi.storage.api import Storage

__all__ = ["LogRows", "footer_stats", "log_rows", "log_stats"]

_ROWS: Final = frozenset({BlockKind.AVRO, BlockKind.PARQUET})


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockStats:
    """What one block says: type, nulls and bounds of each of its columns."""

    rows_count: int
    columns: dict[str, tuple[pa.DataType, int, Bounds]]
    is_partial: bool


def log_stats(storage: Storage, path: str, columns: Sequence[str], table_version: int) -> list[FileStats]:
    """Read the statistics of some columns of a log file.

    Columns of a log of deletes have no values and no bounds. Those that a partial update leaves out have no statistics:
    their values are in other files. Nor has a log with rows in HFiles any, whose keys are apart from them.

    Cost:   the heads of the blocks; of rows in parquet the footer, and columns that it does not tell; else the rows.
    Raises: CorruptData; what storage raises.
    """
    size = storage.head(path).size_bytes
    blocks = [one for one in read_blocks(partial(storage.get_range, path), size) if HeaderKey.SCHEMA in one.headers]
    return _of_blocks(blocks, columns, table_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRows:
    """Some columns of the rows of one block."""

    rows: pa.Table
    """In the types that they were written with; columns that the block lacks are not there."""
    is_partial: bool
    """Columns that are not there have their values in other files."""


def log_rows(storage: Storage, path: str, names: Sequence[str]) -> list[LogRows] | None:
    """Read some columns of the rows that the blocks of a log hold; None where rows are in HFiles.

    Cost:   the heads of the blocks, and the columns.
    Raises: CorruptData; what storage raises.
    """
    size = storage.head(path).size_bytes
    blocks = [one for one in read_blocks(partial(storage.get_range, path), size) if HeaderKey.SCHEMA in one.headers]
    if any(block.kind is BlockKind.HFILE for block in blocks):
        return None
    held = ((block, _rows(block, names)) for block in blocks if block.kind in _ROWS)
    return [LogRows(rows=rows, is_partial=block.is_partial) for block, rows in held]


def footer_stats(
    storage: Storage, path: str, columns: Sequence[str], table_version: int, *, counts: Callable[[LogBlock], bool]
) -> list[FileStats]:
    """Read what `log_stats` does, of the blocks that count; nothing where rows are not in parquet.

    Cost:   the heads of the blocks, and the footers of their rows.
    Raises: CorruptData; what storage raises.
    """
    size = storage.head(path).size_bytes
    written = (one for one in read_blocks(partial(storage.get_range, path), size) if HeaderKey.SCHEMA in one.headers)
    blocks = [one for one in written if counts(one)]
    return [] if any(one.kind is BlockKind.AVRO for one in blocks) else _of_blocks(blocks, columns, table_version)


def _of_blocks(blocks: Sequence[LogBlock], columns: Sequence[str], table_version: int) -> list[FileStats]:
    if not blocks or any(block.kind is BlockKind.HFILE for block in blocks):
        return []
    written = avro_to_arrow(blocks[-1].schema, wide_unions=True)
    types = {field.name: field for field in written}
    named = [types[name] for name in columns if name in types]
    known = pa.schema([field for field in named if can_encode(field.type, table_version)])
    is_alike = len({block.schema for block in blocks}) == 1
    parts = [_of_block(one, known, table_version, is_alike=is_alike) for one in blocks if one.kind in _ROWS]
    return list(_joined(known, parts))


def _of_block(block: LogBlock, known: pa.Schema, table_version: int, *, is_alike: bool) -> _BlockStats:
    """Read the statistics of one block; in the types of `known` where blocks differ in theirs."""
    columns: dict[str, tuple[pa.DataType, int, Bounds]] = {}
    if block.kind is BlockKind.PARQUET and is_alike:
        source = open_parquet(block)
        footer = read_footer(source)
        for name, kind, bounds, (_, nulls, *_) in parquet_stats(source, footer, known.names, table_version):
            columns[name] = kind, nulls, bounds
        return _BlockStats(rows_count=footer.rows_count, columns=columns, is_partial=block.is_partial)
    rows = _rows(block, known.names)
    found = frozenset(rows.column_names)
    for field in known:
        if field.name in found:
            nulls, bounds = measured(project(rows.select([field.name]), pa.schema([field])).column(0).combine_chunks())
            columns[field.name] = field.type, nulls, bounds
    return _BlockStats(rows_count=rows.num_rows, columns=columns, is_partial=block.is_partial)


def _rows(block: LogBlock, columns: Sequence[str]) -> pa.Table:
    names = frozenset(columns)
    if block.kind is BlockKind.AVRO:
        schema = avro_to_arrow(block.schema, wide_unions=True)
        found = [name for name in schema.names if name in names] or schema.names[:1]
        return pa.Table.from_batches([decode_rows(split_rows(block.read_content()), block.schema, columns=found)])
    source = open_parquet(block)
    footer = read_footer(source)
    found = [name for name in footer.schema.names if name in names] or footer.schema.names[:1]
    stored = pa.schema([footer.schema.field(name) for name in found])
    return pa.Table.from_batches(list(iter_batches(source, found, footer=footer)), stored)


def _joined(known: pa.Schema, parts: Sequence[_BlockStats]) -> Iterator[FileStats]:
    """Put the statistics of blocks together, column by column; rows without the column are null in it."""
    rows_count = sum(part.rows_count for part in parts)
    for field in known:
        found = [part.columns[field.name] for part in parts if field.name in part.columns]
        is_elsewhere = any(part.is_partial and field.name not in part.columns for part in parts)
        kinds = {kind for kind, _, _ in found} or {field.type}
        if is_elsewhere or len(kinds) > 1:
            continue
        lacking = sum(part.rows_count for part in parts if field.name not in part.columns)
        bounds = enclosing([bounds for _, _, bounds in found])
        yield field.name, kinds.pop(), bounds, (rows_count, lacking + sum(nulls for _, nulls, _ in found), 0, 0)
