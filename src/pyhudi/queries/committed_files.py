"""Whether the files that commits say they wrote are there: what a listing lacks, nothing else would miss.

Only base files of commits on the active timeline are looked for. Start at `require_committed`.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, SnapshotExpired
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import BASE_EXTENSIONS, PARTITION_METADATA
from pyhudi.options import boolean, option
from pyhudi.queries.expired import ReadAmong
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.cleans import cleaned_since
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline

__all__ = ["CHECK_FILES", "CommittedFile", "committed_base_files", "require_committed"]

CHECK_FILES: Final = option(
    "pyhudi.check.files",
    True,
    "Refuse to read or write past a base file that a commit names and that is missing or has another size, and past a"
    " partition without its metadata file. Costs a read of each active commit's metadata, once a process.",
    parse=boolean,
)
_MOST_COMMITS: Final = 1_000
_MOST_FILES: Final = 25_000
"""How far back commits are looked at, newest first: what the cache of decoded commits can hold."""
_MOST_TABLES: Final = 8
_FEW: Final = 8
"""So many commits are read one after another."""
_AT_ONCE: Final = 64
_ENDINGS: Final = tuple(BASE_EXTENSIONS)
_Group = tuple[str, str]
"""Partition path and file id."""


class CommittedFile(NamedTuple):
    """A base file as its commit names it."""

    instant: InstantTime
    path: str
    size_bytes: int


_known: OrderedDict[tuple[str, tuple[InstantTime, ...]], dict[_Group, CommittedFile]] = OrderedDict()
_known_lock = threading.Lock()


def require_committed(
    index: FileIndex,
    slices: pa.Table,
    replaced: Mapping[_Group, InstantTime],
    read_among: ReadAmong,
) -> None:
    """Check that the newest base file which commits name for each file group is there, and its partition is one.

    Shape:  slices: `filegroup.view.SLICES`, the newest of each file group.
    Cost:   once a process a small read of each active commit, several at once where storage is remote; then less than
            a microsecond a file group.
    Raises: CorruptData naming the file; SnapshotExpired where it was taken away since the timeline was read.
    """
    committed = committed_base_files(index.state, index.timeline)
    bases = _bases(slices, committed)
    partitions = set(read_among(frozenset(PartitionPath(partition) for partition, _ in committed)))
    for group, wanted in committed.items():
        partition = PartitionPath(group[0])
        if group in replaced or partition not in partitions:
            continue
        instant, path, size_bytes = bases.get(group, ("", "", 0))
        if not path or instant < wanted.instant:
            _refuse_missing(index, partition, wanted)
        elif path == wanted.path and 0 < wanted.size_bytes != size_bytes:
            raise CorruptData(
                "a base file has another size than its commit says; it was cut or written over",
                file=path,
                size_bytes=size_bytes,
                committed_bytes=wanted.size_bytes,
            )
        elif not index.is_partition(partition):
            _refuse_partition(partition)


def _bases(slices: pa.Table, committed: Mapping[_Group, object]) -> dict[_Group, tuple[str, str, int]]:
    """Return base instant, path and size of the base files of some file groups."""
    wanted = pa.array({file_id for _, file_id in committed}, pa.string())
    rows = slices.filter(pc.and_(pc.is_in(slices.column("file_id"), wanted), pc.is_valid(slices.column("base"))))
    columns = (rows.column(name).to_pylist() for name in ("partition", "file_id", "base_instant", "base"))
    sizes = rows.column("base_size_bytes").to_pylist()
    return {
        (where, file_id): (instant, f"{where}/{base}" if where else base, size)
        for where, file_id, instant, base, size in zip(*columns, sizes, strict=True)
    }


def committed_base_files(state: TableState, timeline: Timeline) -> dict[_Group, CommittedFile]:
    """Return for each file group the base file that the newest commit names; folded once for a timeline."""
    newest_first = list(timeline.completed.values())[: -_MOST_COMMITS - 1 : -1]
    key = (state.storage.url, tuple(one.requested_time for one in newest_first))
    with _known_lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found: dict[_Group, CommittedFile] = {}
    left = _MOST_FILES
    for time, metadata in _metadata(state, newest_first):
        files = _files_of(metadata, time)
        left -= len(files)
        if left < 0:
            break
        for group, file in files:
            found.setdefault(group, file)
    if state.storage.traits.is_picklable:
        with _known_lock:
            _known[key] = found
            while len(_known) > _MOST_TABLES:
                _known.popitem(last=False)
    return found


def _metadata(state: TableState, instants: Sequence[Instant]) -> Iterator[tuple[InstantTime, CommitMetadata]]:
    """Read what commits say, several at once where storage is remote; not of those that were archived since."""
    step = _AT_ONCE if state.storage.traits.is_shared and len(instants) > _FEW else 1
    by_time = {one.requested_time: one for one in instants}

    def read(time: InstantTime) -> CommitMetadata | None:
        with suppress(FileMissing):
            return read_commit_metadata(state, by_time[time])
        return None

    times = list(by_time)
    for start in range(0, len(times), step):
        read_now = at_once(read, times[start : start + step])
        yield from ((time, metadata) for time, metadata in read_now.items() if metadata is not None)


def _files_of(metadata: CommitMetadata, time: InstantTime) -> list[tuple[_Group, CommittedFile]]:
    """List the base files that a commit says it wrote."""
    files = []
    for partition, stats in metadata.stats.items():
        for stat in stats:
            name = (stat.path or "").rsplit("/", 1)[-1]
            is_base = stat.file_id and not name.startswith(".") and name.endswith(_ENDINGS)
            if is_base and f"_{time}." in name:
                path = f"{partition}/{name}" if partition else name
                files.append(((partition, stat.file_id or ""), CommittedFile(time, path, stat.file_size_in_bytes or 0)))
    return files


def _refuse_missing(index: FileIndex, partition: PartitionPath, wanted: CommittedFile) -> None:
    """Raise what is wrong where a base file is not listed, unless a clean took it before the timeline was read."""
    state, timeline = index.state, index.timeline
    name = wanted.path.rsplit("/", 1)[-1]
    files = index.files([partition])
    if not index.is_partition(partition) and pc.any(pc.equal(files.column("name"), name)).as_py():
        _refuse_partition(partition)
    now = load_timeline(state)
    is_gone = wanted.instant not in now.completed
    is_cleaned = name in cleaned_since(state, timeline).get(partition, ())
    if is_gone or (is_cleaned and not _cleans(now) <= _cleans(timeline)):
        raise SnapshotExpired("a file was taken away since the timeline was read; read again", file=wanted.path)
    if not is_cleaned:
        raise CorruptData(
            "a base file that a commit wrote is missing; restore it, or roll the commit back",
            file=wanted.path,
            instant=wanted.instant,
        )


def _cleans(timeline: Timeline) -> frozenset[InstantTime]:
    return frozenset(one.requested_time for one in timeline.instants if one.action is Action.CLEAN)


def _refuse_partition(partition: PartitionPath) -> None:
    path = f"{partition}/{PARTITION_METADATA}" if partition else PARTITION_METADATA
    raise CorruptData("the metadata file of a partition is missing, so no reader finds its rows; restore it", file=path)
