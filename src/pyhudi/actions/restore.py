"""Go back to an earlier moment: everything that was completed since is taken back. Start at `restore`.

The plan is published first, under the lock; from then on readers see that moment, and no write begins or commits. What
a process that died leaves is finished by the next call, whatever moment that one is for.

Spec: format/timeline 3.8, 10.4; reliability 1.5.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pyhudi.actions.moments import require_readable_at
from pyhudi.errors import HudiError, InvalidInput, SnapshotExpired, WriteConflict
from pyhudi.metadata.state import has_other_layout
from pyhudi.options import Settings
from pyhudi.queries.expired import require_unarchived
from pyhudi.queries.snapshot import Moment
from pyhudi.services.metadata_table import build_metadata_table_again, without_metadata_table
from pyhudi.services.service import ServiceCall, plan_service, run_service, service_call
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, take_off, timeline_zone
from pyhudi.timeline.clock import parse_time
from pyhudi.timeline.codec import decode_restore_plan, encode_restore_metadata, encode_restore_plan
from pyhudi.timeline.instant import FILE_SERVICES, WRITE_ACTIONS, Action, Instant, InstantTime
from pyhudi.timeline.restore import RestoreMetadata, RestorePlan
from pyhudi.timeline.rollback import RollbackMetadata
from pyhudi.timeline.view import Timeline, pending_instants, resolve_as_of
from pyhudi.txn.checks import require_no_restore
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import require_lease
from pyhudi.txn.outcomes import nothing_committed
from pyhudi.txn.recovery.restore import files_to_take_back, take_back
from pyhudi.txn.recovery.rollback import recover_failed_writes

__all__ = ["PlannedRestore", "restore"]

_UNFINISHED: Final = "a restore could not be finished; call it again"
_Taken = Mapping[str, RollbackMetadata]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRestore:
    """What a restore takes back. Units: bytes."""

    target: str
    """The commit that is the newest afterwards."""
    instants: tuple[tuple[str, str], ...] = ()
    """(requested time, action), in the order in which they go; none where the table is at this moment."""
    files: tuple[str, ...] = field(default=(), repr=False)
    """Relative to the base path. Of a restore that another process has begun they are not known."""
    size_bytes: int = 0


def restore(state: TableState, moment: Moment, settings: Settings, *, is_dry_run: bool = False) -> PlannedRestore:
    """Go back to a commit, or to what was the newest at a time; a dry run returns what would go.

    What a restore has left that was not finished is finished first.

    Locks:  takes the table lock to plan, to drop the metadata table, and to complete.
    Cost:   four listings of every directory under the lock, one without it.
    Raises: InstantNotFound; InvalidInput where a savepoint keeps a later commit; SnapshotExpired where files of the
            moment were cleaned, or commits since were archived; WriteConflict while another process restores the table
            or rolls a write back; NotBuilt; LockNotAcquired; StorageUnavailable where it could not be finished.
    """
    service = _Restore(moment=moment)
    with nothing_committed(_UNFINISHED):
        if is_dry_run:
            planned = plan_service(service_call(state, settings), service)
        else:
            with _metadata_table_again(state, settings):
                runs = run_service(service_call(_made_ready(state, service, settings), settings), service)
            planned = runs[-1].plan if runs else None
        return planned or PlannedRestore(target=_target(state, decided_timeline(state), moment).requested_time)


def _made_ready(state: TableState, service: "_Restore", settings: Settings) -> TableState:
    """Take back what dead writers left, and drop the metadata table where it is sure that there is a restore.

    One of another layout cannot be written to, so it goes first.

    Locks:  takes the table lock.
    Raises: as `_Restore.plan`; as `without_metadata_table`.
    """
    with service_call(state, settings).hold() as lease:
        require_lease(lease)
        state = without_metadata_table(state) if has_other_layout(state) else state
        timeline = recover_failed_writes(state, decided_timeline(state), settings, lease)
        is_decided = any(one.action is Action.RESTORE for one in pending_instants(timeline))
        listed = replace(state, config=replace(state.config, metadata_partitions=()))
        if is_decided or service.is_due(service_call(listed, settings), timeline):
            return without_metadata_table(state)
        return state


@contextmanager
def _metadata_table_again(before: TableState, settings: Settings) -> Iterator[None]:
    """Build the metadata table that a table had before, also where the restore is refused after all.

    Not while a restore is pending: the next call finishes it, and takes files away.
    """
    try:
        yield
    except HudiError:
        with suppress(HudiError):
            is_pending = any(one.action is Action.RESTORE for one in pending_instants(load_timeline(before)))
            is_dropped = not open_state(before.storage, before.env).config.metadata_partitions
            if is_dropped and not is_pending:
                build_metadata_table_again(before, settings)
        raise
    build_metadata_table_again(before, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restore:
    """The service of one restore."""

    moment: Moment
    action: Action = Action.RESTORE
    is_shareable: bool = True

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether there is a newer commit."""
        return self.plan(call, timeline) is not None

    def plan(self, call: ServiceCall, timeline: Timeline) -> PlannedRestore | None:
        """Return what goes; None where the table is at this moment."""
        state = call.state
        require_no_restore(state, timeline)
        target = _target(state, timeline, self.moment)
        gone = [*_pending_after(timeline, target), *_completed_after(timeline, target)]
        if not gone:
            return None
        _require_ours_to_take(timeline, target, gone)
        require_readable_at(state, timeline, target)
        found = files_to_take_back(state, [one.requested_time for one in gone])
        sizes = {path: size for files in found.values() for path, size in files.items()}
        return PlannedRestore(
            target=target.requested_time,
            instants=tuple((one.requested_time, str(one.action)) for one in gone),
            files=tuple(sorted(sizes)),
            size_bytes=sum(sizes.values()),
        )

    def encode_plan(self, call: ServiceCall, plan: PlannedRestore, nonce: bytes) -> bytes:
        """Format the requested file."""
        return encode_restore_plan(RestorePlan(instants=plan.instants, target=plan.target), nonce)

    def decode_plan(self, data: bytes, file_name: str) -> PlannedRestore:
        """Read the requested file, also of Apache Hudi."""
        stored = decode_restore_plan(data, file_name)
        return PlannedRestore(target=stored.target or "", instants=stored.instants)

    def run(self, call: ServiceCall, instant: Instant, plan: PlannedRestore) -> _Taken:
        """Take the instants back; no metadata table lists what goes, also none that was built before the plan stood."""
        with call.hold() as lease:
            require_lease(lease)
            without_metadata_table(call.state)
        return take_back(call.state, instant, plan.instants, call.settings)

    def commit(
        self, call: ServiceCall, instant: Instant, plan: PlannedRestore, done: _Taken
    ) -> Callable[[bytes], bytes]:
        """Take away what came late, and return what formats what was done."""
        times = [InstantTime(time) for time, _ in plan.instants]
        for is_completed in (True, False):
            take_off(call.state, times, is_completed=is_completed)
        metadata = RestoreMetadata(
            start_time=instant.requested_time,
            time_taken_ms=sum(one.time_taken_ms for one in done.values()),
            instants=plan.instants,
            rollbacks={time: (said,) for time, said in done.items()},
        )
        return partial(encode_restore_metadata, metadata)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Do nothing: a restore writes no file."""


def _target(state: TableState, timeline: Timeline, moment: Moment) -> Instant:
    """Find the commit that a moment means, as `as_of` does."""
    zone = timeline_zone(state)
    if not (isinstance(moment, str) and moment in timeline.completed):
        require_unarchived(timeline, parse_time(moment, zone))
    return resolve_as_of(timeline, moment, zone)


def _completed_after(timeline: Timeline, target: Instant) -> list[Instant]:
    """Return what was completed since, newest first."""

    def order(one: Instant) -> tuple[str, str]:
        return timeline.point(one), one.requested_time

    later = [one for one in timeline.completed.values() if order(one) > order(target)]
    return sorted(later, key=order, reverse=True)


def _pending_after(timeline: Timeline, target: Instant) -> list[Instant]:
    """Return all pending writes, which no writer may commit any more, and the later plans of services, newest first."""
    pending = [
        one
        for one in pending_instants(timeline)
        if one.action in WRITE_ACTIONS or (one.action in FILE_SERVICES and one.requested_time > target.requested_time)
    ]
    return sorted(pending, key=lambda one: (one.action is Action.CLUSTERING, one.requested_time), reverse=True)


def _require_ours_to_take(timeline: Timeline, target: Instant, gone: list[Instant]) -> None:
    """Check that nothing keeps an instant that is to go, and that no commit since is out of reach."""
    times = {one.requested_time for one in gone}
    for one in timeline.instants:
        if one.action is Action.SAVEPOINT and one.is_completed and one.requested_time in times:
            raise InvalidInput(
                "a savepoint keeps a later commit; delete it with table.delete_savepoint(savepoint), or restore to it",
                target=target.requested_time,
                savepoint=one.requested_time,
            )
        if one.action is Action.ROLLBACK and not one.is_completed:
            raise WriteConflict("another process rolls a write back; try again", rollback=one.requested_time)
    if timeline.archive.completed_after(timeline.point(target)):
        raise _out_of_reach(target)


def _out_of_reach(target: Instant) -> SnapshotExpired:
    return SnapshotExpired(
        "commits since this moment were archived, and cannot be taken back; write what was there:"
        " table.insert_overwrite_table(table.scan(as_of=target))",
        target=target.requested_time,
    )
