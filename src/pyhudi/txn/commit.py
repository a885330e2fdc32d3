"""Begin and commit one action: the spec's critical sections, in order.

`begin` issues the instant under the table lock: snapshot first, then a time later than everything in it, heartbeat,
requested file. `Txn.commit` takes the lock again, compares with the commits of the meantime, and publishes by one
atomic create. Between the two nothing is held. A failed action is rolled back by its owner; what cannot be known is
said (`CommitUnknown`), never guessed. Start at `begin`.

Spec: Writer Expectations; format/timeline 2.6, 8.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from pyhudi.errors import (
    ClockBehindTimeline,
    CommitUnknown,
    CorruptData,
    FileMissing,
    HeartbeatExpired,
    HudiError,
    InstantNotFound,
    PreconditionFailed,
    WriteConflict,
)
from pyhudi.filegroup.model import FileGroupId
from pyhudi.metadata.table.commit import MetadataCommit
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import (
    complete,
    load_timeline,
    read_commit_metadata,
    remove_pending,
    start,
)
from pyhudi.timeline.codec import encode_commit, encode_profile
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, completed_after, find_instant, newest_time
from pyhudi.txn.checks import (
    Proposal,
    overlap_conflict,
    read_concurrent,
    require_alive,
    require_heartbeat,
    require_new_keys,
    require_no_restore,
    require_no_service,
    require_older_targets,
    require_reads_unchanged,
    require_same_schema,
    require_same_table,
)
from pyhudi.txn.concurrency_mode import is_pessimistic, require_single_writer, require_supported_mode
from pyhudi.txn.conflicts import (
    ConflictRules,
    Footprint,
    Overlap,
    can_retry_in_place,
    files_with_new_keys,
    find_overlaps,
    footprint,
    footprints,
    rules_for,
)
from pyhudi.txn.early import EARLY_DETECTION, require_no_rival, require_untouched
from pyhudi.txn.fence import Fence, decided_timeline, fence_of
from pyhudi.txn.group_locks import GroupLocks
from pyhudi.txn.locks import lock_for, require_lease
from pyhudi.txn.recovery.announce import announce
from pyhudi.txn.recovery.heartbeat import Heartbeat, stop_heartbeat
from pyhudi.txn.recovery.markers import delete_markers, reconcile
from pyhudi.txn.recovery.rollback import recover_failed_writes, roll_back_own
from pyhudi.txn.times import times_for

__all__ = ["Committed", "Superseded", "Txn", "begin"]

_log = logging.getLogger("pyhudi.txn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The action is published."""

    instant: Instant
    is_compaction_due: bool = False
    """The metadata table is to be compacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """Commits that began before this action rewrote some of its file groups: a retry in place settles it.

    Readers see the action on top of them once those groups are written again, on what they hold now.
    """

    timeline: Timeline
    """What the action reads from now on."""
    groups: frozenset[FileGroupId]
    revision: int
    """How often the plan was changed by now: new files must not have the names of those they replace."""
    conflict: WriteConflict
    """What to raise where the groups cannot be written again."""


@dataclass(slots=True)
class Txn:
    """One action under way: what it saw, and the instant it was given."""

    state: TableState
    settings: Settings
    snapshot: Timeline
    """The timeline as it was before the instant was issued."""
    instant: Instant
    heartbeat: Heartbeat = field(repr=False)
    _alive: ExitStack = field(repr=False)
    _locks: GroupLocks = field(repr=False)
    revision: int = 0
    """How often something was written again under this instant."""

    @property
    def time(self) -> InstantTime:
        """Return the requested time: rows and file names carry it."""
        return self.instant.requested_time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the heartbeat; an action that was not published for sure is rolled back here, by its owner.

        After an unknown outcome nothing is undone: the commit may stand. A dying process (no `Exception`) undoes
        nothing either; the next writer does.

        Raises: in place of FileMissing what made the file go: HeartbeatExpired where another writer had rolled the
                action back, WriteConflict where others have committed since, and a cleaner may have run.
        """
        is_dying = error is not None and not isinstance(error, Exception)
        if is_dying or isinstance(error, CommitUnknown) or self.instant.is_completed:
            self._alive.close()
            return
        reason = None
        try:
            is_taken_back = roll_back_own(self.state, self.instant, self.settings)
            self._alive.close()
            stop_heartbeat(self.state, self.time)
            reason = self._reason(is_taken_back) if isinstance(error, FileMissing) else None
        except HudiError as failure:
            _say(error, f"instant {self.time} could not be rolled back now; the next writer will do it: {failure}")
        finally:
            self._alive.close()
        if reason is not None:
            try:
                raise reason from error
            finally:
                del reason  # it holds this frame

    def _reason(self, is_taken_back: bool) -> HudiError | None:
        """Return why a file of this action, or one that it reads, is gone; None if no other writer did anything."""
        if is_taken_back:
            return _taken_for_dead(self.time)
        others = completed_after(load_timeline(self.state), frozenset(self.snapshot.completed))
        if not others:
            return None
        text = "a file that this write reads is gone, and others have committed meanwhile; write again"
        return WriteConflict(text, instant=self.time, others=[one.requested_time for one in others])

    def start(
        self,
        profile: CommitMetadata | None,
        groups: Collection[FileGroupId] = (),
        appended: Collection[FileGroupId] = (),
    ) -> None:
        """Announce what is about to be written: the inflight file with the workload profile.

        `groups` are the file groups that are going to be written or replaced, `appended` those of them that only get
        log files. Where the mode is pessimistic they are locked from here to the end of the write, however often it is
        begun; where conflicts are looked for early, they are looked for here.

        Raises: HeartbeatExpired if another writer rolled the request back; WriteConflict, LockNotAcquired.
        """
        is_early = self.settings.get(EARLY_DETECTION)
        ours = Footprint(groups=frozenset(groups), appended=frozenset(appended))
        if is_pessimistic(self.settings):
            self._locks.hold(self.state, self.settings, groups)
        if is_early or is_pessimistic(self.settings):
            require_untouched(self.state, self.time, self.snapshot, ours, self.settings)
        if is_early:
            require_no_rival(self.state, self.time, ours, self.settings)
        try:
            data = encode_profile(profile, self.state.layout.timeline_layout, self.state.env.nonce())
            self.instant = start(self.state, self.instant, data)
        except (InstantNotFound, PreconditionFailed) as error:
            raise _taken_for_dead(self.time) from error

    def commit(self, proposal: Proposal) -> Committed | Superseded:
        """Check against the commits that were published meanwhile, and publish.

        Where others inserted rows meanwhile, our keys are looked for in their files without the lock, which is then
        taken once more; inside it only what came after is left to look into. Once the commit is published nothing
        fails any more: what cannot be tidied up is left to the next writer.

        Locks:  takes the table lock.
        Raises: WriteConflict, HeartbeatExpired (rolled back by another writer), LockNotAcquired: only a new instant
                helps. CommitUnknown.
        Spec:   Writer Expectations 3, 4.
        """
        reconcile(self.state, self.time, proposal.metadata)
        ours, seen = footprint(proposal.metadata), frozenset[InstantTime]()
        changes = MetadataCommit(self.time, proposal.records, self.settings)
        with suppress(CorruptData, FileMissing):  # where it is dropped just now, the lock's holder looks again
            changes.prepare(self.state, self.snapshot, revision=self.revision, read=proposal.metadata_table)
        while True:
            with lock_for(self.state, self.settings).hold() as lease:
                fence = fence_of(self.state)
                now = load_timeline(self.state, is_locked=True)
                require_alive(self.state, self.time, self.snapshot, now)
                table = require_same_table(self.state, self.time)
                is_prepared = changes.fits(table, now)
                concurrent = self._concurrent(now)
                require_no_service(self.state, self.time, now, ours, self._rules)
                overlaps = find_overlaps(self.time, ours, footprints(concurrent), self._rules)
                unseen = {} if overlaps else {one: concurrent[one] for one in concurrent if one not in seen}
                is_searched = bool(seen) or proposal.find_keys is None or not files_with_new_keys(unseen)
                if not overlaps and is_searched and is_prepared:
                    self._require_the_rest(proposal, now, unseen)
                    require_lease(lease)
                    require_heartbeat(self.time, self.heartbeat)
                    self.instant = self._publish(now, proposal.metadata, fence, changes)
                    self._wait()
                    break
            if overlaps:
                changes.withdraw(self.state)
                return self._superseded(proposal, now, concurrent, overlaps)
            if not is_prepared:
                changes.prepare(table, now, revision=self.revision)
                continue
            assert proposal.find_keys is not None, "there was something to search for"
            require_new_keys(self.time, proposal.find_keys, unseen, ours=ours.groups)
            seen = frozenset(concurrent)
        self._tidy()
        return Committed(instant=self.instant, is_compaction_due=changes.is_compaction_due)

    def _superseded(
        self,
        proposal: Proposal,
        now: Timeline,
        concurrent: Mapping[InstantTime, CommitMetadata],
        overlaps: Sequence[Overlap],
    ) -> Superseded:
        """Return which file groups to write again; what the others did then counts as seen.

        Raises: WriteConflict where only a new instant helps.
        """
        ours = footprint(proposal.metadata)
        conflict = overlap_conflict(self.time, overlaps[0])
        if ours.replaced or ours.overwritten or not can_retry_in_place(self.time, overlaps):
            raise conflict
        groups = frozenset(group for overlap in overlaps for group in overlap.groups)
        self._require_the_rest(proposal, now, concurrent, groups)
        self.snapshot, self.revision = now, self.revision + 1
        return Superseded(timeline=now, groups=groups, revision=self.revision, conflict=conflict)

    @property
    def _rules(self) -> ConflictRules:
        return rules_for(self.settings, self.state)

    def _concurrent(self, now: Timeline) -> dict[InstantTime, CommitMetadata]:
        return read_concurrent(self.state, self.time, self.snapshot, now)

    def _require_the_rest(
        self,
        proposal: Proposal,
        now: Timeline,
        unseen: Mapping[InstantTime, CommitMetadata],
        rewritten: Collection[FileGroupId] = (),
    ) -> None:
        """Check the action against all but its own file groups; `unseen` are those whose keys are not known yet."""
        if proposal.read_set is not None:
            require_reads_unchanged(self.time, proposal.read_set, footprints(self._concurrent(now)))
        require_same_schema(self.state, self.time, self.snapshot, now, proposal.metadata)
        require_older_targets(self.time, proposal.metadata)
        if proposal.find_keys is not None:
            ours = footprint(proposal.metadata).groups
            require_new_keys(self.time, proposal.find_keys, unseen, rewritten, ours=ours)

    def _publish(
        self, now: Timeline, metadata: CommitMetadata, fence: Fence | None, changes: MetadataCommit
    ) -> Instant:
        """Complete the metadata table's delta commit, then ours; where a name is taken, in the next millisecond."""
        env, times = self.state.env, times_for(self.state, self.settings)
        layout = self.state.layout.timeline_layout
        newest, claim = max(newest_time(now) or self.time, self.time), None if fence is None else fence.claim_commit
        if not changes.is_empty:
            newest = times.issue(newest)
            changes.publish(self.state, now, newest)
        while True:
            completion = times.issue(newest)
            try:
                data = encode_commit(metadata, layout, env.nonce())
                return complete(self.state, self.instant, data, completion, claim=claim)
            except PreconditionFailed as error:
                if not self.state.layout.has_completion_times:
                    raise self._displaced() from error
                newest = completion

    def _displaced(self) -> WriteConflict:
        """Delete our files, which another writer's completed instant of our time would make visible."""
        self.instant = find_instant(load_timeline(self.state), self.time) or self.instant
        if self.instant.is_completed:
            reconcile(self.state, self.time, read_commit_metadata(self.state, self.instant))
        return WriteConflict("another writer completed an instant of the same time; write again", instant=self.time)

    def _wait(self) -> None:
        """Keep the lock until our completion time cannot be issued again; file dates of layout 1 are not issued."""
        if self.state.layout.has_completion_times and self.instant.completion_time is not None:
            try:
                times_for(self.state, self.settings).settle(self.instant.completion_time)
            except ClockBehindTimeline as error:
                _say(None, f"instant {self.time} is committed, but the clock went back: {error}")

    def _tidy(self) -> None:
        self._alive.close()
        try:
            delete_markers(self.state, self.time)
            stop_heartbeat(self.state, self.time)
        except HudiError as error:
            _say(None, f"instant {self.time} is committed; the next writer removes its markers: {error}")


def begin(
    state: TableState,
    action: Action,
    settings: Settings,
    *,
    plan: bytes = b"",
    group_locks: GroupLocks | None = None,
) -> Txn:
    """Issue an instant and request it.

    What dead writers left is rolled back first. `group_locks` are the caller's, where they are to outlast the action.

    Locks:  takes the table lock, for as long as the time that is issued needs.
    Raises: NotBuilt, Unsupported, WriteConflict (another table than was opened, or one that is being restored),
            LockNotAcquired, ClockBehindTimeline.
    """
    require_supported_mode(settings)
    times = times_for(state, settings)
    alive = ExitStack()
    with ExitStack() as unheld:
        unheld.push(alive)  # nothing else would end it, should the lock fail to let go
        with lock_for(state, settings).hold() as lease, ExitStack() as on_error:
            on_error.push(alive)
            require_lease(lease)  # to wait for the lock may have taken longer than it is given for
            require_same_table(state)
            decided = decided_timeline(state)
            require_no_restore(state, decided)
            snapshot = recover_failed_writes(state, decided, settings, lease)
            require_single_writer(state, snapshot, settings)
            announced, newest = None, newest_time(snapshot)
            while announced is None:
                time = newest = times.issue(newest)
                require_lease(lease)
                wanted = Instant(requested_time=time, action=action, state=State.REQUESTED)
                announced = announce(state, wanted, plan, settings, alive)
            instant, heartbeat = announced
            on_error.callback(_withdraw, state, instant)
            times.settle(instant.requested_time)
            on_error.pop_all()
        unheld.pop_all()
    locks = alive.enter_context(GroupLocks()) if group_locks is None else group_locks
    return Txn(state, settings, snapshot, instant, heartbeat, alive, locks)


def _taken_for_dead(time: InstantTime) -> HeartbeatExpired:
    return HeartbeatExpired("another writer took this write for dead; write again", instant=time)


def _withdraw(state: TableState, instant: Instant) -> None:
    """Take back a request under which nothing was written."""
    with suppress(HudiError):
        remove_pending(state, instant)
        stop_heartbeat(state, instant.requested_time)


def _say(error: BaseException | None, text: str) -> None:
    """Add a note to the error that is on its way; log it where there is none."""
    if error is None:
        _log.warning(text)
    else:
        error.add_note(text)
