"""The index of a table that does not keep one yet: recognised by its file groups, and kept from its first use on.

Apache Hudi keeps no index in a table's properties; the bucket index alone shows in the names of file groups. Start at
`unkept_index`, then `remember_index`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pyhudi.commit.call import WriteCall
from pyhudi.errors import InvalidInput, NotBuilt, WriteConflict
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.index.bucket_files import recognised_buckets
from pyhudi.index.choice import INDEX_TYPE, index_declaration, index_of
from pyhudi.kernels.bucket import are_buckets
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline, completed_writes
from pyhudi.txn.locks import lock_for

__all__ = ["remember_index", "unkept_index", "with_index"]

_OTHER_BUCKETS: Final = ".hoodie/.bucket_index"
"""Where Apache Hudi says of consistent hashing, and of bucket counts that differ by partition."""


def unkept_index(call: WriteCall, timeline: Timeline, operation: WriteOperation | None = None) -> dict[str, str]:
    """Return the properties that the table should keep of its index and does not; none where they say it already.

    Cost:   nothing for a table that keeps its index; else the newest commit, and for hash buckets the keys of a file.
    Raises: OptionError for options that do not fit the stored file groups; NotBuilt.
    """
    if INDEX_TYPE.key in call.state.config.index:
        return {}
    if not call.state.is_planned and call.state.storage.list(_OTHER_BUCKETS):
        raise NotBuilt(
            "pyhudi does not write consistent hash buckets, or bucket counts that differ by partition, yet; write this "
            "table with Apache Hudi",
            found=_OTHER_BUCKETS,
        )
    files, settings = _newest_files(call.state, timeline), call.settings
    is_replaced = operation is WriteOperation.INSERT_OVERWRITE_TABLE and settings.has(INDEX_TYPE)
    if files and not is_replaced and are_buckets([file.file_id for file in files]):
        return recognised_buckets(call.state, settings, call.keys(), files)
    index = index_of(settings, call.state.config)
    if files and index.is_computed:
        if is_replaced:
            return {}  # not before there are buckets
        raise InvalidInput(
            "the table was not written with the bucket index; use the index it was written with, or write it anew "
            "with insert_overwrite_table",
            file_id=files[0].file_id,
        )
    return index_declaration(settings, call.state.config.record_key) if index.is_binding else {}


def with_index(state: TableState, found: Mapping[str, str]) -> TableState:
    """Return the table as it is once it keeps this index."""
    if not found:
        return state
    return replace(state, config=TableConfig.of({**state.config.properties, **found}))


def remember_index(state: TableState, found: Mapping[str, str], settings: Settings, seen: Timeline) -> TableState:
    """Write the index into the properties of a table that keeps none.

    `seen` is the timeline by which it was chosen. Every commit compares the properties with those its write began with,
    under the same lock, so none with another index can come between.

    Locks:  takes the table lock.
    Raises: WriteConflict where another writer was first; LockNotAcquired.
    """
    if not found:
        return state
    with lock_for(state, settings).hold():
        fresh = open_state(state.storage, state.env)
        if fresh.config.index or load_timeline(fresh).completed.keys() != seen.completed.keys():
            raise WriteConflict("another writer came first as the table was given its index; write again")
        stored = update_properties(state.storage, state.env, found)
        return replace(fresh, config=TableConfig.of(stored))


def _newest_files(state: TableState, timeline: Timeline) -> list[BaseFile | LogFile]:
    """List the files of the newest commit that wrote any."""
    for instant in sorted(completed_writes(timeline), key=timeline.point, reverse=True):
        stats = read_commit_metadata(state, instant).stats
        named = [(partition, stat) for partition, found in stats.items() for stat in found if stat.path]
        parsed = [
            parse_file(
                PartitionPath(partition),
                FileStatus(path=stat.path or "", size_bytes=stat.file_size_in_bytes or 0, modified_ms=0),
            )
            for partition, stat in named
        ]
        files = [file for file in parsed if file is not None]
        if files:
            return files
    return []
