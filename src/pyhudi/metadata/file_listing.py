"""Files of a table as its metadata table tells them. Start at `read_files_of`.

Spec: format/metadata-table 5.1, 8.3.
"""

from collections.abc import Sequence

import pyarrow as pa

from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.file_entries import fold_files
from pyhudi.metadata.keys import partition_id, partition_path
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, file_entries_of, read_entries
from pyhudi.metadata.state import MetadataTable

__all__ = ["joined_files", "paths_of", "read_files", "read_files_of"]


def read_files(table: MetadataTable, keys: Sequence[str] | None = None) -> pa.Table:
    """Read the names that some keys of `files` have, or all.   Shape: FILE_ENTRIES, none deleted; by key and name."""
    wanted = Wanted(keys=None if keys is None else tuple(keys))
    entries = read_entries(table, MetadataPartition.FILES, wanted)
    return fold_files(*file_entries_of(entries, table.state.config.table_version))


def read_files_of(table: MetadataTable, partitions: Sequence[PartitionPath]) -> pa.Table:
    """Read the files of some partitions.   Shape: FILES, by partition and name."""
    return joined_files(FILES.empty_table(), read_files(table, list(map(partition_id, partitions))))


def joined_files(files: pa.Table, names: pa.Table) -> pa.Table:
    """Add the files of other partitions to some.   Shape: FILES, FILE_ENTRIES -> FILES, by partition and name."""
    keys = names.column("key").combine_chunks().dictionary_encode()
    paths = pa.array(map(_path, keys.dictionary.to_pylist()), pa.string()).take(keys.indices)
    added = pa.table([paths, names.column("name"), names.column("size_bytes")], schema=FILES)
    if not files.num_rows:
        return added
    return pa.concat_tables([files, added]).sort_by([("partition", "ascending"), ("name", "ascending")])


def paths_of(names: pa.Table) -> tuple[PartitionPath, ...]:
    """Return the partition paths that names tell, in order.   Shape: FILE_ENTRIES."""
    return tuple(sorted(map(_path, names.column("name").to_pylist())))


def _path(identifier: str) -> PartitionPath:
    return PartitionPath(partition_path(identifier))
