"""Whether the metadata table and storage agree on the partitions that an action wrote to, right before it is published.

For tests, and for hunting a fault: an action is refused whose records are wrong. Start at `require_told_files`.

Spec: format/metadata-table 5.1.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.file_listing import read_files_of
from pyhudi.metadata.state import open_metadata
from pyhudi.options import boolean, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.cleans import files_being_cleaned
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, is_committed

__all__ = ["CHECK_METADATA", "require_told_files"]

CHECK_METADATA: Final = option(
    "pyhudi.check.metadata",
    False,
    "Each commit compares what the metadata table says of the partitions that it wrote to with a listing of these, and"
    " is refused by name where they differ. For hunting a fault: the listing is made under the table lock.",
    parse=boolean,
)
_MOST_NAMED: Final = 5
_Files = dict[tuple[str, str], int]


def require_told_files(
    state: TableState, timeline: Timeline, time: InstantTime, partitions: Sequence[PartitionPath]
) -> None:
    """Compare names and sizes, as they are once an action is completed whose delta commit is.

    Locks:  the table lock is held.
    Cost:   a listing of each partition.
    Raises: CorruptData with the paths that differ.
    """
    table = open_metadata(state, timeline)
    table.hidden -= {time}
    told = _sizes(read_files_of(table, partitions))
    stored = _sizes(storage_index(state, timeline, is_checked=False).files(partitions))
    going = files_being_cleaned(state, timeline)
    differs = {
        "missing": [one for one in told if one not in stored and one not in going],
        "unlisted": [one for one in stored if one not in told and _counts(state, timeline, time, one)],
        "sizes": [one for one in told if one in stored and told[one] != stored[one]],
    }
    found = {what: sorted(map("/".join, files))[:_MOST_NAMED] for what, files in differs.items() if files}
    if found:
        text = "the metadata table and storage do not agree on what this commit leaves"
        raise CorruptData(text, instant=time, **found)


def _sizes(files: pa.Table) -> _Files:
    columns = (files.column(name).to_pylist() for name in ("partition", "name", "size_bytes"))
    return {(where, name): size for where, name, size in zip(*columns, strict=True)}


def _counts(state: TableState, timeline: Timeline, time: InstantTime, one: tuple[str, str]) -> bool:
    """Return whether a completed instant, or this one, wrote a file; log names of layout 1 do not tell theirs."""
    file = parse_file(PartitionPath(one[0]), FileStatus(path=one[1], size_bytes=0, modified_ms=0))
    if file is None or (isinstance(file, LogFile) and not state.layout.logs_name_their_instant):
        return False
    return file.instant == time or is_committed(timeline, file.instant)
