"""Partition columns that are only in the path: rows get them back as they are read.

Start at `values_in_paths`; `rows_beside_path` runs in tasks.
"""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import PartitionPath
from pyhudi.predicate import Expression, fields_of, mask
from pyhudi.queries.pruning import partition_values
from pyhudi.schema.meta_fields import FILE_NAME, PARTITION_PATH
from pyhudi.state.config import TableConfig

__all__ = ["rows_beside_path", "values_in_paths", "with_path_values"]


def values_in_paths(config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath]) -> pa.Table | None:
    """Return the values of partition columns that base files do not have; None where files have all columns.

    Shape: one row a partition, as `partition_values`; a column whose value the path does not tell is null.
    """
    if not config.columns_in_paths:
        return None
    known = partition_values(config, schema, partitions)
    for name in config.columns_in_paths:
        if name in schema.names and name not in known.column_names:
            known = known.append_column(schema.field(name), pa.nulls(known.num_rows, schema.field(name).type))
    return known


def with_path_values(batch: pa.RecordBatch, values: pa.Table | None, partition: str) -> pa.RecordBatch:
    """Put the columns that only the path of this partition tells after a batch's own."""
    if values is None:
        return batch
    row = pc.index(values.column(PARTITION_PATH), partition).as_py()
    for field in values.schema:
        if field.name not in batch.schema.names:
            value = pa.repeat(values.column(field.name)[row], batch.num_rows)
            batch = batch.append_column(field, value)
    return batch


def rows_beside_path(
    read: Callable[[tuple[str, ...], Expression | None], Iterator[pa.RecordBatch]],
    *,
    schema: pa.Schema,
    columns: tuple[str, ...],
    predicate: Expression | None,
    path: tuple[pa.Table, str],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that `read` gives for stored columns and a filter, with the path's columns beside them.

    `path` is the values of all partitions, and the path of this one.
    """
    values, partition = path
    told = {name for name in values.column_names if name != PARTITION_PATH}
    filtered = set() if predicate is None else set(fields_of(predicate, schema))
    stored = [name for name in schema.names if name in {*columns, *filtered} - told] or [FILE_NAME]
    pushed = None if filtered & told else predicate
    wanted = pa.schema([schema.field(name) for name in columns])
    for batch in read(tuple(stored), pushed):
        rows = with_path_values(batch, values, partition)
        if predicate is not None and pushed is None:
            rows = rows.filter(mask(predicate, rows))
        yield rows.select(columns).cast(wanted)
