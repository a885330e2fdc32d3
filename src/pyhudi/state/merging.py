"""How a table merges rows of one key, as the kernels need it. Start at `merge_spec`.

Spec: format/files 6.1, 6.4.
"""

from dataclasses import replace
from typing import Final

from pyhudi.errors import NotBuilt
from pyhudi.kernels.merge import MergeSpec
from pyhudi.kernels.mergers import registered_merger
from pyhudi.kernels.rules import Fill, LogRule
from pyhudi.options import Option, Settings, one_of, option
from pyhudi.state.config import STRATEGIES, MergeMode, TableConfig, TableType
from pyhudi.state.payloads import PAYLOAD_PACKAGE, PAYLOAD_STRATEGY

__all__ = [
    "DELETE_FIELD",
    "DELETE_MARKER",
    "is_custom",
    "merge_spec",
    "merger_name",
    "require_merge_rules",
    "required_columns",
    "unknown_rules",
]

DELETE_FIELD: Final = option("hoodie.payload.delete.field", "", "Column that marks a row as a delete.")
DELETE_MARKER: Final = option("hoodie.payload.delete.marker", "", "Value of that column in rows which are deletes.")
ORDERING_NULLS: Final = option(
    "pyhudi.ordering.nulls",
    "refuse",
    "allow: rows may have null in an ordering field, which counts as 0; Apache Hudi then fails to read or upsert them.",
    parse=one_of("refuse", "allow"),
)
_FIRST_WITH_MODES: Final = 8
_FIRST_WITH_FILLS: Final = 9
_KEPT: Final = "hoodie.record.merge.property."
"""Before the keys of merge properties that a table keeps."""
_MARKER_KEYS: Final = (
    _KEPT + "hoodie.write.partial.update.unavailable.value",
    _KEPT + "hoodie.write.partial.update.custom.marker",
)
"""The second is how it was spelled before 1.1."""
_UNAVAILABLE: Final = "__debezium_unavailable_value"
_FILLS: Final = {
    "NONE": Fill.NOTHING,
    "KEEP_VALUES": Fill.NOTHING,
    "IGNORE_DEFAULTS": Fill.NULLS,
    "FILL_UNAVAILABLE": Fill.UNAVAILABLE,
    "IGNORE_MARKERS": Fill.UNAVAILABLE,
}
"""Partial update modes; KEEP_VALUES is what blocks of partial updates say of themselves."""

_DEBEZIUM: Final = MergeSpec(
    is_event_time=True, delete_field="_change_operation_type", delete_marker="d", ignores_case=True
)
_PAYLOADS: Final = {
    "OverwriteWithLatestAvroPayload": MergeSpec(),
    "DefaultHoodieRecordPayload": MergeSpec(is_event_time=True),
    "EventTimeAvroPayload": MergeSpec(is_event_time=True),
    "FirstValueAvroPayload": MergeSpec(is_event_time=True, keeps_ties=True),
    "OverwriteNonDefaultsWithLatestAvroPayload": MergeSpec(fill=Fill.NULLS, fills_log=False),
    "PartialUpdateAvroPayload": MergeSpec(is_event_time=True, fill=Fill.NULLS, marks_filled=True),
    "AWSDmsAvroPayload": MergeSpec(delete_field="Op", delete_marker="D", ignores_case=True),
    "MySqlDebeziumAvroPayload": replace(_DEBEZIUM, ordering=("_event_seq",), is_binlog=True, keeps_ties=True),
    "PostgresDebeziumAvroPayload": replace(
        _DEBEZIUM, ordering=("_event_lsn",), fill=Fill.UNAVAILABLE, unavailable=_UNAVAILABLE, fills_log=False
    ),
}
"""What payload classes mean where no merge mode stands for them; with `fills_log` as at version 6.

Spec: format/files 6.6.
"""


def merge_spec(config: TableConfig, settings: Settings | None = None) -> MergeSpec:
    """Return the merge rules of a table; settings go before what it keeps.   Cost: reads nothing."""
    given = settings or Settings()
    if is_custom(config):
        return MergeSpec(merger=registered_merger(merger_name(config)), ordering=config.ordering_fields)
    rules = _payload_rules(config) or MergeSpec(is_event_time=config.merge_mode is MergeMode.EVENT_TIME_ORDERING)
    if config.table_version >= _FIRST_WITH_FILLS and rules.fill is Fill.NOTHING:
        marker = next((config.properties[key] for key in _MARKER_KEYS if config.properties.get(key)), "")
        rules = replace(rules, fill=_FILLS.get(config.partial_update_mode, Fill.NOTHING), unavailable=marker)
    field = given.get(DELETE_FIELD) or _kept(config, DELETE_FIELD)
    return replace(
        rules,
        ordering=rules.ordering or config.ordering_fields,
        delete_field=field or rules.delete_field,
        delete_marker=(given.get(DELETE_MARKER) or _kept(config, DELETE_MARKER)) if field else rules.delete_marker,
        ignores_case=rules.ignores_case and not field,
    )


def required_columns(config: TableConfig, settings: Settings) -> tuple[str, ...]:
    """Return the ordering columns in which a write may not store null: where they decide, and nulls are not allowed."""
    rules = merge_spec(config, settings)
    decides = rules.orders_stored or (rules.orders_log and config.table_type is TableType.MERGE_ON_READ)
    return rules.ordering if decides and settings.get(ORDERING_NULLS) == "refuse" else ()


def require_merge_rules(config: TableConfig) -> None:
    """Check that rows of this table can be merged.

    Raises: NotBuilt naming the payload class or mode.
    """
    if found := unknown_rules(config):
        raise NotBuilt(
            "pyhudi does not have this table's merge rules; where they are your own, register_merger(name, function)"
            " makes them known, else read it in mode read_optimized",
            found=found,
        )


def unknown_rules(config: TableConfig) -> str:
    """Return what a table merges by that pyhudi does not know: a payload class, or a mode; empty if there is nothing.

    Cost: reads nothing.
    """
    if config.partial_update_mode not in _FILLS:
        return config.partial_update_mode
    if is_custom(config) and registered_merger(merger_name(config)) is None:
        return merger_name(config) or str(config.merge_mode)
    return ""


def is_custom(config: TableConfig) -> bool:
    """Return whether rows are merged by rules of the user's own."""
    return config.merge_mode is MergeMode.CUSTOM and _payload_rules(config) is None


def merger_name(config: TableConfig) -> str:
    """Return the strategy id of a user's own merger, else the payload class; empty if there is neither."""
    strategy = config.properties.get("hoodie.record.merge.strategy.id", "")
    is_own = strategy.lower() not in {"", PAYLOAD_STRATEGY, *STRATEGIES.values()}
    return strategy if is_own else config.payload_class


def _payload_rules(config: TableConfig) -> MergeSpec | None:
    """Return what a payload class means, by its name only; None where a merge mode says it, or it is not known."""
    known = _PAYLOADS.get(config.payload_class.rpartition(".")[-1])
    if known is None or not config.payload_class.startswith(PAYLOAD_PACKAGE):
        return None
    if config.table_version < _FIRST_WITH_MODES:
        return replace(known, log_rule=LogRule.PRECOMBINED)
    if config.merge_mode is MergeMode.CUSTOM and config.table_version < _FIRST_WITH_FILLS:
        return replace(known, log_rule=LogRule.ORDERED_DELETES, fills_log=True)
    return None


def _kept(config: TableConfig, wanted: Option[str]) -> str:
    return config.properties.get(_KEPT + wanted.key, "")
