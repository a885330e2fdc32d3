"""Checks that every store makes on what it is asked and what it gives back. Start at `check_file`."""

from typing import Final

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded
from pyhudi.storage.api import check_path

__all__ = ["MOST_BYTES", "MOST_LEVELS", "check_file", "check_range", "require_length", "require_readable"]

MOST_BYTES: Final = 512 << 20
"""What is read in one piece. Rows are read by ranges; of all else the metadata of the largest commits comes nearest."""
MOST_LEVELS: Final = 128
"""Directories below the base path: for each one on the way a listing opens those above it."""


def check_file(path: str) -> str:
    """Return the path back if it names a file below the base path.

    Raises: InvalidInput.
    """
    if not path:
        raise InvalidInput("name a file; the base path itself is a directory", path=path)
    if path.count("/") > MOST_LEVELS:
        raise InvalidInput("a path has too many levels", path=path, limit=MOST_LEVELS)
    return check_path(path)


def check_range(path: str, offset: int, length: int) -> None:
    """Refuse negative ranges.

    Raises: InvalidInput.
    """
    if offset < 0 or length < 0:
        raise InvalidInput("a range cannot be negative", path=path, offset=offset, length=length)


def require_readable(path: str, size_bytes: int) -> None:
    """Check that a file can be read in one piece, before it is.

    Raises: LimitExceeded.
    """
    if size_bytes > MOST_BYTES:
        raise LimitExceeded("this file is too large to be read whole", path=path, size_bytes=size_bytes)


def require_length(data: bytes, path: str, offset: int, length: int) -> bytes:
    """Return the data back if it is as long as was asked for.

    Raises: CorruptData.
    """
    if len(data) != length:
        raise CorruptData(
            "the file is shorter than it should be", path=path, offset=offset, length=length, found_bytes=len(data)
        )
    return data
