"""From when on a table can be read: the cleans have taken what older moments need. Start at `earliest_readable`."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import partial

import pyarrow as pa

from pyhudi.errors import CorruptData, SnapshotExpired
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.queries.expired import cut_at, require_kept
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, replaced_file_groups

__all__ = ["earliest_readable"]


def earliest_readable(state: TableState) -> InstantTime | None:
    """Return the first active commit from which on every moment can be read; None where nothing was committed.

    What a savepoint keeps may be readable before.

    Cost: a listing of all partitions; a few times the planning of a read in the past.
    """
    timeline = load_timeline(state)
    visible = sorted(completed_writes(timeline), key=lambda one: (timeline.point(one), one.requested_time))
    if not visible:
        return None
    index = file_index(state, timeline)
    index.partitions()  # lists every file once
    first = bisect_left(
        range(len(visible) - 1), True, key=lambda at: _is_readable(index, cut_at(timeline, timeline.point(visible[at])))
    )
    return visible[first].requested_time


def _is_readable(index: FileIndex, moment: Timeline) -> bool:
    replaced = replaced_file_groups(moment, partial(read_commit_metadata, index.state))
    files = index.files(index.partitions())
    try:
        require_kept(_At(index, moment), files, replaced, list)
    except SnapshotExpired:
        return False
    return True


class _At:
    """The files of an index, at an earlier moment."""

    is_checked = False

    def __init__(self, index: FileIndex, moment: Timeline) -> None:
        self.state, self.timeline, self._index = index.state, moment, index

    def partitions(self) -> Sequence[PartitionPath]:
        return self._index.partitions()

    def is_partition(self, partition: PartitionPath) -> bool:
        return self._index.is_partition(partition)

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        return self._index.files(partitions)

    def ask_storage(self, error: CorruptData) -> bool:
        return self._index.ask_storage(error)

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        return None
