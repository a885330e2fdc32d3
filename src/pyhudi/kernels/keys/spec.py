"""Which key generator a table uses, as values.

Start at `KeySpec`.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["KeyGenerator", "KeySpec", "PartitionField", "TimestampSpec"]


class KeyGenerator(StrEnum):
    """The text that `hoodie.table.keygenerator.type` stores.   Spec: format/timeline 1.6, format/files 8."""

    SIMPLE = "SIMPLE"
    COMPLEX = "COMPLEX"
    TIMESTAMP = "TIMESTAMP"
    CUSTOM = "CUSTOM"
    NON_PARTITION = "NON_PARTITION"
    GLOBAL_DELETE = "GLOBAL_DELETE"
    USER_PROVIDED = "USER_PROVIDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One partition field and whether its value is formatted as a time."""

    name: str
    is_timestamp: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampSpec:
    """How a timestamp-based generator reads and formats its field.   Spec: format/files 8.4."""

    type: str
    """UNIX_TIMESTAMP, EPOCHMILLISECONDS, EPOCHMICROSECONDS, DATE_STRING, MIXED or SCALAR."""
    output_format: str
    """A Joda pattern."""
    input_formats: tuple[str, ...] = ()
    scalar_unit: str = "SECONDS"
    input_zone: str = ""
    output_zone: str = ""
    """Empty: GMT, and for DATE_STRING the zone of the parsed text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """How a table makes record keys and partition paths.   Spec: format/files 8."""

    generator: KeyGenerator
    record_key: tuple[str, ...]
    """Field names, nested as `a.b`; empty: keys are generated, `<instant>_<task>_<row>`."""
    partition: tuple[PartitionField, ...] = ()
    is_hive_style: bool = False
    is_url_encoded: bool = False
    has_slash_dates: bool = False
    has_prefixed_single_key: bool = True
    """COMPLEX with one field: `field:value` rather than `value`."""
    has_consistent_timestamps: bool = False
    timestamp: TimestampSpec | None = None
    function: str = ""
    """Name of the user's registered generator, for USER_PROVIDED."""
    key_prefix: str = ""
    """Generated keys: the instant of the write, set when it begins."""
