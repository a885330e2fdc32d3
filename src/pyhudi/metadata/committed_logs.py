"""Logs of an index of rows that commits of the metadata table say they wrote: one that is gone would hide rows.

Of statistics, bloom filters and expressions what is not there leaves nothing out, and the list of files is compared
with what commits of the table name. Start at `groups_of_rows`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.model import FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_log_file
from pyhudi.metadata.names import SECONDARY_PREFIX, MetadataPartition
from pyhudi.metadata.state import MetadataTable
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action, Instant, InstantTime

__all__ = ["groups_of_rows", "lost_log"]

_NEVER: Final = ""
_LAST: Final = "~"
"""Behind all times."""
_BUILDS: Final = "0000"
"""Begins the instants by which partitions are built; a compaction's is a time."""
_Told = tuple[Instant, str, int]
"""The commit, the name of a file that it wrote, and its bytes."""


def groups_of_rows(table: MetadataTable, partition: str) -> Sequence[FileSlice]:
    """Return the newest slice of each file group of an index of rows, all of whose logs are there.

    Cost:   as `MetadataTable.file_groups`; once a process a small read of each active commit of the metadata table.
    Raises: CorruptData, also naming a log that is gone or shorter than its commit says.
    """
    lost = lost_log(table, partition)
    if lost is not None:
        raise CorruptData(
            f"a log of an index that a commit of the metadata table names is gone or cut off; build the index anew:"
            f" repair('{partition}')",
            path=lost,
        )
    return table.file_groups(partition)


def lost_log(table: MetadataTable, partition: str) -> str | None:
    """Return the path of a log of an index of rows that is gone or cut off; None where all are whole.

    Cost, Raises: as `groups_of_rows`.
    """
    if partition != MetadataPartition.RECORD_INDEX and not partition.startswith(SECONDARY_PREFIX):
        return None
    slices = {one.group.file_id: one for one in table.file_groups(partition)}
    sizes = {log.name: log.size_bytes for one in slices.values() for log in one.logs}
    told = list(_told(table, partition))
    for commit, name, size_bytes in told:
        log = parse_log_file(PartitionPath(partition), FileStatus(path=name, size_bytes=size_bytes, modified_ms=0))
        if log is None or sizes.get(name, -1) >= size_bytes:
            continue
        newest = slices.get(log.file_id)
        if newest is None:  # what was written before the index was built last may be gone with what it was
            is_of_index = (commit.completion_time or _NEVER) >= _newest_build(table, told)
        else:
            is_of_index = _is_of_slice(table, log, newest, commit)
        if is_of_index:
            return log.path
    return None


def _newest_build(table: MetadataTable, told: Iterable[_Told]) -> str:
    """Return when the partition was built last, as far as is known.

    By a commit that names its files, or, where none does, as of an index by partition of an empty table, or where that
    commit is archived, by any.
    """
    if not table.timeline.layout.logs_name_their_instant:  # completions are not known
        return _LAST
    own = {commit.requested_time: commit.completion_time or _LAST for commit, _, _ in told}
    active = {one.requested_time: one.completion_time or _LAST for one in table.timeline.completed.values()}
    archived = table.timeline.archive.completed_after(InstantTime(_NEVER))
    return _last_built(own) or _last_built({**active, **archived}) or _LAST


def _last_built(completions: Mapping[InstantTime, str]) -> str | None:
    """Return the newest completion of a commit that builds a partition, by requested time."""
    return max((done for time, done in completions.items() if time.startswith(_BUILDS)), default=None)


def _told(table: MetadataTable, partition: str) -> Iterator[_Told]:
    """Yield what delta commits that count wrote into a partition."""
    for commit in table.timeline.completed.values():
        if commit.action is not Action.DELTACOMMIT or commit.requested_time in table.hidden:
            continue
        try:
            stats = read_commit_metadata(table.state, commit).stats.get(PartitionPath(partition), ())
        except FileMissing:  # archived since
            continue
        yield from ((commit, (one.path or "").rsplit("/", 1)[-1], one.file_size_in_bytes or 0) for one in stats)


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
    commits = [known.get(one) for one in made_by]
    if newest.base is not None and (commits[0] is None or commits[0].action is not Action.DELTACOMMIT):
        return (_LAST, False) if newest.base.instant.startswith(_BUILDS) else (newest.base.instant, True)
    archive = table.timeline.archive
    done = [
        archive.completion_of(time) if commit is None else commit.completion_time or _NEVER
        for time, commit in zip(made_by, commits, strict=True)
    ]
    found = [one for one in done if one is not None]
    return (min(found), newest.base is None) if len(found) == len(done) else (_LAST, False)
