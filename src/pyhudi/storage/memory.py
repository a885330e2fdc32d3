"""The model store: files in a dictionary. Every other store is tested against it.

`MemoryStorage()` is private to its maker; `shared_memory` gives one content per name and process, which is what
`memory://name` means. Never pickled: another process could not see the same bytes. Start at `MemoryStorage`.
"""

import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import IO, NoReturn

import pyarrow as pa

from pyhudi.env import Env, SystemEnv
from pyhudi.errors import FileMissing, InvalidInput, LockNotAcquired, PathNotShared, PreconditionFailed
from pyhudi.storage.api import Directory, FileStatus, PutMode, StorageTraits, check_path
from pyhudi.storage.checks import check_file, check_range, require_length
from pyhudi.storage.sinks import MemorySink

__all__ = ["MemoryStorage", "shared_memory"]

_POLL_S = 0.005
_names = itertools.count(1)


@dataclass(frozen=True, slots=True)
class _Stored:
    data: bytes
    modified_ms: int
    version: str


@dataclass(slots=True)
class _Content:
    files: dict[str, _Stored] = field(default_factory=dict)
    mutex: threading.Lock = field(default_factory=threading.Lock)
    guards: dict[str, threading.Lock] = field(default_factory=dict)
    versions: Iterator[int] = field(default_factory=lambda: itertools.count(1))


_shared: dict[str, _Content] = {}
_shared_mutex = threading.Lock()


class MemoryStorage:
    """Files of this process only; safe for threads."""

    def __init__(self, url: str | None = None, env: Env | None = None) -> None:
        """Start empty, under `url` or an address of its own."""
        self._url = (url or f"memory://private-{next(_names)}").rstrip("/")
        if not self._url.startswith("memory:"):
            raise InvalidInput("a memory store's address starts with memory://", url=url)
        self._env = env or SystemEnv()
        self._prefix = ""
        self._content = _Content()

    @property
    def url(self) -> str:
        """Return `memory://name`."""
        return self._url

    @property
    def traits(self) -> StorageTraits:
        """Return every guarantee but visibility to other processes."""
        return StorageTraits(
            is_shared=False,
            is_picklable=False,
            has_atomic_create=True,
            has_cas=True,
            has_guard=True,
            listed_at_once=sys.maxsize,
        )

    def __repr__(self) -> str:
        return f"MemoryStorage({self._url!r})"

    def __reduce__(self) -> NoReturn:
        """Refuse.

        Raises: PathNotShared.
        """
        raise PathNotShared(
            "a memory:// table lives in this process only; use a path that workers see too", url=self._url
        )

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        return self._stored(path).data

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Read a whole file and its version."""
        stored = self._stored(path)
        return stored.data, stored.version

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes."""
        check_range(path, offset, length)
        return require_length(self.get(path)[offset : offset + length], path, offset, length)

    def head(self, path: str) -> FileStatus:
        """Describe one file."""
        return _status(path, self._stored(path))

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish a file."""
        key = self._key(check_file(path))
        with self._content.mutex:
            if mode is PutMode.CREATE and key in self._content.files:
                raise PreconditionFailed("the file exists already", path=path)
            self._store(key, data)

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Replace a file only if it still has `version`."""
        key = self._key(check_file(path))
        with self._content.mutex:
            stored = self._content.files.get(key)
            if stored is None or stored.version != version:
                raise PreconditionFailed("the file was changed by someone else", path=path)
            return self._store(key, data)

    def list(self, prefix: str) -> list[FileStatus]:
        """List all files below a directory."""
        cut = len(self._prefix)
        return [_status(key[cut:], stored) for key, stored in _found(self._content, self._below(prefix))]

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a directory."""
        below, cut = self._below(prefix), len(self._prefix)
        found = _found(self._content, below)
        files = tuple(_status(key[cut:], stored) for key, stored in found if key.find("/", len(below)) < 0)
        inner = {key[cut : key.index("/", len(below))] for key, _ in found if key.find("/", len(below)) >= 0}
        return Directory(files=files, directories=tuple(sorted(inner)))

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory."""
        return self.list_directory(prefix).names

    def delete(self, path: str) -> None:
        """Remove a file."""
        key = self._key(check_file(path))
        with self._content.mutex:
            self._content.files.pop(key, None)

    def delete_tree(self, prefix: str) -> None:
        """Remove all files below a directory."""
        below = self._below(prefix)
        with self._content.mutex:
            for key in [key for key in self._content.files if key.startswith(below)]:
                del self._content.files[key]

    def make_directory(self, path: str) -> None:
        """Check the path; a directory is nothing here."""
        check_path(path)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for random reads, without a copy."""
        return pa.BufferReader(self.get(path))

    @contextmanager
    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> Iterator[IO[bytes]]:
        """Collect a file and publish it when the context is left well."""
        check_file(path)
        sink = MemorySink()
        yield sink
        self.put(path, sink.getvalue(), mode)

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        """Keep an exclusive lock among the threads of this process."""
        key = self._key(check_file(path))
        with self._content.mutex:
            lock = self._content.guards.setdefault(key, threading.Lock())
        return _held(lock, self._env, path, timeout_s)

    def _stored(self, path: str) -> _Stored:
        key = self._key(check_file(path))
        with self._content.mutex:
            stored = self._content.files.get(key)
        if stored is None:
            raise FileMissing("no such file", path=path)
        return stored

    def _store(self, key: str, data: bytes) -> str:
        version = str(next(self._content.versions))
        self._content.files[key] = _Stored(data=bytes(data), modified_ms=self._env.now_ms(), version=version)
        return version

    def _key(self, path: str) -> str:
        return self._prefix + path

    def _below(self, prefix: str) -> str:
        return self._prefix + (f"{check_path(prefix)}/" if prefix else "")


def shared_memory(url: str, env: Env | None = None) -> MemoryStorage:
    """Return the store `memory://name` of this process; `memory://name/path` is a base path inside it."""
    name, _, prefix = url.removeprefix("memory://").strip("/").partition("/")
    storage = MemoryStorage(url, env)
    with _shared_mutex:
        storage._content = _shared.setdefault(name, storage._content)
    storage._prefix = f"{prefix}/" if prefix else ""
    return storage


@contextmanager
def _held(lock: threading.Lock, env: Env, path: str, timeout_s: float) -> Iterator[None]:
    deadline_s = env.monotonic_s() + timeout_s
    while not lock.acquire(blocking=False):
        if env.monotonic_s() >= deadline_s:
            raise LockNotAcquired("another writer holds the lock; try again later", path=path, timeout_s=timeout_s)
        env.sleep(_POLL_S)
    try:
        yield
    finally:
        lock.release()


def _found(content: _Content, below: str) -> list[tuple[str, _Stored]]:
    """Return the files whose paths begin with a text, by path."""
    with content.mutex:
        found = [one for one in content.files.items() if one[0].startswith(below)]
    found.sort(key=itemgetter(0))
    return found


def _status(path: str, stored: _Stored) -> FileStatus:
    return FileStatus(path=path, size_bytes=len(stored.data), modified_ms=stored.modified_ms, version=stored.version)
