"""What a clean is going to delete and what it deleted, as values.

Values only; `timeline.codec` turns them into Avro and back, the same in every table version. Paths inside a partition
are file names; `timeline.cleans` reads what others cleaned. Start at `CleanPlan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["CleanMetadata", "CleanPartition", "CleanPlan", "CleaningPolicy", "EarliestInstant"]


class CleaningPolicy(StrEnum):
    """What decides how long an older file slice is kept; the value is the text on disk."""

    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_BY_HOURS = "KEEP_LATEST_BY_HOURS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarliestInstant:
    """HoodieActionInstant: the earliest instant that a clean retains."""

    time: str
    action: str
    state: str = "COMPLETED"
    """INFLIGHT or REQUESTED where a pending write needs what was there when it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPlan:
    """HoodieCleanerPlan: exactly which files to delete.   Spec: format/timeline 3.6."""

    earliest: EarliestInstant | None
    """None where file versions are counted."""
    last_completed: str
    """Requested time of the last completed write that the plan has seen; empty for a table without any."""
    policy: str
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By partition path. On disk they are whole paths; follow only the last component, inside the partition."""
    partitions: tuple[str, ...] = ()
    """Partitions in which nothing is left."""
    bootstrap_files: frozenset[str] = frozenset()
    """Those of `files` that belong to a bootstrapped table's source."""
    extra: Mapping[str, str] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPartition:
    """What was deleted in one partition, as file names."""

    deleted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Files that were gone already count as these, with Apache Hudi."""
    policy: str
    patterns: tuple[str, ...] = ()
    is_deleted: bool | None = False
    """The partition itself was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanMetadata:
    """HoodieCleanMetadata. Units: ms."""

    start_time: str
    """The clean's own instant."""
    time_taken_ms: int
    earliest: str
    """Empty where file versions are counted."""
    last_completed: str
    partitions: Mapping[str, CleanPartition] = field(default_factory=dict)
    extra: Mapping[str, str] | None = field(default_factory=dict)
