"""Which partitions a table has, and which files are in them, as of one reading of its timeline.

Partitions are asked for first and files only of those that a filter leaves, each at most once. An index is made when
the timeline was read, and lists later, so it shows every file that a commit on this timeline names; for a later
timeline it is too old. Callers do not know whether storage or a metadata table answers. Start at `storage_index`.

Spec: Reader Expectations 2.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.filegroup.listing import at_once, partitions_below
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import is_partition_metadata
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.view import Timeline

__all__ = ["FILES", "AskedValues", "FileIndex", "storage_index"]

FILES: Final = pa.schema([("partition", pa.string()), ("name", pa.string()), ("size_bytes", pa.int64())])
"""What is known of a file before its name is read. Of what a metadata table says no more is certain."""
AskedValues: TypeAlias = pa.Array | Callable[[int], pa.Array]
"""Texts that are looked for in files: the same in all, or for each file, by its place, its own."""


class FileIndex(Protocol):
    """The partitions and files of one reading of a table's timeline."""

    @property
    def state(self) -> TableState:
        """Return the table."""
        ...

    @property
    def timeline(self) -> Timeline:
        """Return the reading of the timeline that it belongs to."""
        ...

    @property
    def is_checked(self) -> bool:
        """Return whether what is read by it is compared with what commits say."""
        ...

    @property
    def is_listed(self) -> bool:
        """Return whether storage had to be asked, though the table has a metadata table."""
        ...

    def partitions(self) -> Sequence[PartitionPath]:
        """List all partitions, sorted."""
        ...

    def is_partition(self, partition: PartitionPath) -> bool:
        """Return whether readers that list all partitions find this one."""
        ...

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        """Read what is kept of the values of some columns, in some partitions or in all; None where nothing is kept.

        Shape: as `metadata.stats_reader.read_stats`; `kind` is a partition of the metadata table.
        """
        ...

    def files_holding(self, kind: str, files: pa.Table, values: AskedValues) -> pa.BooleanArray | None:
        """Return which base files may hold one of some values, by the filters of an index; None where there are none.

        Shape: as `metadata.filters.files_holding`; `kind` is a partition of the metadata table.
        """
        ...

    def places_of_values(self, kind: str, values: pa.Array) -> pa.Table | None:
        """Return the file groups of the rows with one of some values, by a secondary index; None where it is unknown.

        Shape: as `metadata.secondary_places.secondary_places`; `kind` is a partition of the metadata table.
        """
        ...

    def places_of_keys(self, keys: pa.Array, partitions: Sequence[PartitionPath], most: int) -> pa.Table | None:
        """Return the file groups of the rows with some record keys, by the record index; None where it is unknown.

        An index that is by partition is asked for these partitions only, and not where `most` of its file groups or
        more of them had to be read.

        Shape: as `metadata.record_places.read_places`.
        """
        ...

    def indexes(self) -> Mapping[str, IndexDefinition]:
        """Return the expression and secondary indexes that can be asked, by partition of the metadata table."""
        ...

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        """List the files of some partitions, of every instant, without partition metadata.

        Shape: FILES, by partition and name.
        """
        ...

    def ask_storage(self, error: CorruptData) -> bool:
        """Ask storage from now on, because of what was found; False where it was asked all along."""
        ...


def storage_index(state: TableState, timeline: Timeline, *, is_checked: bool = True) -> FileIndex:
    """Make the index that lists directories.   Cost: nothing, until it is asked."""
    return _StorageIndex(state, timeline, is_checked=is_checked)


class _StorageIndex:
    """Asks storage: for a partition's files one directory listing, for all partitions one of every directory.

    What was listed to find the partitions is kept, so their files cost no listing more.
    """

    is_listed = False

    def __init__(self, state: TableState, timeline: Timeline, *, is_checked: bool) -> None:
        self.state, self.timeline, self.is_checked = state, timeline, is_checked
        self._partitions: tuple[PartitionPath, ...] | None = None
        self._marked: set[PartitionPath] = set()
        self._listed: dict[PartitionPath, pa.RecordBatch] = {}

    def partitions(self) -> Sequence[PartitionPath]:
        if self._partitions is None:
            found = {
                partition: _columns(partition, content.files) for partition, content in partitions_below(self.state)
            }
            self._partitions = tuple(sorted(found))
            self._listed = found | self._listed
            self._marked |= found.keys()
        return self._partitions

    def is_partition(self, partition: PartitionPath) -> bool:
        if self._partitions is None and partition not in self._listed:
            self.files([partition])
        return partition in self._marked

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        return None

    def files_holding(self, kind: str, files: pa.Table, values: AskedValues) -> pa.BooleanArray | None:
        return None

    def places_of_values(self, kind: str, values: pa.Array) -> pa.Table | None:
        return None

    def places_of_keys(self, keys: pa.Array, partitions: Sequence[PartitionPath], most: int) -> pa.Table | None:
        return None

    def indexes(self) -> Mapping[str, IndexDefinition]:
        return {}

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        wanted = sorted(set(partitions))
        missing = [partition for partition in wanted if partition not in self._listed]
        self._listed |= at_once(self._list, missing)
        return pa.Table.from_batches([self._listed[partition] for partition in wanted], FILES)

    def ask_storage(self, error: CorruptData) -> bool:
        return False

    def _list(self, partition: PartitionPath) -> pa.RecordBatch:
        files = self.state.storage.list_directory(partition).files
        if any(is_partition_metadata(status.name) for status in files):
            self._marked.add(partition)
        return _columns(partition, files)


def _columns(partition: PartitionPath, files: Sequence[FileStatus]) -> pa.RecordBatch:
    kept = [status for status in files if not is_partition_metadata(status.name)]
    try:
        names = pa.array([status.name for status in kept], pa.string())
        partitions = pa.repeat(pa.scalar(partition, pa.string()), len(kept))
    except UnicodeEncodeError as error:
        name = str(error.object).encode(errors="backslashreplace").decode()
        raise CorruptData(
            "a name is not UTF-8; no writer of tables makes such", partition=partition, name=name
        ) from error
    sizes = pa.array([status.size_bytes for status in kept], pa.int64())
    return pa.RecordBatch.from_arrays([partitions, names, sizes], schema=FILES)
