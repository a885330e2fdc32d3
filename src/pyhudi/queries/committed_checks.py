"""Whether the files that commits say they wrote are there: what a listing lacks, nothing else would miss.

Start at `require_committed`; `lost_file` tells of one file that was not there when it was opened.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, HudiError, SnapshotExpired
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.names import PARTITION_METADATA, parse_file
from pyhudi.queries.committed_files import CommittedFile, CommittedFiles, Group, committed_files
from pyhudi.queries.expired import ReadAmong
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleans import cleaned_since
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline, is_committed

__all__ = ["lost_file", "require_committed"]

_GROUP: Final = ("partition", "file_id")


def require_committed(
    index: FileIndex,
    slices: pa.Table,
    replaced: Mapping[Group, InstantTime],
    read_among: ReadAmong,
) -> None:
    """Check that what commits name of the newest slice of each file group is there, and its partition is one.

    That is its base file, and its logs. In layout 1 a log may be larger than its commits say: others append to it.

    Shape:  slices: `filegroup.view.SLICES`, the newest of each file group.
    Cost:   as `committed_files`; then less than a microsecond a file group and a log.
    Raises: CorruptData naming the file; SnapshotExpired where it was taken away since the timeline was read.
    """
    committed = committed_files(index.state, index.timeline)
    partitions = set(read_among(committed.partitions))
    _require_bases(index, slices, replaced, committed, partitions)
    if committed.logs.num_rows:
        _require_logs(index, slices, replaced, committed.logs, partitions)


def _require_bases(
    index: FileIndex,
    slices: pa.Table,
    replaced: Mapping[Group, InstantTime],
    committed: CommittedFiles,
    partitions: set[PartitionPath],
) -> None:
    bases = _bases(slices, committed.bases)
    for group, wanted in committed.bases.items():
        partition = PartitionPath(group[0])
        if group in replaced or partition not in partitions:
            continue
        instant, path, size_bytes = bases.get(group, ("", "", 0))
        if not path or instant < wanted.instant:
            _refuse_missing(index, partition, wanted)
        elif path == wanted.path and 0 < wanted.size_bytes != size_bytes:
            raise _other_size("a base file", wanted, size_bytes)
        elif not index.is_partition(partition):
            _refuse_partition(partition)


def _bases(slices: pa.Table, committed: Mapping[Group, object]) -> dict[Group, tuple[str, str, int]]:
    """Return base instant, path and size of the base files of some file groups."""
    wanted = pa.array({file_id for _, file_id in committed}, pa.string())
    rows = slices.filter(pc.and_(pc.is_in(slices.column("file_id"), wanted), pc.is_valid(slices.column("base"))))
    columns = (rows.column(name).to_pylist() for name in ("partition", "file_id", "base_instant", "base"))
    sizes = rows.column("base_size_bytes").to_pylist()
    return {
        (where, file_id): (instant, f"{where}/{base}" if where else base, size)
        for where, file_id, instant, base, size in zip(*columns, sizes, strict=True)
    }


def _require_logs(
    index: FileIndex,
    slices: pa.Table,
    replaced: Mapping[Group, InstantTime],
    committed: pa.Table,
    partitions: set[PartitionPath],
) -> None:
    asked = committed.filter(pc.is_in(committed["partition"], pa.array(sorted(partitions), pa.string())))
    found = _sizes_of_logs(slices, asked)
    at_least = pc.equal if index.timeline.layout.logs_name_their_instant else pc.greater_equal
    is_right = pc.or_(at_least(found, asked["size_bytes"]), pc.equal(asked["size_bytes"], 0))
    is_wrong = pc.and_(pc.is_null(found), _may_be_merged(slices, asked))
    is_wrong = pc.or_(is_wrong, pc.fill_null(pc.invert(is_right), False))
    sizes = found.filter(is_wrong).to_pylist()
    for partition in asked["partition"].filter(pc.is_valid(found)).unique().to_pylist():
        if not index.is_partition(partition):
            _refuse_partition(partition)
    for row, size_bytes in zip(asked.filter(is_wrong).to_pylist(), sizes, strict=True):
        wanted = CommittedFile(InstantTime(row["instant"]), row["path"], row["size_bytes"])
        if (row["partition"], row["file_id"]) in replaced:
            continue
        if size_bytes is not None:
            raise _other_size("a log", wanted, size_bytes)
        _refuse_missing(index, PartitionPath(row["partition"]), wanted)


def _sizes_of_logs(slices: pa.Table, wanted: pa.Table) -> pa.ChunkedArray:
    """Return the sizes of logs as slices have them; null where they have not."""
    nested = slices["logs"].combine_chunks()
    logs = nested.flatten()
    places = slices["partition"].take(pa.array(np.repeat(np.arange(len(nested)), nested.value_lengths().to_numpy())))
    paths = pc.if_else(pc.equal(places, ""), logs.field("name"), _joined(places, logs.field("name")))
    return logs.field("size_bytes").take(pc.index_in(wanted["path"], value_set=paths))


def _may_be_merged(slices: pa.Table, logs: pa.Table) -> pa.ChunkedArray:
    """Return of each log whether it belongs to its group's newest slice, or there is none: it may be all the group."""
    groups, wanted = (_joined(*(table[name] for name in _GROUP)) for table in (slices, logs))
    begins = pc.if_else(pc.is_null(slices["base"]), "", slices["base_instant"])
    begin = begins.take(pc.index_in(wanted, value_set=groups))
    return pc.fill_null(pc.greater_equal(logs["slice"], begin), True)


def _joined(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(first, second, "/")


def _other_size(what: str, wanted: CommittedFile, size_bytes: int) -> HudiError:
    return CorruptData(
        f"{what} has another size than its commit says; it was cut or written over",
        file=wanted.path,
        size_bytes=size_bytes,
        committed_bytes=wanted.size_bytes,
    )


def _refuse_missing(index: FileIndex, partition: PartitionPath, wanted: CommittedFile) -> None:
    """Raise what is wrong where a file is not listed, unless a clean took it before the timeline was read."""
    name = wanted.path.rsplit("/", 1)[-1]
    files = index.files([partition])
    if not index.is_partition(partition) and pc.any(pc.equal(files.column("name"), name)).as_py():
        _refuse_partition(partition)
    state, timeline = index.state, index.timeline
    now = load_timeline(state)
    is_gone = wanted.instant not in now.completed
    is_cleaned = name in cleaned_since(state, timeline).get(partition, ())
    if is_gone or (is_cleaned and not _cleans(now) <= _cleans(timeline)):
        raise SnapshotExpired("a file was taken away since the timeline was read; read again", file=wanted.path)
    if not is_cleaned:
        raise _missing(wanted.path, wanted.instant)


def lost_file(state: TableState, timeline: Timeline, paths: Sequence[str], error: FileMissing) -> HudiError:
    """Return what is wrong where a file of a read was not there when it was opened: one of `paths`.

    Cost: a listing of the timeline, and as `cleaned_since`; a listing of each partition where Spark did not name it.
    """
    told = error.values.get("path")
    for path in [path for path in paths if path == told] or _absent(state, paths):
        where, _, name = path.rpartition("/")
        if name in cleaned_since(state, timeline).get(where, ()):
            return SnapshotExpired("files of this snapshot were cleaned; scan again", file=path)
        instant = _writer_of(state, timeline, PartitionPath(where), name)
        if instant is not None and not is_committed(load_timeline(state), instant):
            return SnapshotExpired("a commit of this snapshot was taken back; scan again", instant=instant, file=path)
        return _missing(path, instant)
    return SnapshotExpired("files of this snapshot were taken away and put back; scan again", path=told)


def _absent(state: TableState, paths: Sequence[str]) -> list[str]:
    """Return those of some files that are not there."""
    directories = {path.rpartition("/")[0] for path in paths}
    there = {file.path for one in directories for file in state.storage.list_directory(one).files}
    return [path for path in paths if path not in there]


def _writer_of(state: TableState, timeline: Timeline, partition: PartitionPath, name: str) -> InstantTime | None:
    """Return which commit wrote a file; None of a log of layout 1 that no active commit names."""
    file = parse_file(partition, FileStatus(path=name, size_bytes=0, modified_ms=0))
    if file is None or isinstance(file, BaseFile) or timeline.layout.logs_name_their_instant:
        return None if file is None else file.instant
    logs = committed_files(state, timeline).logs
    found = logs.filter(pc.equal(logs["path"], file.path))["instant"].to_pylist()
    return InstantTime(found[0]) if found else None


def _missing(path: str, instant: InstantTime | None) -> HudiError:
    what = "log" if path.rsplit("/", 1)[-1].startswith(".") else "base file"
    text = f"a {what} that a commit wrote is missing; restore it, or roll the commit back"
    return CorruptData(text, file=path, instant=instant)


def _cleans(timeline: Timeline) -> frozenset[InstantTime]:
    return frozenset(one.requested_time for one in timeline.instants if one.action is Action.CLEAN)


def _refuse_partition(partition: PartitionPath) -> None:
    path = f"{partition}/{PARTITION_METADATA}" if partition else PARTITION_METADATA
    raise CorruptData("the metadata file of a partition is missing, so no reader finds its rows; restore it", file=path)
