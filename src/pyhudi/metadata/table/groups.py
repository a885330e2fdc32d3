"""The file groups of a partition of the metadata table as it is built: empty logs show them, base files fill them.

Start at `write_empty_groups`.

Spec: format/metadata-table 3.2, 3.5.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa

from pyhudi.env import Env
from pyhudi.filegroup.listing import at_once, encode_partition_metadata
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import PARTITION_METADATA
from pyhudi.formats.properties import java_date
from pyhudi.metadata.partitions.api import PartitionKind, Records
from pyhudi.metadata.records import encode_records
from pyhudi.metadata.spread_records import GroupContent, SpreadRecords, write_groups
from pyhudi.metadata.table.base_files import base_file, base_file_content
from pyhudi.metadata.table.logs import BLOCK_BYTES, EMPTY_GROUP, empty_group_log, log_stat
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat

__all__ = [
    "empty_group",
    "empty_log_stats",
    "first_records",
    "records_by_partition",
    "records_count",
    "write_base_files",
    "write_empty_groups",
    "write_empty_logs",
]


def write_empty_groups(
    own: TableState, kind: PartitionKind, groups: Sequence[FileGroupId], time: InstantTime, env: Env
) -> None:
    """Make a partition's directory and its file groups, which have no records yet.   Cost: a put a file group."""
    partition = PartitionPath(kind.name)
    header = encode_partition_metadata(partition, time, java_date(env.now_ms(), env.zone()))
    own.storage.put(f"{partition}/{PARTITION_METADATA}", header)
    write_empty_logs(own, [empty_group(group, time) for group in groups])


def empty_group(group: FileGroupId, time: InstantTime) -> FileSlice:
    """Return a file group that an instant makes: with a log that has no records."""
    log = LogFile(
        partition=group.partition,
        file_id=group.file_id,
        instant=time,
        version=1,
        write_token=EMPTY_GROUP,
        suffix="",
        size_bytes=len(empty_group_log(time)),
    )
    return FileSlice(group=group, base_instant=time, base=None, logs=(log,))


def write_empty_logs(own: TableState, groups: Sequence[FileSlice]) -> None:
    """Write the logs of file groups that have no records yet.   Cost: a put each, several at once."""
    times = {one.path: one.instant for group in groups for one in group.logs}
    at_once(lambda path: own.storage.put(path, empty_group_log(times[path])), list(times))


def write_base_files(
    own: TableState,
    kind: PartitionKind,
    records: Records,
    *,
    groups: Sequence[FileGroupId],
    time: InstantTime,
    settings: Settings,
) -> tuple[WriteStat, ...]:
    """Write a base file for each of the file groups that has records; tasks write those that they make."""
    version = own.config.table_version
    if isinstance(records, SpreadRecords):
        return _spread_base_files(own, records, groups, time=time, block_bytes=settings.get(BLOCK_BYTES))
    entries = encode_records(records, version)
    places = kind.key_hash.place_of(entries.column("key").cast(pa.string()), len(groups))
    contents: dict[str, bytes] = {}
    stats = []
    for group in sorted(set(places.tolist())):
        part = entries.filter(pa.array(places == group)).combine_chunks()
        content = base_file_content(part, version, settings.get(BLOCK_BYTES))
        file = base_file(groups[group], time, f"{group}-0-0", len(content))
        contents[file.path] = content
        stats.append(_base_stat(file, part.num_rows))
    at_once(lambda path: own.storage.put(path, contents[path]), list(contents))
    return tuple(stats)


def records_count(records: Records) -> int:
    """Return how many records there are; of those that tasks make, roughly."""
    return records.count if isinstance(records, SpreadRecords) else len(records.keys)


def records_by_partition(records: Records) -> dict[str, int]:
    """Return how many records there are of each partition of the table, where these have file groups of their own."""
    owners = records.owners if isinstance(records, SpreadRecords) else None
    return {"": records_count(records)} if owners is None else dict(owners.counts)


def first_records(own: TableState, written: Mapping[str, Sequence[WriteStat]]) -> CommitMetadata:
    """Return what the delta commit says that built partitions; `written` are the files of each."""
    operation = WriteOperation.BULK_INSERT_PREPPED if own.layout.has_completion_times else WriteOperation.BULK_INSERT
    return CommitMetadata(operation=operation, stats={name: tuple(stats) for name, stats in written.items() if stats})


def empty_log_stats(groups: Sequence[FileSlice], written: Sequence[WriteStat] = ()) -> tuple[WriteStat, ...]:
    """Return what a commit says of the logs that show file groups to which it writes nothing else.

    By it a lost log is missed: where it is all that there is of the last file group, the number of file groups would
    be another, and keys would be looked for in other ones than they are in.
    """
    filled = {one.file_id for one in written}
    return tuple(log_stat(one.logs[0], one.base_instant) for one in groups if one.group.file_id not in filled)


def _spread_base_files(
    own: TableState, records: SpreadRecords, groups: Sequence[FileGroupId], *, time: InstantTime, block_bytes: int
) -> tuple[WriteStat, ...]:
    paths = tuple(base_file(group, time, f"{number}-0-0", 0).path for number, group in enumerate(groups))
    version = own.config.table_version
    write = partial(_write_base_file, storage=own.storage, paths=paths, table_version=version, block_bytes=block_bytes)
    ids = [one.file_id for one in groups]
    rows = write_groups(records, ids, write).to_pylist()  # a row a file, never one a record
    files = [base_file(groups[row["group"]], time, f"{row['group']}-0-0", row["size_bytes"]) for row in rows]
    return tuple(_base_stat(file, row["records_count"]) for file, row in zip(files, rows, strict=True))


def _write_base_file(
    content: GroupContent, *, storage: Storage, paths: tuple[str, ...], table_version: int, block_bytes: int
) -> tuple[int, None]:
    """Write one file group's base file. A task."""
    entries = pa.table({"key": content.keys, "value": content.values})
    data = base_file_content(entries, table_version, block_bytes)
    storage.put(paths[content.group], data)
    return len(data), None


def _base_stat(file: BaseFile, rows_count: int) -> WriteStat:
    return WriteStat(
        file_id=file.file_id,
        path=file.path,
        num_writes=rows_count,
        num_inserts=rows_count,
        total_write_bytes=file.size_bytes,
        partition_path=file.partition,
        file_size_in_bytes=file.size_bytes,
        scan_time_ms=0,
        upsert_time_ms=0,
        create_time_ms=0,
    )
