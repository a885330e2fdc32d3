"""What must still be true before an action is begun or published; each check raises if it is not.

Called with the table lock held, on a timeline read under it. Start at `require_alive`.

Spec: Writer Expectations 3.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final

from pyhudi.errors import FileMissing, HeartbeatExpired, InternalError, ReadOutdated, WriteConflict
from pyhudi.filegroup.model import BaseFile, FileGroupId
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.table.commit import RecordsOf
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import read_commit_metadata, read_plan, restore_plan, rollback_target
from pyhudi.timeline.codec import decode_clustering_plan, decode_compaction_plan
from pyhudi.timeline.instant import FILE_SERVICES, Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import (
    Timeline,
    completed_after,
    completed_writes,
    find_instant,
    is_committed,
    newest_schema,
    pending_instants,
)
from pyhudi.txn.conflicts import (
    ConflictRules,
    Footprint,
    Overlap,
    ReadSet,
    Resolution,
    files_with_new_keys,
    find_overlaps,
    find_read_changes,
    plan_footprint,
)
from pyhudi.txn.recovery.heartbeat import Heartbeat

__all__ = [
    "FindKeys",
    "Proposal",
    "conflict_of",
    "overlap_conflict",
    "planned_groups",
    "read_concurrent",
    "require_alive",
    "require_heartbeat",
    "require_new_keys",
    "require_no_commit_since",
    "require_no_restore",
    "require_no_service",
    "require_older_targets",
    "require_reads_unchanged",
    "require_same_schema",
    "require_same_table",
]

_PLANNED_TEXT: Final = "a table service is planned on what this write touches; write again when it is over"

FindKeys = Callable[[Sequence[BaseFile]], Mapping[BaseFile, int]]
"""Counts how many of an action's keys each of these base files holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What an action is about to publish, and what must still hold then."""

    metadata: CommitMetadata
    find_keys: FindKeys | None = None
    """None for an action that does not look keys up: it may make a second row of one."""
    read_set: ReadSet | None = None
    """None unless the action is to be serializable with everything that it read."""
    records: RecordsOf | None = None
    """What changes in the metadata table; None only for a table that has none."""
    metadata_table: MetadataTable | None = None
    """What the action has read of it by then."""


def require_alive(state: TableState, time: InstantTime, before: Timeline, now: Timeline) -> None:
    """C1: our pending instant is still there, it is not being rolled back, and what we read was not taken back.

    Nor may the table have been restored since: whatever we read may be gone, and what we wrote with it.

    Raises: HeartbeatExpired, WriteConflict.
    """
    require_no_restore(state, now)
    seen = {one.requested_time for one in before.instants if one.action is Action.RESTORE and one.is_completed}
    for restore in [one for one in now.instants if one.action is Action.RESTORE and one.requested_time not in seen]:
        raise WriteConflict(
            "the table was restored to an earlier moment while this write worked; write again",
            instant=time,
            restore=restore.requested_time,
        )
    mine = find_instant(now, time)
    targets = dict(_taken_back(state, before, now))
    if mine is None or mine.is_completed or time in targets:
        raise HeartbeatExpired(
            "this write was rolled back by another writer that took it for dead; write again", instant=time
        )
    for target in sorted(targets.keys() & before.completed.keys()):
        raise WriteConflict(
            "a commit that this write rests on was taken back; write again", instant=time, other=targets[target]
        )


def require_no_commit_since(state: TableState, seen: Timeline, now: Timeline) -> None:
    """Nothing was committed or taken back since a timeline was read, from which the rows of a write were computed.

    Cost:   a read for each rollback that is new.
    Raises: ReadOutdated naming the other instant.
    """
    restores = [one for one in now.instants if one.action is Action.RESTORE and one not in seen.instants]
    others = [one.requested_time for one in (*completed_after(now, frozenset(seen.completed)), *restores)]
    others += [other for target, other in _taken_back(state, seen, now) if target in seen.completed]
    for other in others:
        raise ReadOutdated("another commit came after the rows of this write were read; read them again", other=other)


def require_no_restore(state: TableState, timeline: Timeline) -> None:
    """Refuse a table on its way back to an earlier moment: nothing is written until it is there.

    Raises: WriteConflict that says how to go on where the process that restored it is gone.
    """
    for restore in [one for one in pending_instants(timeline) if one.action is Action.RESTORE]:
        plan = restore_plan(state, restore)
        raise WriteConflict(
            "the table is being restored to an earlier moment; try again when that is over, or, where its process is "
            "gone, finish it with table.restore(target)",
            restore=restore.requested_time,
            target=plan and plan.target,
        )


def read_concurrent(
    state: TableState, time: InstantTime, before: Timeline, now: Timeline
) -> dict[InstantTime, CommitMetadata]:
    """Read the metadata of all that completed between two readings of the timeline: what C2 to C7 are about.

    What was pending in the first and is gone from the second was rolled back, or completed and archived.

    Cost:   a read for each of them.
    Raises: WriteConflict where one of them is in the archive already: what it touched cannot be compared.
    """
    gone = before.pending_times - {one.requested_time for one in now.instants}
    for other in sorted(gone):
        if is_committed(now, other):
            raise _archived(time, other)
    found = {}
    for one in completed_after(now, frozenset(before.completed)):
        try:
            found[one.requested_time] = read_commit_metadata(state, one)
        except FileMissing as error:
            raise _archived(time, one.requested_time) from error
    return found


def require_same_table(state: TableState, time: InstantTime | None = None) -> TableState:
    """C7: the table is still what it was opened as: its properties were not changed in a way that matters.

    Returns it as it is now: it may have got or lost a metadata table.

    Raises: WriteConflict; NotBuilt.
    """
    fresh = open_state(state.storage, state.env)
    opened, found = (
        replace(one.config, properties={}, metadata_partitions=(), partitions_being_built=()) for one in (state, fresh)
    )
    if fresh.layout != state.layout or opened != found:
        raise WriteConflict("the table's properties changed since it was opened; open it again", instant=time)
    require_writable(fresh.config, fresh.layout)
    return fresh


def require_same_schema(
    state: TableState, time: InstantTime, before: Timeline, now: Timeline, metadata: CommitMetadata
) -> None:
    """C7: the table's columns were not changed meanwhile, unless to what we have: the newest commit says what they are.

    In layout 1 that may stay another's: readers go by when a commit was requested. Then it has to have our columns.

    Raises: WriteConflict.
    """
    read = partial(read_commit_metadata, state)
    theirs, other = newest_schema(now, completed_after(now, frozenset(before.completed)), read)
    ours = metadata.extra.get("schema", "")
    if not theirs or not ours or _columns(theirs) == _columns(ours):
        return
    first = newest_schema(before, completed_writes(before), read)[0] or state.config.create_schema
    if not first or _columns(first) != _columns(theirs):
        raise WriteConflict("another commit changed the table's columns; write again", instant=time, other=other)
    if not now.layout.has_completion_times and other is not None and other > time:
        raise WriteConflict("a later commit would hide this write's columns; write again", instant=time, other=other)


def require_no_service(
    state: TableState, time: InstantTime, now: Timeline, ours: Footprint, rules: ConflictRules
) -> None:
    """C3, C4: no compaction or clustering is planned of what we touch.

    An index that is being built is told of the commit by its delta commit of the metadata table.

    Raises: WriteConflict.
    """
    services = [one for one in pending_instants(now) if one.action in FILE_SERVICES]
    if rules.allows_clustered:
        services = [one for one in services if one.action is not Action.CLUSTERING]
    if not services:
        return
    plans = {}
    for one in services:
        plan = _planned(state, one)
        if plan is None:
            raise WriteConflict(_PLANNED_TEXT, instant=time, other=one.requested_time, action=str(one.action))
        plans[one.requested_time] = plan
    if rules.resolution is Resolution.PREFER_WRITER:
        return
    for overlap in find_overlaps(time, ours, plans, rules):
        raise conflict_of(_PLANNED_TEXT, time, overlap)


def planned_groups(state: TableState, timeline: Timeline) -> dict[FileGroupId, InstantTime | None]:
    """Return the file groups that pending compactions and clusterings are going to read.

    With each stands the base instant that its next file slice gets by a compaction; None where none is planned of it.

    Cost: a read of each plan.
    """
    services = [one for one in pending_instants(timeline) if one.action in FILE_SERVICES]
    plans = [(one, plan) for one in services if (plan := _planned(state, one)) is not None]
    found: dict[FileGroupId, InstantTime | None] = {group: None for _, plan in plans for group in plan.groups}
    return found | {group: one.requested_time for one, plan in plans for group in plan.compacted}


def overlap_conflict(time: InstantTime, overlap: Overlap) -> WriteConflict:
    """Return the error of C2 and C4: a commit published meanwhile wrote or replaced our file groups."""
    return conflict_of("another commit touched the same file groups; write again", time, overlap)


def require_reads_unchanged(time: InstantTime, read_set: ReadSet, concurrent: Mapping[InstantTime, Footprint]) -> None:
    """Serializable isolation: no commit of the meantime changed what we read, or put rows where we looked.

    Raises: WriteConflict naming both sides.
    """
    for overlap in find_read_changes(read_set, concurrent):
        raise conflict_of("another commit changed what this write has read; write again", time, overlap)


def require_new_keys(
    time: InstantTime,
    find_keys: FindKeys,
    concurrent: Mapping[InstantTime, CommitMetadata],
    rewritten: Collection[FileGroupId] = (),
    *,
    ours: Collection[FileGroupId],
) -> None:
    """C5: no commit of the meantime put one of our keys into another file group.

    `rewritten` are file groups that are going to be written again on top of theirs. Which of `ours` holds the key is
    not looked up: an error names those of its partition, or all.

    Cost:   grows with what the others inserted: the footers of those files, and the keys of files that may have ours.
    Raises: WriteConflict naming the first such commit.
    """
    files = {
        file: instant
        for file, instant in files_with_new_keys(concurrent).items()
        if FileGroupId(partition=file.partition, file_id=file.file_id) not in rewritten
    }
    if not files:
        return
    try:
        counts = find_keys(list(files))
    except FileMissing as error:
        gone = next((file for file in files if file.path == error.values.get("path")), next(iter(files)))
        text = "files of another commit are gone already; write again"
        raise conflict_of(text, time, _meeting(gone, files[gone], ours)) from error
    for file, instant in files.items():
        if counts.get(file):
            text = "another commit inserted keys of this write; write again"
            raise conflict_of(text, time, _meeting(file, instant, ours), keys_count=counts[file])


def require_older_targets(time: InstantTime, metadata: CommitMetadata) -> None:
    """C6: every base file that we merged with is older than we are, so that readers see ours on top of it.

    A log file is merged with nothing when it is written; Apache Hudi gives it its own delta commit as the previous one.

    Raises: InternalError.
    """
    merged = (stat for stats in metadata.stats.values() for stat in stats if not stat.is_log)
    for stat in merged:
        if stat.prev_commit not in {None, "null"} and str(stat.prev_commit) >= time:
            raise InternalError("merged with a base file that is not older", instant=time, stat=stat.path)


def require_heartbeat(time: InstantTime, heartbeat: Heartbeat) -> None:
    """C8: our heartbeat got through lately enough that no writer may have taken us for dead.

    Raises: HeartbeatExpired.
    """
    if heartbeat.is_expired():
        raise HeartbeatExpired("no heartbeat of this write got through for too long; write again", instant=time)


def conflict_of(text: str, time: InstantTime, overlap: Overlap, other: str = "other", **more: object) -> WriteConflict:
    """Make the error that names both instants, and both sides' file groups; `other` says what the other one is."""
    return WriteConflict(
        text,
        instant=time,
        **{other: overlap.instant},
        file_groups=_spelled(overlap.groups),
        their_file_groups=_spelled(overlap.their_groups),
        partitions=list(overlap.partitions),
        **more,
    )


def _archived(time: InstantTime, other: InstantTime) -> WriteConflict:
    return WriteConflict("another commit was archived while this write worked; write again", instant=time, other=other)


def _meeting(file: BaseFile, instant: InstantTime, ours: Collection[FileGroupId]) -> Overlap:
    """Pair another writer's file with those of our groups that may hold one of its keys."""
    near = [group for group in ours if group.partition == file.partition] or ours
    return Overlap(
        instant=instant,
        groups=tuple(sorted(near)),
        their_groups=(FileGroupId(partition=file.partition, file_id=file.file_id),),
        partitions=(),
        is_replaced=False,
    )


def _spelled(groups: Iterable[FileGroupId]) -> list[str]:
    return [f"{group.partition}/{group.file_id}" for group in groups]


def _planned(state: TableState, service: Instant) -> Footprint | None:
    """Read what a service is going to touch; None: it must be taken for everything."""
    if service.action not in FILE_SERVICES:
        return None
    try:
        data = read_plan(state, service)
    except FileMissing:
        return None
    if not data:
        return None
    if service.action is Action.CLUSTERING:
        return plan_footprint(service.action, decode_clustering_plan(data, service.file_name).slices)
    return plan_footprint(service.action, decode_compaction_plan(data, service.file_name))


@lru_cache(maxsize=64)
def _columns(schema: str) -> tuple[tuple[str, str], ...]:
    """Return names and types: writers spell the same columns in more than one way."""
    return tuple((field.name, str(field.type)) for field in without_meta_fields(avro_to_arrow(schema)))


def _taken_back(state: TableState, before: Timeline, now: Timeline) -> Iterator[tuple[InstantTime, InstantTime]]:
    """Return (what is taken back, by which instant) of rollbacks that an earlier reading did not show as completed."""
    done = {one.requested_time for one in before.instants if one.action is Action.ROLLBACK and one.is_completed}
    for one in now.instants:
        is_new = one.action is Action.ROLLBACK and one.requested_time not in done
        if is_new and (target := rollback_target(state, one)) is not None:
            yield target, one.requested_time
