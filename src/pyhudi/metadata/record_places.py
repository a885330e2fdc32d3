"""Where the rows of keys are, as the record index says. Start at `read_places`; `places_of_entries` runs in tasks, too.

Spec: format/metadata-table 5.4, 8.6.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import FileSlice
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.committed_files import groups_of_rows
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Entries, Wanted, slice_entries
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.shards import spans_of
from pyhudi.metadata.state import MetadataTable

__all__ = [
    "PLACES",
    "RECORD_FIELD",
    "decode_places",
    "keys_by_shard",
    "places_in_shard",
    "places_of_entries",
    "read_places",
]

RECORD_FIELD: Final = "recordIndexMetadata"
PLACES: Final = pa.schema([("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string())])
_AS_TEXT: Final = 1


def read_places(
    table: MetadataTable, keys: pa.Array | None = None, partitions: Collection[str] | None = None
) -> pa.Table:
    """Read the places of keys, or of all keys; a key without a row has none.

    Where the index is by partition, `partitions` of the table may say in which to look; a key may be in several.

    Shape:  PLACES, sorted by key.
    Cost:   of the shards that can have a key the blocks that may, and their logs; several shards at once.
    Raises: CorruptData.
    """
    shards = groups_of_rows(table, MetadataPartition.RECORD_INDEX)
    tasks = [(one, None) for one in shards] if keys is None else keys_by_shard(table, keys, partitions)
    found = at_once(lambda number: places_in_shard(table, tasks[number]), range(len(tasks)))
    return pa.concat_tables([PLACES.empty_table(), *found.values()]).sort_by("key")


def keys_by_shard(
    table: MetadataTable, keys: pa.Array | Mapping[str, pa.Array], partitions: Collection[str] | None = None
) -> list[tuple[FileSlice, pa.Array]]:
    """Return the shards that can have some keys, with the keys that each of them can have.

    `keys` are those of any partition of the table, or of each by its path; `partitions` as in `read_places`.
    """
    shards = groups_of_rows(table, MetadataPartition.RECORD_INDEX)
    if not table.has_keys_by_partition:
        every = keys if isinstance(keys, pa.Array) else pc.unique(pa.chunked_array(list(keys.values()), pa.string()))
        return _by_hash(shards, every)
    found = []
    for owner, span in spans_of([one.group.file_id for one in shards]).items():
        if partitions is None or owner in partitions:
            wanted = keys if isinstance(keys, pa.Array) else keys.get(owner)
            found += [] if wanted is None else _by_hash(shards[span.first : span.first + span.count], wanted)
    return found


def _by_hash(shards: Sequence[FileSlice], keys: pa.Array) -> list[tuple[FileSlice, pa.Array]]:
    if not len(keys) or not shards:
        return []
    numbers = SHARD_HASH.place_of(keys, len(shards))
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    parts = [keys.take(pa.array(some)) for some in np.split(order, first[1:])]
    return [(shards[number], part) for number, part in zip(found.tolist(), parts, strict=True)]


def places_in_shard(table: MetadataTable, task: tuple[FileSlice, pa.Array | None]) -> pa.Table:
    """Look keys up in one shard, or read all that are there.   Shape: PLACES, sorted by key."""
    shard, keys = task
    return places_of_entries(slice_entries(table, shard, Wanted(keys=keys)), table.state.config.table_version)


def places_of_entries(entries: Entries, table_version: int) -> pa.Table:
    """Decode the newest entry of each key: each distinct place once.   Shape: PLACES, sorted by key."""
    newest = entries.newest(table_version)
    places = decode_places(newest.column("value").combine_chunks(), table_version)
    return pa.table([newest.column("key").cast(pa.string()), *places.columns], schema=PLACES)


def decode_places(values: pa.Array, table_version: int) -> pa.Table:
    """Decode records, each distinct one once.   Shape: n binary -> n rows of PLACES without keys."""
    encoded = values.dictionary_encode()
    schema = record_schema(table_version, has_meta_fields=True)
    told = decode_rows(encoded.dictionary, schema, columns=[RECORD_FIELD]).column(0).to_pylist()  # a row a place
    partitions = pa.array([one["partitionName"] for one in told], pa.string())
    file_ids = pa.array(map(_file_id, told), pa.string())
    columns = [one.take(encoded.indices) for one in (partitions, file_ids)]
    return pa.table(columns, names=PLACES.names[1:])


def _file_id(place: Mapping[str, Any]) -> str:
    if place["fileIdEncoding"] == _AS_TEXT:
        return str(place["fileId"])
    halves = (place[name].to_bytes(8, "big", signed=True) for name in ("fileIdHighBits", "fileIdLowBits"))
    whole, number = str(uuid.UUID(bytes=b"".join(halves))), place["fileIndex"]
    return whole if number < 0 else f"{whole}-{number}"
