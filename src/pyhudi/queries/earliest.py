"""From when on a table can be read: the cleans have taken what older moments need. Start at `earliest_readable`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, SnapshotExpired
from pyhudi.filegroup.file_index import AskedValues, FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.queries.expired import archived_after, cut_at, require_kept
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.cleans import cleaned_since, files_being_cleaned
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, replaced_file_groups

__all__ = ["earliest_readable"]


def earliest_readable(state: TableState) -> InstantTime | None:
    """Return the first active commit from which on every moment can be read; None where nothing was committed.

    What a savepoint keeps may be readable before.

    Cost: a listing of all partitions; where cleans took files, of the groups that these are of, the planning of a read
          for each moment that can be read.
    """
    timeline = load_timeline(state)
    visible = sorted(completed_writes(timeline), key=lambda one: (timeline.point(one), one.requested_time))
    if not visible:
        return None
    index = file_index(state, timeline)
    files = _touched(index, cut_at(timeline, timeline.point(visible[0])))
    earliest = visible[-1]
    for one in reversed(visible[:-1]):
        point = timeline.point(one)
        if archived_after(timeline, point) or not _is_readable(_At(index, cut_at(timeline, point)), files):
            break
        earliest = one
    return earliest.requested_time


def _touched(index: FileIndex, moment: Timeline) -> pa.Table:
    """List the files of the file groups of which cleans took some since a moment.

    A metadata table lists what a pending clean has deleted until that is completed: its files count as taken.

    Shape: FILES.
    """
    files = index.files(index.partitions())
    taken = cleaned_since(index.state, moment)
    groups = {(where, _group(name)) for where, names in taken.items() for name in names}
    ids = pc.replace_substring_regex(files.column("name"), r"^\.?([^_]*).*$", r"\1")
    going = files_being_cleaned(index.state, index.timeline)
    return files.filter(
        pc.and_not(_are_among(files, ids, groups), _are_among(files, files.column("name"), going)),
    )


def _are_among(files: pa.Table, names: pa.ChunkedArray, wanted: Collection[tuple[str, str]]) -> pa.ChunkedArray:
    paths = pc.binary_join_element_wise(files.column("partition"), names, "/")
    return pc.is_in(paths, pa.array([f"{where}/{name}" for where, name in sorted(wanted)], pa.string()))


def _group(name: str) -> str:
    """Return the file id in the name of a base or log file."""
    return name.removeprefix(".").partition("_")[0]


def _is_readable(index: "_At", files: pa.Table) -> bool:
    replaced = replaced_file_groups(index.timeline, partial(read_commit_metadata, index.state))
    try:
        require_kept(index, files, replaced, list)
    except SnapshotExpired:
        return False
    return True


class _At:
    """The files of an index, at an earlier moment."""

    is_checked = False
    is_listed = False

    def __init__(self, index: FileIndex, moment: Timeline) -> None:
        self.state, self.timeline, self._index = index.state, moment, index

    def partitions(self) -> Sequence[PartitionPath]:
        return self._index.partitions()

    def is_partition(self, partition: PartitionPath) -> bool:
        return self._index.is_partition(partition)

    def files_holding(self, kind: str, files: pa.Table, values: AskedValues) -> pa.BooleanArray | None:
        return None

    def places_of_values(self, kind: str, values: pa.Array) -> pa.Table | None:
        return None

    def places_of_keys(self, keys: pa.Array, partitions: Sequence[PartitionPath], most: int) -> pa.Table | None:
        return None

    def indexes(self) -> Mapping[str, IndexDefinition]:
        return {}

    def files(self, partitions: Iterable[PartitionPath]) -> pa.Table:
        return self._index.files(partitions)

    def ask_storage(self, error: CorruptData) -> bool:
        return self._index.ask_storage(error)

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        return None
