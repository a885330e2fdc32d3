"""What an error says of the fate of a write.

A write is committed by one put: that of its completed instant, or of its slot in the fence. Only that one can leave the
outcome open, and says so itself (`CommitUnknown`). Start at `nothing_committed`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi.errors import PutUnknown, StorageUnavailable

__all__ = ["nothing_committed"]


@contextmanager
def nothing_committed(text: str) -> Iterator[None]:
    """Make a failure of a put whose outcome is unknown, where that put commits nothing.

    Raises: StorageUnavailable with this text.
    """
    try:
        yield
    except PutUnknown as error:
        raise _failed(text, error) from error


def _failed(text: str, error: PutUnknown) -> StorageUnavailable:
    failure = StorageUnavailable(text, **error.values)
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure
