"""`hdfs://` through Arrow's Hadoop client, for one writer: nothing there is created atomically.

Holds a store over any `pyarrow.fs` file system, and the check that Hadoop's client is installed. Start at
`open_hadoop`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import IO, NoReturn

import pyarrow as pa
from pyarrow import fs

from pyhudi.env import Env, SystemEnv
from pyhudi.errors import Environment, FileMissing, HudiError, PreconditionFailed, Unsupported
from pyhudi.storage.address import Address
from pyhudi.storage.api import Directory, FileStatus, PutMode, StorageTraits, check_path
from pyhudi.storage.checks import check_file, check_range, require_length, require_readable
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.os_errors import storage_errors

__all__ = ["HadoopStorage", "open_hadoop"]

_TEMPORARY = ".hoodie/.tmp"
_NOTHING = Directory(files=(), directories=())


class HadoopStorage:
    """Files of a `pyarrow.fs` file system below one directory; one writer at a time."""

    def __init__(self, url: str, filesystem: fs.FileSystem, root: str, env: Env | None = None) -> None:
        """Take a file system and the base path in it."""
        self._url = url
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._env = env or SystemEnv()

    @property
    def url(self) -> str:
        """Return `hdfs://host:port/path`."""
        return self._url

    @property
    def traits(self) -> StorageTraits:
        """Return few guarantees: `put(mode=CREATE)` looks, then renames."""
        return StorageTraits(
            is_shared=True, is_picklable=False, has_atomic_create=False, has_cas=False, has_guard=False
        )

    def __repr__(self) -> str:
        return f"HadoopStorage({self._url!r})"

    def __reduce__(self) -> NoReturn:
        """Refuse: the client of one process cannot travel.

        Raises: Unsupported.
        """
        raise Unsupported("an hdfs:// store cannot be sent to workers", url=self._url)

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        with self.open_input(path) as file, storage_errors(path, table=self._url):
            require_readable(path, file.size())
            data: bytes = file.read()
            return data

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Refuse, as `cas` does.

        Raises: Unsupported.
        """
        raise self._no("compare and swap", path)

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes."""
        check_range(path, offset, length)
        with self.open_input(path) as file, storage_errors(path, table=self._url):
            return require_length(file.read_at(length, offset) if length else b"", path, offset, length)

    def head(self, path: str) -> FileStatus:
        """Describe one file."""
        with storage_errors(path, table=self._url):
            found = self._filesystem.get_file_info(self._at(check_file(path)))
        if found.type != fs.FileType.File:
            raise FileMissing("no such file", path=path)
        return self._status(found)

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish a file by renaming a temporary one."""
        with self.open_output(path, mode) as sink:
            sink.write(data)

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Refuse.

        Raises: Unsupported.
        """
        raise self._no("compare and swap", path)

    def list(self, prefix: str) -> list[FileStatus]:
        """List all files below a directory."""
        found = self._found(prefix, is_deep=True)
        return sorted((self._status(info) for info in found if info.is_file), key=lambda status: status.path)

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a directory."""
        found = self._found(prefix, is_deep=False)
        files = sorted((self._status(info) for info in found if info.is_file), key=lambda status: status.path)
        directories = sorted(self._relative(info) for info in found if not info.is_file)
        if ".hoodie" in directories and not prefix and self.list_directory(".hoodie") == _NOTHING:
            directories.remove(".hoodie")  # only temporary files are in it
        return Directory(files=tuple(files), directories=tuple(directories))

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory."""
        return self.list_directory(prefix).names

    def delete(self, path: str) -> None:
        """Remove a file."""
        with suppress(FileMissing), storage_errors(path, table=self._url):
            self._filesystem.delete_file(self._at(check_file(path)))

    def delete_tree(self, prefix: str) -> None:
        """Remove a directory and everything below it."""
        with suppress(FileMissing), storage_errors(prefix, table=self._url):
            self._filesystem.delete_dir(self._at(check_path(prefix)))

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it."""
        with storage_errors(path, is_write=True, table=self._url):
            self._filesystem.create_dir(self._at(check_file(path)), recursive=True)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for random reads."""
        self.head(path)  # says plainly what Arrow says in a text: that this is a directory
        with storage_errors(path, table=self._url):
            return self._filesystem.open_input_file(self._at(path))

    @contextmanager
    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> Iterator[IO[bytes]]:
        """Stream to a temporary file, and rename it when the context is left well.

        A file that is replaced is missing for a moment: HDFS renames onto nothing.
        """
        target, temporary = self._at(check_file(path)), self._at(f"{_TEMPORARY}/{self._env.uuid().hex}")
        with storage_errors(path, is_write=True, table=self._url):
            for directory in (self._at(_TEMPORARY), target.rpartition("/")[0]):
                self._filesystem.create_dir(directory, recursive=True)
            sink = self._filesystem.open_output_stream(temporary)
        try:
            with sink:
                yield sink
            with storage_errors(path, is_write=True, table=self._url):
                self._publish(temporary, target, path, mode)
        finally:
            with suppress(OSError, HudiError):
                self._filesystem.delete_file(temporary)

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        """Refuse.

        Raises: Unsupported.
        """
        raise self._no("a process lock", path)

    def _publish(self, temporary: str, target: str, path: str, mode: PutMode) -> None:
        is_taken = self._filesystem.get_file_info(target).type != fs.FileType.NotFound
        if is_taken and mode is PutMode.CREATE:
            raise PreconditionFailed("the file exists already", path=path)
        if is_taken:
            self._filesystem.delete_file(target)
        self._filesystem.move(temporary, target)

    def _found(self, prefix: str, *, is_deep: bool) -> Sequence[fs.FileInfo]:
        base = self._at(check_path(prefix)) if prefix else self._root
        with storage_errors(prefix, table=self._url):
            found = self._filesystem.get_file_info(fs.FileSelector(base, recursive=is_deep, allow_not_found=True))
        hidden = self._at(_TEMPORARY)
        return [info for info in found if info.path != hidden and not info.path.startswith(f"{hidden}/")]

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _relative(self, info: fs.FileInfo) -> str:
        path: str = info.path
        return path.removeprefix(self._root).strip("/")

    def _status(self, info: fs.FileInfo) -> FileStatus:
        return FileStatus(
            path=self._relative(info), size_bytes=info.size, modified_ms=(info.mtime_ns or 0) // 1_000_000
        )

    def _no(self, what: str, path: str) -> Unsupported:
        return Unsupported(f"hdfs:// has no {what}; write from one process only", path=path)


def open_hadoop(
    address: Address, credentials: Credentials, env: Env | None = None, variables: Mapping[str, str] | None = None
) -> HadoopStorage:
    """Open `hdfs://host:port/path` with the Hadoop client of this machine.

    Raises: Environment if Java or the Hadoop client is not installed, or does not answer.
    """
    variables = os.environ if variables is None else variables
    missing = [name for name in ("JAVA_HOME", "HADOOP_HOME") if not variables.get(name)]
    if missing:
        raise Environment(
            "hdfs:// needs Java and Hadoop's libhdfs on this machine; install them and set the variables, "
            "or open the table from Spark",
            url=address.url,
            missing=missing,
        )
    host, _, port = address.container.partition(":")
    try:
        filesystem = fs.HadoopFileSystem(
            host or "default",
            int(port or 0) if host else 0,
            user=credentials.get("user"),
            kerb_ticket=credentials.get("kerb_ticket"),
        )
    except (OSError, ValueError) as error:
        raise Environment("Hadoop's client cannot be opened; is libhdfs there?", url=address.url) from error
    return HadoopStorage(address.url, filesystem, f"/{address.path}", env)
