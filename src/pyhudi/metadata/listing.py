"""Which partitions and files a table has: told by its metadata table where it has one, else by storage.

Start at `file_index`.

Spec: format/metadata-table 8.3.
"""

import logging
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, Unsupported
from pyhudi.filegroup.file_index import FILES, FileIndex, storage_index
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.files import fold_files
from pyhudi.metadata.keys import ALL_PARTITIONS, partition_id, partition_path
from pyhudi.metadata.partitions import MetadataPartition
from pyhudi.metadata.reader import Wanted, file_entries_of, read_entries
from pyhudi.metadata.table import MetadataTable, open_metadata
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["file_index", "read_files"]

_log = logging.getLogger("pyhudi.metadata")


def file_index(state: TableState, timeline: Timeline, *, is_checked: bool = True) -> FileIndex:
    """Make the index that answers for a table; a listing is checked against what commits say.

    Cost: nothing, until it is asked.
    """
    if MetadataPartition.FILES in state.config.metadata_partitions:
        return _MetadataIndex(state, timeline, is_checked=is_checked)
    return storage_index(state, timeline, is_checked=is_checked)


def read_files(table: MetadataTable, keys: Sequence[str] | None = None) -> pa.Table:
    """Read the names that some keys of `files` have, or all.   Shape: FILE_ENTRIES, none deleted; by key and name."""
    wanted = Wanted(keys=None if keys is None else tuple(keys))
    entries = read_entries(table, MetadataPartition.FILES, wanted)
    return fold_files(*file_entries_of(entries, table.state.config.table_version))


class _MetadataIndex:
    """Asks the metadata table; where that is broken, it asks storage, and says so."""

    def __init__(self, state: TableState, timeline: Timeline, *, is_checked: bool) -> None:
        self.state, self.timeline, self.is_checked = state, timeline, is_checked
        self._table: MetadataTable | None = None
        self._listed: dict[PartitionPath, pa.Table] = {}
        self._storage: FileIndex | None = None

    @property
    def is_listed(self) -> bool:
        """Return whether storage had to be asked."""
        return self._storage is not None

    def partitions(self) -> Sequence[PartitionPath]:
        names = self._read([ALL_PARTITIONS])
        if names is None:
            return self._by_listing().partitions()
        return tuple(sorted(PartitionPath(partition_path(name)) for name in names.column("name").to_pylist()))

    def is_partition(self, partition: PartitionPath) -> bool:
        if self._storage is not None:
            return self._storage.is_partition(partition)
        return partition in self.partitions()

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        wanted = sorted(set(partitions))
        missing = [partition for partition in wanted if partition not in self._listed]
        if missing and self._storage is None:
            names = self._read([partition_id(partition) for partition in missing])
            if names is not None:
                self._keep(missing, names)
        if self._storage is not None:
            return self._storage.files(wanted)
        return pa.concat_tables([self._listed[partition] for partition in wanted] or [FILES.empty_table()])

    def _read(self, keys: Sequence[str]) -> pa.Table | None:
        """Read some records; None where only storage can tell."""
        if self._storage is not None:
            return None
        try:
            if self._table is None:
                self._table = open_metadata(self.state, self.timeline)
            return read_files(self._table, keys)
        except (CorruptData, FileMissing, Unsupported) as error:
            _log.warning(
                "the metadata table of %s cannot be read, so files are listed: %s", self.state.config.name, error
            )
            self._by_listing()
            return None

    def _keep(self, partitions: Sequence[PartitionPath], names: pa.Table) -> None:
        for partition in partitions:
            rows = names.filter(pc.equal(names.column("key"), partition_id(partition)))
            where = pa.repeat(pa.scalar(partition, pa.string()), rows.num_rows)
            self._listed[partition] = pa.table([where, rows.column("name"), rows.column("size_bytes")], schema=FILES)

    def _by_listing(self) -> FileIndex:
        if self._storage is None:
            self._storage = storage_index(self.state, self.timeline, is_checked=self.is_checked)
        return self._storage
