"""Checks that every store makes on what it is asked and what it gives back. Start at `check_file`."""

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.storage.api import check_path

__all__ = ["check_file", "check_range", "require_length"]


def check_file(path: str) -> str:
    """Return the path back if it names a file below the base path.

    Raises: InvalidInput.
    """
    if not path:
        raise InvalidInput("name a file; the base path itself is a directory", path=path)
    return check_path(path)


def check_range(path: str, offset: int, length: int) -> None:
    """Refuse negative ranges.

    Raises: InvalidInput.
    """
    if offset < 0 or length < 0:
        raise InvalidInput("a range cannot be negative", path=path, offset=offset, length=length)


def require_length(data: bytes, path: str, offset: int, length: int) -> bytes:
    """Return the data back if it is as long as was asked for.

    Raises: CorruptData.
    """
    if len(data) != length:
        raise CorruptData(
            "the file is shorter than it should be", path=path, offset=offset, length=length, found_bytes=len(data)
        )
    return data
