"""The partition `record_index`: which file group has the row of a key. Start at `RecordIndexKind`.

A record a key, with the place that its first write gave it: an update changes nothing, a delete takes it away.

Spec: format/metadata-table 3.3, 5.4, 7.2, 7.3.
"""

import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import FileGroupId
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.changed_keys import SliceChange, changed_keys
from pyhudi.metadata.names import MetadataPartition, RecordKind
from pyhudi.metadata.partitions.api import (
    Clean,
    Commit,
    Comparison,
    FilesTold,
    LookedUp,
    Need,
    RowsTold,
    Stored,
)
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.record_places import RECORD_FIELD, decode_places, places_of_entries
from pyhudi.metadata.records import encode_record_values
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.spread_records import TOLD, GroupContent, SpreadRecords, two_rows
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import MOST, Option, Settings, between, boolean, option
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.metadata import WriteOperation

__all__ = [
    "PARTITIONED_RECORD_INDEX",
    "RECORD_INDEX",
    "RecordIndexKind",
    "estimated_groups",
    "keys_count",
    "record_places",
    "split_file_id",
]

RECORD_INDEX: Final = option(
    "hoodie.metadata.global.record.level.index.enable",
    False,
    "A new metadata table has the record index, which says of each key where its row is; given as true, an older one"
    " gets it by its next write.",
    parse=boolean,
    old_keys=("hoodie.metadata.record.index.enable",),
)
PARTITIONED_RECORD_INDEX: Final = option(
    "hoodie.metadata.record.level.index.enable",
    False,
    "As the one before, but the record index is built with file groups of its own for each partition of the table: a"
    " key is looked up in the partition of its row, and may have a row in another partition, too.",
    parse=boolean,
)
MIN_GROUPS: Final = option(
    "hoodie.metadata.global.record.level.index.min.filegroup.count",
    10,
    "How many file groups the record index gets at least, when it is first built.",
    parse=between(1, 9_999),
    old_keys=("hoodie.metadata.record.index.min.filegroup.count",),
)
MAX_GROUPS: Final = option(
    "hoodie.metadata.global.record.level.index.max.filegroup.count",
    10_000,
    "How many file groups the record index gets at most, when it is first built.",
    parse=between(1, 10_000),
    old_keys=("hoodie.metadata.record.index.max.filegroup.count",),
)
GROWTH: Final = option(
    "hoodie.metadata.record.index.growth.factor",
    2.0,
    "By how much the records that there are when the record index is built may grow: its file groups are counted so.",
    parse=between(0.0, 1e9),
)
GROUP_BYTES: Final = option(
    "hoodie.metadata.record.index.max.filegroup.size",
    1024 * 1024 * 1024,
    "What a file group of the record index may grow to, for their number when it is built. Bytes.",
    parse=between(48, MOST),
)
_RECORD_BYTES: Final = 48
"""As Apache Hudi estimates it."""
_UUID_FILE_ID: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(0|[1-9]\d{0,8}))?", re.ASCII)
_NO_NUMBER: Final = -1
_KEPT_NAMES: Final = frozenset({"GLOBAL_RECORD_LEVEL_INDEX", "RECORD_INDEX", "RECORD_LEVEL_INDEX"})
_AS_TEXT: Final = 1
"""The encoding of a file id that is no UUID and number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexKind:
    """The global index: a record a key of the table, in shards by the key's hash."""

    name: str = MetadataPartition.RECORD_INDEX
    file_id_prefix: str = "record-index"
    needs: frozenset[Need] = frozenset({Need.ROWS})
    enabled_by: Option[bool] = RECORD_INDEX
    is_defined: bool = True
    is_of_newest: bool = True
    is_by_partition: bool = False
    key_hash: KeyHash = SHARD_HASH
    rests_on: str | None = None

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return what the options say; a table that keeps the index of this name has it, too."""
        return settings.get(RECORD_INDEX) or settings.get(PARTITIONED_RECORD_INDEX) or _is_index_of(config)

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return as many as the records will fill once they have grown, within the bounds of the options."""
        return estimated_groups(settings, records_count, settings.get(MIN_GROUPS), settings.get(MAX_GROUPS))

    def records_of_commit(self, commit: Commit) -> SpreadRecords:
        """Return the keys that came and went; of a clustering all keys of its new file groups."""
        assert commit.rows is not None, "this partition needs the rows"
        return record_places(commit.state, commit.rows, _changes(commit.rows), is_by_partition=self.is_by_partition)

    def records_of_clean(self, clean: Clean) -> None:
        """Return nothing: a clean takes no row."""

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> None:
        """Return nothing: what the commit told of its keys is taken back with it."""

    def build(self, stored: Stored) -> SpreadRecords:
        """Return the keys of all slices."""
        assert stored.rows is not None, "this partition needs the rows"
        return record_places(stored.state, stored.rows, stored.rows.changes, is_by_partition=self.is_by_partition)

    def fold(self, table: MetadataTable, entries: Entries) -> pa.Table:
        """Keep the newest record of each key."""
        return entries.newest(table.state.config.table_version)

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison | None:
        """Return nothing: `queries.check` compares it with rows."""
        return None


def record_places(
    state: TableState, rows: RowsTold, changes: Sequence[SliceChange], *, is_by_partition: bool = False
) -> SpreadRecords:
    """Return the records of what changes, of either form of the index.

    Where keys were looked up already, wherever this form has them, they are not looked up in the index once more.
    """
    are_known = rows.looked_up is LookedUp.TABLE or (is_by_partition and rows.looked_up is LookedUp.PARTITION)
    return SpreadRecords(
        partition=MetadataPartition.RECORD_INDEX,
        engine=rows.engine,
        tell=partial(_tell, storage=state.storage, reads=rows.reads),
        tasks=tuple(enumerate(changes)),
        values=_places(state, changes),
        count=sum(keys_count(one) for one in changes),
        key_hash=SHARD_HASH,
        refuses_two=True,
        check=None if are_known else partial(_require_new, table_version=state.config.table_version),
    )


def keys_count(change: SliceChange) -> int:
    """Return how many keys a file group tells, roughly."""
    return max(change.inserts_count, change.deletes_count)


def estimated_groups(settings: Settings, records_count: int, least: int, most: int) -> int:
    """Return as many file groups as records will fill once they have grown, within bounds."""
    expected = math.ceil(records_count * settings.get(GROWTH))
    return max(1, min(max(expected // (settings.get(GROUP_BYTES) // _RECORD_BYTES), least), most))


def _is_index_of(config: TableConfig) -> bool:
    """Return whether the table keeps that its keys are found by the record index."""
    return config.index.get("hoodie.index.type", "").upper() in _KEPT_NAMES


def split_file_id(file_id: str) -> tuple[int, int, int] | None:
    """Return a file id's UUID as its two halves, signed, and its number; None where it is none.

    The number is -1 where there is a UUID alone.
    """
    match = _UUID_FILE_ID.fullmatch(file_id)
    if match is None:
        return None
    whole = uuid.UUID(match[1]).bytes
    high, low = (int.from_bytes(half, "big", signed=True) for half in (whole[:8], whole[8:]))
    return high, low, _NO_NUMBER if match[2] is None else int(match[2])


def _changes(rows: RowsTold) -> list[SliceChange]:
    """Leave out what moves no key. A clustering's rows are all in its new files, and none is of a new key."""
    if rows.keeps_rows:
        return []
    if rows.operation is not WriteOperation.CLUSTER:
        return list(rows.changes)
    return [one for one in rows.changes if one.before is None]


def _require_new(content: GroupContent, stored: Entries, *, table_version: int) -> None:
    """Refuse keys that have a row in another file group, which this action does not take away.

    Raises: DuplicateKeys.
    """
    known = places_of_entries(stored, table_version)
    if not known.num_rows:
        return
    at = pc.index_in(known.column("key").cast(pa.binary()), value_set=content.keys)
    fresh = decode_places(content.values.take(at.combine_chunks()), table_version)
    differs = pc.or_(*(pc.not_equal(known.column(name), fresh.column(name)) for name in fresh.column_names))
    wrong = known.filter(pc.and_(differs, pc.invert(pc.is_in(known.column("key"), value_set=content.moved))))
    if wrong.num_rows:
        raise two_rows(wrong.column("key")[0].as_py(), wrong.num_rows)


def _tell(numbered: tuple[int, SliceChange], *, storage: Storage, reads: SliceSpec) -> Iterator[pa.Table]:
    """Yield which keys came to a file group and which went.   Shape: `spread_records.TOLD`."""
    number, change = numbered
    for came, went in changed_keys(change, storage=storage, reads=reads):
        if len(came):
            yield pa.table([came, pa.repeat(pa.scalar(number, pa.int32()), len(came))], schema=TOLD)
        if len(went):
            yield pa.table([went, pa.nulls(len(went), pa.int32())], schema=TOLD)


def _places(state: TableState, changes: Sequence[SliceChange]) -> pa.Array:
    """Encode the record of the keys of each file group that came with an action."""
    version, zone = state.config.table_version, timeline_zone(state)
    kind = avro_to_arrow(record_schema(version, has_meta_fields=True), wide_unions=True).field(RECORD_FIELD).type
    rows = [{**_place(one.group), "instantTime": instant_ms(one.instant, zone)} for one in changes]
    values = pa.array(rows, kind)
    kinds = pa.repeat(pa.scalar(RecordKind.RECORD_INDEX, pa.int32()), len(changes))
    return encode_record_values(kinds, RECORD_FIELD, values, version)


def _place(group: FileGroupId) -> dict[str, object]:
    """Return what a record says of a file group.   Spec: format/metadata-table 5.4."""
    halves = split_file_id(group.file_id)
    high, low, number = halves or (_NO_NUMBER, _NO_NUMBER, _NO_NUMBER)
    return {
        "partitionName": group.partition,
        "fileIdHighBits": high,
        "fileIdLowBits": low,
        "fileIndex": number,
        "fileId": group.file_id if halves is None else "",
        "fileIdEncoding": 0 if halves is not None else _AS_TEXT,
    }
