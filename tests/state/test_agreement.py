import pytest

from pyhudi.errors import OptionError
from pyhudi.options import Settings
from pyhudi.state.agreement import require_agreement
from pyhudi.state.config import TableConfig

TABLE = {
    "hoodie.table.name": "t",
    "hoodie.table.version": "9",
    "hoodie.database.name": "d",
    "hoodie.table.recordkey.fields": "id,name",
    "hoodie.table.partition.fields": "day:SIMPLE",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.table.keygenerator.type": "CUSTOM",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.table.timeline.timezone": "UTC",
}
SAME = {
    "hoodie.table.name": "t",
    "hoodie.database.name": "d",
    "hoodie.write.table.version": "9",
    "hoodie.datasource.write.table.type": "copy_on_write",
    "hoodie.datasource.write.recordkey.field": "id, name",
    "hoodie.datasource.write.partitionpath.field": "day:simple",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.hive_style_partitioning": "TRUE",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.CustomAvroKeyGenerator",
    "hoodie.write.record.merge.mode": "event_time_ordering",
    "hoodie.table.timeline.timezone": "utc",
}


def test_repeating_what_the_table_says_is_fine():
    require_agreement(Settings(SAME), TableConfig.of(TABLE))
    require_agreement(Settings({"hoodie.datasource.write.partitionpath.field": "day"}), TableConfig.of(TABLE))


def test_types_that_a_table_of_version_6_was_made_with_are_not_taken_back():
    made = {**TABLE, "hoodie.table.version": "6", "hoodie.table.partition.fields": "day"}
    read = TableConfig.of({**made, "pyhudi.partition.fields": "day:SIMPLE"})
    require_agreement(Settings({"hoodie.datasource.write.partitionpath.field": "day:simple"}), read)
    with pytest.raises(OptionError, match="day"):
        require_agreement(Settings({"hoodie.datasource.write.partitionpath.field": "day:TIMESTAMP"}), read)


def test_saying_nothing_is_fine():
    require_agreement(Settings(), TableConfig.of(TABLE))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("hoodie.table.name", "u"),
        ("hoodie.database.name", "e"),
        ("hoodie.write.table.version", "8"),
        ("hoodie.datasource.write.table.type", "MERGE_ON_READ"),
        ("hoodie.datasource.write.recordkey.field", "name,id"),
        ("hoodie.datasource.write.partitionpath.field", "day:TIMESTAMP"),
        ("hoodie.datasource.write.partitionpath.field", ""),
        ("hoodie.table.ordering.fields", ""),
        ("hoodie.datasource.write.hive_style_partitioning", "false"),
        ("hoodie.datasource.write.partitionpath.urlencode", "true"),
        ("hoodie.datasource.write.keygenerator.class", "com.example.Mine"),
        ("hoodie.datasource.write.keygenerator.type", "SIMPLE"),
        ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING"),
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.table.timeline.timezone", "LOCAL"),
    ],
)
def test_a_contradiction_names_the_option_and_both_values(key, text):
    with pytest.raises(OptionError) as told:
        require_agreement(Settings({**SAME, key: text}), TableConfig.of(TABLE))
    assert told.value.values["key"] == key
    assert set(told.value.values) == {"key", "value", "table"}
