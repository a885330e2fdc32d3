import pytest
from tests.building import listing, trip, trips

from pyhudi.errors import NotBuilt, OptionError

WRITE = "hoodie.datasource.write."


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("hoodie.table.name", "other", "trips"),
        ("hoodie.database.name", "lake", ""),
        (f"{WRITE}recordkey.field", "rider", "uuid"),
        (f"{WRITE}partitionpath.field", "rider", "city"),
        (f"{WRITE}partitionpath.field", "", "city"),
        ("hoodie.table.ordering.fields", "fare", "ts"),
        (f"{WRITE}precombine.field", "fare", "ts"),
        (f"{WRITE}keygenerator.class", "org.apache.hudi.keygen.ComplexKeyGenerator", "SimpleKeyGenerator|SIMPLE"),
        (f"{WRITE}keygenerator.type", "CUSTOM", "SimpleKeyGenerator|SIMPLE"),
        (f"{WRITE}keygenerator.class", "com.example.Own", "SimpleKeyGenerator|SIMPLE"),
        (f"{WRITE}hive_style_partitioning", True, "False"),
        (f"{WRITE}partitionpath.urlencode", True, "False"),
        (f"{WRITE}drop.partition.columns", True, "False"),
        ("hoodie.populate.meta.fields", False, "True"),
        ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"),
        ("hoodie.write.table.version", 7, "6|8|9"),
        ("hoodie.table.timeline.timezone", "LOCAL", "UTC"),
    ],
)
def test_an_option_that_contradicts_the_table_is_refused_naming_both(engine, version, key, value, stored):
    table = engine.create(version=version)
    before = listing(table)
    for write in (table.upsert, table.bulk_insert, table.insert_overwrite):
        with pytest.raises(OptionError, match="contradicts") as failure:
            write(engine.rows(trips(trip("a"))), options={key: value})
        assert str(failure.value.values["value"]).lower() == str(value).lower()
        assert any(text in str(failure.value.values["table"]) for text in stored.split("|"))
    with pytest.raises(OptionError):
        table.delete(keys=["a"], options={key: value})
    assert listing(table) == before


def test_a_table_type_that_contradicts_is_refused(engine):
    table = engine.create()
    with pytest.raises((OptionError, NotBuilt), match="type"):
        table.upsert(engine.rows(trips(trip("a"))), options={f"{WRITE}table.type": "MERGE_ON_READ"})


def test_options_that_say_what_the_table_says_are_fine(engine, version):
    table = engine.create(version=version)
    options = {
        "hoodie.table.name": "trips",
        f"{WRITE}recordkey.field": "uuid",
        f"{WRITE}partitionpath.field": "city",
        f"{WRITE}precombine.field": "ts",
        f"{WRITE}table.type": "copy_on_write",
        f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        f"{WRITE}hive_style_partitioning": "false",
        "hoodie.write.table.version": version,
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        f"{WRITE}keygenerator.type": "SIMPLE",
    }
    table.upsert(engine.rows(trips(trip("a"))), options=options)
    assert engine.rows_of(table, "uuid") == [("a",)]


def test_types_of_custom_partition_fields_are_compared_where_both_sides_tell_them(engine, version):
    said = {
        f"{WRITE}keygenerator.type": "CUSTOM",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    table = engine.create(version=version, partition_by=["city:SIMPLE", "ts:TIMESTAMP"], options=said)
    rows = engine.rows(trips(trip("a")))
    table.upsert(rows, options={f"{WRITE}partitionpath.field": "city:simple,ts:timestamp"})
    if version > 6:
        with pytest.raises(OptionError, match="contradicts"):
            table.upsert(rows, options={f"{WRITE}partitionpath.field": "city:timestamp,ts:timestamp"})


def test_a_users_own_generator_is_compared_by_name(engine):
    said = {f"{WRITE}keygenerator.type": "USER_PROVIDED", f"{WRITE}keygenerator.class": "mine"}
    table = engine.create(options=said)
    with pytest.raises(OptionError, match="contradicts"):
        table.upsert(engine.rows(trips(trip("a"))), options={f"{WRITE}keygenerator.class": "yours"})
