"""Did another action touch what we touch? Pure decisions over what actions say of themselves.

A footprint is what one action touches, taken from its commit metadata or its plan; `find_overlaps` lays ours beside
those of others. What counts as the same place is the table's conflict resolution, named as Apache Hudi names it. Start
at `find_overlaps`.

Spec: Writer Expectations 3.2, 3.3; format/timeline 8.2.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, PartitionPath
from pyhudi.filegroup.names import parse_base_file
from pyhudi.index.choice import index_of
from pyhudi.options import Settings, one_of, option
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.codec import ClusteringSlice, CompactionOperation
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.concurrency_mode import is_non_blocking

__all__ = [
    "ConflictRules",
    "Footprint",
    "Overlap",
    "ReadSet",
    "Resolution",
    "can_retry_in_place",
    "files_with_new_keys",
    "find_overlaps",
    "find_read_changes",
    "footprint",
    "footprints",
    "place_of",
    "plan_footprint",
    "resolution_for",
    "rules_for",
]


class Resolution(StrEnum):
    """Apache Hudi's conflict resolution strategies."""

    SIMPLE = "SimpleConcurrentFileWritesConflictResolutionStrategy"
    PREFER_WRITER = "PreferWriterConflictResolutionStrategy"
    """A planned compaction or clustering gives way to a write, not the other way round."""
    BUCKET = "BucketIndexConcurrentFileWritesConflictResolutionStrategy"
    """File groups of one bucket are one: each writer of a new bucket draws a file id of its own for it."""


def _resolution(text: str) -> str:
    """Take a class name, with its package or without."""
    return Resolution(text.strip().rsplit(".", 1)[-1]) if text.strip() else ""


RESOLUTION: Final = option(
    "hoodie.write.lock.conflict.resolution.strategy",
    "",
    "Class name of the conflict resolution; empty: by bucket under the bucket index, else by file group.",
    parse=_resolution,
)


def _updates_strategy(text: str) -> str:
    """Take a class name, with its package or without."""
    return one_of(*_UPDATES)(text.strip().rsplit(".", 1)[-1])


_REJECT: Final = "SparkRejectUpdateStrategy"
_ALLOW: Final = "SparkAllowUpdateStrategy"
_UPDATES: Final = (_REJECT, _ALLOW)
UPDATES_STRATEGY: Final = option(
    "hoodie.clustering.updates.strategy",
    _REJECT,
    "Class name of what a write does that changes file groups of a planned clustering: it fails "
    "(SparkRejectUpdateStrategy), or the clustering leaves them as they are (SparkAllowUpdateStrategy).",
    parse=_updates_strategy,
)
_OVERWRITES: Final = frozenset({WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE})
"""They take partitions over also where nothing was stored yet."""
_MOVES: Final = frozenset({WriteOperation.CLUSTER, WriteOperation.COMPACT, WriteOperation.LOG_COMPACT})
"""They move rows, and bring no key that was not there."""
_BUCKET_DIGITS: Final = 8


def resolution_for(settings: Settings, config: TableConfig) -> Resolution:
    """Choose by the options, or else by what the index makes necessary."""
    named = settings.get(RESOLUTION)
    if named:
        return Resolution(named)
    return Resolution.BUCKET if index_of(settings, config).is_computed else Resolution.SIMPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRules:
    """When two actions touch the same place, and when they may."""

    resolution: Resolution = Resolution.SIMPLE
    has_completion_slicing: bool = True
    """A log belongs to the file slice that its completion says; in layout 1 to the one that its name says."""
    allows_clustered: bool = False
    """A write may change file groups of a planned clustering, which then leaves them."""
    is_non_blocking: bool = False
    """Two writes may append to one file group: readers merge both."""


def rules_for(settings: Settings, state: TableState) -> ConflictRules:
    """Choose by the options, and by how the table's version tells which file slice a log belongs to."""
    return ConflictRules(
        resolution=resolution_for(settings, state.config),
        has_completion_slicing=state.layout.logs_name_their_instant,
        allows_clustered=settings.get(UPDATES_STRATEGY) == _ALLOW,
        is_non_blocking=is_non_blocking(settings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What one action touches."""

    groups: frozenset[FileGroupId]
    """File groups that it writes or replaces."""
    appended: frozenset[FileGroupId] = frozenset()
    """Those of them that a write only adds log files to."""
    compacted: frozenset[FileGroupId] = frozenset()
    """Those of them whose log files it merges into a base file."""
    log_compacted: frozenset[FileGroupId] = frozenset()
    """Those of them whose log files it merges into one."""
    replaced: frozenset[FileGroupId] = frozenset()
    """Those of them that it takes away."""
    overwritten: frozenset[PartitionPath] = frozenset()
    """Partitions whose whole content it replaces: any other write to them is lost by it."""
    partitions: frozenset[PartitionPath] = frozenset()
    """Partitions that it writes to or replaces something in."""
    is_whole_table: bool = False
    """It replaces everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Why two actions cannot both stand."""

    instant: InstantTime
    """The other action's requested time."""
    groups: tuple[FileGroupId, ...]
    """Ours."""
    their_groups: tuple[FileGroupId, ...]
    partitions: tuple[PartitionPath, ...]
    is_replaced: bool
    """The other action took some of the groups away: nothing is left to write to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """What a serializable action read: it must not have changed when the action commits."""

    groups: frozenset[FileGroupId] = frozenset()
    covers: Callable[[PartitionPath], bool] | None = None
    """Whether a partition was read whole, so that rows which are new in it count too."""


def footprint(metadata: CommitMetadata) -> Footprint:
    """Take what an action touches from its commit metadata."""
    written = {
        _group(partition, stat.file_id): stat.is_log
        for partition, stats in metadata.stats.items()
        for stat in stats
        if stat.file_id
    }
    groups, operation = frozenset(written), metadata.operation
    is_write = operation not in _MOVES
    named = metadata.replaced or {}
    replaced = frozenset(_group(partition, file_id) for partition, file_ids in named.items() for file_id in file_ids)
    partitions = frozenset(PartitionPath(partition) for partition in {*metadata.stats, *named})
    return Footprint(
        groups=groups | replaced,
        appended=frozenset(group for group, is_log in written.items() if is_log and is_write) - replaced,
        compacted=groups if operation is WriteOperation.COMPACT else frozenset(),
        log_compacted=groups if operation is WriteOperation.LOG_COMPACT else frozenset(),
        replaced=replaced,
        overwritten=partitions if operation in _OVERWRITES else frozenset(map(PartitionPath, named)),
        partitions=partitions,
        is_whole_table=operation is WriteOperation.INSERT_OVERWRITE_TABLE,
    )


def footprints(written: Mapping[InstantTime, CommitMetadata]) -> dict[InstantTime, Footprint]:
    """Take what several actions touch from what they say of themselves."""
    return {instant: footprint(metadata) for instant, metadata in written.items()}


def plan_footprint(action: Action, planned: Iterable[ClusteringSlice | CompactionOperation]) -> Footprint:
    """Take what a compaction or clustering is going to touch from its plan.   Spec: format/timeline 3.4, 3.5."""
    groups = frozenset(_group(one.partition, one.file_id) for one in planned)
    return Footprint(
        groups=groups,
        replaced=groups if action is Action.CLUSTERING else frozenset(),
        compacted=groups if action is Action.COMPACTION else frozenset(),
        log_compacted=groups if action is Action.LOGCOMPACTION else frozenset(),
        partitions=frozenset(group.partition for group in groups),
    )


def find_overlaps(
    time: InstantTime, ours: Footprint, others: Mapping[InstantTime, Footprint], rules: ConflictRules
) -> tuple[Overlap, ...]:
    """Compare our action, requested at `time`, with others, in order of their instants.

    Two conflict where both write one file group, unless one of them appends to it in a way that the other leaves
    visible; or where we replace a partition that the other has written to: its rows would vanish although it was told
    that they are there.

    Spec: Writer Expectations 3.2, 3.3 (checks C2, C3 and C4).
    """
    found = []
    for instant in sorted(others):
        theirs = others[instant]
        mine = _meeting(time, ours, instant, theirs, rules)
        partitions = theirs.partitions if ours.is_whole_table else ours.overwritten & theirs.partitions
        if mine or partitions:
            overlap = Overlap(
                instant=instant,
                groups=tuple(sorted(mine)),
                their_groups=tuple(sorted(_within(theirs.groups, mine, rules.resolution))),
                partitions=tuple(sorted(partitions)),
                is_replaced=bool(_within(mine, theirs.replaced, rules.resolution)),
            )
            found.append(overlap)
    return tuple(found)


def _meeting(
    time: InstantTime, ours: Footprint, instant: InstantTime, theirs: Footprint, rules: ConflictRules
) -> frozenset[FileGroupId]:
    """Return those of our groups to which the other did what must not be done beside us."""
    rewritten, their_rewritten = ours.groups - ours.appended, theirs.groups - theirs.appended
    pairs = (
        (rewritten, their_rewritten),
        (rewritten - _open_to_logs(time, ours, instant, rules), theirs.appended),
        (ours.appended, theirs.groups - _open_to_logs(instant, theirs, time, rules)),
    )
    return frozenset[FileGroupId]().union(*(_within(mine, other, rules.resolution) for mine, other in pairs))


def _open_to_logs(
    time: InstantTime, action: Footprint, appended_at: InstantTime, rules: ConflictRules
) -> frozenset[FileGroupId]:
    """Return the groups of an action on which log files of a write that was requested at `appended_at` stay visible.

    A write that was requested after a compaction's plan appends to the new file slice. An earlier one's logs join that
    slice if they are completed later, but in layout 1 they stay in the old slice and are lost. A log compaction takes
    the place of the newest log that it merges, so what was requested before its plan may come to lie below.
    """
    is_planned_before = time < appended_at
    found = action.appended if rules.is_non_blocking and rules.has_completion_slicing else frozenset()
    if is_planned_before:
        found |= action.log_compacted
    if is_planned_before or rules.has_completion_slicing:
        found |= action.compacted
    return found


def can_retry_in_place(time: InstantTime, overlaps: Collection[Overlap]) -> bool:
    """Return whether writing the file groups again, under our own instant, settles every conflict.

    It does where each of the others began before us, so that readers see ours on top of theirs, and left the groups
    where they were.
    """
    return bool(overlaps) and not any(one.instant >= time or one.is_replaced or one.partitions for one in overlaps)


def find_read_changes(read_set: ReadSet, others: Mapping[InstantTime, Footprint]) -> tuple[Overlap, ...]:
    """Return which others changed what we read, or put rows where we looked for them: serializable isolation."""
    found = []
    for instant in sorted(others):
        theirs = others[instant]
        groups = theirs.groups & read_set.groups
        partitions = [one for one in theirs.partitions if read_set.covers is not None and read_set.covers(one)]
        if groups or partitions:
            ordered = tuple(sorted(groups))
            overlap = Overlap(
                instant=instant,
                groups=ordered,
                their_groups=ordered,
                partitions=tuple(sorted(partitions)),
                is_replaced=bool(groups & theirs.replaced),
            )
            found.append(overlap)
    return tuple(found)


def files_with_new_keys(concurrent: Mapping[InstantTime, CommitMetadata]) -> dict[BaseFile, InstantTime]:
    """List the base files that may hold keys which the table had not before, each with its commit: for C5.

    Of a file group that several wrote to, the newest file is listed: it has what is left of all of them.
    """
    newest: dict[FileGroupId, BaseFile] = {}
    inserted: dict[FileGroupId, InstantTime] = {}
    for instant, metadata in sorted(concurrent.items()):
        written = [(one, _base_file(partition, one)) for partition, stats in metadata.stats.items() for one in stats]
        for stat, file in written:
            if file is None:
                continue
            group = _group(file.partition, file.file_id)
            newest[group] = file
            if metadata.operation not in _MOVES and stat.num_inserts != 0:
                inserted.setdefault(group, instant)
    return {newest[group]: instant for group, instant in inserted.items()}


def _base_file(partition: str, stat: WriteStat) -> BaseFile | None:
    status = FileStatus(path=stat.path or "", size_bytes=stat.file_size_in_bytes or 0, modified_ms=0)
    return parse_base_file(PartitionPath(partition), status)


def _group(partition: str, file_id: str) -> FileGroupId:
    return FileGroupId(partition=PartitionPath(partition), file_id=FileId(file_id))


def _within(
    groups: Iterable[FileGroupId], others: Collection[FileGroupId], resolution: Resolution
) -> frozenset[FileGroupId]:
    """Keep the groups that are the same place as one of the others."""
    places = {place_of(group, resolution) for group in others}
    return frozenset(group for group in groups if place_of(group, resolution) in places)


def place_of(group: FileGroupId, resolution: Resolution) -> tuple[str, str]:
    """Return what is the same for two file groups that only one of two writers may write."""
    is_bucket = resolution is Resolution.BUCKET
    return group.partition, group.file_id[:_BUCKET_DIGITS] if is_bucket else group.file_id
