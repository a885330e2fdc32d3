"""The file groups of a partition of the metadata table as it is built: empty logs show them, base files fill them.

Start at `write_empty_groups`.

Spec: format/metadata-table 3.2, 3.5.
"""

from functools import partial

import pyarrow as pa

from pyhudi.env import Env
from pyhudi.filegroup.listing import at_once, encode_partition_metadata
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import PARTITION_METADATA
from pyhudi.formats.properties import java_date
from pyhudi.metadata.partitions.api import PartitionKind, Records, file_group
from pyhudi.metadata.records import encode_records
from pyhudi.metadata.spread_records import GroupContent, SpreadRecords, write_groups
from pyhudi.metadata.table.base_files import base_file, base_file_content
from pyhudi.metadata.table.logs import BLOCK_BYTES, EMPTY_GROUP, empty_group_log
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat

__all__ = ["first_records", "records_count", "write_base_files", "write_empty_groups"]


def write_empty_groups(own: TableState, kind: PartitionKind, groups_count: int, time: InstantTime, env: Env) -> None:
    """Make a partition's directory and its file groups, which have no records yet.   Cost: a put a file group."""
    partition = PartitionPath(kind.name)
    header = encode_partition_metadata(partition, time, java_date(env.now_ms(), env.zone()))
    own.storage.put(f"{partition}/{PARTITION_METADATA}", header)
    logs = [_empty_log(kind, group, time) for group in range(groups_count)]
    at_once(lambda path: own.storage.put(path, empty_group_log(time)), [one.path for one in logs])


def write_base_files(
    own: TableState,
    kind: PartitionKind,
    records: Records,
    *,
    groups_count: int,
    time: InstantTime,
    settings: Settings,
) -> tuple[WriteStat, ...]:
    """Write a base file for each file group that has records; tasks write those that they make."""
    version = own.config.table_version
    if isinstance(records, SpreadRecords):
        return _spread_base_files(
            own, kind, records, groups_count=groups_count, time=time, block_bytes=settings.get(BLOCK_BYTES)
        )
    entries = encode_records(records, version)
    places = kind.group_of(entries.column("key").cast(pa.string()), groups_count)
    contents: dict[str, bytes] = {}
    stats = []
    for group in sorted(set(places.tolist())):
        part = entries.filter(pa.array(places == group)).combine_chunks()
        content = base_file_content(part, version, settings.get(BLOCK_BYTES))
        file = base_file(file_group(kind, group), time, f"{group}-0-0", len(content))
        contents[file.path] = content
        stats.append(_base_stat(file, part.num_rows))
    at_once(lambda path: own.storage.put(path, contents[path]), list(contents))
    return tuple(stats)


def records_count(records: Records) -> int:
    """Return how many records there are; of those that tasks make, roughly."""
    return records.count if isinstance(records, SpreadRecords) else len(records.keys)


def first_records(own: TableState, kind: PartitionKind, written: tuple[WriteStat, ...]) -> CommitMetadata:
    """Return what the delta commit says that wrote base files, or none."""
    operation = WriteOperation.BULK_INSERT_PREPPED if own.layout.has_completion_times else WriteOperation.BULK_INSERT
    return CommitMetadata(operation=operation, stats={kind.name: written} if written else {})


def _empty_log(kind: PartitionKind, group: int, time: InstantTime) -> LogFile:
    return LogFile(
        partition=PartitionPath(kind.name),
        file_id=file_group(kind, group).file_id,
        instant=time,
        version=1,
        write_token=EMPTY_GROUP,
        suffix="",
        size_bytes=0,
    )


def _spread_base_files(
    own: TableState,
    kind: PartitionKind,
    records: SpreadRecords,
    *,
    groups_count: int,
    time: InstantTime,
    block_bytes: int,
) -> tuple[WriteStat, ...]:
    paths = tuple(base_file(file_group(kind, group), time, f"{group}-0-0", 0).path for group in range(groups_count))
    version = own.config.table_version
    write = partial(_write_base_file, storage=own.storage, paths=paths, table_version=version, block_bytes=block_bytes)
    rows = write_groups(records, groups_count, write).to_pylist()  # a row a file, never one a record
    files = [base_file(file_group(kind, row["group"]), time, f"{row['group']}-0-0", row["size_bytes"]) for row in rows]
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
