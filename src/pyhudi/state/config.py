"""The table's own properties as one frozen, typed value.

`TableConfig.of` reads what `hoodie.properties` says, for every table version; nothing here does I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyhudi.kernels.keys import KeyGenerator, TimestampSpec

__all__ = ["MergeMode", "TableConfig", "TableType"]


class TableType(StrEnum):
    """The text on disk of `hoodie.table.type`."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class MergeMode(StrEnum):
    """The text on disk of `hoodie.record.merge.mode`."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    """What a table is.   Spec: format/timeline 1.4-1.6."""

    properties: Mapping[str, str]
    """Everything the file says, also keys we do not know; written back unchanged."""
    name: str
    database: str
    table_type: TableType
    table_version: int
    record_key: tuple[str, ...]
    """Empty: keys are generated."""
    partition_fields: tuple[str, ...]
    """As stored, with CUSTOM's `field:TYPE` kept."""
    ordering_fields: tuple[str, ...]
    key_generator: KeyGenerator
    key_generator_class: str
    timestamp: TimestampSpec | None
    is_hive_style: bool
    is_url_encoded: bool
    has_slash_dates: bool
    drops_partition_columns: bool
    populates_meta_fields: bool
    merge_mode: MergeMode
    payload_class: str
    partial_update_mode: str
    is_cdc_enabled: bool
    create_schema: str
    """Avro JSON, or empty."""
    timeline_zone: str
    """UTC or LOCAL."""
    metadata_partitions: tuple[str, ...]
    base_file_format: str
    complex_key_encoding: str
    """`hoodie.table.complex.keygen.encoding`: FIELD_PREFIXED, VALUE_ONLY, or empty where the table does not say."""
