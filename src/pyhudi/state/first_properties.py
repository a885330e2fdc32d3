"""The properties that a new table starts with: exactly the keys which its version writes.

Pure. Start at `new_properties`; `state.properties_file` writes them.

Spec: format/timeline 1.4, 1.5.
"""

from typing import Final

from pyhudi.kernels.keys import KeyGenerator
from pyhudi.state.config import (
    DEFAULT_PAYLOAD,
    KEYGEN_PACKAGE,
    OVERWRITE_PAYLOAD,
    STRATEGIES,
    TYPED_FIELDS_KEY,
    MergeMode,
    custom_fields,
)
from pyhudi.state.creation import NewTable
from pyhudi.state.layout import layout_of
from pyhudi.state.payloads import Payload, payload_of

__all__ = ["new_properties"]

_CLASS_OF: Final = {
    KeyGenerator.SIMPLE: "SimpleKeyGenerator",
    KeyGenerator.COMPLEX: "ComplexKeyGenerator",
    KeyGenerator.TIMESTAMP: "TimestampBasedKeyGenerator",
    KeyGenerator.CUSTOM: "CustomKeyGenerator",
    KeyGenerator.NON_PARTITION: "NonpartitionedKeyGenerator",
    KeyGenerator.GLOBAL_DELETE: "GlobalDeleteKeyGenerator",
}
_ORDER: Final = (
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.table.partition.fields",
    "hoodie.table.type",
    "hoodie.archivelog.folder",
    "hoodie.populate.meta.fields",
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class",
    "hoodie.table.partial.update.mode",
    "hoodie.record.merge.mode",
    "hoodie.record.merge.strategy.id",
    "hoodie.timeline.layout.version",
    "hoodie.timeline.path",
    "hoodie.timeline.history.path",
    "hoodie.table.timeline.timezone",
    "hoodie.table.version",
    "hoodie.table.initial.version",
    "hoodie.table.format",
    "hoodie.table.recordkey.fields",
    "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields",
    "hoodie.database.name",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.table.keygenerator.class",
    "hoodie.table.keygenerator.type",
    "hoodie.table.name",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.slash.separated.date.partitioning",
    "hoodie.compaction.record.merger.strategy",
    "hoodie.table.checksum",
    "hoodie.table.create.schema",
)


def new_properties(new: NewTable) -> dict[str, str]:
    """Return the properties that a table of this version starts with, in the order they are written.

    The checksum is not among them; writing the file adds it at its place.

    Spec: format/timeline 1.4, 1.5; the order of version 6 is that of the version-6 layout document.
    """
    spelled = _shared(new)
    spelled |= _of_version_6(new) if new.table_version == 6 else _of_layout_2(new)
    more = {**new.timebased, **(_payload(new).kept if new.table_version >= 9 else {})}
    if new.table_version == 6 and new.key_generator is KeyGenerator.CUSTOM:
        more[TYPED_FIELDS_KEY] = _typed_fields(new)
    return {key: spelled[key] for key in _ORDER if spelled.get(key)} | {
        key: text for key, text in sorted(more.items()) if text
    }


def _shared(new: NewTable) -> dict[str, str]:
    return {
        "hoodie.table.name": new.name,
        "hoodie.database.name": new.database,
        "hoodie.table.type": new.table_type,
        "hoodie.table.version": str(new.table_version),
        "hoodie.archivelog.folder": "archived",
        "hoodie.timeline.layout.version": str(layout_of(new.table_version).timeline_layout),
        "hoodie.table.timeline.timezone": "UTC" if new.timeline_zone == "UTC" else "",
        "hoodie.table.create.schema": new.create_schema,
        "hoodie.table.recordkey.fields": ",".join(new.record_key),
        "hoodie.datasource.write.hive_style_partitioning": _flag(new.is_hive_style),
        "hoodie.datasource.write.partitionpath.urlencode": _flag(new.is_url_encoded),
        "hoodie.datasource.write.drop.partition.columns": _flag(new.drops_partition_columns),
        "hoodie.populate.meta.fields": "" if new.populates_meta_fields else "false",
        "hoodie.table.checksum": "0",
    }


def _of_version_6(new: NewTable) -> dict[str, str]:
    """Add what only version 6 writes.

    The payload class says whether the ordering field counts. Without it Apache Hudi 0.x does not heed the field when it
    writes, 1.x does, and refuses a write that names the merge mode.
    """
    return {
        "hoodie.table.partition.fields": ",".join(element.partition(":")[0] for element in new.partition_by),
        "hoodie.table.precombine.field": ",".join(new.ordering),
        "hoodie.table.keygenerator.class": _class_of(new),
        "hoodie.compaction.payload.class": _class_of_rules(new),
    }


def _of_layout_2(new: NewTable) -> dict[str, str]:
    spelled = {
        "hoodie.table.partition.fields": _typed_fields(new),
        "hoodie.table.initial.version": str(new.table_version),
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.table.keygenerator.type": new.key_generator,
        "hoodie.record.merge.mode": new.merge_mode,
    }
    if new.key_generator is KeyGenerator.USER_PROVIDED:
        spelled["hoodie.table.keygenerator.class"] = new.key_generator_class
    is_custom = new.merge_mode is MergeMode.CUSTOM
    if is_custom:
        spelled["hoodie.record.merge.strategy.id"] = new.merge_strategy
    if new.table_version >= 9:
        slashes = _flag(new.has_slash_dates) if new.has_slash_dates else ""
        return spelled | {
            "hoodie.table.ordering.fields": ",".join(new.ordering),
            "hoodie.table.format": "native",
            "hoodie.table.legacy.payload.class": new.payload_class,
            "hoodie.table.partial.update.mode": _payload(new).partial_update_mode,
            "hoodie.datasource.write.slash.separated.date.partitioning": slashes,
        }
    named = {} if is_custom else {"hoodie.record.merge.strategy.id": STRATEGIES[new.merge_mode]}
    if new.payload_class or not is_custom:
        named["hoodie.compaction.payload.class"] = _class_of_rules(new)
    return spelled | named | {"hoodie.table.precombine.field": ",".join(new.ordering)}


def _typed_fields(new: NewTable) -> str:
    if new.key_generator is not KeyGenerator.CUSTOM:
        return ",".join(new.partition_by)
    return ",".join(f"{name}:{kind}" for name, kind in custom_fields(",".join(new.partition_by)).items())


def _class_of_rules(new: NewTable) -> str:
    is_event_time = new.merge_mode is MergeMode.EVENT_TIME_ORDERING
    return new.payload_class or (DEFAULT_PAYLOAD if is_event_time else OVERWRITE_PAYLOAD)


def _payload(new: NewTable) -> Payload:
    """Return what the payload class stands for; of none, what the merge mode says."""
    return payload_of(new.payload_class) if new.payload_class else Payload(mode=new.merge_mode)


def _class_of(new: NewTable) -> str:
    return new.key_generator_class or KEYGEN_PACKAGE + _CLASS_OF[new.key_generator]


def _flag(value: bool) -> str:
    return "true" if value else "false"
