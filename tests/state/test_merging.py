"""The merge rules of a table."""

from dataclasses import replace

import pytest

from pyhudi.errors import NotBuilt
from pyhudi.kernels.merge import MergeSpec
from pyhudi.kernels.rules import Fill, LogRule
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.merging import merge_spec, require_merge_rules

KEPT = "hoodie.record.merge.property.hoodie.payload.delete."


def config(version=9, **said):
    entries = {"hoodie.table.name": "t", "hoodie.table.version": str(version), "hoodie.table.type": "MERGE_ON_READ"}
    return TableConfig.of(entries | {key.replace("__", "."): text for key, text in said.items()})


def test_the_mode_and_the_ordering_fields_are_the_tables():
    found = merge_spec(
        config(hoodie__table__ordering__fields="ts,seq", hoodie__record__merge__mode="EVENT_TIME_ORDERING")
    )
    assert found == MergeSpec(ordering=("ts", "seq"), is_event_time=True)


def test_what_the_table_keeps_of_delete_markers_holds_until_a_call_says_otherwise():
    table = config(**{f"{KEPT}field": "Op", f"{KEPT}marker": "D"})
    assert merge_spec(table) == MergeSpec(delete_field="Op", delete_marker="D")
    said = Settings.of({"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "x"})
    assert merge_spec(table, said) == MergeSpec(delete_field="op", delete_marker="x")


PAYLOAD = "org.apache.hudi.common.model."
MODES = {
    "hoodie.record.merge.mode": "CUSTOM",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
}


def payload(name, version):
    said = {"hoodie.compaction.payload.class": PAYLOAD + name, "hoodie.table.precombine.field": "ts"}
    table = config(version, **said, **(MODES if version == 8 else {}))
    require_merge_rules(table)
    return merge_spec(table)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OverwriteWithLatestAvroPayload", MergeSpec()),
        ("DefaultHoodieRecordPayload", MergeSpec(is_event_time=True)),
        ("EventTimeAvroPayload", MergeSpec(is_event_time=True)),
        ("FirstValueAvroPayload", MergeSpec(is_event_time=True, keeps_ties=True)),
        ("OverwriteNonDefaultsWithLatestAvroPayload", MergeSpec(fill=Fill.NULLS, fills_log=False)),
        ("PartialUpdateAvroPayload", MergeSpec(is_event_time=True, fill=Fill.NULLS, marks_filled=True)),
        ("AWSDmsAvroPayload", MergeSpec(delete_field="Op", delete_marker="D", ignores_case=True)),
    ],
)
def test_payload_classes_of_versions_6_and_8_mean_rules_of_their_own(name, expected):
    by_time = replace(expected, ordering=("ts",))
    assert payload(name, 6) == replace(by_time, log_rule=LogRule.PRECOMBINED)
    assert payload(name, 8) == replace(by_time, log_rule=LogRule.ORDERED_DELETES, fills_log=True)


def test_debezium_orders_by_its_own_columns():
    deletes = MergeSpec(is_event_time=True, delete_field="_change_operation_type", delete_marker="d", ignores_case=True)
    early = replace(deletes, log_rule=LogRule.PRECOMBINED)
    binlog = replace(early, ordering=("_event_seq",), is_binlog=True, keeps_ties=True)
    assert payload("debezium.MySqlDebeziumAvroPayload", 6) == binlog
    filled = {"fill": Fill.UNAVAILABLE, "unavailable": "__debezium_unavailable_value", "fills_log": False}
    assert payload("debezium.PostgresDebeziumAvroPayload", 6) == replace(early, ordering=("_event_lsn",), **filled)


def test_version_9_says_everything_by_mode_and_properties():
    said = {
        "hoodie.table.legacy.payload.class": PAYLOAD + "debezium.PostgresDebeziumAvroPayload",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.table.ordering.fields": "_event_lsn",
        "hoodie.table.partial.update.mode": "FILL_UNAVAILABLE",
        "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value": "?",
        f"{KEPT}field": "_change_operation_type",
        f"{KEPT}marker": "d",
    }
    require_merge_rules(config(**said))
    assert merge_spec(config(**said)) == MergeSpec(
        ordering=("_event_lsn",),
        is_event_time=True,
        delete_field="_change_operation_type",
        delete_marker="d",
        fill=Fill.UNAVAILABLE,
        unavailable="?",
    )
    nulls = merge_spec(config(**{"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}))
    assert nulls == MergeSpec(fill=Fill.NULLS)


def test_a_class_of_the_same_name_in_another_package_is_not_known():
    said = MODES | {"hoodie.compaction.payload.class": "com.example.PartialUpdateAvroPayload"}
    with pytest.raises(NotBuilt, match=r"com\.example"):
        require_merge_rules(config(8, **said))


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"hoodie.record.merge.mode": "CUSTOM", "hoodie.compaction.payload.class": "a.B"}, "a.B"),
        ({"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.table.partial.update.mode": "X"}, "X"),
    ],
)
def test_rules_that_are_not_built_are_refused_by_name(said, named):
    with pytest.raises(NotBuilt, match=named):
        require_merge_rules(config(**said))


def test_plain_rules_are_taken():
    require_merge_rules(config(hoodie__record__merge__mode="COMMIT_TIME_ORDERING"))
