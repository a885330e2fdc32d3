"""Whether an older moment can still be read: what cleans took away decides, and what was archived.

Start at `require_kept`, which looks at files; the others look at commits.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import FileMissing, SnapshotExpired
from pyhudi.filegroup.file_index import FILES, FileIndex
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleans import cleaned_since, files_being_cleaned
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, as_of, hidden_writes, hide, is_committed

ReadAmong = Callable[[frozenset[PartitionPath]], Iterable[PartitionPath]]
"""Gives those of some partitions that a read concerns."""

__all__ = [
    "ReadAmong",
    "archived_after",
    "cut_at",
    "require_kept",
    "require_not_going",
    "require_unarchived",
    "require_unarchived_requests",
    "standing",
]


def cut_at(timeline: Timeline, point: InstantTime) -> Timeline:
    """Cut a timeline to what was visible at a point, archived commits too.

    Cost: what `archived_after` costs.
    """
    return hide(as_of(timeline, point), archived_after(timeline, point))


def archived_after(timeline: Timeline, point: InstantTime) -> Mapping[InstantTime, InstantTime]:
    """Return the archived writes that became visible later than a point: their own points by requested time.

    There are some where a savepoint kept the commits before that point, also one that was deleted since.

    Cost: two small reads, and once a process one of each file of the history with commits of that time; at version 6
          the whole archive, whose names do not tell what is inside.
    """
    return timeline.archive.completed_after(point)


def require_unarchived(timeline: Timeline, time: InstantTime) -> None:
    """Refuse a time whose own newest commit was archived, also one that names it: what is active is older, or later.

    Cost:   as `cut_at`.
    Raises: SnapshotExpired.
    """
    newest = _newest_at(timeline, time)
    archived = archived_after(timeline, newest)
    _refuse(newest, time, [*archived.values(), *archived.keys() & {time}])


def require_unarchived_requests(timeline: Timeline, time: InstantTime) -> None:
    """Refuse a time before which a commit was requested last that was archived.   Raises: SnapshotExpired."""
    newest = max((one for one in timeline.completed if one <= time), default=InstantTime(""))
    later = archived_after(timeline, newest)
    _refuse(newest, time, [requested for requested in later if requested > newest])


def require_kept(
    index: FileIndex,
    files: pa.Table,
    replaced: Mapping[tuple[str, str], InstantTime],
    read_among: ReadAmong,
) -> None:
    """Refuse a moment of which a clean took a file that its readers would open.

    `files` were listed before; `read_among` tells which partitions, also of those that are gone, the read concerns.

    Shape:  files: `filegroup.file_index.FILES`.
    Cost:   nothing for the newest moment; else what `cleaned_since` costs, and partitions with cleans sliced again;
            where a file seems to be missing, once a process the history too.
    Raises: SnapshotExpired.
    """
    timeline = index.timeline
    if not hidden_writes(timeline):
        return
    cleaned = cleaned_since(index.state, timeline)
    concerned = list(read_among(frozenset(map(PartitionPath, cleaned))))
    there = files.filter(pc.is_in(files.column("partition"), pa.array(concerned, pa.string())))
    listed = set(zip(there.column("partition").to_pylist(), there.column("name").to_pylist(), strict=True))
    gone = {(where, name) for where in concerned for name in cleaned[where]} - listed
    lost = _first_lost(index, _with_gone(there, gone), gone, replaced)
    if lost is not None:
        # A replacecommit may be archived before the clean is that took what it replaced.
        archived = timeline.archive.replaced_after(InstantTime(""))
        lost = _first_lost(index, _with_gone(there, gone), gone, {**archived, **replaced})
    if lost is not None:
        raise SnapshotExpired("files of this moment were cleaned; read a later one", until=timeline.until, file=lost)


def _first_lost(
    index: FileIndex,
    files: pa.Table,
    gone: Collection[tuple[str, str]],
    replaced: Mapping[tuple[str, str], InstantTime],
) -> str | None:
    """Return the first file that readers would open and that is gone; None where there is none."""
    slices = latest_file_slices(files, index.timeline, replaced)
    opened = ((one.group.partition, file.path) for one in slices for file in (one.base, *one.logs) if file is not None)
    return next((path for partition, path in opened if (partition, path.rsplit("/", 1)[-1]) in gone), None)


def require_not_going(state: TableState, timeline: Timeline, slices: Sequence[FileSlice], instant: InstantTime) -> None:
    """Refuse a moment of whose file slices a pending clean takes files, also those that it has not deleted yet.

    Cost:   a read of each pending clean's plan.
    Raises: SnapshotExpired.
    """
    taken = {f"{where}/{name}" if where else name for where, name in files_being_cleaned(state, timeline)}
    files = (file.path for one in slices for file in (one.base, *one.logs) if file is not None)
    lost = next((path for path in files if path in taken), None)
    if lost is not None:
        said = "a pending clean takes files of this moment; finish it with table.clean(), and name a later moment"
        raise SnapshotExpired(said, instant=instant, file=lost)


@contextmanager
def standing(state: TableState, timeline: Timeline) -> Iterator[None]:
    """Refuse what is planned inside where a commit of the timeline was taken back meanwhile.

    Its files may have been listed, or some of them. A commit goes off the timeline before any of its files does, so it
    is enough to look when they were listed.

    Cost:   a listing of the timeline's names; where a commit is gone, what reading the timeline costs.
    Raises: SnapshotExpired.
    """
    try:
        yield
    except FileMissing:
        _require_standing(state, timeline)
        raise
    _require_standing(state, timeline)


def _require_standing(state: TableState, timeline: Timeline) -> None:
    names = set(state.storage.list_names(state.layout.timeline_path))
    gone = [one for one in timeline.completed.values() if one.file_name not in names]
    now = load_timeline(state) if gone else timeline
    for one in gone:
        if not is_committed(now, one.requested_time):  # else it was archived
            raise SnapshotExpired(
                "a commit was taken back while its files were listed; read again", instant=one.requested_time
            )


def _with_gone(files: pa.Table, gone: Collection[tuple[str, str]]) -> pa.Table:
    """Add files that are not there, as if they were."""
    partitions, names = zip(*gone, strict=True) if gone else ((), ())
    added = pa.table([pa.array(partitions, pa.string()), pa.array(names, pa.string()), [0] * len(gone)], schema=FILES)
    return pa.concat_tables([files, added]).sort_by([("partition", "ascending"), ("name", "ascending")])


def _newest_at(timeline: Timeline, time: InstantTime) -> InstantTime:
    """Return the point of the newest active commit at a time; empty where none is."""
    return max((timeline.point(one) for one in as_of(timeline, time).completed.values()), default=InstantTime(""))


def _refuse(newest: InstantTime, time: InstantTime, archived: Iterable[InstantTime]) -> None:
    """Refuse a time up to which archived commits were completed, or requested: as the caller counts."""
    if any(one <= time for one in archived):
        raise SnapshotExpired(
            "commits up to this time were archived; read a later moment, or name an instant that is active",
            time=time,
            newest_active=newest or None,
        )
