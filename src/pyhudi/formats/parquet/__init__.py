"""Base files in parquet: footers, row-group reads, streamed writes.

No paths and no knowledge of tables: a source or a sink is handed in. Start at `write_base_file` and `iter_batches`.
"""

from pyhudi.formats.parquet.footer import (
    BaseFileFooter,
    Footer,
    base_file_footer,
    base_file_key_values,
    damage_as_corrupt_data,
    read_footer,
    read_rows_count,
    row_group_stats,
    written_footer,
)
from pyhudi.formats.parquet.page_index import read_page_bounds, read_pages
from pyhudi.formats.parquet.reader import iter_batches, iter_rows, rows_of_part
from pyhudi.formats.parquet.row_ranges import Ranges, joined, rows_count, rows_in, runs_near, runs_where
from pyhudi.formats.parquet.statistics import ColumnStats
from pyhudi.formats.parquet.stitching import StitchedFile, are_stitchable, stitch
from pyhudi.formats.parquet.writer import ParquetOptions, parquet_options, write_base_file

__all__ = [
    "BaseFileFooter",
    "ColumnStats",
    "Footer",
    "ParquetOptions",
    "Ranges",
    "StitchedFile",
    "are_stitchable",
    "base_file_footer",
    "base_file_key_values",
    "damage_as_corrupt_data",
    "iter_batches",
    "iter_rows",
    "joined",
    "parquet_options",
    "read_footer",
    "read_page_bounds",
    "read_pages",
    "read_rows_count",
    "row_group_stats",
    "rows_count",
    "rows_in",
    "rows_of_part",
    "runs_near",
    "runs_where",
    "stitch",
    "write_base_file",
    "written_footer",
]
