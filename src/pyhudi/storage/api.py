"""What a store owes: bytes at paths below one base path, published whole or not at all.

A `Storage` is rooted at a table's base path; paths are relative, `/`-separated, and checked by `check_path` before
every access, so that nothing outside the base path is ever touched. Instances pickle as their address (and
credentials with a redacted repr) so that a task can carry one; `memory://` refuses to. Start at `Storage`.
"""

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import IO, Protocol

import pyarrow as pa

from pyhudi.errors import InvalidInput

__all__ = ["Directory", "FileStatus", "PutMode", "Storage", "StorageTraits", "check_path"]


class PutMode(StrEnum):
    """Whether a put may replace what is there."""

    OVERWRITE = "overwrite"
    CREATE = "create"
    """Only one creator of a path wins; all others get `PreconditionFailed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """One stored file. Units: bytes; ms since 1970 UTC."""

    path: str
    size_bytes: int
    modified_ms: int
    version: str = ""
    """What `cas` compares; empty where the store has none."""

    @property
    def name(self) -> str:
        """Return the last path component."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The direct children of a prefix, each list sorted by path."""

    files: tuple[FileStatus, ...]
    directories: tuple[str, ...]
    """Full relative paths, without a trailing slash."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name the files."""
        return tuple(status.name for status in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageTraits:
    """What a caller may rely on."""

    is_shared: bool
    """Other processes on other hosts see the same bytes (object stores); local paths only where mounted."""
    is_picklable: bool
    has_atomic_create: bool
    """`put(mode=CREATE)` has at most one winner. Without it, one writer and a warning."""
    has_cas: bool
    has_guard: bool
    listed_at_once: int = 0
    """The listing of a directory of at most so many names shows one moment. A longer one is made of several answers,
    between which files come and go."""


class Storage(Protocol):
    """Bytes at paths.

    Raises: FileMissing, PreconditionFailed, PutUnknown, StorageUnavailable, StorageFull, PermissionDenied,
    InvalidInput (a path that leaves the base path). No lower error escapes.
    """

    @property
    def url(self) -> str:
        """Return the base path as text, without credentials."""
        ...

    @property
    def traits(self) -> StorageTraits:
        """Return what this store can promise."""
        ...

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        ...

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Read a whole file and the version that `cas` compares."""
        ...

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes; fewer is `CorruptData`."""
        ...

    def head(self, path: str) -> FileStatus:
        """Describe one file."""
        ...

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish a file whole and durably.

        CREATE that gets no answer is read back: the same bytes stored means we won (make bytes unique by a nonce);
        empty bytes prove nothing, and are PutUnknown.
        """
        ...

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Replace a file only if it still has `version`; give the new version."""
        ...

    def list(self, prefix: str) -> list[FileStatus]:
        """List all files below a directory, at any depth, sorted by path; nothing there is an empty list."""
        ...

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a directory; nothing there is empty."""
        ...

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory, sorted; nothing there is empty. Quicker than to describe them."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file; a missing one is fine."""
        ...

    def delete_tree(self, prefix: str) -> None:
        """Remove all files below a directory and, where they exist, the directories."""
        ...

    def make_directory(self, path: str) -> None:
        """Make an empty directory where the store knows directories; nothing elsewhere."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for random reads by Arrow."""
        ...

    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> AbstractContextManager[IO[bytes]]:
        """Stream a file; it appears whole when the context is left, and never if it is left by an exception."""
        ...

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        """Keep an exclusive lock tied to this process (flock); LockNotAcquired after `timeout_s`."""
        ...


_BAD_SEGMENT = re.compile(r"(^|/)\.{1,2}(/|$)|//|[\x00\\]|^/|/$|^[A-Za-z][A-Za-z0-9+.-]*://")


@lru_cache(maxsize=1 << 14)
def check_path(path: str) -> str:
    """Check that a path stays below the base path, and return it.

    Raises: InvalidInput for `..`, `.`, empty segments, absolute paths, backslashes, NUL and URLs.
    """
    if _BAD_SEGMENT.search(path):
        raise InvalidInput("a path must stay below the table's base path", path=path)
    return path
