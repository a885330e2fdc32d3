"""What a commit says about itself, as values: write stats, commit metadata.

Values only; `timeline.codec` turns them into the JSON of layout 1 and the Avro of layout 2 and back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

__all__ = ["KEYS_LOOKED_UP", "SERVICES", "CommitMetadata", "WriteOperation", "WriteStat"]

KEYS_LOOKED_UP: Final = "pyhudi.keys.looked.up"
"""Of a commit's `extra`: `true` says that an insert left out or refused keys that were stored."""


class WriteOperation(StrEnum):
    """The write operation that made a commit; the value is the text on disk.   Spec: format/timeline 3.2."""

    INSERT = "INSERT"
    UPSERT = "UPSERT"
    BULK_INSERT = "BULK_INSERT"
    DELETE = "DELETE"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    CLUSTER = "CLUSTER"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"
    UNKNOWN = "UNKNOWN"


SERVICES: Final = frozenset(
    {WriteOperation.CLUSTER, WriteOperation.COMPACT, WriteOperation.LOG_COMPACT, WriteOperation.INDEX}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """What one write did to one file group. Units: bytes, rows, ms.   Spec: format/timeline 3.2.

    Field names are those of HoodieWriteStat in snake case; None is a null on disk. The defaults are what a base-file
    write stores in the fields that only log writes and compactions fill.
    """

    file_id: str | None
    path: str | None
    prev_commit: str | None = "null"
    """The text `null` for a new file group, else the instant of the previous base file."""
    num_writes: int | None = 0
    num_deletes: int | None = 0
    num_update_writes: int | None = 0
    num_inserts: int | None = 0
    total_write_bytes: int | None = 0
    total_write_errors: int | None = 0
    temp_path: str | None = None
    partition_path: str | None = None
    total_log_records: int | None = 0
    total_log_files: int | None = None
    total_log_files_compacted: int | None = 0
    total_log_size_compacted: int | None = 0
    total_log_read_time_ms: int | None = 0
    total_updated_records_compacted: int | None = 0
    total_log_blocks: int | None = 0
    total_corrupt_log_block: int | None = 0
    total_rollback_blocks: int | None = 0
    file_size_in_bytes: int | None = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    prev_base_file: str | None = None
    base_file: str | None = None
    log_files: tuple[str, ...] | None = None
    log_version: int | None = None
    log_offset: int | None = None
    cdc_stats: Mapping[str, int] | None = None
    num_updates: int | None = 0
    scan_time_ms: int | None = None
    """The three make `runtimeStats`, which is null when all are None."""
    upsert_time_ms: int | None = None
    create_time_ms: int | None = None

    @property
    def is_log(self) -> bool:
        """Return whether the file is a log file: the name of one begins with a dot."""
        return (self.path or "").rsplit("/", 1)[-1].startswith(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """HoodieCommitMetadata, and with `replaced` HoodieReplaceCommitMetadata.   Spec: format/timeline 3.1, 3.3."""

    operation: WriteOperation | None
    stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict)
    """By partition path."""
    extra: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    replaced: Mapping[str, tuple[str, ...]] | None = None
    """File ids by partition path; None for an action that is no replacecommit."""

    @property
    def can_change_columns(self) -> bool:
        """Return whether its schema counts as the table's: that of a table service is as old as the service's plan."""
        return self.operation not in SERVICES
