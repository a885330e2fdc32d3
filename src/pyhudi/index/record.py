"""The indexes by which the metadata table says of each key where it is. Start at `RECORD_KIND`, then `told_places`.

RECORD_INDEX, or GLOBAL_RECORD_LEVEL_INDEX, looks in all partitions; RECORD_LEVEL_INDEX in the one that a row is for.
A filter that says which keys a row has to have asks for their places, whatever the index of writes is.

Spec: format/metadata-table 8.6, 9.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import FILE_INDEX, KEY, LOCATED, PARTITION, Engine, KeyedRows
from pyhudi.engine.frames import LocalFrame
from pyhudi.errors import CorruptData
from pyhudi.filegroup.model import FileSlice
from pyhudi.index.api import Index, IndexKind, Place
from pyhudi.index.asking import Answer, Asked, Question, answer_by_places
from pyhudi.index.lookup import WantedKeys
from pyhudi.index.required_keys import keys_required, may_require_keys
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.record_places import PLACES, keys_by_shard, places_in_shard
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.metadata.stats.reader import tells_newest
from pyhudi.options import Settings, boolean, option
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = [
    "GLOBAL_RECORD",
    "OLD_RECORD",
    "RECORD",
    "RECORD_KIND",
    "RECORD_MOVES",
    "find_places",
    "has_places",
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
RECORD: Final = Index(name="RECORD_LEVEL_INDEX", place=Place.PARTITION, is_told=True)
_log = logging.getLogger("pyhudi.index")


def _global_record(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that the metadata table answers for."""
    return GLOBAL_RECORD.moving(follows=settings.get(RECORD_MOVES))


def _old_record(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the same under its old name."""
    return OLD_RECORD.moving(follows=settings.get(RECORD_MOVES))


def _record(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that the metadata table answers for, which looks for a key in the partition of its row."""
    return RECORD


def _leaves(question: Question, asked: Asked) -> Iterator[Answer]:
    config, name = question.files.state.config, MetadataPartition.RECORD_INDEX
    if name not in config.metadata_partitions or not config.populates_meta_fields:
        return
    if not question.required or not may_require_keys(question.required, config.record_key):
        return
    keys = keys_required(question.required, question.key_spec())
    if keys is not None:
        places = question.files.places_of_keys(keys, asked.partitions, asked.slices.num_rows)
        yield from answer_by_places(name, places, question, asked)


RECORD_KIND: Final = IndexKind(
    types={GLOBAL_RECORD.name: _global_record, OLD_RECORD.name: _old_record, RECORD.name: _record}, leaves=_leaves
)


def has_places(state: TableState) -> bool:
    """Return whether the table has the record index; where it has not, keys are looked for in base files."""
    has = MetadataPartition.RECORD_INDEX in state.config.metadata_partitions
    if not has:
        _log.warning(
            "table %s has no record index in its metadata table; keys are read from base files", state.config.name
        )
    return has


def told_places(
    engine: Engine,
    state: TableState,
    timeline: Timeline,
    rows: KeyedRows,
    slices: Sequence[FileSlice],
    *,
    by_partition: bool,
) -> tuple[LocalFrame, KeyedRows] | None:
    """Find which of the slices holds which key, by the record index.

    None where base files have to be read: the keys are too many to be here, or others have committed since the slices
    were listed, and have put one of the keys into a new file group.

    With `by_partition` a key is looked for in the partition of its row; the slices are all of the partitions that they
    are of.

    Shape:  LOCATED, a row a key that has a row.
    Cost:   of each shard that can have a key, the blocks that may, in tasks.
    Raises: CorruptData where a file group is named that is not there.
    """
    rows = engine.fetch_keys(rows)
    if rows.keys is None:
        return None
    wanted = WantedKeys.of(rows.keys, by_partition=by_partition)
    table = open_metadata(state, timeline)
    places = find_places(engine, table, wanted, {one.group.partition for one in slices})
    groups = pa.array([f"{one.group.partition}/{one.group.file_id}" for one in slices], pa.string())
    told = pc.binary_join_element_wise(places.column("partition"), places.column("file_id"), "/")
    numbers = pc.index_in(told, value_set=groups)
    if numbers.null_count and not tells_newest(table, timeline):
        _log.info("the record index of %s is ahead of this write; keys are read from base files", state.config.name)
        return None
    if numbers.null_count:
        wrong = places.filter(numbers.is_null()).slice(0, 1).to_pylist()[0]
        raise CorruptData(
            "the record index names a file group that is not there; build it anew: repair('record_index')", **wrong
        )
    columns = {KEY: places.column("key"), PARTITION: places.column("partition"), FILE_INDEX: numbers}
    return LocalFrame.of(pa.table([columns[name] for name in LOCATED.names], schema=LOCATED)), rows


def find_places(engine: Engine, table: MetadataTable, wanted: WantedKeys, partitions: Collection[str]) -> pa.Table:
    """Look keys up in their shards, a task each; in some partitions, where they are wanted by partition.

    Shape: PLACES, in no order; a key without a row has none.
    """
    if wanted.everywhere is not None:
        found = engine.run(partial(places_in_shard, table), keys_by_shard(table, wanted.everywhere))
        return pa.concat_tables([PLACES.empty_table(), *found])
    keys = {path: some for path, some in wanted.by_partition.items() if path in partitions}
    found = engine.run(partial(places_in_shard, table), keys_by_shard(table, keys))
    places = pa.concat_tables([PLACES.empty_table(), *found])
    if table.has_keys_by_partition:
        return places
    pairs = [pa.table([some, pa.repeat(path, len(some))], names=["key", "partition"]) for path, some in keys.items()]
    return places.join(pa.concat_tables(pairs), ["key", "partition"], join_type="left semi") if pairs else places
