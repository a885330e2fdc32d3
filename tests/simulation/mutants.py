"""Ways to break the code on purpose: each takes one protection away, and the explorer must see what it was good for.

A mutant changes names of modules while a hunt goes on; the scenario in which it shows, and how to search it, stand
beside it. Start at `MUTANTS`.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from tests.simulation.breakages import (
    always,
    as_unavailable,
    begun_later_only,
    by_file_id,
    clock_only,
    create_is_put,
    drawing_early,
    drawn_first,
    first_revision,
    footprint_with,
    footprint_without_replaced,
    forgetful,
    in_any_order,
    in_one_partition,
    kept_while_waiting,
    larger,
    last_left_out,
    lock_off_in,
    narrow,
    newest_only,
    nothing_written,
    off,
    off_in,
    off_under,
    one_token,
    others_may_be_later,
    request_first,
    snapshot_late,
    swap_is_put,
    taken_slots_count,
    unanswered_is_anothers,
    unmarked,
    unpublished_looks_pending,
    update_wins,
    without,
    without_claim,
    without_replacements,
)
from tests.simulation.explorer.hunting import scenarios
from tests.simulation.explorer.scenario import prepared

from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import as_of_requested
from pyhudi.txn.fence import Verdict

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
        """Run with the change in force; the table to begin with is made before."""
        prepared(scenarios()[self.scenario])
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


COMMIT = "pyhudi.txn.commit"
BEGIN = "pyhudi.actions.begin"
ROLLBACK = "pyhudi.txn.recovery.rollback"
BY_NAME = "pyhudi.actions.rollback"
CHECKS = "pyhudi.txn.checks"
MARKERS = "pyhudi.txn.recovery.markers"
HEARTBEAT = "pyhudi.txn.recovery.heartbeat"
CONFLICTS = "pyhudi.txn.conflicts"
UNGUARDED = (f"{COMMIT}.lock_for", lock_off_in())

MUTANTS = (
    Mutant("no check of file groups", "count-count", ((f"{COMMIT}.find_overlaps", always(())),)),
    Mutant(
        "a listing is taken for one moment",
        "checkpoints",
        (("pyhudi.timeline.listing._has_gaps", always(False)),),
        seed=2,
    ),
    Mutant("no lock", "count-count", (UNGUARDED,)),
    Mutant("no lock to commit", "count-count", ((f"{COMMIT}.lock_for", lock_off_in("commit")),), seed=2),
    Mutant("no lock to begin", "two-recover", ((f"{COMMIT}.lock_for", lock_off_in("begin")),)),
    Mutant("flock excludes nobody", "count-count", (("tests.simulation.explorer.kernel.Run.is_free", always(True)),)),
    Mutant(
        "snapshot after begin, targets unchecked",
        "count-count",
        ((f"{COMMIT}.require_older_targets", off), (f"{BEGIN}.begin", snapshot_late)),
    ),
    Mutant(
        "completion time drawn outside the lock",
        "update-apart",
        ((f"{COMMIT}.lock_for", drawing_early), (f"{COMMIT}.times_for", drawn_first)),
    ),
    Mutant("times by the clock alone", "clock-back", (("pyhudi.txn.times.HybridTimes.issue", clock_only),)),
    Mutant("not asked whether we are alive", "roll-back-live", ((f"{COMMIT}.require_alive", off),)),
    Mutant("concurrent writers are not seen", "count-count", ((f"{COMMIT}.read_concurrent", always({})),)),
    Mutant(
        "writers that began before us are not seen", "count-count", ((f"{COMMIT}.Txn._concurrent", begun_later_only),)
    ),
    Mutant("a snapshot is its newest commit", "update-thrice", ((f"{CHECKS}.completed_after", newest_only),), seed=3),
    Mutant("replacements are not seen", "drop-update", ((f"{CHECKS}.completed_after", without_replacements),)),
    Mutant(
        "replaced file groups do not count", "drop-update", ((f"{CONFLICTS}.footprint", footprint_without_replaced),)
    ),
    Mutant(
        "overwritten partitions do not count",
        "overwrite-new-insert",
        ((f"{COMMIT}.footprint", footprint_with(overwritten=frozenset())),),
    ),
    Mutant("no check of inserted keys", "insert-same-key", ((f"{COMMIT}.require_new_keys", off),)),
    Mutant(
        "keys are looked for in one partition only",
        "insert-same-key-global",
        (("pyhudi.actions.tag.footer_index", in_one_partition),),
    ),
    Mutant("buckets are told apart by file ids", "insert-same-bucket", ((f"{COMMIT}.rules_for", by_file_id),)),
    Mutant(
        "the later write wins whatever its ordering value",
        "update-order",
        (("pyhudi.kernels.merge._wins", update_wins),),
    ),
    Mutant("412 taken for a loss", "lost-reply", (("pyhudi.timeline.active._stored", always(b"another's")),), ("all",)),
    Mutant(
        "a request without an answer counts as another's",
        "lost-reply-store",
        (("pyhudi.timeline.active._create_pending", unanswered_is_anothers),),
    ),
    Mutant(
        "a commit that lands late counts",
        "outlived-overwrite",
        (("pyhudi.timeline.active._landed_late", always(False)),),
    ),
    Mutant("unknown taken for a failure", "outage", (("pyhudi.timeline.active._unknown", as_unavailable),), ("all",)),
    Mutant(
        "unknown taken for a failure and rolled back",
        "outage",
        (
            ("pyhudi.timeline.active._unknown", as_unavailable),
            (f"{BY_NAME}.find_instant", unpublished_looks_pending),
            (f"{ROLLBACK}.find_instant", unpublished_looks_pending),
        ),
        ("all",),
    ),
    Mutant("rollback without the lock", "roll-back-live", ((f"{BY_NAME}.lock_for", lock_off_in()),)),
    Mutant("everybody is taken for dead", "update-apart", ((f"{ROLLBACK}.is_abandoned", always(True)),)),
    Mutant("nobody is taken for dead", "crash", ((f"{ROLLBACK}.is_abandoned", always(False)),)),
    Mutant(
        "rollback leaves the files",
        "two-recover",
        ((f"{ROLLBACK}._delete", always({})), (f"{ROLLBACK}.remove_marked", off)),
    ),
    Mutant("rollback leaves the instant", "two-recover", ((f"{ROLLBACK}.remove_pending", off),)),
    Mutant("remains are not swept", "crash", ((f"{ROLLBACK}.clean_up_orphans", off),)),
    Mutant(
        "late files are looked for by markers only",
        "roll-back-live",
        ((f"{MARKERS}.named_files", always(set())),),
    ),
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
        (("pyhudi.queries.expired.as_of", lambda _: as_of_requested),),
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
        (("tests.simulation.explorer.disk.SimStorage.cas", swap_is_put),),
        ways=("uniform",),
    ),
    Mutant(
        "a create is a put",
        "count-count-store",
        (("tests.simulation.explorer.disk.SimStorage.put", create_is_put),),
        ways=("uniform",),
        seed=5,
    ),
    Mutant(
        "C3: planned compactions are not looked at",
        "compaction",
        ((f"{CHECKS}._SERVICES", without(Action.COMPACTION)),),
    ),
    Mutant(
        "C4: planned clusterings are not looked at",
        "clustering",
        ((f"{CHECKS}._SERVICES", without(Action.CLUSTERING)),),
    ),
    Mutant("C7: the table's properties may change", "metadata-table", ((f"{COMMIT}.require_same_table", off),)),
    Mutant(
        "C7: columns may change before a write begins",
        "columns",
        ((f"{BEGIN}.require_same_columns", off),),
    ),
    Mutant("C7: columns may change", "columns", ((f"{COMMIT}.require_same_schema", off),)),
    Mutant(
        "C8: no look at the lease, nor at the heart",
        "doze",
        ((f"{COMMIT}.require_lease", off_in("commit")), (f"{COMMIT}.require_heartbeat", off)),
        seed=16,
    ),
    Mutant(
        "no look at the lease before recovery",
        "doze-recover",
        ((f"{COMMIT}.require_lease", off_in("begin")), (f"{ROLLBACK}.require_lease", off)),
        seed=2,
    ),
    Mutant("what was read may change", "skew", ((f"{COMMIT}.require_reads_unchanged", off),)),
    Mutant("snapshot after begin", "count-count", ((f"{BEGIN}.begin", snapshot_late),)),
    Mutant("saved in place beside later ones", "mend", ((f"{COMMIT}.can_retry_in_place", others_may_be_later),)),
    Mutant(
        "saved in place whatever keys have moved",
        "mend-moved-key",
        (("pyhudi.actions.retry_in_place._has_moved_keys", always(False)),),
    ),
    Mutant(
        "saved in place whatever columns have changed",
        "mend-widen",
        ((f"{COMMIT}.require_same_schema", off_under("_superseded")),),
    ),
    Mutant("saved in place under the old name", "mend", ((f"{COMMIT}.Superseded", first_revision),)),
    Mutant("a write token that never changes", "mend", (("pyhudi.actions.retry_in_place.write_token", one_token),)),
    Mutant("strays are not reconciled", "mend", ((f"{COMMIT}.reconcile", off),)),
    Mutant("files have no markers", "mend", (("pyhudi.filegroup.writer.marker_path", unmarked),)),
    Mutant("requested before the heart beats", "crash", ((f"{COMMIT}.announce", request_first),), seed=4),
    Mutant("locks of file groups in any order", "wait", (("pyhudi.txn.group_locks.GroupLocks.hold", in_any_order),)),
    Mutant(
        "locks of file groups are kept while an earlier one is waited for",
        "wait-earlier",
        (("pyhudi.txn.group_locks.GroupLocks.hold", kept_while_waiting),),
        ways=("uniform",),
    ),
    Mutant(
        "foreign writers are dead at once",
        "foreign-writer",
        ((f"{HEARTBEAT}._GRACE_MS", lambda _: -1),),
    ),
    Mutant(
        "a rollback claims no slot",
        "expired-lease-roll-back-fenced",
        ((f"{ROLLBACK}.decide_rollback", always(Verdict.OURS)),),
        seed=8,
    ),
    Mutant(
        "a rollback asks for no other",
        "expired-lease-roll-back-twice",
        (("pyhudi.txn.fence._has_rival", always(False)),),
    ),
    Mutant("what was decided is not published", "expired-lease-fenced", (("pyhudi.txn.fence._publish_slot", off),)),
    Mutant("a filter forgets a key", "update-update", (("pyhudi.filegroup.key_filter.add", forgetful),)),
    Mutant("a key range is too narrow", "update-update", (("pyhudi.filegroup.writer.base_file_key_values", narrow),)),
    Mutant("a commit says another size", "update-update", (("pyhudi.actions.finish._stat", larger),)),
    Mutant(
        "a commit is published beside the fence",
        "expired-lease-fenced",
        ((f"{COMMIT}.complete", without_claim),),
        seed=4,
    ),
    Mutant(
        "a rollback completes beside the fence",
        "half-rolled-back-fenced",
        ((f"{ROLLBACK}.complete", without_claim),),
    ),
    Mutant(
        "a slot has two owners", "expired-lease-fenced", (("pyhudi.txn.fence.Fence._claim", taken_slots_count),), seed=4
    ),
    Mutant(
        "a begin does not ask what the fence has decided",
        "outage-fenced",
        ((f"{COMMIT}.decided_timeline", lambda _: load_timeline),),
        ("pct2", "pct3"),
        seed=10,
    ),
    Mutant("no fence", "expired-lease-fenced", ((f"{COMMIT}.fence_of", off),), seed=4),
    Mutant(
        "a task that runs again reports nothing",
        "lost-task",
        (("pyhudi.filegroup.writer._stored_status", nothing_written),),
    ),
    Mutant("a write status is left out", "update-update", (("pyhudi.actions.work.to_statuses", last_left_out),)),
)
