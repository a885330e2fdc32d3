"""How long older file slices are kept: the cleaning options, and what they mean for a timeline.

Pure. Names and defaults are Apache Hudi's. Start at `earliest_retained`.

Spec: format/timeline 10.1.
"""

from dataclasses import dataclass
from typing import Final

from pyhudi.options import MOST, Settings, between, one_of, option
from pyhudi.timeline.cleaning import CleaningPolicy
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, pending_instants

__all__ = [
    "INCREMENTAL",
    "POLICY",
    "TRIGGER_COMMITS",
    "VERSIONS",
    "Retention",
    "commits_since",
    "earliest_retained",
    "horizon_of",
    "pending_writes",
    "retention_of",
]

POLICY: Final = option(
    "hoodie.clean.policy",
    CleaningPolicy.KEEP_LATEST_COMMITS.value,
    "What a clean keeps besides the newest slice of each file group: what readers of the last commits need, or of the "
    "last hours, or so many slices of each group.",
    parse=one_of(*CleaningPolicy),
    old_keys=("hoodie.cleaner.policy",),
)
COMMITS: Final = option(
    "hoodie.clean.commits.retained",
    10,
    "KEEP_LATEST_COMMITS: each of so many last commits, and the state before them, can be read.",
    parse=between(1, MOST),
    old_keys=("hoodie.cleaner.commits.retained",),
)
HOURS: Final = option(
    "hoodie.clean.hours.retained",
    24,
    "KEEP_LATEST_BY_HOURS: each commit of so many last hours, and the state before them, can be read.",
    parse=between(1, MOST),
    old_keys=("hoodie.cleaner.hours.retained",),
)
VERSIONS: Final = option(
    "hoodie.clean.fileversions.retained",
    3,
    "KEEP_LATEST_FILE_VERSIONS: so many slices of each file group are kept.",
    parse=between(1, MOST),
    old_keys=("hoodie.cleaner.fileversions.retained",),
)
MOST_COMMITS: Final = option(
    "hoodie.clean.max.commits.to.clean",
    MOST,
    "KEEP_LATEST_COMMITS and KEEP_LATEST_BY_HOURS: one clean goes past so many commits at most.",
    parse=between(1, 2**63 - 1),
)
TRIGGER: Final = option(
    "hoodie.clean.trigger.strategy",
    "NUM_COMMITS",
    "What makes a clean due: so many commits since the last one.",
    parse=one_of("NUM_COMMITS"),
)
TRIGGER_COMMITS: Final = option(
    "hoodie.clean.max.commits",
    1,
    "A clean is due when so many commits were completed since the last one.",
    parse=between(1, MOST),
    old_keys=("hoodie.clean.trigger.max.commits",),
)
INCREMENTAL: Final = option(
    "hoodie.clean.incremental.enabled",
    True,
    "A clean looks into those partitions only in which something was superseded since the last one; false: into all.",
    old_keys=("hoodie.cleaner.incremental.mode",),
)
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is to be kept."""

    policy: CleaningPolicy
    commits: int
    hours: int
    versions: int
    most_commits: int

    @property
    def counts_versions(self) -> bool:
        """Return whether slices are counted, and not commits: then no instant is the earliest that is retained."""
        return self.policy is CleaningPolicy.KEEP_LATEST_FILE_VERSIONS

    @property
    def age_ms(self) -> int:
        """Return how old a commit is that is still retained by hours."""
        return self.hours * _HOUR_MS


def retention_of(settings: Settings) -> Retention:
    """Read the options."""
    return Retention(
        policy=CleaningPolicy(settings.get(POLICY)),
        commits=settings.get(COMMITS),
        hours=settings.get(HOURS),
        versions=settings.get(VERSIONS),
        most_commits=settings.get(MOST_COMMITS),
    )


def pending_writes(timeline: Timeline) -> list[Instant]:
    """Return the pending actions that read what is there, by requested time: writes and clusterings."""
    reading = WRITE_ACTIONS | {Action.CLUSTERING, Action.LOGCOMPACTION}
    return [one for one in pending_instants(timeline) if one.action in reading]


def earliest_retained(
    timeline: Timeline, retention: Retention, cutoff: InstantTime, previous: str = ""
) -> Instant | None:
    """Return the earliest instant that is retained; None where nothing may be cleaned, or slices are counted.

    It is never later than a pending write, which needs what was there when it began. `cutoff` is the time before which
    a commit is too old by hours; `previous` is what the last clean has retained.
    """
    completed = completed_writes(timeline)
    if retention.counts_versions:
        return None
    if retention.policy is CleaningPolicy.KEEP_LATEST_COMMITS:
        kept = completed[-retention.commits :] if len(completed) > retention.commits else ()
    else:
        kept = tuple(one for one in completed if one.requested_time >= cutoff)
    if not kept:
        return None
    passed = [one for one in completed if previous <= one.requested_time < kept[0].requested_time]
    last = passed[retention.most_commits] if len(passed) > retention.most_commits else kept[0]
    return min([last, *pending_writes(timeline)], key=lambda one: one.requested_time)


def horizon_of(timeline: Timeline, earliest: Instant) -> InstantTime:
    """Return the point from which on, and right before which, every moment stays readable.

    A commit that was requested later than the earliest one may have become visible earlier; a pending write sees what
    was visible when it began.
    """
    since = earliest.requested_time
    points = [timeline.point(one) for one in completed_writes(timeline) if one.requested_time >= since]
    return min([*points, *(one.requested_time for one in pending_writes(timeline))], default=since)


def commits_since(timeline: Timeline, time: str) -> int:
    """Count the completed writes that were requested after a time."""
    return sum(one.requested_time > time for one in completed_writes(timeline))
