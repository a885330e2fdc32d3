"""What new tables that are asked for a payload class say of it: as Apache Hudi 1.2.0 was seen to."""

import pytest

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.options import Settings
from pyhudi.state.agreement import require_agreement
from pyhudi.state.config import TableConfig
from pyhudi.state.creation import new_table
from pyhudi.state.first_properties import new_properties
from pyhudi.state.merging import merge_spec

MODEL = "org.apache.hudi.common.model."
WRITE = "hoodie.datasource.write.payload.class"
COLUMNS = ["id", "v", "_event_seq", "_event_lsn", "_event_bin_file", "_event_pos"]
KEPT = "hoodie.record.merge.property.hoodie."
DEBEZIUM = {f"{KEPT}payload.delete.field": "_change_operation_type", f"{KEPT}payload.delete.marker": "d"}
BY_CLASS = {
    "hoodie.record.merge.mode": "CUSTOM",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
}
EVENT = {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}
COMMIT = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
EVENT_8 = EVENT | {"hoodie.record.merge.strategy.id": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"}
COMMIT_8 = COMMIT | {"hoodie.record.merge.strategy.id": "ce9acb64-bde0-424c-9b91-f6ebba25356d"}
DEFAULTS = {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}
CLASSES = {
    "OverwriteWithLatestAvroPayload": (COMMIT_8, COMMIT),
    "DefaultHoodieRecordPayload": (EVENT_8, EVENT),
    "EventTimeAvroPayload": (EVENT_8, EVENT),
    "OverwriteNonDefaultsWithLatestAvroPayload": (BY_CLASS, COMMIT | DEFAULTS),
    "PartialUpdateAvroPayload": (BY_CLASS, EVENT | DEFAULTS),
    "AWSDmsAvroPayload": (
        BY_CLASS,
        COMMIT | {f"{KEPT}payload.delete.field": "Op", f"{KEPT}payload.delete.marker": "D"},
    ),
    "debezium.MySqlDebeziumAvroPayload": (BY_CLASS, EVENT | DEBEZIUM),
    "debezium.PostgresDebeziumAvroPayload": (
        BY_CLASS,
        EVENT
        | DEBEZIUM
        | {
            "hoodie.table.partial.update.mode": "FILL_UNAVAILABLE",
            f"{KEPT}write.partial.update.unavailable.value": "__debezium_unavailable_value",
        },
    ),
}
OWN_ORDER = {
    "debezium.MySqlDebeziumAvroPayload": ["_event_bin_file", "_event_pos"],
    "debezium.PostgresDebeziumAvroPayload": ["_event_lsn"],
}


def asked(options, version=9, ordering=("v",)):
    return new_properties(
        new_table(
            Settings.of(options), columns=COLUMNS, name="t", record_key=["id"], ordering=ordering, table_version=version
        )
    )


def said_of_merging(properties):
    named = ("payload", "merge", "partial")
    return {key: text for key, text in properties.items() if any(word in key for word in named)}


@pytest.mark.parametrize("key", [WRITE, "hoodie.compaction.payload.class"])
@pytest.mark.parametrize("name", CLASSES)
def test_a_new_table_says_of_a_payload_class_what_apache_hudi_says(name, key):
    of_8, of_9 = CLASSES[name]
    own = OWN_ORDER.get(name)
    kept = {"hoodie.compaction.payload.class": MODEL + name}
    assert said_of_merging(asked({key: MODEL + name}, 6)) == kept
    assert said_of_merging(asked({key: MODEL + name}, 8)) == kept | of_8
    latest = asked({key: MODEL + name}, 9, own or ["v"])
    assert said_of_merging(latest) == {"hoodie.table.legacy.payload.class": MODEL + name} | of_9
    assert latest["hoodie.table.ordering.fields"] == ",".join(own or ["v"])


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("name", CLASSES)
def test_a_table_agrees_with_the_class_that_it_was_made_by_and_merges_so(name, version):
    config = TableConfig.of(
        asked({WRITE: MODEL + name}, version, OWN_ORDER.get(name, ["v"]) if version == 9 else ["v"])
    )
    require_agreement(Settings.of({WRITE: MODEL + name}), config)
    assert config.payload_class == MODEL + name
    other = "AWSDmsAvroPayload" if name != "AWSDmsAvroPayload" else "PartialUpdateAvroPayload"
    assert merge_spec(config) != merge_spec(TableConfig.of(asked({WRITE: MODEL + other}, version)))
    with pytest.raises(OptionError, match="contradicts"):
        require_agreement(Settings.of({WRITE: MODEL + other}), config)


def test_a_table_without_a_class_agrees_with_what_its_mode_means():
    config = TableConfig.of(asked({}))
    require_agreement(Settings.of({WRITE: f"{MODEL}DefaultHoodieRecordPayload"}), config)
    for other in ("OverwriteWithLatestAvroPayload", "PartialUpdateAvroPayload"):
        with pytest.raises(OptionError, match="contradicts"):
            require_agreement(Settings.of({WRITE: MODEL + other}), config)


@pytest.mark.parametrize(
    "name", ["com.example.PartialUpdateAvroPayload", f"{MODEL}FirstValueAvroPayload", "PartialUpdateAvroPayload"]
)
def test_a_class_whose_rules_are_not_known_is_refused_by_name(name):
    with pytest.raises(NotBuilt, match=name):
        asked({WRITE: name})


@pytest.mark.parametrize(
    ("more", "ordering", "named"),
    [
        ({"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}, ["v"], "merge.mode"),
        ({"hoodie.write.record.merge.strategy.id": "mine"}, ["v"], "merge.strategy"),
        ({}, ["v", "id"], "ordering.fields"),
    ],
)
def test_rules_that_contradict_the_class_are_refused(more, ordering, named):
    with pytest.raises(OptionError, match=named):
        asked({WRITE: f"{MODEL}debezium.PostgresDebeziumAvroPayload", **more}, 9, ordering)
