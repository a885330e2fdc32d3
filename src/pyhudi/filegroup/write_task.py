"""What a task is told of a file group that it writes, and what it tells of each file. Start at `FileTask`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final, Protocol

import pyarrow as pa

from pyhudi.filegroup.bounds import Measured
from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.log_spec import LogSpec
from pyhudi.filegroup.model import BaseFile, FileId, LogFile, PartitionPath
from pyhudi.filegroup.rows import RowLayout
from pyhudi.formats.parquet import ParquetOptions
from pyhudi.kernels.merge import MergeSpec
from pyhudi.timeline.instant import InstantTime

__all__ = ["WRITE_STATUS", "FileTask", "Measures", "Sink", "WriteSpec", "WriteStatus", "unwritten"]


class Measures(Protocol):
    """What is found out about each file of a write, for the room that asks for it and reads it from statuses."""

    @property
    def seen(self) -> tuple[str, ...]:
        """Name the columns whose nulls and bounds are taken as the rows go by, where they are in files."""

    def told(self, end: bytes, seen: Mapping[str, Measured]) -> bytes:
        """Return what `WriteStatus.measures` has of a base file, from its end, with the footer, and what was seen."""

    def told_of_log(self, columns: pa.Schema, rows: Sequence[pa.Table]) -> bytes:
        """Return what `WriteStatus.measures` has of a log, from the rows of each of its blocks.

        `columns` are those that whole rows have; a block of partial updates has some of them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec:
    """What all tasks of one write share."""

    instant: InstantTime
    layout: RowLayout
    merge: MergeSpec
    parquet: ParquetOptions
    bloom: BloomSpec | None
    """None: no bloom filter and no key range in the footer (virtual keys)."""
    logs: LogSpec | None = None
    """None for a write that has no log files."""
    required: tuple[str, ...] = ()
    """Ordering columns in which no new value may be null."""
    measures: Measures | None = None
    """What a status tells of a file beside its counts; None: nothing."""

    def with_threads(self, threads: int) -> "WriteSpec":
        """Allow a task to read and write the columns of its files with several threads."""
        return replace(self, parquet=replace(self.parquet, threads=threads))

    def with_row_groups(self, most_bytes: int) -> "WriteSpec":
        """Return the same with row groups that take no more memory."""
        return replace(self, parquet=replace(self.parquet, block_bytes=min(self.parquet.block_bytes, most_bytes)))


class Sink(StrEnum):
    """Where the changes of a file group go."""

    BASE = "base"
    """Its next base file."""
    LOG = "log"
    """A log file on top of its newest slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One file group to write."""

    partition: PartitionPath
    file_id: FileId
    write_token: str
    base: BaseFile | None = None
    """The base file of the newest slice; None for a new file group, and where there are only logs."""
    number: int = 0
    """The middle part of sequence numbers: unique within the instant."""
    sink: Sink = Sink.BASE
    logs: tuple[LogFile, ...] = ()
    """The logs of the newest slice, in merge order."""
    base_instant: InstantTime | None = None
    """The base instant of the newest slice, which names its logs at table version 6; None for a new file group."""
    compacted: tuple[str, ...] = ()
    """The instants whose blocks a log compaction puts together."""
    is_as_tagged: bool = True
    """The slice is the one in which the rows' keys were looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """One file that was written for a file group. Units: bytes, rows, ms."""

    partition: str
    file_id: str
    path: str
    """Empty when nothing changed and no file was written."""
    previous_instant: str
    """As the stat's `prevCommit` has it."""
    previous_name: str
    """The base file before this one; of a log file, the stat's `baseFile`."""
    log_version: int = 0
    """0 for a base file."""
    log_files: tuple[str, ...] = ()
    """Of a log file: the names that the stat's `logFiles` has."""
    is_new_group: bool = False
    """The file is the first of its file group."""
    rows_count: int = 0
    inserts_count: int = 0
    updates_count: int = 0
    deletes_count: int = 0
    size_bytes: int = 0
    write_ms: int = 0
    measures: bytes = b""
    """What `WriteSpec.measures` found out about the file; empty where nothing did, so that the file is read."""

    def values(self) -> dict[str, object]:
        """Return the fields by their names."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


_COLUMN_TYPES: Final[dict[object, pa.DataType]] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    tuple[str, ...]: pa.list_(pa.string()),
}
WRITE_STATUS: Final = pa.schema([(one.name, _COLUMN_TYPES[one.type]) for one in fields(WriteStatus)])


def unwritten(task: FileTask) -> WriteStatus:
    """Return the status of a file group in which nothing changed."""
    return WriteStatus(
        partition=task.partition, file_id=task.file_id, path="", previous_instant="null", previous_name=""
    )
