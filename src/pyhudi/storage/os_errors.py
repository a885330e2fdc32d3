"""Map what the operating system says to what the caller should do.

Holds the table of `errno` values, and nothing that touches a disk. Start at `storage_errors`.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi.errors import (
    Environment,
    FileMissing,
    HudiError,
    InvalidInput,
    PermissionDenied,
    StorageFull,
    StorageUnavailable,
)

__all__ = ["error_of_system", "naming_table", "storage_errors"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_SHAPE = {errno.EISDIR, errno.ENOTDIR, errno.EEXIST}
_NAME = {errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ}


def error_of_system(error: OSError, path: str, *, is_write: bool = False) -> HudiError:
    """Return our error for one of the operating system's.

    A read that meets a directory, or a file where a directory should be, finds no file there; a write that does is told
    what is in the way.
    """
    code = error.errno
    if code == errno.ENOENT or (code in _SHAPE and not is_write):
        return FileMissing("no such file", path=path)
    if code in _FULL:
        return StorageFull("no space is left; free some and run the call again", path=path)
    if code in _DENIED:
        return PermissionDenied("the file system refused the access; check owner, mode and mount", path=path)
    if code == errno.ELOOP:
        return InvalidInput("a symbolic link inside a table is not followed; put the file itself there", path=path)
    if code in _SHAPE:
        return InvalidInput("a directory stands where the file should be, or a file where its directory", path=path)
    if code in _NAME:
        return InvalidInput("the file system cannot store this name", path=path)
    if code == errno.EXDEV:
        return Environment("a directory of the table lies on another file system; keep a table on one", path=path)
    if code in {errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
        return Environment("this file system has no hard links or no locks; use another one", path=path)
    return StorageUnavailable(
        "the file system did not do it; try again", path=path, reason=error.strerror or str(error)
    )


def naming_table(error: HudiError, table: str) -> HudiError:
    """Return an error that says of which table its path is; it may be one of many that a process has open."""
    return type(error)(error.message, **error.values, table=table) if table else error


@contextmanager
def storage_errors(path: str, *, is_write: bool = False, table: str = "") -> Iterator[None]:
    """Turn any `OSError` inside into ours, which name the table; ours pass through."""
    try:
        yield
    except HudiError:
        raise
    except OSError as error:
        raise naming_table(error_of_system(error, path, is_write=is_write), table) from error
