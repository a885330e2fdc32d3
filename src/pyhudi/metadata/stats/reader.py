"""Statistics of columns read from the metadata table, for a filter to leave out files and partitions by.

Start at `read_stats`.

Spec: format/metadata-table 8.4, 8.5.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.keys import stats_prefix
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import Timeline, newest_time

__all__ = ["read_stats", "tells_newest"]

_FEW: Final = 64
"""Up to so many partitions are asked for one by one."""
_TIME_DIGITS: Final = 17


def read_stats(
    table: MetadataTable,
    timeline: Timeline,
    kind: str,
    columns: Sequence[str],
    partitions: Sequence[PartitionPath] | None = None,
    *,
    is_of_newest: bool = False,
) -> pa.Table | None:
    """Read the statistics of some columns, in some partitions where they are few, as one reading of the timeline does.

    Statistics of a file hold as long as there is one. Those of a partition are of its newest moment (`is_of_newest`),
    so that an older one, and a reading of the timeline that the metadata table is ahead of, have none.

    Shape:  `metadata.column_stats.column_stats_schema` without the partition; None where there are none.
    Cost:   the blocks of the metadata table that have these columns.
    Raises: CorruptData, and what storage raises.
    """
    if kind not in table.partitions or (is_of_newest and not tells_newest(table, timeline)):
        return None
    where = [None] if partitions is None or len(partitions) > _FEW else sorted(partitions)
    prefixes = tuple(sorted({stats_prefix(column, one) for column in columns for one in where}))
    _, stats = folded_stats(read_entries(table, kind, Wanted(prefixes=prefixes)), table.state.config.table_version)
    return stats


def tells_newest(table: MetadataTable, timeline: Timeline) -> bool:
    """Return whether the metadata table tells of no commit that is not on this timeline, nor is cut from it."""
    newest = newest_time(timeline)
    if timeline.until is not None or newest is None:
        return False
    commits = (one for one in table.timeline.completed.values() if one.action is Action.DELTACOMMIT)
    return all(one.requested_time[:_TIME_DIGITS] <= newest for one in commits)
