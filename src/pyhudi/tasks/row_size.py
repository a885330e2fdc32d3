"""How many bytes a row takes in a base file, by writing some of them. Start at `stored_row_bytes`."""

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import SchemaMismatch
from pyhudi.filegroup.rows import base_file_rows
from pyhudi.filegroup.write_task import WriteSpec
from pyhudi.formats.parquet import write_base_file

__all__ = ["SAMPLE_ROWS", "stored_row_bytes"]

SAMPLE_ROWS: Final = 8192
"""Enough of them that dictionaries and the heads of pages weigh little."""
_NAME: Final = "00000000-0000-0000-0000-000000000000-0_0-0-0_00000000000000000.parquet"


def stored_row_bytes(rows: pa.Table, spec: WriteSpec) -> float:
    """Return what one of these rows takes on average in a base file, meta columns included; 0 where that is not known.

    The footer is left out: it takes the same, however many rows there are.

    Shape:  rows: the table's columns plus KEY and PARTITION, in the order in which they would be stored.
    Units:  bytes.
    Cost:   the encoding of at most `SAMPLE_ROWS` rows.
    """
    some = rows.slice(0, SAMPLE_ROWS)
    if not some.num_rows:
        return 0.0
    laid_out = base_file_rows(some, spec.layout, spec.instant, 0, _NAME)
    sink = pa.BufferOutputStream()
    options = replace(spec.parquet, threads=1)
    try:
        write_base_file(sink, laid_out.to_batches(), spec.layout.file_schema, options, dict)
    except SchemaMismatch:
        return 0.0  # the write itself tells which row cannot be stored
    metadata = pq.read_metadata(pa.BufferReader(sink.getvalue()))
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    chunks: int = sum(group.column(at).total_compressed_size for group in groups for at in range(group.num_columns))
    rows_count: int = some.num_rows
    return chunks / rows_count
