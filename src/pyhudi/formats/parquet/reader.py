"""Rows of base files, as batches.

Start at `iter_batches`.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.formats.parquet.footer import INSTANT, Footer, damage_as_corrupt_data, int96_columns, require_rows

__all__ = ["iter_batches"]

_BATCH_ROWS = 131_072


def iter_batches(
    source: pa.NativeFile,
    columns: Sequence[str] | None = None,
    *,
    read_dictionary: Sequence[str] = (),
    batch_rows: int = _BATCH_ROWS,
    row_groups: Sequence[int] | None = None,
    footer: Footer | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a file batch by batch, in the order of its rows.

    Columns the file has not are left out; INT96 timestamps come as microseconds in UTC. With `footer` it is not read
    again.

    Shape:  batches of at most `batch_rows` rows; columns in `read_dictionary` as dictionary<int32, string>.
    Cost:   one batch and the compressed pages of its row group in memory; one thread.
    Raises: CorruptData, Unsupported; what the source raises.
    """
    with damage_as_corrupt_data():
        file = pq.ParquetFile(
            source,
            metadata=footer.metadata if footer else None,
            read_dictionary=list(read_dictionary) or None,
            coerce_int96_timestamp_unit="us",
        )
        wanted = None if columns is None else list(columns)
        groups = None if row_groups is None else list(row_groups)
        batches = file.iter_batches(batch_rows, row_groups=groups, columns=wanted, use_threads=False)
        instants = int96_columns(file.metadata)
    rows_count = 0
    while True:
        with damage_as_corrupt_data():
            batch = next(batches, None)
        if batch is None:
            break
        rows_count += batch.num_rows
        yield _with_zones(batch, instants)
    require_rows(rows_count, file.metadata, range(file.metadata.num_row_groups) if groups is None else groups)


def _with_zones(batch: pa.RecordBatch, instants: tuple[str, ...]) -> pa.RecordBatch:
    for name in instants:
        at = batch.schema.get_field_index(name)
        if at >= 0:
            batch = batch.set_column(at, pa.field(name, INSTANT), batch.column(at).cast(INSTANT))
    return batch
