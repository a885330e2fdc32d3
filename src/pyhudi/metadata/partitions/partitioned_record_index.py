"""The partition `record_index` where each partition of the table has file groups of its own in it.

The file groups of a partition are made by the first commit that writes to it. Records are those of the global form; a
key has one for each partition with a row of it. Start at `PartitionedRecordIndexKind`.

Spec: format/metadata-table 3.2-3.4.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyhudi.metadata.changed_keys import SliceChange
from pyhudi.metadata.partitions.api import Commit, Stored
from pyhudi.metadata.partitions.record_index import RecordIndexKind, estimated_groups, keys_count
from pyhudi.metadata.spread_records import Owners, SpreadRecords
from pyhudi.options import Settings, between, option

__all__ = ["PartitionedRecordIndexKind"]

MIN_OWNED_GROUPS: Final = option(
    "hoodie.metadata.record.level.index.min.filegroup.count",
    1,
    "How many file groups the partitioned record index gets at least for a partition of the table, and for one that "
    "is written first once the index is there.",
    parse=between(1, 9_999),
)
MAX_OWNED_GROUPS: Final = option(
    "hoodie.metadata.record.level.index.max.filegroup.count",
    10,
    "How many file groups the partitioned record index gets at most for a partition of the table, when it is built.",
    parse=between(1, 10_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionedRecordIndexKind(RecordIndexKind):
    """A record a key of a partition of the table, in shards of that partition by the key's hash."""

    is_by_partition: bool = True

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return as many as the records of a partition will fill once they have grown, within their bounds."""
        least, most = settings.get(MIN_OWNED_GROUPS), settings.get(MAX_OWNED_GROUPS)
        return estimated_groups(settings, records_count, least, most)

    def records_of_commit(self, commit: Commit) -> SpreadRecords:
        """Return as the global form; each partition that is written to gets file groups."""
        assert commit.rows is not None, "this partition needs the rows"
        records = RecordIndexKind.records_of_commit(self, commit)
        return _owned(records, commit.rows.changes, commit.metadata.stats)

    def build(self, stored: Stored) -> SpreadRecords:
        """Return as the global form; each partition of the table gets file groups."""
        assert stored.rows is not None, "this partition needs the rows"
        return _owned(RecordIndexKind.build(self, stored), stored.rows.changes, stored.partitions)


def _owned(records: SpreadRecords, changes: Sequence[SliceChange], partitions: Iterable[str]) -> SpreadRecords:
    counts = dict.fromkeys(map(str, partitions), 0)
    for one in changes:
        counts[one.group.partition] = counts.get(one.group.partition, 0) + keys_count(one)
    return replace(records, owners=Owners(counts=counts, of_task=_owner))


def _owner(numbered: tuple[int, SliceChange]) -> str:
    return numbered[1].group.partition
