"""The metadata table's partitions and file groups: names and numbers.

Pure. Start at `MetadataPartition`.

Spec: format/metadata-table 3.1-3.4.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from pyhudi.errors import CorruptData

__all__ = [
    "EXPRESSION_PREFIX",
    "KEPT_UP",
    "SECONDARY_PREFIX",
    "MetadataPartition",
    "RecordKind",
    "file_groups_count",
    "group_number",
    "is_by_definition",
]

_GROUP: Final = re.compile(r".+?-(\d{1,9})(?:-0)?", re.ASCII)


EXPRESSION_PREFIX: Final = "expr_index_"
"""Begins the directories of expression indexes; the name of the index follows."""
SECONDARY_PREFIX: Final = "secondary_index_"
"""Begins the directories of secondary indexes; the name of the index follows."""


class MetadataPartition(StrEnum):
    """A partition of which a table has one, and that pyhudi keeps up to date; the value is its directory."""

    FILES = "files"
    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"
    PARTITION_STATS = "partition_stats"


KEPT_UP: Final = frozenset(partition.value for partition in MetadataPartition)
"""The partitions of which a table has one; beside them stand those that `is_by_definition` names."""


class RecordKind:
    """The `type` of a record.   Spec: format/metadata-table 2.2."""

    ALL_PARTITIONS: Final = 1
    FILES: Final = 2
    COLUMN_STATS: Final = 3
    BLOOM_FILTER: Final = 4
    RECORD_INDEX: Final = 5
    PARTITION_STATS: Final = 6
    SECONDARY_INDEX: Final = 7


def is_by_definition(partition: str) -> bool:
    """Return whether only the file of index definitions says what a partition holds, as a table may have many of it."""
    return partition.startswith((EXPRESSION_PREFIX, SECONDARY_PREFIX))


def group_number(file_id: str) -> int:
    """Return a file group's number; -1 where its file id has none."""
    match = _GROUP.fullmatch(file_id)
    return -1 if match is None else int(match.group(1))


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
