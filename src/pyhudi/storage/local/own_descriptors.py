"""Descriptors of this process alone: a forked child closes them before it does anything.

A lock that the system ties to an open file lasts as long as any process has that file open. One that tells whether its
holder lives must not live on in the holder's children. Start at `OwnDescriptor`.
"""

import fcntl
import os
import threading
from collections.abc import Callable
from typing import Final

__all__ = ["OwnDescriptor"]

_open: Final[set["OwnDescriptor"]] = set()
_mutex = threading.Lock()
"""Held while one is opened, so that no fork comes between the opening and the list."""


class OwnDescriptor:
    """An open file that no forked child shares."""

    __slots__ = ("fd",)

    def __init__(self, open_file: Callable[[], int]) -> None:
        """Open the file; `open_file` returns its descriptor."""
        with _mutex:
            self.fd = open_file()
            _open.add(self)

    def close(self) -> None:
        """Let go of a lock on the file, and close it; nothing in a forked child, where it is closed already."""
        with _mutex:
            if self not in _open:
                return
            _open.remove(self)
        fcntl.flock(self.fd, fcntl.LOCK_UN)  # a child of another language may have it too
        os.close(self.fd)


def _close_in_child() -> None:
    for one in _open:
        os.close(one.fd)
    _open.clear()
    _mutex.release()


os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_close_in_child)
