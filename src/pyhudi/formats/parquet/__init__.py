"""Base files in parquet: footers, row-group reads, streamed writes.

No paths and no knowledge of tables: a source or a sink is handed in. Start at `write_base_file` and `iter_batches`.
"""

from pyhudi.formats.parquet.footer import (
    BaseFileFooter,
    ColumnForm,
    ColumnStats,
    Footer,
    base_file_footer,
    base_file_key_values,
    dictionary_columns,
    read_footer,
    row_group_stats,
    row_groups_matching,
)
from pyhudi.formats.parquet.reader import iter_batches
from pyhudi.formats.parquet.writer import ParquetOptions, parquet_options, write_base_file

__all__ = [
    "BaseFileFooter",
    "ColumnForm",
    "ColumnStats",
    "Footer",
    "ParquetOptions",
    "base_file_footer",
    "base_file_key_values",
    "dictionary_columns",
    "iter_batches",
    "parquet_options",
    "read_footer",
    "row_group_stats",
    "row_groups_matching",
    "write_base_file",
]
