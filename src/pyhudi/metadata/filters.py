"""Bloom filters of files, read from the metadata table. Start at `files_holding`.

Spec: format/metadata-table 8.8, 8.9.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.formats.bloom import decode_bloom, might_contain
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.partitions.expression_blooms import newest_filters
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import MetadataTable

__all__ = ["files_holding"]


def files_holding(table: MetadataTable, partition: str, files: pa.Table, values: pa.Array) -> pa.BooleanArray:
    """Return which base files may hold one of some values; a file without a filter may.

    Shape:  n rows of `partition` and `name`, values as text -> n booleans.
    Cost:   the entries of these files.
    Raises: CorruptData, and what storage raises.
    """
    keys = file_keys(*(files.column(name).combine_chunks() for name in ("partition", "name")))
    entries = read_entries(table, partition, Wanted(keys=tuple(keys.to_pylist())))
    stored, filters = newest_filters(entries, table.state.config.table_version)
    told = zip(filters.field("type").to_pylist(), filters.field("bloomFilter").to_pylist(), strict=True)
    may_hold = [bool(pc.any(might_contain(decode_bloom(text, kind), values)).as_py()) for kind, text in told]
    found = pa.array(may_hold, pa.bool_()).take(pc.index_in(keys, value_set=stored))
    return pc.fill_null(found, True)
