"""System calls in the order that makes a local file safe: below one base path, durable, never followed out of it.

Every path is walked directory by directory from an open base directory without following symbolic links, so that a
link planted in a table, or swapped in while we work, cannot lead anywhere else. Knows nothing of publishing or locks
(see `storage.local`). Start at `enter`.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pyhudi.errors import InvalidInput, LimitExceeded
from pyhudi.storage.checks import MOST_LEVELS

__all__ = [
    "SyncedDirectories",
    "enter",
    "is_directory",
    "is_there",
    "names_in",
    "open_regular",
    "read_all",
    "remove_checksum",
    "remove_tree",
    "require_plain",
    "write_all",
]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_BYTES = 1 << 30  # one read system call gives at most 2 GiB
_REMEMBERED = 10_000


class SyncedDirectories:
    """Directories whose names are known to survive a power cut, each as it was when it was synced.

    A directory is known by its inode and the time of its last change. An inode number alone proves nothing: the file
    system gives it to the next directory as soon as one is removed, but that one has changed later.
    """

    def __init__(self) -> None:
        """Know none."""
        self._changed_ns: dict[tuple[int, int], int] = {}

    def knows(self, found: os.stat_result) -> bool:
        """Return whether a directory has exactly the names with which it was synced."""
        return self._changed_ns.get((found.st_dev, found.st_ino)) == found.st_ctime_ns

    def sync(self, fd: int, before_ns: int) -> None:
        """Sync an open directory unless it is known, and know it then.

        Times of files are coarse: two changes within a few milliseconds have the same. So a directory is known only if
        it changed earlier than `before_ns`, the time that the same file system gave to a change before this call: what
        changes it from now on has a later one.
        """
        found = os.fstat(fd)
        if self.knows(found):
            return
        os.fsync(fd)
        if found.st_ctime_ns < before_ns:
            if len(self._changed_ns) >= _REMEMBERED:
                self._changed_ns.clear()  # each write has directories of its own for its markers
            self._changed_ns[found.st_dev, found.st_ino] = found.st_ctime_ns


@contextmanager
def enter(
    root: str,
    parts: Sequence[str],
    *,
    is_created: bool = False,
    synced: SyncedDirectories | None = None,
    before_ns: int = 0,
) -> Iterator[int]:
    """Open the directory `parts` below `root`, made where missing.

    With `synced`, the directories on the way and the base path survive a power cut from then on: the process that made
    them may have died, or be about to sync them only now. `before_ns` is explained there.

    Raises: OSError; InvalidInput for a symbolic link on the way.
    """
    if is_created:
        _make_root(root)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the base path itself may be a link: the user's
    try:
        if synced is not None:
            _sync_above(root, os.fstat(fd).st_dev, synced, before_ns)
        for part in parts:
            inner = _step(fd, part, is_created=is_created, is_synced=synced is None)
            parent, fd = fd, inner
            _leave(parent, synced, before_ns)
        yield fd
    finally:
        os.close(fd)


def open_regular(parent_fd: int, name: str) -> int:
    """Open a regular file for reading: no link, no FIFO, no device.

    Raises: OSError (EISDIR for a directory); InvalidInput for anything else that is not a file.
    """
    fd = os.open(name, _FILE, dir_fd=parent_fd)
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", name)
    raise _not_plain(name)


def require_plain(mode: int, name: str) -> None:
    """Refuse what is neither a file nor a directory: rows behind a link must not go missing unnoticed.

    Raises: InvalidInput.
    """
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise _not_plain(name)


def is_directory(parent_fd: int, name: str) -> bool:
    """Return whether a directory has this name."""
    return stat.S_ISDIR(os.stat(name, dir_fd=parent_fd, follow_symlinks=False).st_mode)


def is_there(parent_fd: int, name: str) -> bool:
    """Return whether anything has this name."""
    try:
        os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def names_in(parent_fd: int, name: str) -> list[str]:
    """Return the names in a directory."""
    fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def read_all(fd: int) -> bytes:
    """Read an open file to its end."""
    size_bytes = os.fstat(fd).st_size
    first = os.pread(fd, min(size_bytes + 1, _READ_BYTES), 0)
    if len(first) == size_bytes:
        return first
    chunks, offset = [first], len(first)
    while chunk := os.pread(fd, 1 << 20 if offset >= size_bytes else _READ_BYTES, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def write_all(fd: int, data: bytes) -> None:
    """Write all of it, however many calls that takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest[:_READ_BYTES]) :]


def remove_checksum(parent_fd: int, name: str) -> None:
    """Remove the checksum that Hadoop's local file system keeps beside a file, before the file itself is touched.

    Hadoop reads a file without one, and refuses a file that does not fit the one it finds.

    Raises: OSError.
    """
    try:
        os.unlink(f".{name}.crc", dir_fd=parent_fd)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENAMETOOLONG}:
            raise


def remove_tree(parent_fd: int, name: str, path: str) -> None:
    """Remove a directory and all below it; links are removed, not followed; what is gone already is fine.

    `path` is the directory's, for messages.

    Raises: OSError; LimitExceeded beyond MOST_LEVELS, each of which holds a descriptor.
    """
    if path.count("/") >= MOST_LEVELS:
        raise LimitExceeded("directories are nested too deeply", path=path, limit=MOST_LEVELS)
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for child, is_directory in found:
            if is_directory:
                remove_tree(fd, child, f"{path}/{child}")
            else:
                _unlink(fd, child)
    finally:
        os.close(fd)
    try:
        os.rmdir(name, dir_fd=parent_fd)
    except FileNotFoundError:
        return


def _unlink(parent_fd: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=parent_fd)
    except FileNotFoundError:
        return


def _step(fd: int, part: str, *, is_created: bool, is_synced: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if not is_created:
            raise
        _make(fd, part)
        if is_synced:
            os.fsync(fd)
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except NotADirectoryError:
        # Linux says ENOTDIR for a link as well, when both O_DIRECTORY and O_NOFOLLOW are given.
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            raise _not_plain(part) from None
        raise


def _leave(fd: int, synced: SyncedDirectories | None, before_ns: int) -> None:
    """Close a directory on the way, after the name that was entered survives a power cut."""
    try:
        if synced is not None:
            synced.sync(fd, before_ns)
    finally:
        os.close(fd)


def _make(fd: int, part: str) -> None:
    with suppress(FileExistsError):  # another writer made it first
        os.mkdir(part, dir_fd=fd)


def _make_root(root: str) -> None:
    if os.path.isdir(root):
        return
    parent = os.path.dirname(root)
    _make_root(parent)
    fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _make(fd, os.path.basename(root))
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_above(root: str, device: int, synced: SyncedDirectories, before_ns: int) -> None:
    """Sync the directories above the base path, as far up as this process could have made them itself."""
    path = os.path.realpath(root)
    parent = os.path.dirname(path)
    while parent != path and os.access(parent, os.R_OK | os.W_OK) and os.stat(parent).st_dev == device:
        if not synced.knows(os.stat(parent)):
            fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                synced.sync(fd, before_ns)
            finally:
                os.close(fd)
        path, parent = parent, os.path.dirname(parent)


def _not_plain(name: str) -> InvalidInput:
    return InvalidInput(
        "only files and directories are read in a table; a link, pipe or device is not followed", name=name
    )
