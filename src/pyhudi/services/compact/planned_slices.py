"""The file slices that a plan of a compaction names, as they are when it is run. Start at `slices_of_plan`.

Spec: format/timeline 3.4.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import listing_again
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.codec import CompactionOperation
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, is_committed

__all__ = ["slices_of_plan"]


def slices_of_plan(state: TableState, timeline: Timeline, plan: Sequence[CompactionOperation]) -> list[FileSlice]:
    """Find the file slices of a plan, in its order.

    A log that was taken back since is left out: its rows are no part of the table any more.

    Cost:   a listing of each of their partitions.
    Raises: CorruptData for a file that is not there.
    """
    named = pa.array(sorted({name for one in plan for name in (one.base, *one.logs) if name}), pa.string())
    index = file_index(state, timeline)
    return listing_again(index, lambda: _slices(index, plan, named))


def _slices(index: FileIndex, plan: Sequence[CompactionOperation], named: pa.Array) -> list[FileSlice]:
    files = index.files(PartitionPath(one.partition) for one in plan)
    found = files.filter(pc.is_in(files["name"], value_set=named))
    places = zip(found["partition"].to_pylist(), found["name"].to_pylist(), strict=True)
    sizes = dict(zip(places, found["size_bytes"].to_pylist(), strict=True))
    return [_slice(one, sizes, index.timeline) for one in plan]


def _slice(operation: CompactionOperation, sizes: Mapping[tuple[str, str], int], timeline: Timeline) -> FileSlice:
    base = _file(operation, operation.base, sizes) if operation.base else None
    logs = [
        _file(operation, name, sizes) for name in operation.logs if not _is_taken_back(operation, name, sizes, timeline)
    ]
    return FileSlice(
        group=FileGroupId(partition=PartitionPath(operation.partition), file_id=FileId(operation.file_id)),
        base_instant=InstantTime(operation.base_instant),
        base=base if isinstance(base, BaseFile) else None,
        logs=tuple(log for log in logs if isinstance(log, LogFile)),
    )


def _is_taken_back(
    operation: CompactionOperation, name: str, sizes: Mapping[tuple[str, str], int], timeline: Timeline
) -> bool:
    """Return whether a log is gone because the delta commit that its name tells was rolled back since."""
    if (operation.partition, name) in sizes or not timeline.layout.logs_name_their_instant:
        return False
    file = parse_file(PartitionPath(operation.partition), FileStatus(path=name, size_bytes=0, modified_ms=0))
    return file is not None and not is_committed(timeline, file.instant)


def _file(operation: CompactionOperation, name: str, sizes: Mapping[tuple[str, str], int]) -> BaseFile | LogFile:
    size_bytes = sizes.get((operation.partition, name))
    status = FileStatus(path=name, size_bytes=size_bytes or 0, modified_ms=0)
    file = parse_file(PartitionPath(operation.partition), status)
    if size_bytes is None or file is None:
        raise CorruptData("a file of a planned compaction is gone", partition=operation.partition, file=name)
    return file
