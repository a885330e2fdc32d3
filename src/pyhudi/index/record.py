"""RECORD_INDEX, or GLOBAL_RECORD_LEVEL_INDEX: the metadata table says of each key where it is. Start at `told_places`.

Spec: format/metadata-table 8.6, 9.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import FILE_INDEX, KEY, LOCATED, PARTITION, Engine, KeyedRows
from pyhudi.engine.frames import LocalFrame
from pyhudi.errors import CorruptData
from pyhudi.filegroup.model import FileSlice
from pyhudi.index.api import Index, Place
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.record_places import PLACES, keys_by_shard, places_in_shard
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.options import Settings, boolean, option
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = [
    "GLOBAL_RECORD",
    "OLD_RECORD",
    "RECORD_MOVES",
    "find_places",
    "global_record",
    "has_places",
    "old_record",
    "told_places",
]

RECORD_MOVES: Final = option(
    "hoodie.record.index.update.partition.path",
    False,
    "GLOBAL_RECORD_LEVEL_INDEX: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
GLOBAL_RECORD: Final = Index(name="GLOBAL_RECORD_LEVEL_INDEX", place=Place.TABLE, is_told=True)
OLD_RECORD: Final = Index(name="RECORD_INDEX", place=Place.TABLE, is_told=True)
"""The name that it had before 1.1, which other releases know."""
_log = logging.getLogger("pyhudi.index")


def global_record(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that the metadata table answers for."""
    return GLOBAL_RECORD.moving(follows=settings.get(RECORD_MOVES))


def old_record(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the same under its old name."""
    return OLD_RECORD.moving(follows=settings.get(RECORD_MOVES))


def has_places(state: TableState) -> bool:
    """Return whether the table has the record index; where it has not, keys are looked for in base files."""
    has = MetadataPartition.RECORD_INDEX in state.config.metadata_partitions
    if not has:
        _log.warning(
            "table %s has no record index in its metadata table; keys are read from base files", state.config.name
        )
    return has


def told_places(
    engine: Engine, state: TableState, timeline: Timeline, rows: KeyedRows, slices: Sequence[FileSlice]
) -> tuple[LocalFrame, KeyedRows] | None:
    """Find which of the slices holds which key, by the record index; None where the keys are too many to be here.

    Shape:  LOCATED, a row a key that has a row.
    Cost:   of each shard that can have a key, the blocks that may, in tasks.
    Raises: CorruptData where a file group is named that is not there.
    """
    rows = engine.fetch_keys(rows)
    if rows.keys is None:
        return None
    places = find_places(engine, open_metadata(state, timeline), pc.unique(rows.keys.column(KEY)))
    groups = pa.array([f"{one.group.partition}/{one.group.file_id}" for one in slices], pa.string())
    told = pc.binary_join_element_wise(places.column("partition"), places.column("file_id"), "/")
    numbers = pc.index_in(told, value_set=groups)
    if numbers.null_count:
        wrong = places.filter(numbers.is_null()).slice(0, 1).to_pylist()[0]
        raise CorruptData(
            "the record index names a file group that is not there; build it anew: repair('record_index')", **wrong
        )
    columns = {KEY: places.column("key"), PARTITION: places.column("partition"), FILE_INDEX: numbers}
    return LocalFrame.of(pa.table([columns[name] for name in LOCATED.names], schema=LOCATED)), rows


def find_places(engine: Engine, table: MetadataTable, keys: pa.Array) -> pa.Table:
    """Look keys up in their shards, a task each.   Shape: PLACES, in no order; a key without a row has none."""
    found = engine.run(partial(places_in_shard, table), keys_by_shard(table, keys))
    return pa.concat_tables([PLACES.empty_table(), *found])
