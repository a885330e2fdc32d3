"""Write changes of one file group into log files on top of its newest slice.

Runs in tasks (data plane): everything needed comes in frozen values, no timeline, no locks. Names do not depend on the
attempt and files are published by put-if-absent. An attempt that finds a file of its name there takes it as it is, and
writes only the changes that it does not hold. Start at `append_changes`.

Spec: format/files 1, 2; format/timeline 5.2.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.scanning import naming_file
from pyhudi.errors import CorruptData, InternalError, PreconditionFailed
from pyhudi.filegroup.log_blocks import block_columns, encode_changes
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_spec import LogSpec
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.names import MarkerKind, log_token, marker_path
from pyhudi.filegroup.rows import base_file_rows
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.formats.log import BlockKind, encode_blocks, read_blocks
from pyhudi.kernels.changes import RowChanges
from pyhudi.storage.api import PutMode, Storage
from pyhudi.timeline.instant import InstantTime

__all__ = ["append_changes", "append_stored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What one log file holds. Units: bytes."""

    rows_count: int
    deletes_count: int
    size_bytes: int
    measures: bytes = b""
    """Nothing of a file that another attempt has published."""


def append_changes(
    storage: Storage,
    spec: WriteSpec,
    task: FileTask,
    changes: RowChanges,
    *,
    earlier: Sequence[WriteStatus] = (),
) -> list[WriteStatus]:
    """Write changes to a log file; to several, where one would be too large. Without changes there is none.

    Rows come first, deletes behind them. `earlier` are the log files that the same task has written before.

    Shape:  `changes.rows` has the table's columns, KEY and PARTITION -> a status for each log file.
    Cost:   the changes, and one block of them encoded, in memory.
    Raises: CorruptData where the name is taken by a log of another instant.
    """
    layout, name = spec.layout, task.file_id if spec.layout.has_meta_values else None
    rows = base_file_rows(changes.rows, layout, spec.instant, task.number, name)
    return append_stored(storage, spec, task, replace(changes, rows=rows), earlier=earlier)


def append_stored(
    storage: Storage,
    spec: WriteSpec,
    task: FileTask,
    changes: RowChanges,
    *,
    before: RowChanges | None = None,
    earlier: Sequence[WriteStatus] = (),
) -> list[WriteStatus]:
    """Write changes whose rows have their meta columns already; else as `append_changes`.

    Shape: `changes.rows` is of `layout.file_schema`. `before` are deletes of keys that have rows among the changes,
           and come in front of these: their ordering columns.
    """
    logs = _spec_of(spec)
    left = [part for some in (before, changes) if some is not None for part in _parts(some, logs.block_bytes)]
    statuses: list[WriteStatus] = []
    while left:
        file = _log_file(spec, task, len(earlier) + len(statuses))
        kind = MarkerKind.APPEND if logs.is_by_slice else MarkerKind.CREATE
        storage.put(marker_path(spec.instant, file.path, kind), b"")
        try:
            written, left = _write(storage, spec, task, file, left)
        except PreconditionFailed:
            written, rows_keys, deletes_keys = _read_back(storage, spec, file)
            left = _without(left, rows_keys, deletes_keys)
        statuses.append(_status(spec, task, file, written, [*earlier, *statuses]))
    return statuses


def _write(
    storage: Storage, spec: WriteSpec, task: FileTask, file: LogFile, parts: Sequence[RowChanges]
) -> tuple[_Written, list[RowChanges]]:
    """Write blocks until the file is full; returns what it holds, and the parts that are left."""
    size = count = 0
    logs = _spec_of(spec)
    with storage.open_output(file.path, PutMode.CREATE) as sink:
        while count < len(parts) and size <= logs.file_bytes:
            data = encode_blocks([encode_changes(parts[count], spec, task)])
            sink.write(data)
            size, count = size + len(data), count + 1
    deletes = sum(int(part.is_delete.sum()) for part in parts[:count])
    rows = sum(len(part.keys) for part in parts[:count]) - deletes
    told = _told(spec, parts[:count])
    return _Written(rows_count=rows, deletes_count=deletes, size_bytes=size, measures=told), list(parts[count:])


def _told(spec: WriteSpec, parts: Sequence[RowChanges]) -> bytes:
    """Return what is told of a file with the blocks of these parts."""
    if spec.measures is None:
        return b""
    rows = [part.rows.select(block_columns(part)) for part in parts if not part.is_delete.any()]
    return spec.measures.told_of_log(spec.layout.file_schema, rows)


def _read_back(storage: Storage, spec: WriteSpec, file: LogFile) -> tuple[_Written, pa.ChunkedArray, pa.ChunkedArray]:
    """Return what a log holds that another attempt has published, and of which keys its rows and its deletes are."""
    size = storage.head(file.path).size_bytes
    rows: list[pa.ChunkedArray] = []
    deletes: list[pa.ChunkedArray] = []
    keys_of = ReadSpec.of_keys(spec.layout)
    with naming_file(file.path):
        for block in read_blocks(partial(storage.get_range, file.path), size):
            if block.instant != spec.instant:
                raise CorruptData("a log file has the name of another instant's", instant=block.instant)
            kept = deletes if block.kind is BlockKind.DELETE else rows
            kept.append(read_changes(block, keys_of).keys)
    written = _Written(rows_count=sum(map(len, rows)), deletes_count=sum(map(len, deletes)), size_bytes=size)
    return written, _one(rows), _one(deletes)


def _one(found: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for keys in found for chunk in keys.chunks], pa.string())


def _log_file(spec: WriteSpec, task: FileTask, number: int) -> LogFile:
    """Name the next log file: in layout 1 behind those of the slice, else by the instant."""
    is_by_slice = _spec_of(spec).is_by_slice
    instant = _slice_instant(spec, task) if is_by_slice else spec.instant
    stored = [one.version for one in task.logs if one.instant == instant] if is_by_slice else []
    return LogFile(
        partition=task.partition,
        file_id=task.file_id,
        instant=instant,
        version=max(stored, default=0) + 1 + number,
        write_token=log_token(task.write_token, spec.instant) if is_by_slice else task.write_token,
        suffix="",
        size_bytes=0,
    )


def _slice_instant(spec: WriteSpec, task: FileTask) -> InstantTime:
    return task.base_instant or (task.base.instant if task.base else spec.instant)


def _status(
    spec: WriteSpec, task: FileTask, file: LogFile, written: _Written, earlier: Sequence[WriteStatus]
) -> WriteStatus:
    """Fill what was written as Apache Hudi does: layout 1 names all logs of the slice.   Spec: format/timeline 3.2."""
    is_by_slice = _spec_of(spec).is_by_slice
    is_new_group = task.base is None and not task.logs
    slice_logs = [one.name for one in reversed(task.logs)] if is_by_slice else []
    ours = [one.path.rsplit("/", 1)[-1] for one in earlier] if is_by_slice else []
    return WriteStatus(
        partition=task.partition,
        file_id=task.file_id,
        path=file.path,
        previous_instant=file.instant,
        previous_name=task.base.name if task.base and is_by_slice else "",
        log_version=file.version,
        log_files=(*slice_logs, *ours, file.name),
        is_new_group=is_new_group,
        rows_count=written.rows_count,
        inserts_count=written.rows_count if is_new_group else 0,
        updates_count=0 if is_new_group else written.rows_count,
        deletes_count=written.deletes_count,
        size_bytes=written.size_bytes,
        measures=written.measures,
    )


def _parts(changes: RowChanges, most_bytes: int) -> Iterator[RowChanges]:
    """Cut changes into what becomes a block each: rows first."""
    for flags in (~changes.is_delete, changes.is_delete):
        some = changes.filter(flags)
        count = len(some.keys)
        step = math.ceil(count / max(1, math.ceil(some.rows.nbytes / most_bytes))) or 1
        for start in range(0, count, step):
            inside = np.zeros(count, dtype=np.bool_)
            inside[start : start + step] = True
            yield some.filter(inside)


def _without(
    parts: Sequence[RowChanges], rows_keys: pa.ChunkedArray, deletes_keys: pa.ChunkedArray
) -> list[RowChanges]:
    """Leave out rows and deletes of keys, and parts that become empty."""
    kept = []
    for part in parts:
        is_known = np.where(
            part.is_delete, pc.is_in(part.keys, value_set=deletes_keys), pc.is_in(part.keys, value_set=rows_keys)
        )
        kept.append(part.filter(~is_known.astype(np.bool_)))
    return [part for part in kept if len(part.keys)]


def _spec_of(spec: WriteSpec) -> LogSpec:
    if spec.logs is None:
        raise InternalError("a write without log files was to write one")
    return spec.logs
