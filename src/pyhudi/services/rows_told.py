"""Which file groups an action changes, and how their rows are read: for indexes that are made of rows.

Start at `rows_of_action` and `rows_of_table`.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from pyhudi.engine.api import Engine
from pyhudi.engine.scanning import naming_file
from pyhudi.errors import InternalError
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.parquet import read_footer
from pyhudi.kernels.bucket import may_be_bucket
from pyhudi.metadata.changed_keys import SliceChange
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.partitions.api import LookedUp, RowsTold
from pyhudi.options import Settings
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.schema.types import read_table_schema
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, Storage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import SERVICES, CommitMetadata, WriteStat
from pyhudi.timeline.view import Timeline

__all__ = ["rows_of_action", "rows_of_table"]

_MANY: Final = 1
"""Rows that are not counted: some."""


def rows_of_table(state: TableState, timeline: Timeline, settings: Settings, engine: Engine) -> RowsTold:
    """Return the slices that a reader sees, as if each were new.

    Cost: a listing of every partition; the footer of each base file.
    """
    slices = visible_slices(file_index(state, timeline, is_checked=settings.get(CHECK_FILES)))
    counts = engine.run(partial(_rows_count, storage=state.storage), slices)
    changes = [_as_new(one, count) for one, count in zip(slices, counts, strict=True)]
    reads = slice_spec(state, table_schema(state, timeline), timeline, settings).whole
    return RowsTold(changes=tuple(changes), reads=reads, engine=engine)


def rows_of_action(
    state: TableState,
    timeline: Timeline,
    settings: Settings,
    engine: Engine,
    *,
    instant: InstantTime,
    metadata: CommitMetadata,
    looked_up: LookedUp = LookedUp.NOWHERE,
) -> RowsTold:
    """Return the slices that an action changes, before and after; `timeline` is the one that the action came upon.

    `looked_up` says where its keys were; those of services have their rows already.

    Cost: the partitions that it touches, of the metadata table.
    """
    replaced = metadata.replaced or {}
    partitions = [PartitionPath(one) for one in sorted({*metadata.stats, *replaced})]
    index = file_index(state, timeline, is_checked=settings.get(CHECK_FILES))
    stored = {one.group: one for one in visible_slices(index, partitions)} if timeline.completed else {}
    gone = {_group(where, file_id) for where, ids in replaced.items() for file_id in ids}
    written: dict[FileGroupId, list[WriteStat]] = {}
    for where, stats in metadata.stats.items():
        for stat in stats:
            if stat.path and stat.file_id:
                written.setdefault(_group(where, stat.file_id), []).append(stat)
    changes = [_change(group, found, stored.get(group), instant, gone) for group, found in written.items()]
    changes += [_as_gone(stored[group], instant) for group in sorted(gone - written.keys()) if group in stored]
    said = metadata.extra.get("schema")
    schema = read_table_schema(said, instant) if said else table_schema(state, timeline)
    reads = slice_spec(state, schema, timeline, settings).whole
    return RowsTold(
        changes=tuple(changes),
        reads=replace(reads, instants=_with(reads.instants, instant, changes)),
        engine=engine,
        operation=metadata.operation,
        looked_up=LookedUp.TABLE if metadata.operation in SERVICES else looked_up,
    )


def _with(visible: VisibleInstants, instant: InstantTime, changes: Sequence[SliceChange]) -> VisibleInstants:
    """Return the instants that a reader sees once an action is completed."""
    logs = [log for one in changes if one.after is not None for log in one.after.logs]
    lengths = {log.path: max(log.size_bytes, visible.lengths.get(log.path, 0)) for log in logs}
    return replace(visible, completed=visible.completed | {instant}, lengths={**visible.lengths, **lengths})


def _change(
    group: FileGroupId,
    written: Sequence[WriteStat],
    before: FileSlice | None,
    instant: InstantTime,
    gone: Collection[FileGroupId],
) -> SliceChange:
    files = [_file(group, stat) for stat in written]
    base = next((one for one in files if isinstance(one, BaseFile)), None)
    logs = [one for one in files if isinstance(one, LogFile)]
    before = None if before is None else _without(before, {one.name for one in logs})
    if base is not None:
        after = FileSlice(group=group, base_instant=instant, base=base)
    else:
        older = before or FileSlice(group=group, base_instant=logs[0].instant, base=None)
        merged = sorted([*older.logs, *logs], key=lambda one: (one.instant, one.version, one.write_token))
        after = replace(older, logs=tuple(merged))
    return SliceChange(
        before=before,
        after=after,
        instant=instant,
        inserts_count=sum(_inserts_of(stat) for stat in written),
        deletes_count=sum(stat.num_deletes or 0 for stat in written) + (_MANY if group in gone else 0),
    )


def _inserts_of(stat: WriteStat) -> int:
    """Return how many rows may be of new keys: in logs of hash buckets these are not looked up, and count as updates.

    A file id that only looks like a bucket's costs a look at its keys.
    """
    is_looked_up = stat.log_version is None or not may_be_bucket(stat.file_id or "")
    return (stat.num_inserts or 0) + (0 if is_looked_up else stat.num_update_writes or 0)


def _without(one: FileSlice, names: Collection[str]) -> FileSlice | None:
    """Leave logs of the action out: where names do not tell their commits, a listing of storage has them already."""
    logs = tuple(log for log in one.logs if log.name not in names)
    return replace(one, logs=logs) if logs or one.base is not None else None


def _as_new(one: FileSlice, count: int) -> SliceChange:
    time = one.base.instant if one.base is not None else one.logs[0].instant
    return SliceChange(before=None, after=one, instant=time, inserts_count=count, deletes_count=0)


def _as_gone(one: FileSlice, instant: InstantTime) -> SliceChange:
    return SliceChange(before=one, after=None, instant=instant, inserts_count=0, deletes_count=_MANY)


def _rows_count(one: FileSlice, *, storage: Storage) -> int:
    if one.base is None:
        return _MANY
    with naming_file(one.base.path), storage.open_input(one.base.path) as source:
        return read_footer(source).rows_count


def _file(group: FileGroupId, stat: WriteStat) -> BaseFile | LogFile:
    name = (stat.path or "").rsplit("/", 1)[-1]
    status = FileStatus(path=name, size_bytes=stat.file_size_in_bytes or 0, modified_ms=0)
    file = parse_file(group.partition, status)
    if file is None:
        raise InternalError("a commit names a file that is none of a table", path=stat.path)
    return file


def _group(partition: str, file_id: str) -> FileGroupId:
    return FileGroupId(partition=PartitionPath(partition), file_id=FileId(file_id))
