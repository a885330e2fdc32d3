"""A store seen from a directory of it: paths below that directory, as if it were a base path of its own.

A table's metadata table is a table below the table's own base path. Start at `rooted`.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa

from pyhudi.storage.api import Directory, FileStatus, PutMode, Storage, StorageTraits, check_path
from pyhudi.storage.checks import check_file

__all__ = ["rooted"]


def rooted(storage: Storage, directory: str) -> Storage:
    """Return the store whose base path is a directory of this one.

    Raises: InvalidInput for a path that leaves the base path.
    """
    return _RootedStorage(storage, check_path(directory))


@dataclass(frozen=True, slots=True)
class _RootedStorage:
    """Puts the directory before every path and takes it from every answer; errors name whole paths."""

    inner: Storage
    directory: str

    @property
    def url(self) -> str:
        return f"{self.inner.url.rstrip('/')}/{self.directory}"

    @property
    def traits(self) -> StorageTraits:
        return self.inner.traits

    def get(self, path: str) -> bytes:
        return self.inner.get(self._file(path))

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        return self.inner.get_versioned(self._file(path))

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        return self.inner.get_range(self._file(path), offset, length)

    def head(self, path: str) -> FileStatus:
        return self._shown(self.inner.head(self._file(path)))

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        self.inner.put(self._file(path), data, mode)

    def cas(self, path: str, data: bytes, version: str) -> str:
        return self.inner.cas(self._file(path), data, version)

    def list(self, prefix: str) -> list[FileStatus]:
        return [self._shown(status) for status in self.inner.list(self._inside(prefix))]

    def list_directory(self, prefix: str) -> Directory:
        found = self.inner.list_directory(self._inside(prefix))
        cut = len(self.directory) + 1
        return Directory(
            files=tuple(self._shown(status) for status in found.files),
            directories=tuple(path[cut:] for path in found.directories),
        )

    def list_names(self, prefix: str) -> tuple[str, ...]:
        return self.inner.list_names(self._inside(prefix))

    def delete(self, path: str) -> None:
        self.inner.delete(self._file(path))

    def delete_tree(self, prefix: str) -> None:
        self.inner.delete_tree(self._inside(prefix))

    def make_directory(self, path: str) -> None:
        self.inner.make_directory(self._inside(path))

    def open_input(self, path: str) -> pa.NativeFile:
        return self.inner.open_input(self._file(path))

    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> AbstractContextManager[IO[bytes]]:
        return self.inner.open_output(self._file(path), mode)

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        return self.inner.guard(self._file(path), timeout_s)

    def _file(self, path: str) -> str:
        return f"{self.directory}/{check_file(path)}"

    def _inside(self, path: str) -> str:
        return f"{self.directory}/{check_path(path)}" if path else self.directory

    def _shown(self, status: FileStatus) -> FileStatus:
        return replace(status, path=status.path[len(self.directory) + 1 :])
