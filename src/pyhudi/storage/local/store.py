"""Local disk: files appear whole, durable, and at most once where that is asked for.

A file is written under a temporary name in `.hoodie/.tmp`, which listings never show, synced, then linked (CREATE) or
renamed (OVERWRITE) to its own name, and the directory is synced. Temporary files are locked while they are written,
so that those of a writer that was killed are known and swept by the next one. Needs a POSIX system, hard links and
`flock`. Deleting is not synced: journaling file systems keep it in order with what is published later. The checksum
that Hadoop's local file system keeps beside a file of its own is removed before that file is replaced or deleted.
Start at `LocalStorage.put`.
"""

import fcntl
import hashlib
import io
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

import pyarrow as pa

import pyhudi.storage.local.posix as posix
from pyhudi.env import Env, SystemEnv
from pyhudi.errors import FileMissing, InvalidInput, LockNotAcquired, PreconditionFailed
from pyhudi.storage.address import StoreKind, parse_address
from pyhudi.storage.api import Directory, FileStatus, PutMode, StorageTraits, check_path
from pyhudi.storage.checks import check_file, check_range, require_length, require_readable
from pyhudi.storage.local.listing import file_status, find_files, name_files
from pyhudi.storage.local.own_descriptors import OwnDescriptor
from pyhudi.storage.local.publish import TemporaryFiles
from pyhudi.storage.os_errors import error_of_system, naming_table, storage_errors
from pyhudi.storage.sinks import DescriptorSink

__all__ = ["LocalStorage"]

_SINK_BYTES = 1 << 20
_POLL_S = 0.005
_LONGEST_POLL_S = 0.1


class LocalStorage:
    """Files below one directory of a POSIX file system; safe for threads and processes of one host."""

    def __init__(self, root: str, env: Env | None = None) -> None:
        """Take the base path: `/x`, `x`, `~/x`, `file:/x` or `file:///x`; it need not exist yet.

        Raises: InvalidInput for the address of another store.
        """
        address = parse_address(root)
        if address.kind is not StoreKind.LOCAL:
            raise InvalidInput("this is no local path", address=address.url)
        self._root = address.path
        self._env = env or SystemEnv()
        self._temporaries = TemporaryFiles(self._root, self._env)

    @property
    def url(self) -> str:
        """Return `file:///absolute/path`, not percent-encoded, as Hadoop spells it."""
        return f"file://{self._root}"

    @property
    def traits(self) -> StorageTraits:
        """Return every guarantee that one host has."""
        return StorageTraits(is_shared=False, is_picklable=True, has_atomic_create=True, has_cas=True, has_guard=True)

    def __repr__(self) -> str:
        return f"LocalStorage({self._root!r})"

    def __reduce__(self) -> tuple[Callable[[str], "LocalStorage"], tuple[str]]:
        """Pickle as the base path."""
        return LocalStorage, (self._root,)

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        with self._reading(path) as fd:
            require_readable(path, os.fstat(fd).st_size)
            return posix.read_all(fd)

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Read a whole file; its version is a hash of its bytes."""
        data = self.get(path)
        return data, _version_of(data)

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes."""
        check_range(path, offset, length)
        with self._reading(path) as fd:
            return require_length(os.pread(fd, length, offset), path, offset, length)

    def head(self, path: str) -> FileStatus:
        """Describe one file, without a version: that would mean reading it."""
        *parents, name = check_file(path).split("/")
        with storage_errors(path, table=self.url), posix.enter(self._root, parents) as parent_fd:
            found = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
            posix.require_plain(found.st_mode, name)
            if stat.S_ISDIR(found.st_mode):
                raise FileMissing("no such file", path=path)
            return file_status(path, found)

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish a file whole and durably."""
        with self._temporaries.open(check_file(path)) as temporary:
            temporary.write(data)
            temporary.publish(mode)

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Replace a file only if its bytes still hash to `version`."""
        with self._temporaries.open(check_file(path)) as temporary:
            temporary.write(data)
            temporary.replace_if(lambda: self._require_version(path, version))
        return _version_of(data)

    def list(self, prefix: str) -> list[FileStatus]:
        """List all files below a directory.

        Raises: InvalidInput for a link, pipe or device below it.
        """
        return sorted(find_files(self._root, prefix, is_deep=True)[0], key=lambda status: status.path)

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a directory.

        Raises: InvalidInput for a link, pipe or device in it.
        """
        files, directories = find_files(self._root, prefix, is_deep=False)
        return Directory(
            files=tuple(sorted(files, key=lambda status: status.path)), directories=tuple(sorted(directories))
        )

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory, without a look at each.

        Raises: InvalidInput for a link, pipe or device in it.
        """
        return tuple(sorted(name_files(self._root, prefix)))

    def delete(self, path: str) -> None:
        """Remove a file."""
        *parents, name = check_file(path).split("/")
        with suppress(FileMissing), storage_errors(path, table=self.url), posix.enter(self._root, parents) as parent_fd:
            if not stat.S_ISDIR(os.stat(name, dir_fd=parent_fd, follow_symlinks=False).st_mode):
                with self._temporaries.swap_lock(fcntl.LOCK_SH):
                    posix.remove_checksum(parent_fd, name)
                    os.unlink(name, dir_fd=parent_fd)

    def delete_tree(self, prefix: str) -> None:
        """Remove a directory and everything below it."""
        parts = check_path(prefix).split("/") if prefix else []
        root, name = os.path.split(self._root)
        base, parents, leaf = (self._root, parts[:-1], parts[-1]) if parts else (root, [], name)
        with suppress(FileMissing), storage_errors(prefix, table=self.url), posix.enter(base, parents) as parent_fd:
            posix.remove_tree(parent_fd, leaf, prefix)

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it."""
        with (
            storage_errors(path, is_write=True, table=self.url),
            posix.enter(self._root, check_file(path).split("/"), is_created=True),
        ):
            return

    def open_input(self, path: str) -> pa.NativeFile:
        """Map a file into memory for Arrow; the descriptor is checked before, so no link is followed."""
        with self._reading(path) as fd:
            if os.fstat(fd).st_size == 0:
                return pa.BufferReader(b"")
            return pa.BufferReader(pa.py_buffer(mmap.mmap(fd, 0, access=mmap.ACCESS_READ)))

    @contextmanager
    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> Iterator[IO[bytes]]:
        """Stream to the temporary file; publish it when the context is left well."""
        with self._temporaries.open(check_file(path)) as temporary:
            raw = DescriptorSink(
                temporary.fd, lambda error: naming_table(error_of_system(error, path, is_write=True), self.url)
            )
            sink = io.BufferedWriter(raw, _SINK_BYTES)
            try:
                yield sink
                if not sink.closed:
                    sink.flush()
                temporary.publish(mode)
            finally:
                raw.abandon()

    @contextmanager
    def guard(self, path: str, timeout_s: float) -> Iterator[None]:
        """Keep a flock; it ends with this process, however that ends."""
        check_file(path)
        deadline_s, pause_s = self._env.monotonic_s() + timeout_s, _POLL_S
        while (held := self._locked(path)) is None:
            if self._env.monotonic_s() >= deadline_s:
                raise LockNotAcquired("another writer holds the lock; try again later", path=path, timeout_s=timeout_s)
            self._env.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_POLL_S)
        try:
            yield
        finally:
            held.close()

    @contextmanager
    def _reading(self, path: str) -> Iterator[int]:
        *parents, name = check_file(path).split("/")
        with storage_errors(path, table=self.url), posix.enter(self._root, parents) as parent_fd:
            fd = posix.open_regular(parent_fd, name)
            try:
                yield fd
            finally:
                os.close(fd)

    def _require_version(self, path: str, version: str) -> None:
        try:
            found = self.get_versioned(path)[1]
        except FileMissing as error:
            raise PreconditionFailed("the file was deleted by someone else", path=path) from error
        if found != version:
            raise PreconditionFailed("the file was changed by someone else", path=path)

    def _locked(self, path: str) -> OwnDescriptor | None:
        """Try once; a lock on a file that was replaced meanwhile is no lock."""
        *parents, name = path.split("/")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with (
            storage_errors(path, is_write=True, table=self.url),
            posix.enter(self._root, parents, is_created=True) as parent_fd,
        ):
            lock = OwnDescriptor(lambda: os.open(name, flags, 0o666, dir_fd=parent_fd))
            with suppress(BlockingIOError, FileNotFoundError):
                fcntl.flock(lock.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(lock.fd), os.stat(name, dir_fd=parent_fd, follow_symlinks=False)):
                    return lock
            lock.close()
            return None


def _version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
