"""What a delta commit of the metadata table writes: one log file for each file group that gets records.

In layout 2 a log file has the delta commit's time in its name and is written before the table lock is taken; in layout
1 its name goes by the slice, so it is written under the lock. Start at `write_logs`.

Spec: format/metadata-table 1.4, 2.5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import FileSlice, LogFile, PartitionPath
from pyhudi.formats.hfile import write_hfile
from pyhudi.formats.log import DELETES, BlockKind, HeaderKey, NewBlock, encode_blocks, encode_deletes
from pyhudi.metadata.partitions.api import PartitionKind
from pyhudi.metadata.reader import Wanted, slice_entries
from pyhudi.metadata.records import MetadataRecords, encode_records
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.spread_records import CheckGroup, GroupContent, SpreadRecords, write_groups
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import option
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import WriteStat

__all__ = [
    "BLOCK_BYTES",
    "EMPTY_GROUP",
    "GroupLog",
    "empty_group_log",
    "group_logs",
    "log_stat",
    "spread_logs",
    "write_logs",
]

EMPTY_GROUP: Final = "0-0-0"
_NO_DELETES: Final = bytes.fromhex("00000003 00000001 00")
"""Content version, length, and an empty list in Avro."""
BLOCK_BYTES: Final = option(
    "hoodie.hfile.block.size",
    65536,
    "Bytes of a data block of the metadata table's HFiles, before they are compressed.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLog:
    """A log file's content for one file group."""

    partition: str
    group: int
    content: bytes | None
    """None: a task has written it."""
    size_bytes: int
    records_count: int
    deletes_count: int = 0


def group_logs(
    kind: PartitionKind,
    records: MetadataRecords,
    groups_count: int,
    *,
    time: InstantTime,
    table_version: int,
    block_bytes: int,
) -> list[GroupLog]:
    """Encode records for the file groups that their keys belong to: an HFile in a log block each."""
    schema = record_schema(table_version, has_meta_fields=True)
    entries = encode_records(records, table_version)
    places = kind.key_hash.place_of(entries.column("key").cast(pa.string()), groups_count)
    found = []
    for group in sorted(set(places.tolist())):
        part = entries.filter(pa.array(places == group)).combine_chunks()
        content = write_hfile(
            part.column("key").combine_chunks(),
            part.column("value").combine_chunks(),
            file_info={"schema": schema.encode()},
            block_bytes=block_bytes,
        )
        headers = {HeaderKey.INSTANT_TIME: time, HeaderKey.SCHEMA: schema}
        data = encode_blocks([NewBlock(kind=BlockKind.HFILE, headers=headers, content=content)])
        found.append(
            GroupLog(
                partition=records.partition,
                group=group,
                content=data,
                size_bytes=len(data),
                records_count=part.num_rows,
            )
        )
    return found


def spread_logs(
    table: MetadataTable, records: SpreadRecords, time: InstantTime, revision: int, block_bytes: int
) -> list[GroupLog]:
    """Let tasks encode records for the file groups that their keys belong to, and in layout 2 write the log files.

    Cost: as `spread_records.write_groups`; in layout 1 the encoded records in this process.
    """
    groups = table.file_groups(records.partition)
    is_early = table.state.layout.logs_name_their_instant
    paths = [_log_path(table, records.partition, group, time, revision) for group in range(len(groups))]
    check = None if records.check is None else partial(_check_stored, table=table, groups=groups, check=records.check)
    write = partial(
        _write_log,
        storage=table.state.storage,
        paths=tuple(paths) if is_early else None,
        partition=records.partition,
        time=time,
        schema=record_schema(table.state.config.table_version, has_meta_fields=True),
        block_bytes=block_bytes,
        check=check,
    )
    ids = [one.group.file_id for one in groups]
    rows = write_groups(records, ids, write).to_pylist()  # a row a file, never one a record
    return [GroupLog(partition=records.partition, **row) for row in rows]


def _write_log(
    content: GroupContent,
    *,
    storage: Storage,
    paths: tuple[str, ...] | None,
    partition: str,
    time: InstantTime,
    schema: str,
    block_bytes: int,
    check: Callable[[GroupContent], None] | None,
) -> tuple[int, bytes | None]:
    """Write one file group's log: records first, keys that are deleted behind them. A task."""
    if check is not None and len(content.keys):
        check(content)
    headers = {HeaderKey.INSTANT_TIME: time, HeaderKey.SCHEMA: schema}
    blocks = []
    if len(content.keys):
        info = {"schema": schema.encode()}
        data = write_hfile(content.keys, content.values, file_info=info, block_bytes=block_bytes)
        blocks.append(NewBlock(kind=BlockKind.HFILE, headers=headers, content=data))
    if len(content.deleted):
        deletes = _deletes(content.deleted, partition)
        blocks.append(NewBlock(kind=BlockKind.DELETE, headers=headers, content=deletes))
    log = encode_blocks(blocks)
    if paths is None:
        return len(log), log
    storage.put(paths[content.group], log)
    return len(log), None


def _check_stored(
    content: GroupContent, *, table: MetadataTable, groups: Sequence[FileSlice], check: CheckGroup
) -> None:
    """Look up what is stored of the keys that a file group gets."""
    check(content, slice_entries(table, groups[content.group], Wanted(keys=content.keys.cast(pa.string()))))


def _deletes(keys: pa.Array, partition: str) -> bytes:
    """Encode deletes as Apache Hudi does: the partition's name, and the ordering value that stands for none."""
    count, kind = len(keys), DELETES.field("ordering").type
    none = pa.array([{"IntWrapper": {"value": 0}}], kind).take(pa.array([0] * count, pa.int32()))
    columns = [keys, pa.repeat(pa.scalar(partition, pa.string()), count), none]
    return encode_deletes(pa.table(columns, schema=DELETES))


def empty_group_log(time: InstantTime) -> bytes:
    """Return the log that makes a file group visible which has no records yet."""
    return encode_blocks([NewBlock(kind=BlockKind.DELETE, headers={HeaderKey.INSTANT_TIME: time}, content=_NO_DELETES)])


def write_logs(
    table: MetadataTable, logs: Sequence[GroupLog], time: InstantTime, revision: int
) -> Mapping[str, tuple[WriteStat, ...]]:
    """Write the log files; returns what was written for each, by partition.

    Cost: a put a file group, several at once.
    """
    files = [
        _log_file(table, one.partition, one.group, time, token=_token(one, number, revision), size_bytes=one.size_bytes)
        for number, one in enumerate(logs)
    ]
    placed = list(zip(files, logs, strict=True))
    contents = {file.path: one.content for file, one in placed if one.content is not None}
    at_once(lambda path: table.state.storage.put(path, contents[path]), list(contents))
    stats: dict[str, list[WriteStat]] = {}
    for file, one in placed:
        stats.setdefault(one.partition, []).append(_stat(table, file, one, time))
    return {partition: tuple(found) for partition, found in stats.items()}


def _token(log: GroupLog, number: int, revision: int) -> str:
    """Return a write token; a task's goes by its file group, as it does not know the other logs."""
    return f"{log.group if log.content is None else number}-{revision}-0"


def _log_path(table: MetadataTable, partition: str, group: int, time: InstantTime, revision: int) -> str:
    return _log_file(table, partition, group, time, token=f"{group}-{revision}-0", size_bytes=0).path


def _log_file(
    table: MetadataTable, partition: str, number: int, time: InstantTime, *, token: str, size_bytes: int
) -> LogFile:
    group = table.file_groups(partition)[number]
    is_by_slice = not table.state.layout.logs_name_their_instant
    return LogFile(
        partition=PartitionPath(partition),
        file_id=group.group.file_id,
        instant=group.base_instant if is_by_slice else time,
        version=max((one.version for one in group.logs), default=0) + 1 if is_by_slice else 1,
        write_token=token,
        suffix="",
        size_bytes=size_bytes,
    )


def _stat(table: MetadataTable, file: LogFile, log: GroupLog, time: InstantTime) -> WriteStat:
    """Fill the stat of a log file as Apache Hudi does.   Spec: format/metadata-table 7.1."""
    group = table.file_groups(log.partition)[log.group]
    is_by_slice = not table.state.layout.logs_name_their_instant
    stat = log_stat(file, time, records_count=log.records_count, deletes_count=log.deletes_count)
    if not is_by_slice:
        return stat
    base, older = group.base, tuple(one.name for one in reversed(group.logs))
    names = (*older, file.name)
    return replace(stat, prev_commit=file.instant, base_file=base.name if base else "", log_files=names)


def log_stat(file: LogFile, time: InstantTime, *, records_count: int = 0, deletes_count: int = 0) -> WriteStat:
    """Return what a commit says of a log that it alone wrote."""
    return WriteStat(
        file_id=file.file_id,
        path=file.path,
        prev_commit=time,
        num_writes=records_count,
        num_deletes=deletes_count,
        num_update_writes=records_count,
        total_write_bytes=file.size_bytes,
        partition_path=file.partition,
        file_size_in_bytes=file.size_bytes,
        base_file="",
        log_files=(file.name,),
        log_version=file.version,
        log_offset=0,
        scan_time_ms=0,
        upsert_time_ms=0,
        create_time_ms=0,
    )
