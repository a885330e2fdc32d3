"""Files of an index of rows that commits of the metadata table say they wrote: one that is gone would hide rows.

Of statistics, bloom filters and expressions what is not there leaves nothing out, and the list of files is compared
with what commits of the table name. Start at `groups_of_rows`.
"""

from collections.abc import Iterator, Sequence
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

__all__ = ["groups_of_rows", "lost_index_file"]

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
            path=lost,
        )
    return table.file_groups(partition)


def lost_index_file(table: MetadataTable, partition: str) -> str | None:
    """Return the path of a file of an index of rows that is gone or cut off; None where all are whole.

    Cost, Raises: as `groups_of_rows`.
    """
    if partition != MetadataPartition.RECORD_INDEX and not partition.startswith(SECONDARY_PREFIX):
        return None
    slices = {one.group.file_id: one for one in table.file_groups(partition)}
    files = (file for one in slices.values() for file in (one.base, *one.logs) if file is not None)
    sizes = {file.path: file.size_bytes for file in files}
    for commit, file in _told(table, partition):
        newest = slices.get(file.file_id)
        if sizes.get(file.path, -1) < file.size_bytes and _is_wanted(table, file, newest, commit):
            return file.path
    return None


def _told(table: MetadataTable, partition: str) -> Iterator[tuple[Instant, BaseFile | LogFile]]:
    """Yield what commits that count wrote into a partition, with the bytes that they say."""
    where = PartitionPath(partition)
    for commit in table.timeline.completed.values():
        if commit.action not in _WRITES or commit.requested_time in table.hidden:
            continue
        try:
            stats = read_commit_metadata(table.state, commit).stats.get(where, ())
        except FileMissing:  # archived since
            continue
        for one in stats:
            name = (one.path or "").rsplit("/", 1)[-1]
            file = parse_file(where, FileStatus(path=name, size_bytes=one.file_size_in_bytes or 0, modified_ms=0))
            if file is not None:
                yield commit, file


def _is_wanted(table: MetadataTable, file: BaseFile | LogFile, newest: FileSlice | None, commit: Instant) -> bool:
    """Return whether a file is to be in the newest slice of its file group; there may be none of that any more."""
    if newest is None:
        return _is_of_build(table, file, commit)
    if isinstance(file, LogFile):
        return _is_of_slice(table, file, newest, commit)
    if newest.base is not None and newest.base.instant > file.instant:
        return False
    if not table.timeline.layout.logs_name_their_instant:
        return file.instant >= newest.base_instant
    return _is_of_build(table, file, commit)


def _is_of_build(table: MetadataTable, file: BaseFile | LogFile, commit: Instant) -> bool:
    """Return whether a file was written since its partition was built last: what was before may be gone with it.

    The partition's own metadata has the instant by which it was built. Where completions are not known, or not that of
    this instant, nothing is missed.
    """
    if not table.timeline.layout.logs_name_their_instant:
        return False
    try:
        header = parse_properties(table.state.storage.get(f"{file.partition}/{PARTITION_METADATA}"))
    except FileMissing:
        return False
    time = InstantTime(header.get("commitTime", _NEVER))
    return (commit.completion_time or _NEVER) >= (_completion_of(table, time) or _LAST)


def _completion_of(table: MetadataTable, time: InstantTime) -> str | None:
    """Return when an instant was completed, also an archived one; None where that is not known."""
    commit = table.timeline.completed.get(time)
    return table.timeline.archive.completion_of(time) if commit is None else commit.completion_time or _NEVER


def _is_of_slice(table: MetadataTable, log: LogFile, newest: FileSlice, commit: Instant) -> bool:
    """Return whether the newest slice of a file group is to have a log."""
    if not table.timeline.layout.logs_name_their_instant:  # they name the base instant of their slice
        is_built = newest.base_instant.startswith(_BUILDS)
        return log.instant == newest.base_instant or (log.instant > newest.base_instant and not is_built)
    done, (begin, is_inclusive) = commit.completion_time or _NEVER, _begin(table, newest)
    return done > begin or (is_inclusive and done == begin)


def _begin(table: MetadataTable, newest: FileSlice) -> tuple[str, bool]:
    """Return behind which completions logs are of a slice, and whether also those of that completion are.

    That is the instant of the compaction that made its base file, which takes the completion of the commit before it
    for its own and leaves its logs to this slice. Or it is the completion of the commit that built its file group: of
    the first log, which says so and may have been filled by the same commit, where a group without records has no base
    file, as at version 8. Where neither the timeline nor its archive tells of that commit, no log is missed.
    """
    known = table.timeline.completed
    made_by = [one.instant for one in newest.logs] if newest.base is None else [newest.base.instant]
    if newest.base is not None:
        commit = known.get(newest.base.instant)
        if commit is None or commit.action is not Action.DELTACOMMIT:
            is_built = newest.base.instant.startswith(_BUILDS)
            return (_LAST, False) if is_built else (newest.base.instant, True)
    done = [one for time in made_by if (one := _completion_of(table, time)) is not None]
    return (min(done), newest.base is None) if len(done) == len(made_by) else (_LAST, False)
