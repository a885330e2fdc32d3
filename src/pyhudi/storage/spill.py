"""What does not fit into memory, on a disk of this machine while one call needs it.

Start at `SpilledBatches`; `SpillFile` has bytes.
"""

import os
import tempfile
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyhudi.errors import InvalidInput, StorageUnavailable
from pyhudi.storage.os_errors import storage_errors

__all__ = ["SpillFile", "SpilledBatch", "SpilledBatches"]

_MOST_BYTES: Final = 1 << 30
"""One call to the system writes no more than 2 GiB."""


class SpillFile:
    """A file without a name: its space is free again once it is closed or this process ends, however it does.

    Raises: InvalidInput where the directory is not there; StorageFull, PermissionDenied, StorageUnavailable, which name
            it.
    """

    def __init__(self, directory: str = "") -> None:
        """Open it in a directory of a local disk; "": where the system has temporary files."""
        self.directory = directory or tempfile.gettempdir()
        if not os.path.isdir(self.directory):
            raise InvalidInput(
                "rows that do not fit into memory have no place; make this directory, or name another one by"
                " hoodie.memory.spillable.map.path",
                directory=self.directory,
            )
        with storage_errors(self.directory, is_write=True):
            self._file = tempfile.TemporaryFile(buffering=0, dir=self.directory)  # noqa: SIM115 - closed by `close`
        self.size_bytes = 0

    def append(self, data: pa.Buffer | bytes) -> None:
        """Write bytes behind the others."""
        view, done = memoryview(data), 0
        with storage_errors(self.directory, is_write=True):
            while done < len(view):
                done += self._file.write(view[done : done + _MOST_BYTES])
        self.size_bytes += done

    def read_at(self, position: int, size: int) -> bytes:
        """Return bytes that were written."""
        with storage_errors(self.directory):
            data = os.pread(self._file.fileno(), size, position)
        if len(data) < size:
            raise StorageUnavailable("the disk gave less than was written to it", directory=self.directory)
        return data

    def close(self) -> None:
        """Close it; its space is free again."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class SpilledBatch:
    """Where a batch is in a file."""

    position: int
    size_bytes: int
    """About what it takes in memory as well."""
    rows_count: int


class SpilledBatches:
    """Batches of one schema in a file, each read as often as it is asked for."""

    def __init__(self, schema: pa.Schema, directory: str = "") -> None:
        """Begin with none, in a directory as of `SpillFile`."""
        self.schema = schema
        self._file = SpillFile(directory)

    def add(self, batch: pa.RecordBatch) -> SpilledBatch:
        """Write a batch; return where it is."""
        data = batch.serialize()
        place = SpilledBatch(self._file.size_bytes, data.size, batch.num_rows)
        self._file.append(data)
        return place

    def read(self, place: SpilledBatch) -> pa.RecordBatch:
        """Return a batch that was added."""
        data = self._file.read_at(place.position, place.size_bytes)
        return pa.ipc.read_record_batch(pa.py_buffer(data), self.schema)
