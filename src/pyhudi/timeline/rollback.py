"""What a rollback is going to do and what it did, as values.

Values only; `timeline.codec` turns them into Avro and back, the same in every table version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RollbackMetadata", "RollbackPartition", "RollbackPlan", "RollbackRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Files of one partition to delete.   Spec: format/timeline 3.7."""

    partition_path: str
    files_to_delete: tuple[str, ...] = ()
    """Absolute paths without a scheme, as Hudi writes them; follow only the last component, inside the partition."""
    file_id: str | None = ""
    latest_base_instant: str | None = ""
    log_blocks_to_delete: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """HoodieRollbackPlan: which instant, and what of it."""

    instant: str
    action: str
    requests: tuple[RollbackRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPartition:
    """What was deleted in one partition."""

    partition_path: str
    deleted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    rollback_log_files: Mapping[str, int] = field(default_factory=dict)
    failed_log_files: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackMetadata:
    """HoodieRollbackMetadata. Units: ms."""

    start_time: str
    """The rollback's own instant."""
    time_taken_ms: int
    rolled_back: tuple[tuple[str, str], ...]
    """(instant time, action) of what was rolled back."""
    partitions: Mapping[str, RollbackPartition] = field(default_factory=dict)
