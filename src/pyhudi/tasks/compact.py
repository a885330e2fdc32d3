"""What a compaction does inside a task: one file slice in, its next base file out.

Data plane: runs in this process or in a Spark worker, and sees frozen values only. The rows are those that a reader of
the slice sees, and the file is written as any base file is. Start at `compact_slice`.
"""

from dataclasses import dataclass

from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.filegroup.writer import store_base_file
from pyhudi.storage.api import Storage

__all__ = ["SliceTask", "compact_slice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTask:
    """One file slice to compact."""

    slice: FileSlice
    write_token: str
    """The same in every process that runs the plan, so that one file of a slice is written however often it is run."""

    @property
    def file(self) -> FileTask:
        """Return the base file to write."""
        group = self.slice.group
        return FileTask(
            partition=group.partition, file_id=group.file_id, write_token=self.write_token, base=self.slice.base
        )


def compact_slice(task: SliceTask, *, storage: Storage, reads: SliceSpec, writes: WriteSpec) -> WriteStatus:
    """Write the next base file of a slice's group."""
    return store_base_file(storage, writes, task.file, read_slice(task.slice, storage=storage, spec=reads))
