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

from pyhudi.errors import InvalidInput

__all__ = [
    "enter",
    "is_directory",
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


@contextmanager
def enter(
    root: str, parts: Sequence[str], *, is_created: bool = False, durable: set[tuple[int, int]] | None = None
) -> Iterator[int]:
    """Open the directory `parts` below `root`, made where missing.

    With `durable`, which remembers the directories that are known to survive a power cut, those on the way do, and the
    base path: whoever made them may have died, or be about to sync them only now.

    Raises: OSError; InvalidInput for a symbolic link on the way.
    """
    if is_created:
        _make_root(root)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the base path itself may be a link: the user's
    try:
        if durable is not None:
            _sync_names_above(root, os.fstat(fd), durable)
        for part in parts:
            inner = _step(fd, part, is_created=is_created) if durable is None else _durable_step(fd, part, durable)
            os.close(fd)
            fd = inner
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


def remove_tree(parent_fd: int, name: str) -> None:
    """Remove a directory and all below it; links are removed, not followed; what is gone already is fine."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        with os.scandir(fd) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for child, is_directory in found:
            if is_directory:
                remove_tree(fd, child)
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


def _step(fd: int, part: str, *, is_created: bool) -> int:
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if not is_created:
            raise
        _make(fd, part)
        os.fsync(fd)
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except NotADirectoryError:
        # Linux says ENOTDIR for a link as well, when both O_DIRECTORY and O_NOFOLLOW are given.
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            raise _not_plain(part) from None
        raise


def _durable_step(fd: int, part: str, durable: set[tuple[int, int]]) -> int:
    """Open a directory, made where missing, and sync its name once, whoever made it."""
    if not _exists(fd, part):
        _make(fd, part)
    inner = _step(fd, part, is_created=False)
    try:
        found = os.fstat(inner)
        if (found.st_dev, found.st_ino) not in durable:
            os.fsync(fd)
            durable.add((found.st_dev, found.st_ino))
    except OSError:
        os.close(inner)
        raise
    return inner


def _exists(fd: int, part: str) -> bool:
    with suppress(FileNotFoundError):
        os.stat(part, dir_fd=fd, follow_symlinks=False)
        return True
    return False


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


def _sync_names_above(root: str, found: os.stat_result, durable: set[tuple[int, int]]) -> None:
    """Sync once the names of the base path and of what is above it, as far up as we could have made it ourselves."""
    if (found.st_dev, found.st_ino) in durable:
        return
    path = os.path.realpath(root)
    parent = os.path.dirname(path)
    while parent != path and os.access(parent, os.R_OK | os.W_OK) and os.stat(parent).st_dev == found.st_dev:
        _sync_directory(parent)
        path, parent = parent, os.path.dirname(parent)
    durable.add((found.st_dev, found.st_ino))


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _not_plain(name: str) -> InvalidInput:
    return InvalidInput(
        "only files and directories are read in a table; a link, pipe or device is not followed", name=name
    )
