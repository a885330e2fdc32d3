"""Where a table's partitions are, asked of storage: a directory is one when it holds partition metadata.

Start at `partitions_below`; files are asked of `filegroup.file_index`.
"""

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from typing import Final, TypeVar

from pyhudi.errors import FileMissing, InvalidInput, PreconditionFailed
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import PARTITION_METADATA, is_partition_metadata
from pyhudi.formats.properties import format_properties, java_date
from pyhudi.state.model import TableState
from pyhudi.storage.api import Directory, PutMode, check_path
from pyhudi.storage.process import once_a_process
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "at_once",
    "encode_partition_metadata",
    "ensure_partition_metadata",
    "partitions_below",
    "walk_directories",
]

Place = TypeVar("Place", bound=Hashable)
Found = TypeVar("Found")

_THREADS: Final = 16
_THREAD: Final = "pyhudi-list"


def partitions_below(state: TableState, top: str = "") -> Iterator[tuple[PartitionPath, Directory]]:
    """Yield every partition from a directory on, at any depth, with what it holds.

    The walk ends at the root of a table without partitions. It goes on below a partition, where nothing should be:
    Apache Hudi puts partitions there whose values ask for it, and finds them by its metadata table. It stays out of
    `.hoodie`; another directory that begins with a dot may well be a partition.

    Cost:   one directory listing for each directory on the way, several at once.
    """
    found = walk_directories(state, top, ends_at=lambda path, content: not path and _is_partition(content))
    return ((path, content) for path, content in found if _is_partition(content))


def walk_directories(
    state: TableState, top: str = "", *, ends_at: Callable[[str, Directory], bool] = lambda *_: False
) -> Iterator[tuple[PartitionPath, Directory]]:
    """Return every directory from one on, partition or not, with what it holds, level by level; never `.hoodie`."""
    level = [top]
    while level:
        contents = at_once(state.storage.list_directory, level)
        yield from ((PartitionPath(path), content) for path, content in contents.items())
        below = [
            name for path, content in contents.items() if not ends_at(path, content) for name in content.directories
        ]
        level = [name for name in below if not _is_hudis_own(name)]


def at_once(function: Callable[[Place], Found], places: Sequence[Place]) -> dict[Place, Found]:
    """Run a function over places in threads; one place is not worth a thread.

    It returns, or raises, when all of them are done: what failed may be taken back then.
    """
    if len(places) < 2:
        return {place: function(place) for place in places}
    if threading.current_thread().name.startswith(_THREAD):  # threads that wait for each other would wait for ever
        with _threads() as own:
            return _all_of(own, function, places)
    return _all_of(_shared_threads(), function, places)


def _all_of(threads: Executor, function: Callable[[Place], Found], places: Sequence[Place]) -> dict[Place, Found]:
    begun = [threads.submit(function, place) for place in places]
    try:
        return {place: one.result() for place, one in zip(places, begun, strict=True)}
    finally:
        for one in begun:
            one.cancel()
        wait(begun)


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix=_THREAD)


@once_a_process
def _shared_threads() -> ThreadPoolExecutor:
    """Return the threads of this process: a write of one row asks for some forty times."""
    return _threads()


def ensure_partition_metadata(state: TableState, partition: PartitionPath, instant: InstantTime) -> bool:
    """Make a directory a partition; False if it was one. Never replaces what is there.

    Cost:   a look at what is there; for a new partition one at each directory above it, a listing and a put.
    Raises: InvalidInput for a partition inside another one: Apache Hudi would not find its rows by listing.
    """
    now_ms = state.env.now_ms()
    data = encode_partition_metadata(partition, instant, java_date(now_ms, state.env.zone()))
    path = _metadata_path(partition)
    if _is_there(state, path):
        return False
    _require_apart(state, partition)
    try:
        state.storage.put(path, data, PutMode.CREATE)
    except PreconditionFailed:
        return False
    return True


def encode_partition_metadata(partition: PartitionPath, instant: InstantTime, written_at: str) -> bytes:
    """Format partition metadata. `written_at` is Java's text of a date.   Spec: format/timeline 5.4."""
    depth = partition.count("/") + 1 if partition else 0
    entries = {"commitTime": instant, "partitionDepth": str(depth)}
    return format_properties(entries, ["partition metadata", written_at])


def _require_apart(state: TableState, partition: PartitionPath) -> None:
    """Refuse a new partition that lies in another one, or around one."""
    steps = partition.split("/")
    above = (PartitionPath("/".join(steps[:depth])) for depth in range(1, len(steps)))
    other = next((one for one in above if _is_there(state, _metadata_path(one))), None)
    if other is None and partition and state.storage.list_directory(partition).directories:
        other, _ = next(partitions_below(state, partition), (None, None))
    if other is not None:
        raise InvalidInput(
            "a partition cannot lie inside another one; choose values whose paths do not begin with each other",
            partition=partition,
            other=other,
        )


def _metadata_path(partition: PartitionPath) -> str:
    return check_path(f"{partition}/{PARTITION_METADATA}" if partition else PARTITION_METADATA)


def _is_there(state: TableState, path: str) -> bool:
    try:
        state.storage.head(path)
    except FileMissing:
        return False
    return True


def _is_partition(content: Directory) -> bool:
    return any(is_partition_metadata(status.name) for status in content.files)


def _is_hudis_own(directory: str) -> bool:
    return directory.rsplit("/", 1)[-1] == ".hoodie"
