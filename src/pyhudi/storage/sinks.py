"""File objects that Arrow writes into while the store decides when the file appears.

Holds no store and no path rules. Start at `DescriptorSink` (local files) or `MemorySink` (whole files in memory).
"""

import io
import os
from collections.abc import Callable

from pyhudi.errors import HudiError, Unsupported

__all__ = ["DescriptorSink", "MemorySink"]


class DescriptorSink(io.RawIOBase):
    """Write to an open descriptor, in our errors; wrap it in `io.BufferedWriter`.

    Closing it leaves the descriptor open, because a writer that closes its sink has not published the file yet.
    """

    def __init__(self, fd: int, error_of: Callable[[OSError], HudiError]) -> None:
        """Take a descriptor that the caller closes."""
        self._fd = fd
        self._error_of = error_of
        self._is_abandoned = False
        self._size_bytes = 0

    def writable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return what was written so far. Units: bytes."""
        return self._size_bytes

    def write(self, data: object) -> int:
        """Write what the system takes at once.

        Raises: StorageFull, PermissionDenied, StorageUnavailable.
        """
        view = memoryview(data).cast("B")  # type: ignore[arg-type]  # any buffer
        if self._is_abandoned:
            return len(view)
        try:
            written = os.write(self._fd, view[: 1 << 30])
        except OSError as error:
            raise self._error_of(error) from error
        self._size_bytes += written
        return written

    def abandon(self) -> None:
        """Swallow what buffers above still hold: the file will not be published."""
        self._is_abandoned = True


class MemorySink(io.BytesIO):
    """Collect a file in memory, up to a limit; closing it keeps the bytes."""

    def __init__(self, limit_bytes: int | None = None) -> None:
        """Start empty."""
        super().__init__()
        self._limit_bytes = limit_bytes

    def write(self, data: object) -> int:  # any buffer
        """Append.

        Raises: Unsupported beyond the limit.
        """
        size_bytes = memoryview(data).nbytes  # type: ignore[arg-type]
        if self._limit_bytes is not None and self.tell() + size_bytes > self._limit_bytes:
            raise Unsupported(
                "a file this large cannot be created atomically on an object store; write smaller files",
                limit_bytes=self._limit_bytes,
            )
        return super().write(data)  # type: ignore[arg-type]

    def close(self) -> None:
        """Keep the bytes: the opener of the sink takes them when the context is left."""
