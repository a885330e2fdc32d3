"""The active timeline: read it, and move an instant from requested to inflight to completed.

The only module that writes instants. Nothing on the timeline is ever replaced: each state is a file of its own,
created once; the second writer is told so. Times are issued by `timeline.clock`, under the table lock, by the caller.
Start at `load_timeline`; then `request`, `start`, `complete` in this order.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import tzinfo
from functools import lru_cache
from typing import Any, Final

from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    FileMissing,
    HudiError,
    InstantNotFound,
    InvalidInput,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
)
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode
from pyhudi.storage.process import RecentlyUsed
from pyhudi.timeline.clock import format_instant, zone_of
from pyhudi.timeline.codec import (
    decode_commit,
    decode_plan,
    decode_restore_plan,
    decode_rollback_plan,
    is_clustering_plan,
)
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import (
    FILE_ACTIONS,
    WRITE_ACTIONS,
    Action,
    Instant,
    InstantTime,
    State,
    collapse,
    file_name,
    parse_name,
)
from pyhudi.timeline.listing import list_instants
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.restore import RestorePlan
from pyhudi.timeline.rollback import RollbackPlan
from pyhudi.timeline.view import Timeline, timeline_of, without

__all__ = [
    "complete",
    "damaged_rollback_plan",
    "load_timeline",
    "read_commit_metadata",
    "read_completed",
    "read_plan",
    "read_rollback_plan",
    "read_schema_history",
    "read_service_metadata",
    "remove_completed",
    "remove_pending",
    "request",
    "restore_plan",
    "return_to_requested",
    "rollback_target",
    "start",
    "start_savepoint",
    "take_off",
    "timeline_zone",
]

_SCHEMAS: Final = ".hoodie/.schema"
_SCHEMA_COMMIT: Final = re.compile(r"\d+(_\d+)?\.schemacommit")
_EMPTY_READS: Final = 3
_EMPTY_WAIT_S: Final = 0.1
_CACHED_STATS: Final = 50_000
"""How many write stats the cache of decoded commits holds at most, over all tables of this process."""


_decoded: Final = RecentlyUsed[tuple[str, str, str], CommitMetadata](_CACHED_STATS)
"""The commits that were read last."""
_SAID: Final = ("instantTime", "metadata")


def load_timeline(state: TableState, *, is_locked: bool = False) -> Timeline:
    """Read the active timeline as it was at one moment, in either layout.

    Names that are no instant are ignored. A completed instant without a completion time in its name, in layout 1 or
    as a legacy instant in layout 2, has the file's modification time as one. A pending clustering, which layout 1
    calls a replacecommit, is known by its plan. A completed write that a rollback has taken off the timeline is
    left out: its put landed when it was rolled back already. What a restore is taking back is out of sight from its
    request on, all at once. `is_locked` says that the caller holds the table lock.

    Cost:   one listing under the lock, or where the store lists so many names at once, else two or more; twice as many
            where legacy instants are; in layout 1 one read for each pending replacecommit. A read for each restore that
            is not over. What `Past` costs where a completed write has no request beside it.
    Spec:   format/timeline 2.1, 2.2.
    """
    stored = list_instants(state, is_locked=is_locked)
    instants = collapse(stored)
    if not state.layout.has_clustering_action:
        instants = [_told_apart(state, instant) for instant in instants]
    past = Past(state, tuple(one for one in instants if _takes_back(one)))
    known = {(one.requested_time, one.comparable_action) for one in stored if not one.is_completed}
    standing = [one for one in instants if not _landed_late(one, known, past)]
    return without(timeline_of(standing, state.layout, past), _being_restored(state, instants))


def timeline_zone(state: TableState) -> tzinfo:
    """Return the zone in which this table's instants are spelled."""
    return zone_of(state.config.timeline_zone, state.env)


def read_commit_metadata(state: TableState, instant: Instant) -> CommitMetadata:
    """Read what a commit, deltacommit or replacecommit says; the inflight file of a bulk insert may say nothing.

    Completed instants never change, so they are read once a process, as far as a bounded cache reaches.

    Raises: CorruptData naming the file, also where it is completed and empty; FileMissing where layout 1 archived it.
    """
    name = instant.file_name or file_name(instant, state.layout.timeline_layout)
    path = _path(state, name)
    if not instant.is_completed:
        data = state.storage.get(path)
        return decode_commit(data, path) if data else CommitMetadata(operation=WriteOperation.UNKNOWN)
    if not state.storage.traits.is_picklable:
        return decode_commit(_read_completed(state, path), path)
    key = (state.storage.url, path, instant.completion_time or "")
    known = _decoded.get(key)
    if known is None:
        known = decode_commit(_read_completed(state, path), path)
        _decoded.add(key, known, _weight(known))
    return known


def _weight(metadata: CommitMetadata) -> int:
    """Count the write stats and replaced file groups of a commit."""
    stats = sum(len(stats) for stats in metadata.stats.values())
    return 1 + stats + sum(len(ids) for ids in (metadata.replaced or {}).values())


def read_plan(state: TableState, instant: Instant) -> bytes:
    """Read the requested file of an instant in whatever state: a plan's bytes, for `timeline.codec` to decode."""
    requested = replace(instant, state=State.REQUESTED, completion_time=None)
    return state.storage.get(_path(state, file_name(requested, state.layout.timeline_layout)))


def read_rollback_plan(state: TableState, rollback: Instant) -> RollbackPlan:
    """Read the plan of a rollback in whatever state.

    Raises: CorruptData that names the file and says how to go on; FileMissing.
    """
    data = read_plan(state, rollback)
    with damaged_rollback_plan(state, rollback):
        return _rollback_plan(data, rollback.file_name)


@contextmanager
def damaged_rollback_plan(state: TableState, rollback: Instant) -> Iterator[None]:
    """Raise what is wrong with a stored plan as damage, with its file and the way on: it is no fault of the caller."""
    try:
        yield
    except (CorruptData, InvalidInput) as error:
        time = rollback.requested_time
        raise CorruptData(
            f"the plan of a rollback is damaged, and every write needs it: {error.message}; restore the file, or,"
            f" where no process is at this rollback, delete {time}.rollback.requested and {time}.rollback.inflight:"
            " what the next write finds unfinished it plans to take back anew",
            **{**error.values, "file": _path(state, f"{time}.{Action.ROLLBACK}.{State.REQUESTED}")},
        ) from error


def rollback_target(state: TableState, rollback: Instant) -> InstantTime | None:
    """Read which instant a rollback takes back; None where its plan is gone.   Cost: a read; decoded once a process."""
    try:
        return InstantTime(read_rollback_plan(state, rollback).instant)
    except FileMissing:
        return None


def restore_plan(state: TableState, restore: Instant) -> RestorePlan | None:
    """Read what a restore takes back; None where its plan is gone, or was never whole.   Cost: a read."""
    try:
        data = read_plan(state, restore)
    except FileMissing:
        return None
    return decode_restore_plan(data, restore.file_name) if data else None


@lru_cache(maxsize=4_096)
def _rollback_plan(plan: bytes, name: str) -> RollbackPlan:
    decoded = decode_rollback_plan(plan, name)
    is_time = isinstance(decoded.instant, str) and decoded.instant.isascii() and decoded.instant.isdigit()
    if decoded.action not in [*Action] or not is_time:
        raise CorruptData("this is no instant to roll back", instant=decoded.instant, action=decoded.action)
    return decoded


def read_service_metadata(state: TableState, instant: Instant) -> dict[str, Any]:
    """Read what a completed clean, savepoint, restore, rollback or indexing says.

    Raises: CorruptData naming the file, also where it is empty; FileMissing where layout 1 has archived it.
    """
    return decode_plan(read_completed(state, instant), _path(state, instant.file_name))


def read_completed(state: TableState, instant: Instant) -> bytes:
    """Read the file of a completed instant, for `timeline.codec` to decode.

    Raises: FileMissing where layout 1 has archived it.
    """
    return _read_completed(state, _path(state, instant.file_name))


def read_schema_history(state: TableState) -> bytes:
    """Read the newest completed schema commit, which holds all schemas with column ids; empty if there is none.

    Cost: one listing and one read.   Spec: format/files 4.5.
    """
    done = [name for name in state.storage.list_names(_SCHEMAS) if _SCHEMA_COMMIT.fullmatch(name)]
    return state.storage.get(f"{_SCHEMAS}/{max(done)}") if done else b""


def request(state: TableState, instant: Instant, plan_bytes: bytes | None = None) -> Instant:
    """Announce an instant, with the plan where its action has one.

    A file that is found there is another writer's. One that is there after a put that got no answer is ours: only one
    writer has a heartbeat at this time, and no time is issued that the timeline shows.

    Locks:  the table lock is held, and the caller's heartbeat is at this time.
    Raises: PreconditionFailed if the time is taken: issue the next one. PutUnknown, StorageUnavailable: the file may be
            there; it then dies as a pending instant without a heartbeat.
    """
    requested = _named(replace(instant, state=State.REQUESTED, completion_time=None), state)
    _create_pending(state, _path(state, requested.file_name), plan_bytes or b"")
    return requested


def start(state: TableState, instant: Instant, data: bytes = b"", *, is_requested_here: bool = False) -> Instant:
    """Move a requested instant to inflight.

    `data` is what its file holds: a write's encoded profile; nothing for most services and for bulk inserts. A caller
    that requested it under the lock that it still holds (`is_requested_here`) need not look whether that is there.

    Raises: InstantNotFound if the request is gone: another writer rolled it back. PreconditionFailed if it was started.
    """
    requested = _named(replace(instant, state=State.REQUESTED, completion_time=None), state)
    try:
        if not is_requested_here:
            state.storage.head(_path(state, requested.file_name))
    except FileMissing as error:
        raise InstantNotFound(
            "the request of this instant is gone; it was rolled back", instant=requested.file_name
        ) from error
    inflight = _named(replace(requested, state=State.INFLIGHT), state)
    _create_pending(state, _path(state, inflight.file_name), data)
    return inflight


def start_savepoint(state: TableState, time: InstantTime) -> Instant:
    """Make the inflight file of a savepoint, which has no request; one that a dead process left is gone on with.

    Locks: the table lock is held.
    """
    inflight = _named(Instant(requested_time=time, action=Action.SAVEPOINT, state=State.INFLIGHT), state)
    with suppress(PreconditionFailed):
        _create_pending(state, _path(state, inflight.file_name), b"")
    return inflight


def complete(
    state: TableState,
    instant: Instant,
    data: bytes,
    completion_time: InstantTime,
    *,
    claim: Callable[[str, bytes], None] | None = None,
) -> Instant:
    """Publish an instant: what it wrote is visible from here on, to all readers, or not at all.

    `data` is the action's metadata as `timeline.codec` encodes it, with a nonce that no other writer draws: it makes
    the file provably ours, so that a lost reply is settled by reading back, and a second call with the same arguments
    finds it and succeeds. `claim` is called with path and bytes right before. Returns the instant as the next listing
    shows it.

    Locks:  the table lock is held, and the caller has checked that its pending files are still there.
    Raises: PreconditionFailed if another file has the name: in layout 2 take the next millisecond, in layout 1 another
            else completed this instant. CommitUnknown if storage did not say and reading back did not settle it, and
            for whatever goes wrong once the claim was made.
    Spec:   Writer Expectations 4; format/timeline 2.6.
    """
    done = replace(instant, action=instant.comparable_action, state=State.COMPLETED, completion_time=completion_time)
    done = _named(done, state)
    if claim is not None:
        claim(_path(state, done.file_name), data)
    try:
        _create_file(state, done, data)
    except (PreconditionFailed, CommitUnknown):
        raise
    except HudiError as error:
        if claim is None:
            raise
        raise _unknown(done) from error  # decided already: another writer publishes it
    return _as_stored(state, done)


def remove_pending(state: TableState, instant: Instant) -> None:
    """Take a pending instant off the timeline: first its inflight file, then its request.

    The order makes a crash between the two leave a requested instant, which the next rollback finds.
    """
    for pending in (State.INFLIGHT, State.REQUESTED):
        name = file_name(replace(instant, state=pending, completion_time=None), state.layout.timeline_layout)
        state.storage.delete(_path(state, name))


def return_to_requested(state: TableState, instant: Instant) -> None:
    """Take a started instant back to its request, so that it can be started anew; a service's plan stays."""
    name = file_name(replace(instant, state=State.INFLIGHT, completion_time=None), state.layout.timeline_layout)
    state.storage.delete(_path(state, name))


def remove_completed(state: TableState, instant: Instant) -> None:
    """Take the completed file of an instant off the timeline: from here on no reader sees what it says.

    Locks: the table lock is held.
    """
    state.storage.delete(_path(state, instant.file_name))


def take_off(state: TableState, times: Sequence[InstantTime], *, is_completed: bool) -> None:
    """Take writes and their plans off the timeline, in this order: their completed files, or those of pending ones.

    Of a pending one the inflight file goes before the request, as in `remove_pending`.

    Cost: a listing of the timeline.
    """
    found: dict[InstantTime, list[Instant]] = {time: [] for time in times}
    for one in list_instants(state):
        is_kept = one.action not in FILE_ACTIONS and (one.action is not Action.SAVEPOINT or one.is_completed)
        if one.requested_time in found and one.is_completed == is_completed and not is_kept:
            found[one.requested_time].append(one)
    for files in found.values():
        for one in sorted(files, key=lambda one: one.state):  # inflight, then requested
            state.storage.delete(_path(state, one.file_name))


def _path(state: TableState, name: str) -> str:
    return f"{state.layout.timeline_path}/{name}"


def _read_completed(state: TableState, path: str) -> bytes:
    """Read a completed instant's file; an empty one may be one that Apache Hudi on a local disk is filling just now.

    An instant that was archived since the timeline was read is read from the history.
    """
    try:
        for _ in range(_EMPTY_READS):
            data = state.storage.get(path)
            if data:
                return data
            state.env.sleep(_EMPTY_WAIT_S)
        return state.storage.get(path)
    except FileMissing:
        archived = _read_archived(state, path)
        if archived is None:
            raise
        return archived


def _read_archived(state: TableState, path: str) -> bytes | None:
    """Read from the history what a completed instant's file held; None where it has no such instant."""
    instant = parse_name(path.rsplit("/", 1)[-1])
    if instant is None:
        return None
    past, time = Past(state, ()), instant.requested_time
    batches = (one for file in past.files(time, time) for one in past.rows(file, [instant.action], *_SAID))
    return next(
        (row["metadata"] or b"" for one in batches for row in one.to_pylist() if row["instantTime"] == time), None
    )


def _told_apart(state: TableState, instant: Instant) -> Instant:
    if instant.is_completed or instant.action is not Action.REPLACECOMMIT:
        return instant
    try:
        data = read_plan(state, instant)
    except FileMissing:
        return instant
    is_clustering = bool(data) and is_clustering_plan(decode_plan(data, instant.file_name))
    return replace(instant, action=Action.CLUSTERING) if is_clustering else instant


def _being_restored(state: TableState, instants: Sequence[Instant]) -> set[InstantTime]:
    """Return the requested times of what restores take back that are not over.   Cost: a read for each of these."""
    restores = [one for one in instants if one.action is Action.RESTORE and not one.is_completed]
    plans = (restore_plan(state, one) for one in restores)
    return {InstantTime(time) for plan in plans if plan is not None for time, _ in plan.instants}


def _takes_back(instant: Instant) -> bool:
    """Return whether an instant may say of others that they were taken back; a restore is not over until completed."""
    return instant.action is Action.ROLLBACK or (instant.action is Action.RESTORE and instant.is_completed)


def _landed_late(instant: Instant, known: Container[tuple[InstantTime, Action]], past: Past) -> bool:
    """Return whether a completed write came when a rollback had taken its pending files away; `known` have them."""
    is_written = instant.is_completed and instant.action in WRITE_ACTIONS
    key = instant.requested_time, instant.comparable_action
    return is_written and key not in known and not past.was_committed(instant.requested_time)


def _named(instant: Instant, state: TableState) -> Instant:
    return replace(instant, file_name=file_name(instant, state.layout.timeline_layout))


def _create_pending(state: TableState, path: str, data: bytes) -> None:
    """Create a file of a pending instant that the caller's heartbeat keeps from all others."""
    try:
        state.storage.put(path, data, PutMode.CREATE)
    except PutUnknown:
        with suppress(HudiError):
            if state.storage.get(path) == data:
                return
        raise


def _create_file(state: TableState, instant: Instant, data: bytes) -> None:
    """Create the completed file; whatever storage answers, end with a definite result or CommitUnknown."""
    path = _path(state, instant.file_name)
    try:
        state.storage.put(path, data, PutMode.CREATE)
    except HudiError as error:
        stored = _stored(state, path, instant)
        if stored == data:
            return
        if stored is not None or isinstance(error, PreconditionFailed):
            raise PreconditionFailed("another completed file has this name", path=path) from error
        if isinstance(error, (PutUnknown, StorageUnavailable)):
            raise _unknown(instant) from error
        raise


def _stored(state: TableState, path: str, instant: Instant) -> bytes | None:
    try:
        return state.storage.get(path)
    except FileMissing:
        return None
    except (PutUnknown, StorageUnavailable) as error:
        raise _unknown(instant) from error


def _unknown(instant: Instant) -> CommitUnknown:
    return CommitUnknown(
        "storage did not say whether the commit was published; ask table.resolve(instant)",
        instant=str(instant.requested_time),
        action=str(instant.action),
    )


def _as_stored(state: TableState, instant: Instant) -> Instant:
    """Return the instant as the next listing will show it: layout 1 dates it by the file.

    It is published: where storage does not tell the date, the time that was issued stands for it.
    """
    if state.layout.has_completion_times:
        return instant
    try:
        status = state.storage.head(_path(state, instant.file_name))
    except HudiError:
        return instant
    return replace(instant, completion_time=format_instant(status.modified_ms, timeline_zone(state)))
