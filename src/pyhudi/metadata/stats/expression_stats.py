"""Bounds and counts of what an expression makes of a column, of base files and logs. Start at `read_expression_stats`.

Spec: format/metadata-table 5.6.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import pyarrow as pa

from pyhudi.engine.scanning import stored_columns
from pyhudi.filegroup.bounds import Bounds, enclosing, measured
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.expressions import values_of
from pyhudi.metadata.stats.column_stats import column_stats_schema, is_log, stats_of_files
from pyhudi.metadata.stats.file_stats import FileStats
from pyhudi.metadata.stats.log_stats import log_rows
from pyhudi.metadata.stats.values import can_encode
from pyhudi.predicate import Expression, check
from pyhudi.schema.evolution import project
from pyhudi.storage.api import Storage

__all__ = ["column_batches", "read_expression_stats"]


def read_expression_stats(
    files: Sequence[tuple[PartitionPath, str]],
    *,
    storage: Storage,
    expression: Expression,
    source: pa.Field,
    table_version: int,
) -> pa.Table:
    """Read the bounds of an expression in files, under the name of the column that it is of.

    A row that has no value, as a text that is no date, counts as null. Of a log whose rows lack the column because
    their values are in other files there are no statistics.

    Shape:  `column_stats_schema`, at most one row a file.
    Cost:   the column of each file.
    Raises: CorruptData, naming the file; what storage raises.
    """
    kind = check(expression, pa.schema([source]))
    if not can_encode(kind, table_version):
        return column_stats_schema(table_version).empty_table()
    read = partial(_of_file, storage=storage, expression=expression, source=source, kind=kind)
    return stats_of_files(files, read, table_version)


def column_batches(storage: Storage, path: str, source: pa.Field) -> Iterable[pa.RecordBatch] | None:
    """Read one column of a file, in the type of a field; None where a file does not tell all its values."""
    wanted = pa.schema([source])
    if not is_log(path):
        return _base_batches(storage, path, wanted)
    parts = log_rows(storage, path, [source.name])
    if parts is None or any(part.is_partial and source.name not in part.rows.column_names for part in parts):
        return None
    rows = (_projected(part.rows, wanted) for part in parts)
    return (batch for part in rows for batch in part.to_batches())


def _base_batches(storage: Storage, path: str, wanted: pa.Schema) -> Iterable[pa.RecordBatch]:
    with storage.open_input(path) as opened:
        yield from stored_columns(opened, wanted, read_footer(opened), None)


def _projected(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Take a column of a block, which is null where the block has it not."""
    name = wanted.names[0]
    if name in rows.column_names:
        return project(rows.select([name]), wanted)
    return pa.table([pa.nulls(rows.num_rows, wanted.field(0).type)], schema=wanted)


def _of_file(
    path: str, *, storage: Storage, expression: Expression, source: pa.Field, kind: pa.DataType
) -> list[FileStats]:
    batches = column_batches(storage, path, source)
    if batches is None:
        return []
    rows_count, nulls_count, bounds = 0, 0, list[Bounds]()
    for batch in batches:
        nulls, ends = measured(values_of(expression, batch))
        rows_count, nulls_count = rows_count + batch.num_rows, nulls_count + nulls
        bounds.append(ends)
    return [(source.name, kind, enclosing(bounds), (rows_count, nulls_count, 0, 0))]
