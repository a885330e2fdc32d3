"""Files and a timeline put together: which files make up each file group's slices.

Pure and in columns: names are taken apart by kernels, and only slices that a caller keeps become values. Start at
`file_groups` for every slice, `newest_slices` for those that are read.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import groupby
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.numbering import Flags, Ints, NumberedFiles, at_or_before, numbered
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline, as_of, completion_of, is_committed

__all__ = [
    "SLICES",
    "CommittedPath",
    "as_file_slices",
    "file_groups",
    "latest_file_slices",
    "logs_may_add_keys",
    "newest_slices",
]

CommittedPath = Callable[[InstantTime, PartitionPath, FileId], str | None]
"""Which path the commit metadata of an instant names for a file group; None where it cannot be told."""

_LOG: Final = pa.struct([("name", pa.string()), ("size_bytes", pa.int64())])
SLICES: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("file_id", pa.string()),
        ("base_instant", pa.string()),
        ("base", pa.string()),
        ("base_size_bytes", pa.int64()),
        ("logs", pa.list_(_LOG)),
    ]
)
"""One row a slice; `base` is its base file's name, null where it has none; `logs` are in merge order."""
_FOREVER: Final = "9"
_GROUP: Final = ["partition", "file_id"]
_FILE: Final = ["partition", "name", "size_bytes"]
_ORDER: Final = [*_GROUP, "base_instant"]


def file_groups(
    files: pa.Table,
    timeline: Timeline,
    replaced: Mapping[tuple[str, str], InstantTime],
    point: InstantTime | None = None,
    committed_path: CommittedPath | None = None,
) -> pa.Table:
    """Return every slice of each visible file group, sorted by partition, file id and base instant.

    A base file is visible when its instant is committed on `timeline`, a log file when its delta commit is (in layout 1
    its name only tells the slice; its blocks are tested when they are read). `replaced` maps (partition path, file id)
    to the replacecommit that took the group away; it counts only where that one is visible, and an archived one not for
    base files of later instants, as hash buckets get under the same file id. `point` cuts the timeline first, see
    `timeline.view.as_of`. A pending compaction hides nothing: its slice is merged with the one before it. Of two base
    files of one group and instant the one that `committed_path` names is kept.

    Shape:  `filegroup.file_index.FILES` -> SLICES.
    Cost:   half a microsecond a file; where logs of archived instants lie below a newer base file, the history is read.
    Raises: Unsupported for native log files.
    Spec:   Reader Expectations 2-4; format/timeline 6.1, 6.2.
    """
    if point is not None:
        timeline = as_of(timeline, point)
    is_visible = cache(lambda time: is_committed(timeline, InstantTime(time)))
    compacting = frozenset() if timeline.layout.logs_name_their_instant else _compacting(timeline)
    seen = numbered(files, is_visible, lambda time: time in compacting or is_visible(time))
    rows = _one_a_slice(seen, committed_path)
    base_keys = seen.base_keys[rows]
    heads, slice_of = (
        _by_completion(seen, base_keys, timeline)
        if timeline.layout.logs_name_their_instant
        else _by_base_instant(seen, base_keys, compacting)
    )
    heads, slice_of = _with_log_only(seen, heads, slice_of)
    bases = np.full(len(heads), -1)
    bases[np.searchsorted(heads, base_keys)] = rows
    slices = _sorted(_table(seen, heads, bases, slice_of))
    gone = {
        f"{partition}/{file_id}": _FOREVER if time in timeline.completed else str(time)
        for (partition, file_id), time in replaced.items()
        if is_visible(time)
    }
    return _without(slices, gone) if gone else slices


def newest_slices(slices: pa.Table) -> pa.Table:
    """Keep the last slice of each file group.   Shape: SLICES, as `file_groups` sorts them -> the same."""
    if slices.num_rows < 2:
        return slices
    is_last = np.append(~_equals_next(slices, "file_id") | ~_equals_next(slices, "partition"), True)
    return slices if is_last.all() else slices.filter(pa.array(is_last))


def as_file_slices(slices: pa.Table) -> list[FileSlice]:
    """Make values of slices.   Shape: SLICES.   Cost: some microseconds a slice, so leave out first what is pruned."""
    nested = slices["logs"].combine_chunks()
    names, sizes = (nested.flatten().field(name).to_pylist() for name in _LOG.names)
    ends = np.cumsum(nested.value_lengths().to_numpy()).tolist()
    plain = (slices[name].to_pylist() for name in SLICES.names[:-1])
    return [
        FileSlice(
            group=FileGroupId(partition=PartitionPath(where), file_id=FileId(file_id)),
            base_instant=InstantTime(instant),
            base=None if base is None else _base_file(where, base, size_bytes),
            logs=tuple(_log_file(where, names[at], sizes[at]) for at in range(start, end)),
        )
        for where, file_id, instant, base, size_bytes, start, end in zip(*plain, [0, *ends], ends, strict=False)
    ]


def latest_file_slices(
    files: pa.Table,
    timeline: Timeline,
    replaced: Mapping[tuple[str, str], InstantTime],
    point: InstantTime | None = None,
    committed_path: CommittedPath | None = None,
) -> list[FileSlice]:
    """Return each visible file group's newest slice as a value, sorted by partition and file id; see `file_groups`."""
    return as_file_slices(newest_slices(file_groups(files, timeline, replaced, point, committed_path)))


def logs_may_add_keys(one: FileSlice, timeline: Timeline) -> bool:
    """Return whether the logs of a slice may have rows of keys that its base file has not, whatever the index.

    A row goes into a log where the base file has its key, deleted or not. A compaction that was planned before leaves
    deleted ones out, and the row lies on its base file then. Where the completion of a compaction is not known, it may
    be so: in layout 1, and of one that was archived.
    """
    if one.base is None or not one.logs:
        return False
    made = timeline.completed.get(one.base.instant)
    if made is None:
        return True
    if made.action is not Action.COMMIT:  # no compaction
        return False
    is_known = timeline.layout.logs_name_their_instant and made.completion_time is not None
    return not is_known or any(log.instant <= str(made.completion_time) for log in one.logs)


def _compacting(timeline: Timeline) -> frozenset[str]:
    """Return the compactions that wait; in logs of one that was planned later no row is of the moment."""
    return frozenset(
        one.requested_time
        for one in timeline.instants
        if one.action is Action.COMPACTION
        and not one.is_completed
        and (timeline.until is None or one.requested_time <= timeline.until)
    )


def _one_a_slice(seen: NumberedFiles, committed_path: CommittedPath | None) -> Ints:
    """Return the rows of base files in the order of their keys, one for each group and instant."""
    rows = np.argsort(seen.base_keys, kind="stable")
    keys = seen.base_keys[rows]
    is_same = keys[1:] == keys[:-1]
    if not is_same.any():
        return rows
    is_twice = np.append(is_same, False) | np.append(False, is_same)
    alike = groupby(rows[is_twice].tolist(), key=lambda row: seen.base_keys[row])
    chosen = [_chosen(seen.bases, list(same), committed_path) for _, same in alike]
    kept = np.append(rows[~is_twice], np.array(chosen, np.int64))
    return kept[np.argsort(seen.base_keys[kept])]


def _chosen(bases: pa.Table, rows: list[int], committed_path: CommittedPath | None) -> int:
    """Keep the file that the commit names; where none does, the greater write token, the same for every reader."""
    by_row = {row: _base_file(**bases.select(_FILE).slice(row, 1).to_pylist()[0]) for row in rows}
    first = by_row[rows[0]]
    named = committed_path(first.instant, first.partition, first.file_id) if committed_path else None
    name = (named or "").rsplit("/", 1)[-1]
    return max(rows, key=lambda row: (by_row[row].name == name, by_row[row].write_token, by_row[row].extension))


def _by_completion(seen: NumberedFiles, base_keys: Ints, timeline: Timeline) -> tuple[Ints, Ints]:
    """Put each log into the newest slice whose base file is not behind its completion; -1 where none is.

    When an archived delta commit completed, its history says. A log whose completion is unknown, and odd instants of
    another length count by their own time.
    """
    found = at_or_before(base_keys, seen.log_keys, seen.span)
    following = np.searchsorted(base_keys, seen.log_keys, side="right")
    groups = np.append(base_keys // seen.span, -1)
    is_open = groups[following] == seen.log_keys // seen.span
    if not is_open.any():
        return base_keys, found
    times = seen.log_keys % seen.span
    done = {time: completion_of(timeline, InstantTime(seen.times[time])) for time in np.unique(times[is_open]).tolist()}
    lengths = np.array([len(time) for time in seen.times])
    for length in np.unique(lengths[base_keys % seen.span]).tolist():
        alike = np.flatnonzero(lengths[base_keys % seen.span] == length)
        last = np.full(seen.span, -1)
        for time, at in done.items():
            if at is not None and len(at) == length:
                last[time] = bisect_right(seen.times, at) - 1
        rows = np.flatnonzero(is_open & (last[times] >= 0))
        until = at_or_before(base_keys[alike], seen.log_keys[rows] - times[rows] + last[times[rows]], seen.span)
        found[rows] = np.maximum(found[rows], np.where(until < 0, -1, alike[until]))
    return base_keys, found


def _by_base_instant(seen: NumberedFiles, base_keys: Ints, compacting: Collection[str]) -> tuple[Ints, Ints]:
    """Put each log into the slice whose base instant is in its name; -1 where that one waits for its base file.

    The slice of a pending compaction has logs but no base file yet; it is read together with the slice before it.
    """
    is_waiting = np.array([time in compacting for time in seen.times], bool)[seen.log_keys % seen.span]
    heads = np.unique(np.append(base_keys, seen.log_keys[~is_waiting]))
    return heads, at_or_before(heads, seen.log_keys, seen.span)


def _with_log_only(seen: NumberedFiles, heads: Ints, slice_of: Ints) -> tuple[Ints, Ints]:
    """Let the first log of a group without an earlier slice begin one, which all such logs of the group join."""
    is_left = slice_of < 0
    if not is_left.any():
        return heads, slice_of
    keys = np.sort(seen.log_keys[is_left])
    groups, first = np.unique(keys // seen.span, return_index=True)
    joined = np.empty_like(seen.log_keys)
    joined[~is_left] = heads[slice_of[~is_left]]
    joined[is_left] = keys[first[np.searchsorted(groups, seen.log_keys[is_left] // seen.span)]]
    heads = np.union1d(heads, keys[first])
    return heads, np.searchsorted(heads, joined)


def _table(seen: NumberedFiles, heads: Ints, bases: Ints, slice_of: Ints) -> pa.Table:
    """Build the slices; `bases` is the row of each one's base file, or -1, and `slice_of` the slice of each log."""
    order = _merge_order(seen, slice_of)
    logs = seen.logs.take(pa.array(order))
    offsets = np.append(0, np.cumsum(np.bincount(slice_of, minlength=len(heads))))
    places = bases.copy()
    places[bases < 0] = len(seen.bases) + order[offsets[:-1][bases < 0]]
    named = pa.concat_tables([seen.bases.select(_GROUP), seen.logs.select(_GROUP)]).take(pa.array(places))
    stored = seen.bases.select(["name", "size_bytes"]).take(pa.array(bases, mask=bases < 0))
    log = pa.StructArray.from_arrays([logs[name].combine_chunks() for name in _LOG.names], fields=list(_LOG))
    columns = [
        *named.columns,
        pa.array(seen.times, pa.string()).take(pa.array(heads % seen.span)),
        *stored.columns,
        pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), log),
    ]
    return pa.table(columns, schema=SLICES)


def _merge_order(seen: NumberedFiles, slice_of: Ints) -> Ints:
    """Return the rows of log files, by slice, instant, version and write token."""
    versions, tokens = seen.logs["version"], seen.logs["token"]
    keys = pa.table({"slice": slice_of, "key": seen.log_keys, "version": versions, "token": tokens})
    order: Ints = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]).to_numpy().astype(np.int64)
    return order


def _sorted(slices: pa.Table) -> pa.Table:
    """Sort slices by partition, file id and base instant; most listings are in this order."""
    is_next = np.zeros(max(0, slices.num_rows - 1), bool)
    for name in reversed(_ORDER):
        column = slices[name].combine_chunks()
        is_next = _flags(pc.less(column[:-1], column[1:])) | (_equals_next(slices, name) & is_next)
    return slices if is_next.all() else slices.sort_by([(name, "ascending") for name in _ORDER])


def _equals_next(slices: pa.Table, name: str) -> Flags:
    column = slices[name].combine_chunks()
    return _flags(pc.equal(column[:-1], column[1:]))


def _flags(values: pa.BooleanArray) -> Flags:
    flags: Flags = values.to_numpy(zero_copy_only=False)
    return flags


def _without(slices: pa.Table, gone: Mapping[str, str]) -> pa.Table:
    """Leave out slices of replaced groups, by partition and file id, up to the instant until which they are gone."""
    groups = pc.binary_join_element_wise(slices["partition"], slices["file_id"], "/")
    until = pa.array(list(gone.values())).take(pc.index_in(groups, value_set=pa.array(list(gone))))
    is_gone = pc.or_kleene(pc.is_null(slices["base"]), pc.less_equal(slices["base_instant"], until))
    return slices.filter(pc.invert(pc.and_(pc.is_valid(until), pc.fill_null(is_gone, False))))


def _base_file(partition: str, name: str, size_bytes: int) -> BaseFile:
    """Make a value of a name that was read before; `parse_base_file` would test it once more."""
    file_id, token, rest = name.split("_", 2)
    time, _, extension = rest.partition(".")
    return BaseFile(
        partition=PartitionPath(partition),
        file_id=FileId(file_id),
        write_token=token,
        instant=InstantTime(time),
        extension=f".{extension}",
        size_bytes=size_bytes,
    )


def _log_file(partition: str, name: str, size_bytes: int) -> LogFile:
    """Make a value of a name that was read before."""
    file_id, rest = name[1:].split("_", 1)
    time, _, rest = rest.partition(".log.")
    version, _, token = rest.partition("_")
    return LogFile(
        partition=PartitionPath(partition),
        file_id=FileId(file_id),
        instant=InstantTime(time),
        version=int(version),
        write_token=token,
        suffix="",
        size_bytes=size_bytes,
    )
