"""Rows of base files, as batches.

Start at `iter_batches`.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.formats.parquet.footer import Footer, damage_as_corrupt_data, require_rows

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

    Columns the file has not are left out. With `footer` it is not read again.

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
    rows_count = 0
    while True:
        with damage_as_corrupt_data():
            batch = next(batches, None)
        if batch is None:
            break
        rows_count += batch.num_rows
        yield batch
    require_rows(rows_count, file.metadata, range(file.metadata.num_row_groups) if groups is None else groups)
