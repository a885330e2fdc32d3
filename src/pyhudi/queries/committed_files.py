"""Which files commits on the active timeline say they wrote: the newest base file of each file group, and every log.

Read once a process. `queries.committed_checks` compares them with what is there. Start at `committed_files`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from pyhudi.errors import FileMissing
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.log_scan import LogRecords, VisibleInstants
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import BASE_EXTENSIONS, parse_log_file
from pyhudi.options import Settings, boolean, option
from pyhudi.state.layout import Layout
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.storage.process import RecentlyUsed
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteStat
from pyhudi.timeline.view import Timeline

__all__ = [
    "CHECK_FILES",
    "COMMITTED_LOGS",
    "CommittedFile",
    "CommittedFiles",
    "Group",
    "committed_files",
    "visible_instants",
]

CHECK_FILES: Final = option(
    "pyhudi.check.files",
    True,
    "Refuse to read or write past a base file or log that a commit names and that is missing or has another size, and"
    " past a partition without its metadata file. Costs a read of each active commit's metadata, once a process.",
    parse=boolean,
    is_kept=False,
)
_MOST_COMMITS: Final = 1_000
_MOST_FILES: Final = 25_000
"""How far back commits are looked at, newest first: what the cache of decoded commits can hold."""
_MOST_TABLES: Final = 8
_FEW: Final = 8
"""So many commits are read one after another."""
_AT_ONCE: Final = 64
_ENDINGS: Final = tuple(BASE_EXTENSIONS)
Group = tuple[str, str]
"""Partition path and file id."""
_Log = tuple[str, str, str, int, str, str]
"""A row of COMMITTED_LOGS."""
COMMITTED_LOGS: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("instant", pa.string()),
        ("slice", pa.string()),
    ]
)
"""One row a log file. It belongs to the last slice whose base instant is not behind `slice`: in layout 2 the completion
of its commit, in layout 1 the base instant in its name."""


class CommittedFile(NamedTuple):
    """A file as its commit names it. Units: bytes."""

    instant: InstantTime
    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedFiles:
    """What commits say they wrote."""

    bases: Mapping[Group, CommittedFile]
    """The newest base file of each file group."""
    logs: pa.Table
    """COMMITTED_LOGS."""
    partitions: frozenset[PartitionPath]
    """Those of all these files."""
    records: LogRecords
    """Of logs that are their commit's only one of a file group. Where logs roll over, Apache Hudi counts deletes in one
    and writes them into the next."""


_known: Final = RecentlyUsed[tuple[str, tuple[tuple[InstantTime, InstantTime | None], ...]], CommittedFiles](
    _MOST_TABLES
)
"""By when commits were requested and completed: a service that runs again has the instant of its plan."""


def visible_instants(state: TableState, timeline: Timeline, settings: Settings) -> VisibleInstants:
    """Return what tasks need to know of a reading of the timeline, to merge logs by it.

    Cost: where files are checked, as `committed_files`.
    """
    if not settings.get(CHECK_FILES):
        return VisibleInstants.of(timeline, {})
    committed = committed_files(state, timeline)
    if timeline.layout.logs_name_their_instant:
        return VisibleInstants.of(timeline, {}, committed.records)
    logs = committed.logs
    lengths = dict(zip(logs["path"].to_pylist(), logs["size_bytes"].to_pylist(), strict=True))
    return VisibleInstants.of(timeline, lengths, committed.records)


def committed_files(state: TableState, timeline: Timeline) -> CommittedFiles:
    """Return what the commits of a timeline name; folded once for a timeline.

    Cost: once a process a small read of each active commit, several at once where storage is remote.
    """
    newest_first = list(timeline.completed.values())[: -_MOST_COMMITS - 1 : -1]
    key = (state.storage.url, tuple((one.requested_time, one.completion_time) for one in newest_first))
    known = _known.get(key)
    if known is not None:
        return known
    found = _folded(state, newest_first, timeline.layout)
    return _known.add(key, found) if state.storage.traits.is_picklable else found


def _folded(state: TableState, newest_first: Sequence[Instant], layout: Layout) -> CommittedFiles:
    bases: dict[Group, CommittedFile] = {}
    logs: dict[str, _Log] = {}
    records: dict[str, dict[str, int]] = {}
    left = _MOST_FILES
    by_time = {one.requested_time: one for one in newest_first}
    for time, metadata in _metadata(state, by_time):
        named = [(where, stat) for where, stats in metadata.stats.items() for stat in stats if stat.file_id]
        left -= len(named)
        if left < 0:
            break
        for path, count in _records(named, by_time[time], layout):
            records.setdefault(path, {})[time] = count
        for where, stat in named:
            base, log = _base(where, stat, time), _log(where, stat, by_time[time], layout)
            if base is not None:
                bases.setdefault((where, stat.file_id or ""), base)
            if log is not None:
                # In layout 1 commits may append to one file, the last of which has it all.
                size_bytes = max(log[3], logs[log[2]][3] if log[2] in logs else 0)
                logs[log[2]] = (*log[:3], size_bytes, *log[4:])
    rows = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(_columns(logs.values()), COMMITTED_LOGS, strict=True)],
        schema=COMMITTED_LOGS,
    )
    partitions = {where for where, _ in bases} | {row[0] for row in logs.values()}
    return CommittedFiles(bases=bases, logs=rows, partitions=frozenset(map(PartitionPath, partitions)), records=records)


def _records(named: Sequence[tuple[str, WriteStat]], commit: Instant, layout: Layout) -> Iterator[tuple[str, int]]:
    """Yield how many rows and deletes a commit says it wrote into logs, where a file group has one of it."""
    logs_of = Counter((where, stat.file_id) for where, stat in named if stat.is_log)
    told = (
        (_log(where, stat, commit, layout), (stat.num_writes or 0) + (stat.num_deletes or 0))
        for where, stat in named
        if logs_of[where, stat.file_id] == 1
    )
    return ((log[2], count) for log, count in told if log is not None)


def _columns(rows: Iterable[tuple[object, ...]]) -> Sequence[Sequence[object]]:
    return list(zip(*rows, strict=True)) or [()] * len(COMMITTED_LOGS)


def _metadata(
    state: TableState, by_time: Mapping[InstantTime, Instant]
) -> Iterator[tuple[InstantTime, CommitMetadata]]:
    """Read what commits say, several at once where storage is remote; not of those that were archived since."""
    step = _AT_ONCE if state.storage.traits.is_shared and len(by_time) > _FEW else 1

    def read(time: InstantTime) -> CommitMetadata | None:
        with suppress(FileMissing):
            return read_commit_metadata(state, by_time[time])
        return None

    times = list(by_time)
    for start in range(0, len(times), step):
        read_now = at_once(read, times[start : start + step])
        yield from ((time, metadata) for time, metadata in read_now.items() if metadata is not None)


def _base(partition: str, stat: WriteStat, time: InstantTime) -> CommittedFile | None:
    """Return the base file that a stat names; None where it names something else."""
    name = (stat.path or "").rsplit("/", 1)[-1]
    if name.startswith(".") or not name.endswith(_ENDINGS) or f"_{time}." not in name:
        return None
    return CommittedFile(time, f"{partition}/{name}" if partition else name, stat.file_size_in_bytes or 0)


def _log(partition: str, stat: WriteStat, commit: Instant, layout: Layout) -> _Log | None:
    """Return the log of rows that a stat names; None where it names something else, or its name another commit's."""
    status = FileStatus(path=(stat.path or "").rsplit("/", 1)[-1], size_bytes=0, modified_ms=0)
    log = parse_log_file(PartitionPath(partition), status)
    if log is None or log.suffix or (layout.logs_name_their_instant and log.instant != commit.requested_time):
        return None
    at = (commit.completion_time or "") if layout.has_completion_times else log.instant
    return partition, log.file_id, log.path, stat.file_size_in_bytes or 0, commit.requested_time, at
