"""Temporary files of the local disk, and the moment they get their own name.

Order is all here: write, sync the file and the directories above, link or rename it, sync its directory. Holds no
reading and no listing. Start at `TemporaryFiles.open`.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pyhudi.storage.local.posix as posix
from pyhudi.env import Env
from pyhudi.errors import FileMissing, InvalidInput, PreconditionFailed
from pyhudi.storage.api import PutMode
from pyhudi.storage.os_errors import storage_errors

__all__ = ["ABANDONED_MS", "DIRECTORY", "TemporaryFile", "TemporaryFiles"]

DIRECTORY = (".hoodie", ".tmp")
"""Where temporary files live below the base path: one place to sweep, one for listings to leave out."""

ABANDONED_MS = 3_600_000
"""How long a temporary file without a lock is left alone."""

_SWAP_LOCK = "swap.lock"


class TemporaryFiles:
    """The temporary files of one base path."""

    def __init__(self, root: str, env: Env) -> None:
        """Take the base path; nothing is touched before the first file."""
        self.root = root
        self._env = env
        self._is_swept = False
        self.synced = posix.SyncedDirectories()

    @contextmanager
    def open(self, path: str) -> Iterator["TemporaryFile"]:
        """Open one that may become `path`; it is gone when the context is left."""
        if not self._is_swept:
            self._is_swept = True
            self.sweep()
        with ExitStack() as held:
            with storage_errors(path, is_write=True, table=f"file://{self.root}"):
                directory_fd = held.enter_context(posix.enter(self.root, DIRECTORY, is_created=True))
                temporary = TemporaryFile(self, path, directory_fd, *self._created(directory_fd))
            try:
                yield temporary
            finally:
                with suppress(OSError):
                    os.unlink(temporary.name, dir_fd=directory_fd)  # renamed away already, or of no use any more
                os.close(temporary.fd)

    def sweep(self, older_than_ms: int = ABANDONED_MS) -> int:
        """Remove those whose writer is gone; give how many.

        Units: ms since the last write to them.
        """
        swept = 0
        with suppress(FileMissing), storage_errors("/".join(DIRECTORY)), posix.enter(self.root, DIRECTORY) as fd:
            with os.scandir(fd) as entries:
                names = [entry.name for entry in entries if entry.name != _SWAP_LOCK]
            for name in names:
                swept += self._sweep_one(fd, name, older_than_ms)
        return swept

    @contextmanager
    def swap_lock(self, kind: int) -> Iterator[None]:
        """Keep replacements and removals (shared) out of the look-then-replace of `cas` (exclusive)."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with posix.enter(self.root, DIRECTORY, is_created=True) as parent_fd:
            fd = os.open(_SWAP_LOCK, flags, 0o666, dir_fd=parent_fd)
        try:
            fcntl.flock(fd, kind)
            yield
        finally:
            os.close(fd)

    def _created(self, directory_fd: int) -> tuple[str, int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        while True:
            name = self._env.uuid().hex
            with suppress(FileExistsError):  # an env with a fixed seed draws what a killed run drew
                fd = os.open(name, flags, 0o666, dir_fd=directory_fd)
                fcntl.flock(fd, fcntl.LOCK_EX)
                return name, fd

    def _sweep_one(self, parent_fd: int, name: str, older_than_ms: int) -> bool:
        with suppress(OSError, InvalidInput):  # gone, or its writer lives: not ours to remove
            fd = posix.open_regular(parent_fd, name)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._env.now_ms() - os.fstat(fd).st_mtime_ns // 1_000_000 >= older_than_ms:
                    os.unlink(name, dir_fd=parent_fd)
                    return True
            finally:
                os.close(fd)
        return False


class TemporaryFile:
    """One file on its way to `path`, locked while it is written."""

    def __init__(self, files: TemporaryFiles, path: str, directory_fd: int, name: str, fd: int) -> None:
        """Take open descriptors, of its directory and its own; `TemporaryFiles.open` closes them."""
        self._files = files
        self._path = path
        self._directory_fd = directory_fd
        self.name = name
        self.fd = fd

    def write(self, data: bytes) -> None:
        """Append all of it.

        Raises: StorageFull, StorageUnavailable.
        """
        with storage_errors(self._path, is_write=True, table=f"file://{self._files.root}"):
            posix.write_all(self.fd, data)

    def publish(self, mode: PutMode) -> None:
        """Move the file to its name.

        Raises: PreconditionFailed if the name is taken and `mode` is CREATE.
        """
        with storage_errors(self._path, is_write=True, table=f"file://{self._files.root}"):
            os.fsync(self.fd)
            if mode is PutMode.CREATE:
                self._name(_link)
            else:
                with self._files.swap_lock(fcntl.LOCK_SH):
                    self._name(_rename)

    def replace_if(self, check: Callable[[], None]) -> None:
        """Replace the file if `check` does not raise, with every other replacement kept out meanwhile."""
        with storage_errors(self._path, is_write=True, table=f"file://{self._files.root}"):
            os.fsync(self.fd)
            with self._files.swap_lock(fcntl.LOCK_EX):
                check()
                self._name(_rename)

    def _name(self, move: Callable[[str, int, str, int], None]) -> None:
        *parents, name = self._path.split("/")
        files, written_ns = self._files, os.fstat(self.fd).st_ctime_ns
        way = posix.enter(files.root, parents, is_created=True, synced=files.synced, before_ns=written_ns)
        with way as to_fd:
            move(self.name, self._directory_fd, name, to_fd)
            os.fsync(to_fd)


def _link(source: str, from_fd: int, target: str, to_fd: int) -> None:
    # What is there keeps its checksum. A lock of Apache Hudi's that is being made would stay for ever without.
    if not posix.is_there(to_fd, target):
        posix.remove_checksum(to_fd, target)
    try:
        os.link(source, target, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
    except FileExistsError as error:
        if posix.is_directory(to_fd, target):
            raise
        raise PreconditionFailed("the file exists already", path=target) from error


def _rename(source: str, from_fd: int, target: str, to_fd: int) -> None:
    posix.remove_checksum(to_fd, target)
    os.rename(source, target, src_dir_fd=from_fd, dst_dir_fd=to_fd)
