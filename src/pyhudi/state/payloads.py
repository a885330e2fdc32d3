"""What a new table is when it is asked to merge by a payload class of Apache Hudi.

Payload classes are matched by their names and never loaded; `state.merging` says how rows meet by them. Start at
`payload_of`.

Spec: format/files 6.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyhudi.errors import NotBuilt
from pyhudi.options import option
from pyhudi.state.config import MergeMode

__all__ = ["PAYLOAD_CLASS", "PAYLOAD_PACKAGE", "PAYLOAD_STRATEGY", "Payload", "is_meant_by", "payload_of"]

PAYLOAD_CLASS: Final = option(
    "hoodie.datasource.write.payload.class",
    "",
    "A new table merges by the rules of this class of Apache Hudi, which is known by its name; a table that is there"
    " has its own, and another one is refused.",
    old_keys=("hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class"),
)
PAYLOAD_STRATEGY: Final = "00000000-0000-0000-0000-000000000000"
"""The strategy id that says: by payload class.   Spec: format/files 6.1."""
PAYLOAD_PACKAGE: Final = "org.apache.hudi.common.model."
_PROPERTY: Final = "hoodie.record.merge.property."


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What table version 9 says instead of a payload class."""

    mode: MergeMode
    is_mode_alone: bool = False
    """Version 8 has a merge mode for it, too; else its mode is CUSTOM, by payload class."""
    partial_update_mode: str = ""
    ordering: tuple[str, ...] = ()
    """The ordering fields, whatever a table is told; empty: what it is told."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """More properties."""


def _deletes(name: str, marker: str) -> dict[str, str]:
    return {f"{_PROPERTY}hoodie.payload.delete.field": name, f"{_PROPERTY}hoodie.payload.delete.marker": marker}


_DEBEZIUM: Final = _deletes("_change_operation_type", "d")
_UNAVAILABLE: Final = {
    f"{_PROPERTY}hoodie.write.partial.update.unavailable.value": "__debezium_unavailable_value",
}
_EVENT: Final = MergeMode.EVENT_TIME_ORDERING
_COMMIT: Final = MergeMode.COMMIT_TIME_ORDERING
_PAYLOADS: Final[Mapping[str, Payload]] = {
    "OverwriteWithLatestAvroPayload": Payload(mode=_COMMIT, is_mode_alone=True),
    "DefaultHoodieRecordPayload": Payload(mode=_EVENT, is_mode_alone=True),
    "EventTimeAvroPayload": Payload(mode=_EVENT, is_mode_alone=True),
    "OverwriteNonDefaultsWithLatestAvroPayload": Payload(mode=_COMMIT, partial_update_mode="IGNORE_DEFAULTS"),
    "PartialUpdateAvroPayload": Payload(mode=_EVENT, partial_update_mode="IGNORE_DEFAULTS"),
    "AWSDmsAvroPayload": Payload(mode=_COMMIT, kept=_deletes("Op", "D")),
    "debezium.MySqlDebeziumAvroPayload": Payload(
        mode=_EVENT, ordering=("_event_bin_file", "_event_pos"), kept=_DEBEZIUM
    ),
    "debezium.PostgresDebeziumAvroPayload": Payload(
        mode=_EVENT,
        partial_update_mode="FILL_UNAVAILABLE",
        ordering=("_event_lsn",),
        kept=_DEBEZIUM | _UNAVAILABLE,
    ),
}


def payload_of(name: str) -> Payload:
    """Return what a payload class means for a new table.

    Raises: NotBuilt naming the class.
    """
    known = _PAYLOADS.get(name.removeprefix(PAYLOAD_PACKAGE)) if name.startswith(PAYLOAD_PACKAGE) else None
    if known is None:
        raise NotBuilt(
            "pyhudi does not have the merge rules of this payload class; give a merge mode, or make rules of your own"
            " known by register_merger(name, function) and give merge mode CUSTOM with that name",
            key=PAYLOAD_CLASS.key,
            value=name,
            known=sorted(_PAYLOADS),
        )
    return known


def is_meant_by(name: str, mode: MergeMode, partial_update_mode: str) -> bool:
    """Return whether a table of this mode, which names no payload class, merges as the named class does."""
    known = _PAYLOADS.get(name.removeprefix(PAYLOAD_PACKAGE))
    return known is not None and known.is_mode_alone and known.mode is mode and partial_update_mode == "NONE"
