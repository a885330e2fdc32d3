"""Ways to break the code on purpose: each takes one protection away, and the explorer must see what it was good for.

A mutant changes names of modules while a hunt goes on; the scenario in which it shows, and how to search it, stand
beside it. Start at `MUTANTS`.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from unittest.mock import patch

from pyhudi.errors import PreconditionFailed, StorageUnavailable
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.instant import Action, State
from pyhudi.timeline.view import as_of_requested, newest_time
from pyhudi.txn import commit, group_locks
from pyhudi.txn.fence import Verdict
from pyhudi.txn.times import times_for

RUNS = 300
"""How many runs a way of searching has to show it."""


@dataclass(frozen=True)
class Mutant:
    """One protection less."""

    name: str
    scenario: str
    changes: tuple[tuple[str, Callable], ...]
    """(dotted name, function from what is there to what is put there)."""
    ways: tuple[str, ...] = ("pct3", "uniform")
    seed: int = 1
    """With which it shows soon."""

    @contextmanager
    def at_work(self):
        """Run with the change in force."""
        with ExitStack() as stack:
            for target, make in self.changes:
                stack.enter_context(patch(target, make(_found(target))))
            yield


def _found(target):
    owner, _, name = target.rpartition(".")
    try:
        return getattr(sys.modules[owner], name)
    except KeyError:
        module, _, holder = owner.rpartition(".")
        return getattr(getattr(sys.modules[module], holder), name)


def off(_):
    """Check nothing, do nothing."""
    return lambda *_, **__: None


def always(value):
    """Give the same answer whatever is asked."""
    return lambda _: lambda *_, **__: value


def _off_in(*callers):
    """Check nothing where these functions ask."""

    def make(check):
        def chosen(*given, **more):
            return None if sys._getframe(1).f_code.co_name in callers else check(*given, **more)

        return chosen

    return make


def _without(*left_out):
    return lambda found: found.difference(left_out)


class _NoLock:
    """Held by everybody at once."""

    def hold(self):
        return nullcontext(_NoLease())


class _NoLease:
    def remaining_ms(self):
        return None


def _lock_off_in(*callers):
    """Give no lock to these functions; to all where none is named."""

    def make(lock_for):
        def chosen(state, settings):
            caller = sys._getframe(1).f_code.co_name
            return lock_for(state, settings) if callers and caller not in callers else _NoLock()

        return chosen

    return make


def _footprint_with(**changed):
    return lambda footprint: lambda metadata: replace(footprint(metadata), **changed)


def _footprint_without_replaced(footprint):
    return lambda metadata: footprint(replace(metadata, replaced=None))


def _without_replacements(completed_after):
    return lambda *given: tuple(one for one in completed_after(*given) if one.action is not Action.REPLACECOMMIT)


def _begun_later_only(concurrent):
    """See only those who began after us; who began before and completed meanwhile is missed."""

    def found(txn, now):
        return {instant: what for instant, what in concurrent(txn, now).items() if instant > txn.time}

    return found


def _snapshot_late(begin):
    def begun(state, *given, **more):
        txn = begin(state, *given, **more)
        txn.snapshot = load_timeline(state)
        return txn

    return begun


def _time_drawn_early(commit):
    """Draw the completion time before the lock is taken."""

    def committed(txn, proposal):
        times = times_for(txn.state, txn.settings)
        early = [times.issue(max(newest_time(load_timeline(txn.state)) or txn.time, txn.time))]

        class Early:
            settle = times.settle

            def issue(self, newest):
                return early.pop() if early else times.issue(newest)

        with patch("pyhudi.txn.commit.times_for", lambda *_: Early()):
            return commit(txn, proposal)

    return committed


def _clock_only(_):
    """Issue whatever the clock says, without a look at the timeline."""
    return lambda times, _: format_instant(times.env.now_ms(), times.zone)


def _unpublished_looks_pending(find_instant):
    """Take a completed instant for one that can still be rolled back."""

    def found(*given):
        one = find_instant(*given)
        return None if one is None else replace(one, state=State.INFLIGHT, completion_time=None)

    return found


def _as_unavailable(_):
    return lambda instant: StorageUnavailable("the store did not answer", instant=str(instant.requested_time))


def _swap_is_put(_):
    def swap(storage, path, data, version):
        storage.put(path, data)
        return storage._run.disk.inode(path)

    return swap


def _create_is_put(put):
    return lambda storage, path, data, mode=PutMode.OVERWRITE: put(storage, path, data)


def _nothing_written(stored_status):
    return lambda *given: replace(stored_status(*given), path="")


def _last_left_out(to_statuses):
    return lambda table: to_statuses(table)[:-1]


def _others_may_be_later(_):
    """Save in place also beside those who began after us, and on top of whom readers would not see us."""
    return lambda time, overlaps: bool(overlaps) and not any(one.is_replaced or one.partitions for one in overlaps)


def _first_revision(mend):
    return lambda **said: mend(**{**said, "revision": 0})


def _one_token(_):
    return lambda bucket, plan_revision: "0-0-0"


def _request_first(_):
    """Request, then beat."""

    def announced(state, wanted, plan, settings, alive):
        try:
            instant = commit.request(state, wanted, plan)
        except PreconditionFailed:
            return None
        return instant, alive.enter_context(commit.beating(state, wanted.requested_time, settings))

    return announced


def _in_any_order(_):
    """Take the locks of file groups in an order of one's own."""

    def hold(locks, state, settings, groups):
        is_backwards = state.env.random_bytes(1) > b"\x80"
        resolution, table_lock = group_locks.resolution_for(settings), group_locks.lock_for(state, settings)
        numbers = {group_locks.lock_number(group, resolution) for group in groups} - locks._numbers
        for number in sorted(numbers, reverse=is_backwards):
            locks._held.enter_context(group_locks.group_lock(state, settings, table_lock, number))
        locks._numbers |= numbers

    return hold


def _unmarked(_):
    """Put no marker that tells of a file."""
    return lambda instant, path, kind: f".hoodie/.temp/{instant}/{path.rsplit('/', 1)[-1]}"


def _forgetful(_):
    """Put no new key into a filter that is there."""
    return lambda bloom, keys: bloom


def _narrow(key_values):
    """Say that a file ends with its first key."""
    return lambda **said: key_values(**{**said, "max_key": said["min_key"]})


def _larger(stat):
    return lambda status: replace(stat(status), file_size_in_bytes=status.size_bytes + 1)


COMMIT = "pyhudi.txn.commit"
ROLLBACK = "pyhudi.actions.rollback"
CHECKS = "pyhudi.txn.checks"
UNGUARDED = (f"{COMMIT}.lock_for", _lock_off_in())

MUTANTS = (
    Mutant("no check of file groups", "count-count", ((f"{COMMIT}.require_no_conflict", off),)),
    Mutant("no lock", "count-count", (UNGUARDED,)),
    Mutant("no lock to commit", "count-count", ((f"{COMMIT}.lock_for", _lock_off_in("commit")),), seed=2),
    Mutant("no lock to begin", "two-recover", ((f"{COMMIT}.lock_for", _lock_off_in("begin")),)),
    Mutant("flock excludes nobody", "count-count", (("tests.simulation.explorer.kernel.Run.is_free", always(True)),)),
    Mutant(
        "snapshot after begin, targets unchecked",
        "count-count",
        ((f"{COMMIT}.require_older_targets", off), ("pyhudi.actions.opening.begin", _snapshot_late)),
    ),
    Mutant("completion time drawn outside the lock", "update-apart", ((f"{COMMIT}.Txn.commit", _time_drawn_early),)),
    Mutant("times by the clock alone", "clock-back", (("pyhudi.txn.times.HybridTimes.issue", _clock_only),)),
    Mutant("not asked whether we are alive", "roll-back-live", ((f"{COMMIT}.require_alive", off),)),
    Mutant("concurrent writers are not seen", "count-count", ((f"{COMMIT}.completed_after", always(())),)),
    Mutant(
        "writers that began before us are not seen", "count-count", ((f"{COMMIT}.Txn._concurrent", _begun_later_only),)
    ),
    Mutant("replacements are not seen", "drop-update", ((f"{COMMIT}.completed_after", _without_replacements),)),
    Mutant("replaced file groups do not count", "drop-update", ((f"{COMMIT}.footprint", _footprint_without_replaced),)),
    Mutant(
        "overwritten partitions do not count",
        "overwrite-new-insert",
        ((f"{COMMIT}.footprint", _footprint_with(overwritten=frozenset())),),
    ),
    Mutant("no check of inserted keys", "insert-same-key", ((f"{COMMIT}.require_new_keys", off),)),
    Mutant("412 taken for a loss", "lost-reply", (("pyhudi.timeline.active._stored", always(b"another's")),), ("all",)),
    Mutant("unknown taken for a failure", "outage", (("pyhudi.timeline.active._unknown", _as_unavailable),), ("all",)),
    Mutant(
        "unknown taken for a failure and rolled back",
        "outage",
        (
            ("pyhudi.timeline.active._unknown", _as_unavailable),
            (f"{ROLLBACK}.find_instant", _unpublished_looks_pending),
        ),
        ("all",),
    ),
    Mutant("rollback without the lock", "roll-back-live", ((f"{ROLLBACK}.lock_for", _lock_off_in()),)),
    Mutant("everybody is taken for dead", "update-apart", ((f"{ROLLBACK}.is_abandoned", always(True)),)),
    Mutant("nobody is taken for dead", "crash", ((f"{ROLLBACK}.is_abandoned", always(False)),)),
    Mutant(
        "rollback leaves the files",
        "two-recover",
        ((f"{ROLLBACK}._delete", always({})), (f"{ROLLBACK}.remove_marked", off)),
    ),
    Mutant("rollback leaves the instant", "two-recover", ((f"{ROLLBACK}.remove_pending", off),)),
    Mutant("remains are not swept", "crash", ((f"{ROLLBACK}.sweep_remains", off),)),
    Mutant("late files are looked for by markers only", "roll-back-live", ((f"{ROLLBACK}._files_of", always([])),)),
    Mutant("rolled back once more", "roll-back-live", ((f"{ROLLBACK}.is_rolled_back", always(False)),), ("bound1",)),
    Mutant("readers see pending files", "read-update", (("pyhudi.filegroup.view.is_committed", always(True)),)),
    Mutant(
        "readers see replaced file groups",
        "read-overwrite",
        (("pyhudi.queries.slices.replaced_file_groups", always({})),),
    ),
    Mutant(
        "time travel by requested times",
        "update-apart",
        (("pyhudi.queries.snapshot.as_of", lambda _: as_of_requested),),
    ),
    Mutant(
        "a storage lock is taken from its holder",
        "count-count-store",
        (("pyhudi.txn.locks.storage._Claim.is_held_against", always(False)),),
        seed=2,
    ),
    Mutant(
        "a swap is a put",
        "count-count-store",
        (("tests.simulation.explorer.disk.SimStorage.cas", _swap_is_put),),
        ways=("uniform",),
        seed=40,
    ),
    Mutant(
        "a create is a put",
        "count-count-store",
        (("tests.simulation.explorer.disk.SimStorage.put", _create_is_put),),
        ways=("uniform",),
        seed=5,
    ),
    Mutant(
        "C3: planned compactions are not looked at",
        "compaction",
        ((f"{CHECKS}._SERVICES", _without(Action.COMPACTION)),),
    ),
    Mutant(
        "C4: planned clusterings are not looked at",
        "clustering",
        ((f"{CHECKS}._SERVICES", _without(Action.CLUSTERING)),),
    ),
    Mutant("C7: the table's properties may change", "metadata-table", ((f"{COMMIT}.require_same_table", off),)),
    Mutant("C7: columns may change", "columns", ((f"{COMMIT}.require_same_schema", off),)),
    Mutant(
        "C8: no look at the lease, nor at the heart",
        "doze",
        ((f"{COMMIT}.require_lease", _off_in("commit")), (f"{COMMIT}.require_pulse", off)),
        seed=16,
    ),
    Mutant(
        "no look at the lease before recovery",
        "doze-recover",
        ((f"{COMMIT}.require_lease", _off_in("begin")), (f"{ROLLBACK}.require_lease", off)),
        seed=2,
    ),
    Mutant("what was read may change", "skew", ((f"{COMMIT}.require_reads_unchanged", off),)),
    Mutant("snapshot after begin", "count-count", (("pyhudi.actions.opening.begin", _snapshot_late),)),
    Mutant("saved in place beside later ones", "mend", ((f"{COMMIT}.can_be_mended", _others_may_be_later),)),
    Mutant(
        "saved in place whatever keys have moved",
        "mend-moved-key",
        (("pyhudi.actions.write.have_moved", always(False)),),
    ),
    Mutant("saved in place under the old name", "mend", ((f"{COMMIT}.Mend", _first_revision),)),
    Mutant("a write token that never changes", "mend", (("pyhudi.actions.concurrency.write_token", _one_token),)),
    Mutant("strays are not reconciled", "mend", ((f"{COMMIT}.reconcile", off),)),
    Mutant("files have no markers", "mend", (("pyhudi.filegroup.writer.marker_path", _unmarked),)),
    Mutant("requested before the heart beats", "crash", ((f"{COMMIT}.announce", _request_first),), seed=4),
    Mutant("locks of file groups in any order", "wait", (("pyhudi.txn.group_locks.GroupLocks.hold", _in_any_order),)),
    Mutant("foreign writers are dead at once", "foreign-writer", (("pyhudi.txn.heartbeat._GRACE_MS", lambda _: -1),)),
    Mutant(
        "a rollback claims no slot",
        "expired-lease-roll-back-fenced",
        ((f"{ROLLBACK}.decide_rollback", always(Verdict.OURS)),),
    ),
    Mutant(
        "a rollback asks for no other",
        "expired-lease-roll-back-twice",
        (("pyhudi.txn.fence._has_rival", always(False)),),
    ),
    Mutant("what was decided is not published", "expired-lease-fenced", (("pyhudi.txn.fence._publish", off),), seed=3),
    Mutant("a filter forgets a key", "update-update", (("pyhudi.filegroup.writer.add", _forgetful),)),
    Mutant("a key range is too narrow", "update-update", (("pyhudi.filegroup.writer.base_file_key_values", _narrow),)),
    Mutant("a commit says another size", "update-update", (("pyhudi.actions.publish._stat", _larger),)),
    Mutant("no fence", "expired-lease-fenced", ((f"{COMMIT}.fence_of", off),), seed=25),
    Mutant(
        "a task that runs again reports nothing",
        "lost-task",
        (("pyhudi.filegroup.writer._stored_status", _nothing_written),),
    ),
    Mutant("a write status is left out", "update-update", (("pyhudi.actions.write.to_statuses", _last_left_out),)),
)
