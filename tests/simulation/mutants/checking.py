"""What a commit is checked against is not seen, or not looked at: overlaps, services, columns, keys, what was read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.simulation.mutants.mutant import BEGIN, CHECKS, COMMIT, Change, Mutant, always, off, unchecked

from pyhudi.index.api import Index
from pyhudi.index.bloom import BLOOM
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import Timeline, completed_writes
from pyhudi.txn.commit import Txn
from pyhudi.txn.conflicts import ConflictRules, Footprint, Resolution

CONFLICTS = "pyhudi.txn.conflicts"


def without(*left_out: Action) -> Change:
    """Leave these actions out of a set."""
    return lambda found: found.difference(left_out)


def footprint_with(**changed: Any) -> Change:
    """Change what a commit is taken to have touched."""
    return lambda footprint: lambda metadata: replace(footprint(metadata), **changed)


def footprint_without_replaced(footprint: Callable[[CommitMetadata], Footprint]) -> Callable[..., Footprint]:
    """Take a commit to have replaced nothing."""
    return lambda metadata: footprint(replace(metadata, replaced=None))


def without_replacements(completed_after: Callable[..., tuple[Instant, ...]]) -> Callable[..., tuple[Instant, ...]]:
    """Leave replacecommits out of what was completed since."""
    return lambda *given: tuple(one for one in completed_after(*given) if one.action is not Action.REPLACECOMMIT)


def newest_only(_: object) -> Callable[[Timeline, set[str]], list[Instant]]:
    """Take everything that was requested before the newest commit of a snapshot for seen in it."""
    return lambda timeline, seen: [
        one for one in completed_writes(timeline) if one.requested_time > max(seen, default="")
    ]


def begun_later_only(concurrent: Callable[..., dict[str, CommitMetadata]]) -> Callable[..., dict[str, CommitMetadata]]:
    """See only writers that began after us; one that began before and completed meanwhile is missed."""

    def found(txn: Txn, now: Timeline) -> dict[str, CommitMetadata]:
        return {instant: what for instant, what in concurrent(txn, now).items() if instant > txn.time}

    return found


def snapshot_late(begin: Callable[..., Txn]) -> Callable[..., Txn]:
    """Take the snapshot when the write has begun, not before."""

    def begun(state: TableState, *given: Any, **more: Any) -> Txn:
        txn = begin(state, *given, **more)
        txn.snapshot = load_timeline(state)
        return txn

    return begun


def in_one_partition(footer_index: Callable[..., Index]) -> Callable[..., Index]:
    """Look a key up in its own partition only, also under a global index."""
    return lambda _: BLOOM


def by_file_id(rules_for: Callable[..., ConflictRules]) -> Callable[..., ConflictRules]:
    """Distinguish file groups by their ids, also where these have one bucket."""
    return lambda *given: replace(rules_for(*given), resolution=Resolution.SIMPLE)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("no check of file groups", "count-count", ((f"{COMMIT}.find_overlaps", always(())),)),
    Mutant(
        "snapshot after begin, targets unchecked",
        "count-count",
        ((f"{COMMIT}.require_older_targets", off), (f"{BEGIN}.begin", snapshot_late)),
    ),
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
        (("pyhudi.commit.tag.footer_index", in_one_partition),),
    ),
    Mutant("buckets are distinguished by file ids", "insert-same-bucket", ((f"{COMMIT}.rules_for", by_file_id),)),
    Mutant(
        "C3: planned compactions are not looked at",
        "compaction",
        ((f"{CHECKS}.FILE_SERVICES", without(Action.COMPACTION)),),
    ),
    Mutant(
        "C4: planned clusterings are not looked at",
        "clustering",
        ((f"{CHECKS}.FILE_SERVICES", without(Action.CLUSTERING)),),
    ),
    Mutant("C7: the table's properties may change", "renamed", ((f"{COMMIT}.require_same_table", unchecked),)),
    Mutant(
        "a metadata table that came meanwhile is not kept",
        "metadata-table",
        ((f"{COMMIT}.require_same_table", unchecked),),
    ),
    Mutant(
        "C7: columns may change before a write begins",
        "columns",
        ((f"{BEGIN}.require_same_columns", off),),
    ),
    Mutant("C7: columns may change", "columns", ((f"{COMMIT}.require_same_schema", off),)),
    Mutant("what was read may change", "skew", ((f"{COMMIT}.require_reads_unchanged", off),)),
    Mutant("snapshot after begin", "count-count", ((f"{BEGIN}.begin", snapshot_late),)),
)
