"""Write what an action changes to the metadata table, as one delta commit of the action's instant.

Records are encoded and, in layout 2, written to log files before the table lock is taken; the delta commit's instants
are written under the lock, right before the action's own instant is completed, because Apache Hudi rolls back what it
finds pending. Start at `MetadataCommit`.

Spec: format/metadata-table 7.1, 7.2, 7.5.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from pyhudi.errors import FileMissing, InternalError, WriteConflict
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import FileId, FileSlice, PartitionPath
from pyhudi.filegroup.names import parse_log_file
from pyhudi.metadata.definitions import define_new_columns
from pyhudi.metadata.keys import ALL_PARTITIONS, partition_path
from pyhudi.metadata.partitions.api import Records
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.records import FILES_FIELD, STATS_FIELD, MetadataRecords
from pyhudi.metadata.spread_records import SpreadRecords
from pyhudi.metadata.state import MetadataTable, complete_commit, metadata_state, open_metadata, request_commit
from pyhudi.metadata.stats.value_types import as_defined
from pyhudi.metadata.table.agreement import CHECK_METADATA, require_told_files
from pyhudi.metadata.table.compaction import finish_compaction, is_compaction_due
from pyhudi.metadata.table.groups import empty_log_stats, write_empty_logs
from pyhudi.metadata.table.logs import BLOCK_BYTES, GroupLog, group_logs, spread_logs, write_logs
from pyhudi.metadata.table.owned_groups import fit_others, have_same_counts, make_groups, missing_groups
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, remove_pending
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.view import Timeline

__all__ = [
    "MetadataCommit",
    "RecordsOf",
    "find_logs",
    "publish_changes",
    "remove_instant",
    "remove_instant_of",
    "remove_logs",
]

RecordsOf = Callable[[TableState], Sequence[Records]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """Records of an action, encoded for file groups of the metadata table."""

    revision: int
    partitions: tuple[str, ...]
    """The partitions that the metadata table had."""
    touched: tuple[PartitionPath, ...]
    """The partitions of the table whose files change."""
    columns: frozenset[str]
    """The columns whose statistics change."""
    logs: tuple[GroupLog, ...]
    written: Mapping[str, tuple[WriteStat, ...]] | None
    """The log files, by partition; None where they are written under the lock."""
    completed: Mapping[InstantTime, Instant]
    """What was completed on the metadata table's timeline, which was read before its file groups were."""
    slices: Mapping[FileId, InstantTime]
    """The file groups that there are, and the base instant of the slice that each log file belongs to."""
    groups: Mapping[str, tuple[FileId, ...]]
    """The ids of the file groups, by partition; a log says its group's place among them."""
    made: Mapping[str, tuple[FileSlice, ...]]
    """File groups that the action makes, by partition of the metadata table."""


@dataclass(slots=True)
class MetadataCommit:
    """The delta commit of the metadata table that goes with one action; nothing, for a table that has none."""

    time: InstantTime
    records: RecordsOf | None
    """Makes the action's records for the metadata table that a table has by then."""
    settings: Settings
    is_compaction_due: bool = False
    """Set when it is published: the metadata table is to be compacted."""
    _prepared: _Prepared | None = None
    _locked: MetadataTable | None = None
    """As it was read under the table lock."""

    def prepare(
        self, state: TableState, timeline: Timeline, *, revision: int = 0, read: MetadataTable | None = None
    ) -> None:
        """Encode the records, and write them to log files where their names do not depend on other writers.

        `revision` is in the names of log files: what is written again under one instant never meets what was there.
        `read` is the metadata table where it was read with this timeline: `fits` finds out what was built since. It is
        not taken for records that are compared with what is stored.

        Cost:   a listing of the metadata table's timeline and of each partition, but those that `read` has; a put a
                file group.
        Raises: CorruptData, StorageUnavailable.
        """
        self.withdraw(state)
        if not state.config.metadata_partitions:
            return
        if self.records is None:
            raise InternalError("this action does not say what changes in the metadata table", instant=self.time)
        version, block_bytes = state.config.table_version, self.settings.get(BLOCK_BYTES)
        logs: list[GroupLog] = []
        found = self.records(state)
        records = [one for one in found if isinstance(one, MetadataRecords)]
        changed = [one for one in (as_defined(state, made) for made in records) if len(one.keys)]
        spread = [one for one in found if isinstance(one, SpreadRecords) and one.tasks]
        read = self._locked or (None if spread else read)
        table = read.copy() if read is not None and read.is_of(state, timeline) else open_metadata(state, timeline)
        table.read_file_groups([*(one.partition for one in changed), *(one.partition for one in spread)])
        for one in changed:
            kind = kind_of(one.partition, table.definitions)
            groups_count = len(table.file_groups(one.partition))
            logs += group_logs(kind, one, groups_count, time=self.time, table_version=version, block_bytes=block_bytes)
        is_early = table.state.layout.logs_name_their_instant
        made = {one.partition: missing_groups(table, one, self.time, self.settings) for one in spread}
        for partition, groups in made.items():
            table.add_file_groups(partition, [replace(one, logs=()) for one in groups])
            if is_early:
                write_empty_logs(table.state, groups)
        for each in spread:
            logs += spread_logs(table, each, self.time, revision, block_bytes)
        self._prepared = _Prepared(
            revision=revision,
            partitions=state.config.partitions_kept_up,
            touched=_touched(records),
            columns=_columns(records),
            logs=tuple(logs),
            written=write_logs(table, logs, self.time, revision) if is_early else None,
            completed=table.timeline.completed,
            slices=_slices(table, [*(one.partition for one in logs), *made]),
            groups={one: _ids(table, one) for one in dict.fromkeys(log.partition for log in logs)},
            made=made,
        )

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to publish."""
        return self._prepared is None

    def read_locked(self, state: TableState, timeline: Timeline) -> None:
        """Read the metadata table for an action that holds the table lock from here to its end."""
        self._locked = open_metadata(state, timeline, is_locked=True)

    def fits(self, state: TableState, timeline: Timeline) -> bool:
        """Return whether the table still has the metadata table that was prepared for.

        One that was dropped and built anew meanwhile has the same partitions, and no log file of ours, or other file
        groups. To build is to complete a delta commit: where nothing was completed on the metadata table's timeline
        since that was read, neither its file groups nor our log files can be others. Another writer may have made as
        many file groups as we for the same partition of the table, and no other number.

        Locks:  the table lock is held.
        Cost:   a listing of the metadata table's timeline; where others have committed, a look at each log file,
                several at once, and a listing of each partition that is written.
        """
        prepared = self._prepared
        if prepared is None or state.config.partitions_kept_up != prepared.partitions:
            return prepared is None and not state.config.metadata_partitions
        self._locked = table = open_metadata(state, timeline, is_locked=True)
        if prepared.written is not None and table.timeline.completed != prepared.completed:
            paths = [str(stat.path) for stats in prepared.written.values() for stat in stats]
            try:
                at_once(table.state.storage.head, paths)
                table.read_file_groups(prepared.groups)
            except FileMissing:
                return False
            if not all(have_same_counts(table, one, ids, _ids(table, one)) for one, ids in _found(prepared).items()):
                return False
        return not any(prepared.made.values()) or fit_others(table, prepared.made)

    def publish(self, state: TableState, timeline: Timeline, completion_time: InstantTime) -> None:
        """Make the delta commit: requested, inflight, completed. It counts once the action itself is completed.

        What an earlier attempt of the same action left under its instant is taken away first.

        Locks:  the table lock is held.
        Raises: CommitUnknown, StorageUnavailable: the action must not be completed then.
        """
        if self._prepared is None:
            return
        table, self._locked = self._locked, None
        if table is None or table.owner_timeline is not timeline:
            table = open_metadata(state, timeline, is_locked=True)
        written, slices = self._prepared.written, self._prepared.slices
        if written is None:
            if finish_compaction(table, self.settings, lambda: completion_time):
                table = open_metadata(state, timeline, is_locked=True)
            make_groups(table, self._prepared.made)
            logs = self._renumbered(table)
            slices = _slices(table, [*(one.partition for one in logs), *self._prepared.made])
            written = write_logs(table, logs, self.time, self._prepared.revision)
        written = _with_made(written, self._prepared.made)
        operation = WriteOperation.UPSERT_PREPPED
        instant = Instant(requested_time=self.time, action=Action.DELTACOMMIT, state=State.REQUESTED)
        self.is_compaction_due = is_compaction_due(table, self.settings)
        remove_instant(table, self.time)
        profile = CommitMetadata(operation=operation, stats=_profile(slices, written))
        started = request_commit(table.state, instant, profile)
        complete_commit(table.state, started, CommitMetadata(operation=operation, stats=written), completion_time)
        define_new_columns(state, self._prepared.columns)
        if self.settings.get(CHECK_METADATA):
            require_told_files(state, timeline, self.time, self._prepared.touched)

    def _renumbered(self, table: MetadataTable) -> list[GroupLog]:
        """Return the logs by the places that their file groups have now.

        Raises: WriteConflict where the metadata table was built anew meanwhile with another number of groups.
        """
        prepared = self._prepared
        if prepared is None:
            return []
        found = []
        for partition, ids in prepared.groups.items():
            now = [one.group.file_id for one in table.file_groups(partition)]
            if not have_same_counts(table, partition, ids, now):
                raise WriteConflict(
                    "the metadata table was built anew as this write worked; write again", instant=self.time
                )
            ours = (one for one in prepared.logs if one.partition == partition)
            found += [replace(one, group=now.index(ids[one.group])) for one in ours]
        return found

    def withdraw(self, state: TableState) -> None:
        """Delete the log files of what is not going to be published."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            own = metadata_state(state)
            paths = [str(stat.path) for stats in (prepared.written or {}).values() for stat in stats]
            made = [log.path for groups in prepared.made.values() for one in groups for log in one.logs]
            for path in [*paths, *(made if prepared.written is not None else [])]:
                own.storage.delete(path)


def _touched(records: Sequence[MetadataRecords]) -> tuple[PartitionPath, ...]:
    keys = [key for one in records if one.field == FILES_FIELD for key in one.keys.to_pylist()]
    return tuple(PartitionPath(partition_path(key)) for key in keys if key != ALL_PARTITIONS)


def _columns(records: Sequence[MetadataRecords]) -> frozenset[str]:
    found = [one.values.field("columnName") for one in records if one.field == STATS_FIELD]
    return frozenset(name for names in found for name in pc.unique(names).to_pylist() if name is not None)


def publish_changes(
    state: TableState, time: InstantTime, records: RecordsOf, settings: Settings, issue: Callable[[], InstantTime]
) -> None:
    """Make the delta commit of an action that changes the table under the table lock; nothing without a metadata table.

    `issue` makes the completion time. What another process wrote for the same action is replaced.

    Locks:  the table lock is held.
    """
    fresh = open_state(state.storage, state.env)
    timeline = load_timeline(fresh, is_locked=True)
    changes = MetadataCommit(time, records, settings)
    if fresh.config.metadata_partitions:
        remove_logs(fresh, time)
        changes.read_locked(fresh, timeline)
    changes.prepare(fresh, timeline)
    if not changes.is_empty:
        changes.publish(fresh, timeline, issue())


def find_logs(state: TableState, time: InstantTime) -> list[str]:
    """List the log files that carry an instant in their names, by their paths in the metadata table.

    Cost: a listing of each partition of the metadata table. Nothing in layout 1, where names do not tell.
    """
    own, found = metadata_state(state), []
    if not own.layout.logs_name_their_instant:
        return []
    for partition in map(PartitionPath, state.config.partitions_kept_up):
        for status in own.storage.list_directory(partition).files:
            file = parse_log_file(partition, status)
            if file is not None and file.instant == time:
                found.append(file.path)
    return found


def remove_logs(state: TableState, time: InstantTime) -> None:
    """Delete all log files that carry an instant in their names.   Cost: as `find_logs`."""
    own = metadata_state(state)
    for path in find_logs(state, time):
        own.storage.delete(path)


def _slices(table: MetadataTable, partitions: Iterable[str]) -> dict[FileId, InstantTime]:
    """Return the base instant of each file group of the partitions that are written."""
    return {one.group.file_id: one.base_instant for where in set(partitions) for one in table.file_groups(where)}


def _with_made(
    written: Mapping[str, tuple[WriteStat, ...]], made: Mapping[str, Sequence[FileSlice]]
) -> dict[str, tuple[WriteStat, ...]]:
    """Return the files that a commit writes, with those that only show file groups which it makes."""
    empty = {partition: empty_log_stats(groups, written.get(partition, ())) for partition, groups in made.items()}
    return {one: (*written.get(one, ()), *empty.get(one, ())) for one in {**written, **empty}}


def _found(prepared: _Prepared) -> dict[str, list[FileId]]:
    """Return the ids of the file groups that there were, by partition: without those that the action makes."""
    made = {one.group.file_id for groups in prepared.made.values() for one in groups}
    return {partition: [one for one in ids if one not in made] for partition, ids in prepared.groups.items()}


def _ids(table: MetadataTable, partition: str) -> tuple[FileId, ...]:
    return tuple(one.group.file_id for one in table.file_groups(partition))


def _profile(
    slices: Mapping[FileId, InstantTime], written: Mapping[str, Sequence[WriteStat]]
) -> dict[str, tuple[WriteStat, ...]]:
    """Return what the inflight instant says: for each file group the slice and how many records it gets."""
    return {
        partition: tuple(
            WriteStat(
                file_id=stat.file_id,
                path=None,
                prev_commit=slices[FileId(str(stat.file_id))],
                num_update_writes=stat.num_update_writes,
            )
            for stat in stats
        )
        for partition, stats in written.items()
    }


def remove_instant(table: MetadataTable, time: InstantTime) -> None:
    """Take an instant of the metadata table off its timeline, pending or completed."""
    _remove(table.state, table.timeline, time)


def remove_instant_of(own: TableState, time: InstantTime) -> None:
    """Do so for a metadata table that was not opened.   Cost: a listing of its timeline."""
    _remove(own, load_timeline(own), time)


def _remove(own: TableState, timeline: Timeline, time: InstantTime) -> None:
    for one in timeline.instants:
        if one.requested_time == time and one.action is Action.DELTACOMMIT:
            if one.is_completed:
                own.storage.delete(f"{own.layout.timeline_path}/{one.file_name}")
            remove_pending(own, replace(one, state=State.INFLIGHT, completion_time=None))
