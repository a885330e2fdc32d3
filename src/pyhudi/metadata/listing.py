"""Which partitions and files a table has: told by its metadata table where it has one, else by storage.

Start at `file_index`.

Spec: format/metadata-table 8.3.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, Unsupported
from pyhudi.filegroup.file_index import FILES, AskedValues, FileIndex, storage_index
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.file_listing import joined_files, paths_of, read_files
from pyhudi.metadata.filters import files_holding
from pyhudi.metadata.keys import ALL_PARTITIONS, partition_id
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.kinds import kinds_of
from pyhudi.metadata.record_places import keys_by_shard, read_places
from pyhudi.metadata.secondary_places import secondary_places
from pyhudi.metadata.state import MetadataTable, has_other_layout, open_metadata
from pyhudi.metadata.stats.reader import read_stats, tells_newest
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.metadata_table import lists_files
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline

__all__ = ["file_index", "read_metadata"]

Answer = TypeVar("Answer")
_log = logging.getLogger("pyhudi.metadata")
_OTHER_LAYOUT = "it is of a later version than the table, as Apache Hudi's run_compaction and run_clustering leave it"


def file_index(state: TableState, timeline: Timeline, *, is_checked: bool = True) -> FileIndex:
    """Make the index that answers for a table; a listing is checked against what commits say.

    Cost: nothing, until it is asked.
    """
    if lists_files(state.config.metadata_partitions):
        return _MetadataIndex(state, timeline, is_checked=is_checked)
    return storage_index(state, timeline, is_checked=is_checked)


def read_metadata(index: FileIndex) -> MetadataTable | None:
    """Return the metadata table that an index has read; None where it has read none, or lists storage."""
    return index._table if isinstance(index, _MetadataIndex) and not index.is_listed else None


class _MetadataIndex:
    """Asks the metadata table; where that is broken, it asks storage, and says so."""

    def __init__(self, state: TableState, timeline: Timeline, *, is_checked: bool) -> None:
        self.state, self.timeline, self.is_checked = state, timeline, is_checked
        self._table: MetadataTable | None = None
        self._partitions: tuple[PartitionPath, ...] | None = None
        self._listed: set[PartitionPath] = set()
        self._files = FILES.empty_table()
        self._storage: FileIndex | None = None

    @property
    def is_listed(self) -> bool:
        """Return whether storage had to be asked."""
        return self._storage is not None

    def partitions(self) -> Sequence[PartitionPath]:
        if self._partitions is None:
            names = self._asked(lambda table: read_files(table, [ALL_PARTITIONS]))
            if names is None:
                return self._by_listing().partitions()
            self._partitions = paths_of(names)
        return self._partitions

    def is_partition(self, partition: PartitionPath) -> bool:
        if self._storage is not None:
            return self._storage.is_partition(partition)
        return partition in self.partitions()

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        wanted = set(partitions)
        missing = sorted(wanted - self._listed)
        # The list of partitions is next to them, and is asked for when files are checked.
        keys = [*([ALL_PARTITIONS] if self._partitions is None else []), *map(partition_id, missing)]
        names = self._asked(lambda table: read_files(table, keys)) if missing else None
        if names is not None:
            is_partition = pc.equal(names.column("key"), ALL_PARTITIONS)
            if self._partitions is None:
                self._partitions = paths_of(names.filter(is_partition))
                names = names.filter(pc.invert(is_partition))
            self._files = joined_files(self._files, names)
            self._listed.update(missing)
        if self._storage is not None:
            return self._storage.files(wanted)
        if wanted == self._listed:
            return self._files
        return self._files.filter(pc.is_in(self._files.column("partition"), pa.array(list(wanted), pa.string())))

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        if kind not in self.state.config.metadata_partitions:
            return None

        def read(table: MetadataTable) -> pa.Table | None:
            is_of_newest = any(one.is_of_newest for one in kinds_of([kind], table.definitions))
            return read_stats(table, self.timeline, kind, columns, partitions, is_of_newest=is_of_newest)

        return self._asked(read)

    def files_holding(self, kind: str, files: pa.Table, values: AskedValues) -> pa.BooleanArray | None:
        if kind not in self.state.config.metadata_partitions:
            return None
        return self._asked_index(kind, lambda table: files_holding(table, kind, files, values))

    def places_of_values(self, kind: str, values: pa.Array) -> pa.Table | None:
        if kind not in self.state.config.metadata_partitions:
            return None

        def read(table: MetadataTable) -> pa.Table | None:
            return None if table.has_keys_by_partition else secondary_places(table, kind, values)

        return self._asked_places(kind, read)

    def places_of_keys(self, keys: pa.Array, partitions: Sequence[PartitionPath], most: int) -> pa.Table | None:
        wanted = frozenset(partitions)

        def read(table: MetadataTable) -> pa.Table | None:
            if table.has_keys_by_partition and len(keys_by_shard(table, keys, wanted)) > most:
                return None
            return read_places(table, keys, wanted)

        return self._asked_places(MetadataPartition.RECORD_INDEX, read)

    def indexes(self) -> Mapping[str, IndexDefinition]:
        found: Mapping[str, IndexDefinition] = {}
        unread = frozenset(self.state.config.columns_in_paths)  # an index of these has nulls, which no row has

        def read(table: MetadataTable) -> None:
            nonlocal found
            found = {
                name: one
                for name, one in table.definitions.items()
                if name in table.partitions and not unread.intersection(one.fields)
            }

        self._asked(read)
        return found

    def _asked_places(self, index: str, read: Callable[[MetadataTable], pa.Table | None]) -> pa.Table | None:
        """Ask an index of rows, which knows only where they are now."""
        if MetadataPartition.RECORD_INDEX not in self.state.config.metadata_partitions:
            return None

        def read_newest(table: MetadataTable) -> pa.Table | None:
            return read(table) if tells_newest(table, self.timeline) else None

        return self._asked_index(index, read_newest)

    def _asked_index(self, index: str, read: Callable[[MetadataTable], Answer | None]) -> Answer | None:
        """Ask an index; None, with a warning, where it is damaged: the rest of the metadata table is used further."""

        def read_or_warn(table: MetadataTable) -> Answer | None:
            try:
                return read(table)
            except (CorruptData, FileMissing) as error:
                _log.warning(
                    "the index %s of %s cannot be read and is not used; `table.repair(%r)` builds it anew: %s",
                    index,
                    self.state.config.name,
                    str(index),
                    error,
                )
                return None

        return self._asked(read_or_warn)

    def _asked(self, read: Callable[[MetadataTable], Answer | None]) -> Answer | None:
        """Read from the metadata table; None where only storage can tell."""
        if self._storage is not None:
            return None
        try:
            if self._table is None:
                self._table = open_metadata(self.state, self.timeline)
                _require_commits(self._table)
            return read(self._table)
        except (CorruptData, FileMissing, Unsupported) as error:
            self.ask_storage(error)
            return None

    def ask_storage(self, error: CorruptData | FileMissing | Unsupported) -> bool:
        if self._storage is not None:
            return False
        _log.warning(
            "the metadata table of %s cannot be read, so files are listed; `table.repair()` builds it anew: %s",
            self.state.config.name,
            _OTHER_LAYOUT if has_other_layout(self.state) else error,
        )
        self._by_listing()
        return True

    def _by_listing(self) -> FileIndex:
        if self._storage is None:
            self._storage = storage_index(self.state, self.timeline, is_checked=self.is_checked)
        return self._storage


def _require_commits(table: MetadataTable) -> None:
    """Check that each commit of the table since its files were listed is a commit of the metadata table.

    Apache Hudi 1.2.0 leaves one out, at version 6: where a plan is pending and it adds a partition of metadata.

    Cost:   nothing more than reading the list of partitions.
    Raises: CorruptData.
    """
    own, files = table.timeline, table.file_groups(MetadataPartition.FILES)
    # Building names no commit at versions 8 and 9; when it was completed, all that was committed by then was listed.
    listed = max((_point(own, one.base_instant) for one in files), default="")
    missing = [
        time
        for time, one in table.owner_timeline.completed.items()
        if time not in own.completed and time > (own.first_write or "") and table.owner_timeline.point(one) > listed
    ]
    if missing:
        raise CorruptData("the metadata table lacks commits of the table", instants=missing)


def _point(timeline: Timeline, time: InstantTime) -> InstantTime:
    done = timeline.completed.get(time)
    return time if done is None else timeline.point(done)
