"""The metadata table's partitions and file groups: names, how many groups, and which group has a key.

Pure. Start at `MetadataPartition` and `group_of_keys`.

Spec: format/metadata-table 3.1-3.4.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptData, OptionError
from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.hashing import java_hash
from pyhudi.options import Settings, option
from pyhudi.state.config import TableConfig

__all__ = [
    "COLUMN_STATS",
    "KEPT_UP",
    "PARTITION_STATS",
    "MetadataPartition",
    "RecordKind",
    "file_group",
    "file_groups_count",
    "first_partitions",
    "group_number",
    "group_of_keys",
    "new_groups_count",
]

COLUMN_STATS: Final = option(
    "hoodie.metadata.index.column.stats.enable",
    True,
    "A new metadata table has statistics of columns.",
)
PARTITION_STATS: Final = option(
    "hoodie.metadata.index.partition.stats.enable",
    True,
    "A new metadata table has statistics of partitions, where it has those of columns.",
)
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
_WITH_PARTITION_STATS: Final = 8
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


def file_group(partition: MetadataPartition, number: int) -> FileGroupId:
    """Return one file group by its number; its file id is like `files-0000-0`."""
    file_id = FileId(f"{_FILE_ID_PREFIX[partition]}-{number:04d}-0")
    return FileGroupId(partition=PartitionPath(partition), file_id=file_id)


def group_number(file_id: str) -> int:
    """Return a file group's number; -1 where its file id has none."""
    match = _GROUP.fullmatch(file_id)
    return -1 if match is None else int(match.group(1))


def first_partitions(config: TableConfig, settings: Settings) -> tuple[MetadataPartition, ...]:
    """Return the partitions that a new metadata table gets.

    Statistics as the options say, those of partitions only in a table that has partitions, from version 8 on. At
    version 6, too, though its releases have none by default: where Apache Hudi 1.2.0 adds those of columns while a plan
    is pending, it leaves its own commits out of `files`.
    """
    found = [MetadataPartition.FILES]
    is_old = config.table_version < _WITH_PARTITION_STATS
    has_stats = settings.get(COLUMN_STATS)
    if has_stats:
        found.append(MetadataPartition.COLUMN_STATS)
    if has_stats and not is_old and config.partition_fields and settings.get(PARTITION_STATS):
        found.append(MetadataPartition.PARTITION_STATS)
    return tuple(found)


def new_groups_count(partition: MetadataPartition, settings: Settings) -> int:
    """Return how many file groups a partition is built with.   Raises: OptionError for fewer than one."""
    asked = {
        MetadataPartition.COLUMN_STATS: COLUMN_STATS_GROUPS,
        MetadataPartition.PARTITION_STATS: PARTITION_STATS_GROUPS,
    }.get(partition)
    count = 1 if asked is None else settings.get(asked)
    if asked is not None and count < 1:
        raise OptionError("a metadata partition has at least one file group", key=asked.key, value=count)
    return count


def file_groups_count(file_ids: Sequence[str]) -> int:
    """Check the file groups that a partition was found to have, and count them: their number is fixed for life.

    Raises: CorruptData where one or all are missing: keys would be looked for in another group than they are in.
    """
    found = sorted(set(file_ids))
    if not found:
        raise CorruptData("a metadata partition has no file groups")
    if [group_number(name) for name in found] != list(range(len(found))):
        raise CorruptData("file groups of a metadata partition are missing or are not numbered", file_ids=found[:10])
    return len(found)


def group_of_keys(keys: pa.Array | pa.ChunkedArray, groups_count: int) -> npt.NDArray[np.int64]:
    """Return in which file group each record key is, by Java's hash of its text.

    Shape:  n keys -> n numbers below `groups_count`.
    Spec:   format/metadata-table 3.4.
    """
    return np.abs(java_hash(keys).astype(np.int64)) % groups_count
