"""Which partitions and files a table has. Start at `file_index`.

Spec: format/metadata-table 8.3.
"""

from pyhudi.filegroup.file_index import FileIndex, storage_index
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["file_index"]


def file_index(state: TableState, timeline: Timeline, *, is_checked: bool = True) -> FileIndex:
    """Make the index that answers for a table, checked against what commits say.   Cost: nothing, until it is asked."""
    return storage_index(state, timeline, is_checked=is_checked)
