"""What a delta commit of the metadata table writes: one log file for each file group that gets records.

In layout 2 a log file has the delta commit's time in its name and is written before the table lock is taken; in layout
1 its name goes by the slice, so it is written under the lock. Start at `write_logs`.

Spec: format/metadata-table 1.4, 2.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import LogFile, PartitionPath
from pyhudi.formats.hfile import write_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks
from pyhudi.metadata.partitions.api import PartitionKind
from pyhudi.metadata.records import MetadataRecords, encode_records
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import option
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import WriteStat

__all__ = ["BLOCK_BYTES", "EMPTY_GROUP", "GroupLog", "empty_group_log", "group_logs", "write_logs"]

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
    content: bytes
    records_count: int


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
    places = kind.group_of(entries.column("key").cast(pa.string()), groups_count)
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
        block = NewBlock(kind=BlockKind.HFILE, headers=headers, content=content)
        found.append(
            GroupLog(
                partition=records.partition,
                group=group,
                content=encode_blocks([block]),
                records_count=part.num_rows,
            )
        )
    return found


def empty_group_log(time: InstantTime) -> bytes:
    """Return the log that makes a file group visible which has no records yet."""
    return encode_blocks([NewBlock(kind=BlockKind.DELETE, headers={HeaderKey.INSTANT_TIME: time}, content=_NO_DELETES)])


def write_logs(
    table: MetadataTable, logs: Sequence[GroupLog], time: InstantTime, revision: int
) -> Mapping[str, tuple[WriteStat, ...]]:
    """Write the log files; returns what was written for each, by partition.

    Cost: a put a file group, several at once.
    """
    placed = [(_log_file(table, one, time, f"{number}-{revision}-0"), one) for number, one in enumerate(logs)]
    contents = {file.path: one.content for file, one in placed}
    at_once(lambda path: table.state.storage.put(path, contents[path]), list(contents))
    stats: dict[str, list[WriteStat]] = {}
    for file, one in placed:
        stats.setdefault(one.partition, []).append(_stat(table, file, one, time))
    return {partition: tuple(found) for partition, found in stats.items()}


def _log_file(table: MetadataTable, log: GroupLog, time: InstantTime, token: str) -> LogFile:
    group = table.file_groups(log.partition)[log.group]
    is_by_slice = table.state.layout.timeline_layout == 1
    return LogFile(
        partition=PartitionPath(log.partition),
        file_id=group.group.file_id,
        instant=group.base_instant if is_by_slice else time,
        version=max((one.version for one in group.logs), default=0) + 1 if is_by_slice else 1,
        write_token=token,
        suffix="",
        size_bytes=len(log.content),
    )


def _stat(table: MetadataTable, file: LogFile, log: GroupLog, time: InstantTime) -> WriteStat:
    """Fill the stat of a log file as Apache Hudi does.   Spec: format/metadata-table 7.1."""
    group = table.file_groups(log.partition)[log.group]
    is_by_slice = table.state.layout.timeline_layout == 1
    stat = WriteStat(
        file_id=file.file_id,
        path=file.path,
        prev_commit=time,
        num_writes=log.records_count,
        num_update_writes=log.records_count,
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
    if not is_by_slice:
        return stat
    base, older = group.base, tuple(one.name for one in reversed(group.logs))
    names = (*older, file.name)
    return replace(stat, prev_commit=file.instant, base_file=base.name if base else "", log_files=names)
