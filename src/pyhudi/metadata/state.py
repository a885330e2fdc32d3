"""The metadata table as a table: a merge-on-read table of HFiles below `.hoodie/metadata`.

It has a timeline of its own, on which every action of the table is a delta commit of the same instant that completes
before the action does; what it says of an action that is not completed is therefore left out. Start at
`metadata_state` and `open_metadata`.

Spec: format/metadata-table 1, 8.1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.formats.log import LogBlock
from pyhudi.formats.properties import parse_properties
from pyhudi.metadata.definitions import definitions_for, is_partitioned
from pyhudi.metadata.names import MetadataPartition, file_groups_count, is_by_definition
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.shards import require_owned
from pyhudi.state.config import TableConfig
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.layout import layout_of
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import PROPERTIES_PATH
from pyhudi.storage.rooted import rooted
from pyhudi.timeline.active import complete, load_timeline, read_commit_metadata, request, start
from pyhudi.timeline.codec import encode_commit, encode_profile
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, is_committed, pending_instants

__all__ = [
    "MetadataTable",
    "complete_commit",
    "has_other_layout",
    "metadata_properties",
    "metadata_state",
    "open_metadata",
    "request_commit",
]

_LAYOUT: Final = "hoodie.timeline.layout.version"
_ZONE: Final = "hoodie.table.timeline.timezone"


@dataclass(slots=True)
class MetadataTable:
    """A metadata table as one reading of the table's timeline sees it."""

    state: TableState
    """The metadata table's own."""
    timeline: Timeline
    """The metadata table's own."""
    hidden: frozenset[InstantTime]
    """Actions of the table that are not completed: what the metadata table says of them does not count yet."""
    partitions: tuple[str, ...]
    """Those that the table says it has, and whose kind pyhudi knows."""
    owner: TableState
    """The table that it belongs to."""
    owner_timeline: Timeline
    """The reading of that table's timeline."""
    _slices: dict[str, Sequence[FileSlice]] = field(default_factory=dict)
    _definitions: Mapping[str, IndexDefinition] | None = None

    @property
    def definitions(self) -> Mapping[str, IndexDefinition]:
        """Return what those indexes of the table are of which it may have many.   Cost: a small read, once."""
        if self._definitions is None:
            self._definitions = definitions_for(self.owner, self.owner.config.partitions_kept_up)
        return self._definitions

    @property
    def has_keys_by_partition(self) -> bool:
        """Return whether the record index has file groups of its own for each partition.   Cost: as `definitions`."""
        return is_partitioned(self.definitions.get(MetadataPartition.RECORD_INDEX))

    def is_of(self, owner: TableState, timeline: Timeline) -> bool:
        """Return whether this is what one reading of the table's timeline sees."""
        return self.owner_timeline is timeline and self.owner.config == owner.config

    def copy(self) -> "MetadataTable":
        """Return it with the file groups that are known, for a caller that adds some."""
        return replace(self, _slices=dict(self._slices))

    def is_valid(self, time: str) -> bool:
        """Return whether what an instant wrote counts."""
        return time not in self.hidden and is_committed(self.timeline, InstantTime(time))

    def committed_bytes(self, log: LogFile) -> int:
        """Return how many bytes of a log its commits say they wrote: in layout 2 all of it, as one commit wrote it.

        Cost: in layout 1 a read of each commit of the metadata table; asked for what cannot be read only.
        """
        if self.timeline.layout.logs_name_their_instant:
            return log.size_bytes
        found = (
            stat.file_size_in_bytes or 0
            for one in self.timeline.completed.values()
            for stat in read_commit_metadata(self.state, one).stats.get(log.partition, ())
            if (stat.path or "").rsplit("/", 1)[-1] == log.name
        )
        return max(found, default=0)

    def is_alien(self, log: LogFile, block: LogBlock) -> bool:
        """Return whether a block is of an instant that there is not, in a log that its own commit says it wrote.

        Cost: nothing for a block that counts or is hidden; else a read of that commit.
        """
        done = self.timeline.completed.get(log.instant)
        is_told = block.instant in {log.instant, *self.hidden} or self.is_valid(block.instant)
        if is_told or done is None or log.instant in self.hidden or not self.timeline.layout.logs_name_their_instant:
            return False
        stats = read_commit_metadata(self.state, done).stats.get(log.partition, ())
        return any((stat.path or "").rsplit("/", 1)[-1] == log.name for stat in stats)

    def file_groups(self, partition: str) -> Sequence[FileSlice]:
        """Return the newest slice of each file group, by number.

        Cost:   a listing of the partition's directory, once.
        Raises: CorruptData where a file group is missing; FileMissing where there is no metadata table any more.
        """
        self.read_file_groups([partition])
        return self._slices[partition]

    def read_file_groups(self, partitions: Iterable[str]) -> None:
        """Read the file groups of several partitions, which are then known.

        Cost:   a listing of each directory, several at once, and one look whether the metadata table is there.
        Raises: as `file_groups`.
        """
        missing = [one for one in dict.fromkeys(partitions) if one not in self._slices]
        if not missing:
            return
        files = storage_index(self.state, self.timeline).files([PartitionPath(one) for one in missing])
        found = latest_file_slices(files, self.timeline, {})
        self.state.storage.head(PROPERTIES_PATH)  # gone, where the metadata table is being dropped
        for partition in missing:
            slices = [one for one in found if one.group.partition == PartitionPath(partition)]
            if partition == MetadataPartition.RECORD_INDEX and self.has_keys_by_partition:
                slices = [one for one in slices if self._counts(one)]
                require_owned([one.group.file_id for one in slices])
            else:
                file_groups_count([one.group.file_id for one in slices])
            self._slices[partition] = slices

    def add_file_groups(self, partition: str, groups: Sequence[FileSlice]) -> None:
        """Count file groups in that are being made, behind those that there are."""
        self._slices[partition] = [*self.file_groups(partition), *groups]

    def _counts(self, group: FileSlice) -> bool:
        """Return whether an action that is completed made a file group or wrote to it."""
        base = [] if group.base is None else [group.base.instant]
        return any(map(self.is_valid, [*base, *(one.instant for one in group.logs)]))


def metadata_state(state: TableState) -> TableState:
    """Return the table's metadata table as a table; it has the table's version.   Cost: reads nothing."""
    config = TableConfig.of(metadata_properties(state.config))
    layout = layout_of(config.table_version)
    return TableState(storage=rooted(state.storage, METADATA_TABLE_PATH), env=state.env, config=config, layout=layout)


def open_metadata(state: TableState, timeline: Timeline, *, is_locked: bool = False) -> MetadataTable:
    """Read the metadata table's timeline, after the table's own was read; `is_locked`: under the table lock.

    What is completed on the table's timeline is in the metadata table then.
    """
    own = metadata_state(state)
    # A savepoint has the time of the commit that it keeps, which stays completed whatever becomes of it.
    pending = (one for one in pending_instants(timeline) if one.action is not Action.SAVEPOINT)
    hidden = frozenset(one.requested_time for one in pending)
    has, order = state.config.metadata_partitions, [*MetadataPartition]
    known = (*(one for one in order if one in has), *(one for one in has if is_by_definition(one)))
    return MetadataTable(own, load_timeline(own, is_locked=is_locked), hidden, known, state, timeline)


def has_other_layout(state: TableState) -> bool:
    """Return whether the metadata table's timeline lies elsewhere than that of a version-6 table lies.

    Apache Hudi 1.2.0 leaves it so: its `run_compaction` raises the metadata table to version 9, and not the table.

    Cost: a small file at version 6; else reads nothing.
    """
    if state.layout.has_completion_times or not state.config.metadata_partitions:
        return False
    try:
        stored = parse_properties(state.storage.get(f"{METADATA_TABLE_PATH}/{PROPERTIES_PATH}"))
    except (FileMissing, CorruptData):
        return False
    return stored.get(_LAYOUT, "") not in {"", str(state.layout.timeline_layout)}


def request_commit(own: TableState, instant: Instant, profile: CommitMetadata | None, plan: bytes = b"") -> Instant:
    """Request an action of the metadata table and start it; `profile` says what it is going to write.

    Locks: the lock of the table that it belongs to is held.
    """
    layout = own.layout.timeline_layout
    data = encode_profile(profile, layout, own.env.nonce())
    return start(own, request(own, instant, plan), data, is_requested_here=True)


def complete_commit(own: TableState, instant: Instant, metadata: CommitMetadata, completion_time: InstantTime) -> None:
    """Complete a commit of the metadata table.

    Locks:  the lock of the table that it belongs to is held.
    Raises: as `timeline.active.complete`.
    """
    schema = record_schema(own.config.table_version, has_meta_fields=False)
    metadata = replace(metadata, extra={**metadata.extra, "schema": schema})
    data = encode_commit(metadata, own.layout.timeline_layout, own.env.nonce())
    complete(own, instant, data, completion_time)


def metadata_properties(config: TableConfig) -> dict[str, str]:
    """Return the properties of a table's metadata table.   Spec: format/metadata-table 1.2."""
    version = config.table_version
    entries = {
        "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.archivelog.folder": "history" if version > 6 else "archived",
        _LAYOUT: "2" if version > 6 else "1",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.table.recordkey.fields": "key",
        "hoodie.table.name": f"{config.name}_metadata",
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.base.file.format": "HFILE",
        "hoodie.table.version": str(version),
    }
    if version > 6:
        entries |= {
            "hoodie.table.initial.version": str(version),
            "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
            "hoodie.timeline.history.path": "history",
            "hoodie.timeline.path": "timeline",
            "hoodie.record.merge.mode": "CUSTOM",
            "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
        }
    else:
        entries["hoodie.table.keygenerator.class"] = "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator"
        entries["hoodie.compaction.record.merger.strategy"] = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
    if zone := config.properties.get(_ZONE):
        entries[_ZONE] = zone
    return entries
