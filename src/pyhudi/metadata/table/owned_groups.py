"""File groups that a commit makes, for partitions of the table that have none in an index which goes by these.

They count once the action is completed whose commit made them; until then another writer makes its own, of the same
names, and both count once both are completed. Start at `missing_groups`.

Spec: format/metadata-table 3.2.
"""

from collections.abc import Mapping, Sequence

from pyhudi.filegroup.model import FileSlice
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import first_groups
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.shards import spans_of
from pyhudi.metadata.spread_records import SpreadRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.table.groups import empty_group, write_empty_logs
from pyhudi.options import Settings
from pyhudi.timeline.instant import InstantTime

__all__ = ["fit_others", "have_same_counts", "make_groups", "missing_groups"]


def missing_groups(
    table: MetadataTable, records: SpreadRecords, time: InstantTime, settings: Settings
) -> tuple[FileSlice, ...]:
    """Return the file groups that an action has to make before it writes records: none, where all are there.

    Raises: OptionError.
    """
    if records.owners is None:
        return ()
    has = spans_of([one.group.file_id for one in table.file_groups(records.partition)])
    lacking = {owner: 0 for owner in records.owners.counts if owner not in has}
    kind = kind_of(records.partition, table.definitions)
    return tuple(empty_group(group, time) for group in first_groups(kind, settings, lacking))


def make_groups(table: MetadataTable, made: Mapping[str, Sequence[FileSlice]]) -> None:
    """Write the logs that make file groups, which are then known, but for those that another writer has made.

    Locks: the table lock is held.
    """
    for partition, groups in made.items():
        known = {one.group for one in table.file_groups(partition)} if groups else set()
        lacking = [one for one in groups if one.group not in known]
        write_empty_logs(table.state, lacking)
        table.add_file_groups(partition, lacking)


def have_same_counts(table: MetadataTable, partition: str, ids: Sequence[str], now: Sequence[str]) -> bool:
    """Return whether keys are in the file groups that they were encoded for, given the ids then and now."""
    if partition != MetadataPartition.RECORD_INDEX or not table.has_keys_by_partition:
        return list(ids) == list(now)
    after = spans_of(now)
    return all(owner in after and after[owner].count == span.count for owner, span in spans_of(ids).items())


def fit_others(table: MetadataTable, made: Mapping[str, Sequence[FileSlice]]) -> bool:
    """Return whether no other writer made another number of file groups for a partition of the table.

    Cost: a listing of each partition of the metadata table.
    """
    for partition, groups in made.items():
        others = spans_of([one.group.file_id for one in table.file_groups(partition)]) if groups else {}
        ours = spans_of([one.group.file_id for one in groups])
        if any(owner in others and others[owner].count != span.count for owner, span in ours.items()):
            return False
    return True
