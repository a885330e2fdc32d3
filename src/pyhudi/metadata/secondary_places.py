"""Where the rows are that have some values of a column, by a secondary index and the record index.

Start at `secondary_places`.

Spec: format/metadata-table 8.7.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.metadata.committed_files import groups_of_rows
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.reader import Wanted, slice_entries
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.secondary_keys import indexed_record_keys, value_prefixes
from pyhudi.metadata.state import MetadataTable

__all__ = ["entries_of_values", "keys_of_values", "secondary_places"]

_BY_ENTRY = "V1"


def secondary_places(table: MetadataTable, partition: str, values: pa.Array) -> pa.Table:
    """Return the places of the rows whose column has one of some values.

    Shape:  `record_places.PLACES`, a row a record key.
    Cost:   the blocks of the secondary index that have these values, and those of the record index that have the keys.
    Raises: CorruptData, and what storage raises.
    """
    return read_places(table, keys_of_values(table, partition, values))


def keys_of_values(table: MetadataTable, partition: str, values: pa.Array) -> pa.Array:
    """Return the record keys of the rows whose column has one of some values.   Cost: as `secondary_places`."""
    return pc.unique(indexed_record_keys(entries_of_values(table, partition, values)))


def entries_of_values(table: MetadataTable, partition: str, values: pa.Array) -> pa.Array:
    """Return the keys of the entries of some values.   Cost: the blocks of the secondary index that have them."""
    kind, groups = kind_of(partition, table.definitions), groups_of_rows(table, partition)
    prefixes = pc.unique(value_prefixes(values)).sort()
    is_by_entry = table.definitions[partition].version == _BY_ENTRY
    places = np.zeros(len(prefixes), np.int64) if is_by_entry else kind.key_hash.place_of(prefixes, len(groups))
    found = []
    for number, group in enumerate(groups):
        asked = prefixes if is_by_entry else prefixes.filter(pa.array(places == number))
        if len(asked):
            entries = slice_entries(table, group, Wanted(prefixes=tuple(asked.to_pylist())))
            found.append(entries.newest(table.state.config.table_version).column("key").cast(pa.string()))
    return pa.chunked_array([chunk for one in found for chunk in one.chunks], pa.string()).combine_chunks()
