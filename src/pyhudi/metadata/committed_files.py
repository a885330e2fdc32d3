"""Files of an index of rows that commits of the metadata table say they wrote: one that is gone would hide rows.

Of statistics, bloom filters and expressions what is not there leaves nothing out, and the list of files is compared
with what commits of the table name. A compaction says which files it leaves as they are: the commits that wrote them
are archived. Start at `groups_of_rows`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.model import BaseFile, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import PARTITION_METADATA, parse_file
from pyhudi.formats.properties import parse_properties
from pyhudi.metadata.names import SECONDARY_PREFIX, MetadataPartition
from pyhudi.metadata.state import MetadataTable
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action, Instant, InstantTime

__all__ = ["built_at", "groups_of_rows", "is_of_rows", "kept_files", "lost_index_file"]

_KEPT: Final = "pyhudi.index.files"
"""Of a compaction's `extra`: the files of indexes of rows that it leaves as they are, as a JSON object.

By partition and name, with their bytes.
"""
_NEVER: Final = ""
_LAST: Final = "~"
"""Behind all times."""
_BUILDS: Final = "0000"
"""Begins the instants by which partitions are built; a compaction's is a time."""
_WRITES: Final = frozenset({Action.DELTACOMMIT, Action.COMMIT})


def groups_of_rows(table: MetadataTable, partition: str) -> Sequence[FileSlice]:
    """Return the newest slice of each file group of an index of rows, all of whose files are there.

    Cost:   as `MetadataTable.file_groups`; once a process a small read of each active commit of the metadata table.
    Raises: CorruptData, also naming a file that is gone or shorter than its commit says.
    """
    lost = lost_index_file(table, partition)
    if lost is not None:
        raise CorruptData(
            f"a file of an index that a commit of the metadata table names is gone or cut off; build the index anew:"
            f" repair('{partition}')",
            path=lost.path,
        )
    return table.file_groups(partition)


def kept_files(table: MetadataTable, left: Mapping[str, Sequence[FileSlice]]) -> dict[str, str]:
    """Return what a compaction says of file slices of indexes of rows that it leaves as they are; nothing for none.

    A file that is gone is named, too: it is missed until its index is built anew.

    Cost: as `groups_of_rows`, for each partition.
    """
    found: dict[str, dict[str, int]] = {}
    for partition, slices in left.items():
        lost = lost_index_file(table, partition)
        files = [file for one in slices for file in (one.base, *one.logs) if file is not None]
        sizes = {file.name: file.size_bytes for file in [*files, *([] if lost is None else [lost])]}
        found |= {partition: sizes} if sizes else {}
    return {_KEPT: json.dumps(found)} if found else {}


def lost_index_file(table: MetadataTable, partition: str) -> BaseFile | LogFile | None:
    """Return a file of an index of rows that is gone or cut off, with the bytes that it had; None: all are whole.

    Cost, Raises: as `groups_of_rows`.
    """
    if not is_of_rows(partition):
        return None
    slices = {one.group.file_id: one for one in table.file_groups(partition)}
    files = (file for one in slices.values() for file in (one.base, *one.logs) if file is not None)
    sizes = {file.path: file.size_bytes for file in files}
    for commit, file in _told(table, partition):
        newest = slices.get(file.file_id)
        if sizes.get(file.path, -1) < file.size_bytes and _is_wanted(table, file, newest, commit):
            return file
    return None


def is_of_rows(partition: str) -> bool:
    """Return whether a partition of the metadata table is an index of rows."""
    return partition == MetadataPartition.RECORD_INDEX or partition.startswith(SECONDARY_PREFIX)


def _told(table: MetadataTable, partition: str) -> Iterator[tuple[Instant, BaseFile | LogFile]]:
    """Yield what commits that count wrote into a partition or left there, with the bytes that they say."""
    where = PartitionPath(partition)
    for commit in table.timeline.completed.values():
        if commit.action not in _WRITES or commit.requested_time in table.hidden:
            continue
        try:
            metadata = read_commit_metadata(table.state, commit)
        except FileMissing:  # archived since
            continue
        written = {(one.path or "").rsplit("/", 1)[-1]: one.file_size_in_bytes for one in metadata.stats.get(where, ())}
        for name, size_bytes in {**_kept(metadata.extra.get(_KEPT), partition), **written}.items():
            file = parse_file(where, FileStatus(path=name, size_bytes=size_bytes or 0, modified_ms=0))
            if file is not None:
                yield commit, file


def _kept(text: str | None, partition: str) -> Mapping[str, int]:
    """Return the files of a partition that a compaction left as they were, with their bytes."""
    found: Mapping[str, Mapping[str, int]] = json.loads(text) if text else {}
    return found.get(partition, {})


def _is_wanted(table: MetadataTable, file: BaseFile | LogFile, newest: FileSlice | None, commit: Instant) -> bool:
    """Return whether a file is to be in the newest slice of its file group; there may be none of that any more."""
    if newest is None:  # its file group may have been made again since
        return _is_of_build(table, file, commit)
    if not table.timeline.layout.logs_name_their_instant:
        return _is_of_old_slice(file, newest)
    if newest.base is None:
        return _is_of_build(table, file, commit)
    if isinstance(file, BaseFile):
        return newest.base.instant <= file.instant and _is_of_build(table, file, commit)
    return _is_behind(table, commit, newest.base)


def _is_of_old_slice(file: BaseFile | LogFile, newest: FileSlice) -> bool:
    """Return whether a file belongs to a slice before version 8, where logs name the base instant of theirs."""
    if isinstance(file, BaseFile):
        return file.instant >= newest.base_instant
    is_built = newest.base_instant.startswith(_BUILDS)
    return file.instant == newest.base_instant or (file.instant > newest.base_instant and not is_built)


def _is_of_build(table: MetadataTable, file: BaseFile | LogFile, commit: Instant) -> bool:
    """Return whether a file was written since its partition was built last: what was before may be gone with it.

    What builds one may have finished a compaction before, and completed both at one time. In layout 1 names tell the
    slice, which is older.
    """
    built_by = _built_by(table, file.partition)
    if built_by is None or not table.timeline.layout.has_completion_times:
        return built_by is not None and file.instant >= built_by
    is_build = commit.requested_time == built_by
    return is_build or (commit.completion_time or _NEVER) > (_completion_of(table, built_by) or _LAST)


def built_at(table: MetadataTable, partition: str) -> str | None:
    """Return when a partition was built, or first written to after that; None where that is not known.

    In layout 1 that is when its instant was requested, else when it was completed.
    """
    time = _built_by(table, partition)
    return time if time is None or not table.timeline.layout.has_completion_times else _completion_of(table, time)


def _built_by(table: MetadataTable, partition: str) -> InstantTime | None:
    """Return the instant by which a partition was built, or first written to after that: its own metadata has it."""
    try:
        header = parse_properties(table.state.storage.get(f"{partition}/{PARTITION_METADATA}"))
    except FileMissing:
        return None
    return InstantTime(header["commitTime"]) if header.get("commitTime") else None


def _completion_of(table: MetadataTable, time: InstantTime) -> str | None:
    """Return when an instant was completed, also an archived one; None where that is not known."""
    commit = table.timeline.completed.get(time)
    return table.timeline.archive.completion_of(time) if commit is None else commit.completion_time or _NEVER


def _is_behind(table: MetadataTable, commit: Instant, base: BaseFile) -> bool:
    """Return whether logs of a commit are of the slice of a base file.

    A compaction takes the completion of the commit before it for its own instant, and leaves the logs of that to the
    slice that it makes. Where neither the timeline nor its archive tells of the commit that built the file, no log is
    missed.
    """
    done, made_by = commit.completion_time or _NEVER, table.timeline.completed.get(base.instant)
    is_delta = made_by is not None and made_by.action is Action.DELTACOMMIT
    if not is_delta and not base.instant.startswith(_BUILDS):
        return done >= base.instant
    return done > (_completion_of(table, base.instant) or _LAST)
