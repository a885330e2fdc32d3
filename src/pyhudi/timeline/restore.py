"""What a savepoint keeps, what a restore is going to take back and what it took back, as values.

Values only; `timeline.codec` turns them into Avro and back, the same in every table version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyhudi.timeline.rollback import RollbackMetadata

__all__ = ["RestoreMetadata", "RestorePlan", "SavepointMetadata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointMetadata:
    """HoodieSavepointMetadata: the files that no cleaner takes. Units: ms since 1970 UTC."""

    at_ms: int
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of base and log files by partition path."""
    by: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """HoodieRestorePlan: what the next reading of the timeline no longer shows."""

    instants: tuple[tuple[str, str], ...]
    """(requested time, action), in the order in which they are taken back."""
    target: str | None
    """The commit that is going to be the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMetadata:
    """HoodieRestoreMetadata. Units: ms."""

    start_time: str
    """The restore's own instant."""
    time_taken_ms: int
    instants: tuple[tuple[str, str], ...]
    """(requested time, action) of what was taken back, in this order."""
    rollbacks: Mapping[str, tuple[RollbackMetadata, ...]] = field(default_factory=dict)
    """By requested time what was deleted of it."""
