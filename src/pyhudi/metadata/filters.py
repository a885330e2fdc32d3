"""Bloom filters of files, read from the metadata table. Start at `files_holding`.

Spec: format/metadata-table 8.8, 8.9.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import AskedValues
from pyhudi.filegroup.listing import at_once
from pyhudi.formats.bloom import decode_bloom, might_contain
from pyhudi.metadata.filter_records import newest_filters
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import MetadataTable

__all__ = ["files_holding"]

_FILES_AT_ONCE: Final = 512
"""Whose filters are in memory together: one that Apache Hudi makes takes 430 kB, however few keys it has."""


def files_holding(table: MetadataTable, partition: str, files: pa.Table, values: AskedValues) -> pa.BooleanArray:
    """Return which base files may hold one of some values; a file without a filter may.

    Shape:  n rows of `partition` and `name` -> n booleans.
    Cost:   the entries of these files, in portions, and the values of each file in threads.
    Raises: CorruptData, and what storage raises.
    """
    keys = file_keys(*(files.column(name).combine_chunks() for name in ("partition", "name")))
    portions = [
        _holding(table, partition, keys.slice(at, _FILES_AT_ONCE), partial(_values, values, at))
        for at in range(0, len(keys), _FILES_AT_ONCE)
    ]
    return pa.chunked_array(portions, pa.bool_()).combine_chunks()


def _values(values: AskedValues, first: int, row: int) -> pa.Array:
    return values(first + row) if callable(values) else values


def _holding(
    table: MetadataTable, partition: str, keys: pa.Array, values_of: Callable[[int], pa.Array]
) -> pa.BooleanArray:
    entries = read_entries(table, partition, Wanted(keys=tuple(keys.to_pylist())))
    stored, filters = newest_filters(entries, table.state.config.table_version)
    rows = pc.index_in(stored, value_set=keys).to_pylist()
    told = zip(rows, filters.field("type").to_pylist(), filters.field("bloomFilter").to_pylist(), strict=True)

    def may_hold(one: tuple[int, str, bytes]) -> bool:
        row, kind, text = one
        return bool(pc.any(might_contain(decode_bloom(text, kind), values_of(row)), min_count=0).as_py())

    found = at_once(may_hold, list(told))
    answers = pa.array(found.values(), pa.bool_()).take(pc.index_in(keys, value_set=stored))
    return pc.fill_null(answers, True)
