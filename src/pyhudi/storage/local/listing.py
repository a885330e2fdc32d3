"""Listing local directories: sorted out of what the system gives, without temporary files. Start at `find_files`."""

import os
from contextlib import suppress

import pyhudi.storage.local.posix as posix
from pyhudi.errors import FileMissing, LimitExceeded
from pyhudi.storage.api import FileStatus, check_path
from pyhudi.storage.checks import MOST_LEVELS
from pyhudi.storage.local.publish import DIRECTORY
from pyhudi.storage.os_errors import storage_errors

__all__ = ["file_status", "find_files", "name_files"]


def find_files(root: str, prefix: str, *, is_deep: bool) -> tuple[list[FileStatus], list[str]]:
    """Return the files below a directory and the directories seen, unsorted; nothing there is nothing.

    Raises: InvalidInput for what is neither file nor directory; LimitExceeded beyond MOST_LEVELS.
    """
    parts = tuple(check_path(prefix).split("/")) if prefix else ()
    if parts[:2] == DIRECTORY:
        return [], []
    files: list[FileStatus] = []
    directories: list[str] = []
    with suppress(FileMissing), storage_errors(prefix, table=f"file://{root}"), posix.enter(root, parts) as fd:
        waiting = _read_directory(fd, prefix, files)
        directories += waiting
        while is_deep and waiting:
            inner = waiting.pop()
            with suppress(FileNotFoundError), posix.enter(root, inner.split("/")) as inner_fd:
                waiting += _read_directory(inner_fd, inner, files)
    return files, directories


def name_files(root: str, prefix: str) -> list[str]:
    """Name the files right in a directory, unsorted; nothing there is nothing.

    Cost:   no look at the files: the directory says what each is.
    Raises: InvalidInput for what is neither file nor directory.
    """
    parts = tuple(check_path(prefix).split("/")) if prefix else ()
    if parts[:2] == DIRECTORY:
        return []
    with (
        suppress(FileMissing),
        storage_errors(prefix, table=f"file://{root}"),
        posix.enter(root, parts) as fd,
        os.scandir(fd) as entries,
    ):
        return [entry.name for entry in entries if _is_file(entry)]
    return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    if entry.is_file(follow_symlinks=False):
        return True
    if not entry.is_dir(follow_symlinks=False):
        with suppress(FileNotFoundError):  # removed since the directory was read
            posix.require_plain(entry.stat(follow_symlinks=False).st_mode, entry.name)
    return False


def file_status(path: str, found: os.stat_result) -> FileStatus:
    """Describe a file; the version stays empty, because it is a hash of the bytes."""
    return FileStatus(path=path, size_bytes=found.st_size, modified_ms=found.st_mtime_ns // 1_000_000)


def _read_directory(fd: int, prefix: str, files: list[FileStatus]) -> list[str]:
    """Append the files of one directory, and give its directories."""
    if prefix.count("/") >= MOST_LEVELS:
        raise LimitExceeded("directories are nested too deeply", path=prefix, limit=MOST_LEVELS)
    directories = []
    with os.scandir(fd) as entries:
        for entry in entries:
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                directories.append(path)
                continue
            with suppress(FileNotFoundError):  # removed since the directory was read
                found = entry.stat(follow_symlinks=False)
                posix.require_plain(found.st_mode, path)
                files.append(file_status(path, found))
    return [path for path in directories if not _is_hidden(fd, path)]


def _is_hidden(fd: int, path: str) -> bool:
    """Return the directory of temporary files, and a `.hoodie` that holds nothing else."""
    if path == "/".join(DIRECTORY):
        return True
    return path == DIRECTORY[0] and set(posix.names_in(fd, path)) == {DIRECTORY[1]}
