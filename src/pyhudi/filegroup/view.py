"""Files and a timeline put together: which files make up each file group's newest slice.

Pure and quick: names are taken apart as text, and only the files that win become values. Start at
`latest_file_slices`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import BASE_EXTENSIONS, parse_log_file, refuse_native_log
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline, as_of, completion_of, is_committed

__all__ = ["CommittedPath", "latest_file_slices"]

CommittedPath = Callable[[InstantTime, PartitionPath, FileId], str | None]
"""Which path the commit metadata of an instant names for a file group; None where it cannot be told."""
_FOREVER: Final = "9"
_EXTENSIONS: Final = {extension[1:]: extension for extension in BASE_EXTENSIONS}


@dataclass(slots=True)
class _Base:
    """The newest visible base file of a group so far, not yet a value."""

    time: str
    token: str
    extension: str
    size_bytes: int


@dataclass(slots=True)
class _Visibility:
    """Whether an instant's files are visible, asked once an instant."""

    timeline: Timeline
    known: dict[str, bool] = field(default_factory=dict)

    def of(self, time: str) -> bool:
        visible = self.known.get(time)
        if visible is None:
            visible = self.known[time] = is_committed(self.timeline, InstantTime(time))
        return visible


def latest_file_slices(
    files: pa.Table,
    timeline: Timeline,
    replaced: Mapping[tuple[str, str], InstantTime],
    point: InstantTime | None = None,
    committed_path: CommittedPath | None = None,
) -> list[FileSlice]:
    """Return each visible file group's newest slice, sorted by partition and file id.

    A base file is visible when its instant is committed on `timeline`, a log file when its delta commit is (in layout 1
    its name only tells the slice; its blocks are tested when they are read). `replaced` maps (partition path, file id)
    to the replacecommit that took the group away; it counts only where that one is visible, and an archived one not for
    base files of later instants, as hash buckets get under the same file id. `point` cuts the timeline first, see
    `timeline.view.as_of`. A pending compaction hides nothing: its slice is merged with the one before it. Of two base
    files of one group and instant the one that `committed_path` names is kept.

    Shape:  `filegroup.file_index.FILES`, by partition.
    Cost:   a few microseconds a file; where logs of archived instants lie below a newer base file, the history is read.
    Raises: Unsupported for native log files.
    Spec:   Reader Expectations 2-4; format/timeline 6.1, 6.2.
    """
    if point is not None:
        timeline = as_of(timeline, point)
    visible = _Visibility(timeline)
    gone: dict[str, dict[str, str]] = {}
    for (partition, file_id), time in replaced.items():
        if visible.of(time):
            gone.setdefault(partition, {})[file_id] = _FOREVER if time in timeline.completed else time
    slices: list[FileSlice] = []
    columns = (files.column(name).to_pylist() for name in ("partition", "name", "size_bytes"))
    for where, listed in groupby(zip(*columns, strict=True), key=itemgetter(0)):
        partition = PartitionPath(where)
        bases, logs = _sort_out(partition, listed, visible, committed_path)
        slices.extend(_slices_of(partition, bases, logs, visible, gone.get(partition, {})))
    return slices


def _sort_out(
    partition: PartitionPath,
    files: Iterable[tuple[str, str, int]],
    visible: _Visibility,
    committed_path: CommittedPath | None,
) -> tuple[dict[str, _Base], dict[str, list[LogFile]]]:
    """Find each group's newest visible base file, and all its log files."""
    bases: dict[str, _Base] = {}
    logs: dict[str, list[LogFile]] = {}
    is_visible = visible.of
    for _, name, size_bytes in files:
        if name[:1] == ".":
            log = parse_log_file(partition, FileStatus(path=name, size_bytes=size_bytes, modified_ms=0))
            if log is not None and not log.suffix:
                logs.setdefault(log.file_id, []).append(log)
            continue
        parts = name.split("_", 2)
        if len(parts) != 3:
            continue
        file_id, token, rest = parts
        time, _, ending = rest.partition(".")
        extension = _EXTENSIONS.get(ending)
        if extension is None or not time.isdecimal() or not time.isascii() or not file_id:
            refuse_native_log(name)
            continue
        best = bases.get(file_id)
        if not is_visible(time) or (best is not None and time < best.time):
            continue
        found = _Base(time, token, extension, size_bytes)
        if best is not None and time == best.time:
            found = _chosen(partition, file_id, (best, found), committed_path)
        bases[file_id] = found
    return bases, logs


def _chosen(
    partition: PartitionPath, file_id: str, pair: tuple[_Base, _Base], committed_path: CommittedPath | None
) -> _Base:
    """Keep the file that the commit names; where none does, the greater write token, the same for every reader."""
    named = committed_path(InstantTime(pair[0].time), partition, FileId(file_id)) if committed_path else None
    name = (named or "").rsplit("/", 1)[-1]
    for one in pair:
        if name == f"{file_id}_{one.token}_{one.time}{one.extension}":
            return one
    return max(pair, key=lambda one: (one.token, one.extension))


def _slices_of(
    partition: PartitionPath,
    bases: Mapping[str, _Base],
    logs: Mapping[str, list[LogFile]],
    visible: _Visibility,
    hidden: Mapping[str, str],
) -> Iterable[FileSlice]:
    logs_of = _logs_by_base_instant if visible.timeline.layout == 1 else _logs_by_completion
    for file_id in sorted(bases.keys() | logs.keys() if logs else bases):
        base = bases.get(file_id)
        if file_id in hidden and (base is None or base.time <= hidden[file_id]):
            continue
        kept: Sequence[LogFile] = ()
        if file_id in logs:
            ordered = sorted(logs[file_id], key=lambda log: (log.instant, log.version, log.write_token))
            kept = logs_of(ordered, base.time if base else None, visible)
        if base is None and not kept:
            continue
        group = FileGroupId(partition=partition, file_id=FileId(file_id))
        yield FileSlice(
            group=group,
            base_instant=InstantTime(base.time) if base else kept[0].instant,
            base=_base_file(group, base) if base else None,
            logs=tuple(kept),
        )


def _base_file(group: FileGroupId, found: _Base) -> BaseFile:
    return BaseFile(
        partition=group.partition,
        file_id=group.file_id,
        write_token=found.token,
        instant=InstantTime(found.time),
        extension=found.extension,
        size_bytes=found.size_bytes,
    )


def _logs_by_completion(ordered: Sequence[LogFile], base: str | None, visible: _Visibility) -> Sequence[LogFile]:
    """Keep the visible logs of the newest slice: those completed at or after the base file's instant.

    When an archived delta commit completed, its history says. A log whose completion is unknown, and odd instants of
    another length count by their own time. Without a base file the first log makes the slice, all later ones join it.
    """
    committed = [log for log in ordered if visible.of(log.instant)]
    if base is None:
        return committed

    def joins(log: LogFile) -> bool:
        if log.instant >= base:
            return True
        done = completion_of(visible.timeline, log.instant)
        return done is not None and len(done) == len(base) and done >= base

    return [log for log in committed if joins(log)]


def _logs_by_base_instant(ordered: Sequence[LogFile], base: str | None, visible: _Visibility) -> Sequence[LogFile]:
    """Keep the logs of the newest slice, whose base instant is in their names.

    The slice of a pending compaction has logs but no base file yet; it is read together with the slice before it.
    """
    compacting = {
        one.requested_time
        for one in visible.timeline.instants
        if one.action is Action.COMPACTION and not one.is_completed
    }
    kept: list[LogFile] = []
    newest = base
    for log in ordered:
        if newest is not None and log.instant < newest:
            continue
        if log.instant == newest or log.instant in compacting:
            kept.append(log)
        elif visible.of(log.instant):
            newest = log.instant
            kept = [log]
    return kept
