"""The metadata table's partitions and file groups: names, how many groups, and which group has a key.

Pure. Start at `MetadataPartition` and `group_of_keys`.

Spec: format/metadata-table 3.1-3.4.
"""

import re
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.filegroup.model import FileId
from pyhudi.hashing import java_hash
from pyhudi.options import option

__all__ = ["KEPT_UP", "MetadataPartition", "RecordKind", "file_group_id", "file_groups_count", "group_of_keys"]

COLUMN_STATS_GROUPS: Final = option(
    "hoodie.metadata.index.column.stats.file.group.count",
    2,
    "How many file groups column statistics get when they are first built.",
)
PARTITION_STATS_GROUPS: Final = option(
    "hoodie.metadata.index.partition.stats.file.group.count",
    1,
    "How many file groups partition statistics get when they are first built.",
)
_GROUP: Final = re.compile(r".+?-(\d{1,9})(?:-0)?", re.ASCII)


class MetadataPartition(StrEnum):
    """A partition that pyhudi keeps up to date; the value is its directory, in the order in which they are built."""

    FILES = "files"
    COLUMN_STATS = "column_stats"
    PARTITION_STATS = "partition_stats"


KEPT_UP: Final = frozenset(partition.value for partition in MetadataPartition)
_FILE_ID_PREFIX: Final = {
    MetadataPartition.FILES: "files",
    MetadataPartition.COLUMN_STATS: "col-stats",
    MetadataPartition.PARTITION_STATS: "partition-stats",
}


class RecordKind:
    """The `type` of a record.   Spec: format/metadata-table 2.2."""

    ALL_PARTITIONS: Final = 1
    FILES: Final = 2
    COLUMN_STATS: Final = 3
    PARTITION_STATS: Final = 6


def file_group_id(partition: MetadataPartition, index: int) -> FileId:
    """Format the file id of one file group: `files-0000-0`."""
    return FileId(f"{_FILE_ID_PREFIX[partition]}-{index:04d}-0")


def file_groups_count(file_ids: "list[str]") -> int:
    """Check the file groups that a partition was found to have, and count them: their number is fixed for life.

    Raises: CorruptData where one is missing, because keys would be looked for in another group than they are in.
    """
    found = sorted(set(file_ids))
    numbers = [int(match.group(1)) if (match := _GROUP.fullmatch(name)) else -1 for name in found]
    if numbers != list(range(len(found))):
        raise CorruptData("file groups of a metadata partition are missing or are not numbered", file_ids=found[:10])
    return len(found)


def group_of_keys(keys: pa.Array | pa.ChunkedArray, groups_count: int) -> npt.NDArray[np.int64]:
    """Return in which file group each record key is, by Java's hash of its text.

    Shape:  n keys -> n numbers below `groups_count`.
    Spec:   format/metadata-table 3.4.
    """
    return np.abs(java_hash(keys).astype(np.int64)) % groups_count
