"""Decide which changes of a write go to logs: the one place where the type of a table matters to a write's plan.

Start at `appends_of`.
"""

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.write_plan import Appends, task_of
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import FileTask, Sink
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.state.config import TableType
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["appends_of", "stored_slices", "stored_task"]


def appends_of(write: WriteContext) -> Appends:
    """Return what of a write goes to logs.

    Apache Hudi's bulk_insert and insert_overwrite write base files under any index; so do ours, but for file groups
    that are there already.
    """
    if write.call.state.config.table_type is TableType.COPY_ON_WRITE:
        return Appends.NOTHING
    begins_with_log = write.index.begins_with_log and write.operation in _BEGIN_WITH_LOG
    return Appends.EVERYTHING if begins_with_log else Appends.CHANGES


_BEGIN_WITH_LOG = frozenset({WriteOperation.UPSERT, WriteOperation.INSERT})
"""Operations whose new file groups have no base file where the index allows that."""


def stored_task(write: WriteContext, one: FileSlice, number: int) -> FileTask:
    """Return the task that changes the rows of a stored file slice."""
    sink = Sink.BASE if appends_of(write) is Appends.NOTHING else Sink.LOG
    return task_of(one, number, sink, write.closed)


def stored_slices(write: WriteContext) -> SliceSpec:
    """Return how a write reads the rows of file slices: all columns as they are stored."""
    return slice_spec(write.call.state, write.schema, write.snapshot, write.call.settings).whole
