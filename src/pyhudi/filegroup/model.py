"""Which files hold which rows, as values: base and log files, slices, groups.

Pure values; `filegroup.names` reads them from file names, `filegroup.view` puts them together.
"""

from dataclasses import dataclass
from typing import NewType

from pyhudi.timeline.instant import InstantTime

__all__ = ["BaseFile", "FileGroupId", "FileId", "FileSlice", "LogFile", "PartitionPath"]

FileId = NewType("FileId", str)
PartitionPath = NewType("PartitionPath", str)
"""Relative to the base path, no slash at either end; empty for a table without partitions."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class FileGroupId:
    """A file group: file ids are unique within a partition."""

    partition: PartitionPath
    file_id: FileId


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFile:
    """One base file. Units: bytes."""

    partition: PartitionPath
    file_id: FileId
    write_token: str
    instant: InstantTime
    """Requested time of the action that wrote it."""
    extension: str
    size_bytes: int

    @property
    def name(self) -> str:
        """Format `<file id>_<write token>_<instant><extension>`."""
        return f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"

    @property
    def path(self) -> str:
        """Return the path relative to the base path."""
        return f"{self.partition}/{self.name}" if self.partition else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One log file. Units: bytes."""

    partition: PartitionPath
    file_id: FileId
    instant: InstantTime
    """Table version 6: the base instant of its slice. 8 and 9: requested time of the delta commit that wrote it."""
    version: int
    write_token: str
    """Empty in names that old writers made without one."""
    suffix: str
    """`.cdc` for change logs, else empty."""
    size_bytes: int

    @property
    def name(self) -> str:
        """Format `.<file id>_<instant>.log.<version>[_<write token>][suffix]`."""
        token = f"_{self.write_token}" if self.write_token else ""
        return f".{self.file_id}_{self.instant}.log.{self.version}{token}{self.suffix}"

    @property
    def path(self) -> str:
        """Return the path relative to the base path."""
        return f"{self.partition}/{self.name}" if self.partition else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """The state of one file group as of one instant: an optional base file and the logs on top of it."""

    group: FileGroupId
    base_instant: InstantTime
    base: BaseFile | None
    logs: tuple[LogFile, ...] = ()
    """In merge order: by (instant, version, write token)."""
