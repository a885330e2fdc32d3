"""Begin and commit one action: the spec's critical sections, in order.

`begin` issues the instant under the table lock: snapshot first, then a time later than everything in it, heartbeat,
requested file. `Txn.commit` takes the lock again, looks who finished meanwhile, and publishes by one atomic create.
Between the two nothing is held. A failed action is rolled back by its owner; what cannot be known is said
(`CommitUnknown`), never guessed. Start at `begin`.

Spec: Writer Expectations; format/timeline 2.6, 8.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from types import TracebackType
from typing import Final, Self

from pyhudi.errors import (
    HeartbeatExpired,
    InstantNotFound,
    InternalError,
    LockNotAcquired,
    OutcomeUnknown,
    PreconditionFailed,
    WriteConflict,
)
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import complete, load_timeline, read_commit_metadata, request, start, timeline_zone
from pyhudi.timeline.clock import next_instant_time, wait_until_past
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, completed_after, find_instant, newest_time
from pyhudi.txn.conflicts import find_conflict, footprint
from pyhudi.txn.heartbeat import beating, stop_beating
from pyhudi.txn.locks import Lease, lock_for
from pyhudi.txn.markers import delete_markers, reconcile

__all__ = ["Txn", "begin"]

_NONCE_BYTES: Final = 16
_LEASE_MARGIN_MS: Final = 5_000


@dataclass(slots=True)
class Txn:
    """One action under way: what it saw, and the instant it was given."""

    state: TableState
    settings: Settings
    snapshot: Timeline
    """The timeline as it was before the instant was issued."""
    instant: Instant
    _alive: ExitStack = field(repr=False)
    _undo: Callable[[TableState, Instant, Settings], None] = field(repr=False)

    @property
    def time(self) -> InstantTime:
        """Give the requested time: rows and file names carry it."""
        return self.instant.requested_time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the heartbeat; an action that failed for sure is rolled back here, by its owner.

        After an unknown outcome nothing is undone: the commit may stand. A dying process (no `Exception`) undoes
        nothing either; the next writer does.
        """
        with self._alive:
            if not isinstance(error, Exception) or isinstance(error, OutcomeUnknown | HeartbeatExpired):
                return
            if not self.instant.is_completed:
                self._undo(self.state, self.instant, self.settings)

    def start(self, profile: CommitMetadata | None) -> None:
        """Announce what is about to be written: the inflight file with the workload profile.

        Raises: HeartbeatExpired if somebody rolled the request back.
        """
        try:
            self.instant = start(self.state, self.instant, profile)
        except (InstantNotFound, PreconditionFailed) as error:
            raise HeartbeatExpired("another writer took this write for dead; write again", instant=self.time) from error

    def commit(self, metadata: CommitMetadata) -> Instant:
        """Check against who finished meanwhile, and publish.

        Locks:  takes the table lock.
        Raises: WriteConflict, HeartbeatExpired (rolled back by someone), LockNotAcquired, CommitUnknown.
        Spec:   Writer Expectations 3, 4.
        """
        reconcile(self.state, self.time, metadata)
        with lock_for(self.state, self.settings).hold() as lease:
            now = load_timeline(self.state)
            self._require_alive(now)
            self._require_same_table()
            self._require_no_conflict(now, metadata)
            _require_lease(lease)
            self.instant = self._publish(now, metadata)
            wait_until_past(self.state.env, _completion(self.instant), self._zone())
        delete_markers(self.state, self.time)
        stop_beating(self.state, self.time)
        return self.instant

    def _publish(self, now: Timeline, metadata: CommitMetadata) -> Instant:
        """Create the completed instant; in layout 2 a taken name means the next millisecond."""
        env = self.state.env
        newest = max(newest_time(now) or self.time, self.time)
        while True:
            completion = next_instant_time(env, newest, self._zone())
            try:
                return complete(self.state, self.instant, metadata, completion, env.random_bytes(_NONCE_BYTES))
            except PreconditionFailed as error:
                if not self.state.layout.has_completion_times:
                    raise InternalError("somebody completed our instant", instant=self.time) from error
                newest = completion

    def _require_alive(self, now: Timeline) -> None:
        """C1: our pending instant is still there, and nobody rolls it back."""
        mine = find_instant(now, self.time)
        if mine is None or mine.is_completed:
            raise HeartbeatExpired(
                "this write was rolled back by another writer that took it for dead; write again", instant=self.time
            )

    def _require_same_table(self) -> None:
        """The table is still what we wrote for: nobody changed its properties in a way that matters."""
        fresh = open_state(self.state.storage, self.state.env)
        ours, theirs = self.state.config, fresh.config
        if replace(ours, properties={}) != replace(theirs, properties={}):
            raise WriteConflict("the table's properties changed during this write; open it again", instant=self.time)
        require_writable(theirs, fresh.layout)

    def _require_no_conflict(self, now: Timeline, metadata: CommitMetadata) -> None:
        """C2 and C6: nobody wrote our file groups, and every base file we merged with is older than we are."""
        seen = frozenset(self.snapshot.completed)
        concurrent = {
            other.requested_time: footprint(read_commit_metadata(self.state, other))
            for other in completed_after(now, seen)
        }
        overlap = find_conflict(footprint(metadata), concurrent)
        if overlap is not None:
            raise WriteConflict(
                "another commit touched the same file groups; write again",
                instant=self.time,
                other=overlap.instant,
                file_groups=[f"{group.partition}/{group.file_id}" for group in overlap.groups],
                partitions=list(overlap.partitions),
            )
        for stats in metadata.stats.values():
            for stat in stats:
                if stat.prev_commit not in {None, "null"} and str(stat.prev_commit) >= self.time:
                    raise InternalError("merged with a base file that is not older", instant=self.time, stat=stat.path)

    def _zone(self) -> tzinfo:
        return timeline_zone(self.state)


def begin(
    state: TableState,
    action: Action,
    settings: Settings,
    *,
    plan: bytes = b"",
    recover: Callable[[TableState, Timeline, Settings], Timeline],
    undo: Callable[[TableState, Instant, Settings], None],
) -> Txn:
    """Issue an instant and request it.

    `recover` settles what dead writers left and gives the timeline after it; `undo` rolls our own instant back.

    Locks:  takes the table lock; it is let go only when the clock is past the time issued.
    Raises: NotBuilt, Unsupported, LockNotAcquired, ClockBehindTimeline.
    """
    alive = ExitStack()
    zone = timeline_zone(state)
    with lock_for(state, settings).hold() as lease, ExitStack() as on_error:
        on_error.enter_context(alive)
        snapshot = recover(state, load_timeline(state), settings)
        while True:
            time = next_instant_time(state.env, newest_time(snapshot), zone)
            _require_lease(lease)
            alive.enter_context(beating(state, time, settings))
            instant = Instant(requested_time=time, action=action, state=State.REQUESTED)
            try:
                instant = request(state, instant, plan)
                break
            except PreconditionFailed:
                alive.close()
                wait_until_past(state.env, time, zone)
        wait_until_past(state.env, time, zone)
        on_error.pop_all()
    return Txn(state, settings, snapshot, instant, alive, undo)


def _completion(instant: Instant) -> InstantTime:
    return instant.completion_time or instant.requested_time


def _require_lease(lease: Lease) -> None:
    """C8, as far as it can be known: stop before the lock may have ended."""
    remaining_ms = lease.remaining_ms()
    if remaining_ms is not None and remaining_ms < _LEASE_MARGIN_MS:
        raise LockNotAcquired(
            "the table lock is about to end before the commit is published", remaining_ms=remaining_ms
        )
