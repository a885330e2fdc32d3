import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TRIPS, counts, listing, sorted_rows, trip, trips

from pyhudi.errors import HudiError, InvalidInput, KeyMissing
from pyhudi.kernels.keys import register_key_generator
from pyhudi.timeline.instant import Action

TABLE_TYPES = ["cow", "mor"]

STYLE = "hoodie.datasource.write.hive_style_partitioning"
ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
SLASHES = "hoodie.datasource.write.slash.separated.date.partitioning"
DROP = "hoodie.datasource.write.drop.partition.columns"
VIRTUAL = "hoodie.populate.meta.fields"
KEYGEN = "hoodie.datasource.write.keygenerator.type"
TIMEBASED = {
    KEYGEN: "TIMESTAMP",
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}
TYPED = ["city:SIMPLE", "ts:TIMESTAMP"]
DAY = 1_700_000_000_000


def identity(table):
    rows = table.scan(meta=True).to_arrow().to_pylist()
    return sorted((row["_hoodie_record_key"], row["_hoodie_partition_path"]) for row in rows)


@pytest.mark.parametrize(
    ("said", "row", "key", "path"),
    [
        ({}, trip("a"), "a", "sf"),
        ({"partition_by": None}, trip("a"), "a", ""),
        ({"record_key": ["uuid", "rider"]}, trip("a"), "uuid:a,rider:r", "sf"),
        ({"record_key": ["uuid", "rider"], "partition_by": None}, trip("a", rider=None), "uuid:a,rider:__null__", ""),
        ({"partition_by": ["city", "rider"], "record_key": ["uuid", "ts"]}, trip("a"), "uuid:a,ts:1", "sf/r"),
        ({"options": {STYLE: True}}, trip("a"), "a", "city=sf"),
        ({"options": {STYLE: True, ENCODE: True}}, trip("a", "a/b c"), "a", "city=a%2Fb c"),
        ({}, trip("a", "x/y"), "a", "x/y"),
        ({}, trip("a", None), "a", "__HIVE_DEFAULT_PARTITION__"),
        ({"partition_by": ["ts"], "options": TIMEBASED}, trip("a", ts=DAY), "a", "2023/11/14"),
        (
            {"partition_by": TYPED, "options": {**TIMEBASED, KEYGEN: "CUSTOM"}},
            trip("a", ts=DAY),
            "a",
            "sf/2023/11/14",
        ),
    ],
)  # fmt: skip
def test_every_key_generator_writes_and_finds_its_keys(engine, version, said, row, key, path):
    table = engine.create(version=version, **said)
    more = {}
    if version == 6 and "SIMPLE" in str(said.get("partition_by")):
        more = {"hoodie.datasource.write.partitionpath.field": "city:SIMPLE,ts:TIMESTAMP"}
    table.upsert(engine.rows(trips(row)), options=more)
    assert identity(table) == [(key, path)]
    assert counts(table.upsert(engine.rows(trips({**row, "fare": 7.0})), options=more)) == (0, 1, 0)
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", row["city"], 7.0)]
    assert counts(table.delete(keys=[key], options=more)) == (0, 0, 1)


def test_a_date_partition_may_be_written_with_slashes(engine):
    schema = pa.schema([("uuid", pa.string()), ("day", pa.date32()), ("ts", pa.int64())])
    table = engine.create(schema, partition_by=["day"], options={SLASHES: True})
    row = {"uuid": "a", "day": datetime.date(2024, 2, 3), "ts": 1}
    table.upsert(engine.rows(trips(row, schema=schema)))
    assert identity(table) == [("a", "2024/02/03")]
    assert counts(table.upsert(engine.rows(trips({**row, "ts": 2}, schema=schema)))) == (0, 1, 0)


def test_keys_are_generated_where_the_table_has_no_key_fields(engine, version):
    table = engine.create(version=version, record_key=None, ordering=None)
    result = table.insert(engine.rows(trips(trip("a"), trip("a"))))
    keys = sorted(key for key, _ in identity(table))
    assert len(keys) == 2
    assert all(key.startswith(f"{result.instant}_") for key in keys)
    table.upsert(engine.rows(trips(trip("a"))))
    assert len(identity(table)) == 3


def test_rows_read_from_a_table_without_key_fields_update_and_delete_by_their_meta_columns(engine, version):
    table = engine.create(version=version, record_key=None, ordering=None)
    table.insert(engine.rows(trips(trip("a"), trip("b"), trip("c", "oslo"))))
    read = table.scan(filter="uuid = 'a'", meta=True).to_arrow()
    changed = read.set_column(read.schema.get_field_index("fare"), "fare", pa.array([8.0]))
    assert counts(table.upsert(engine.rows(changed))) == (0, 1, 0)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 8.0), ("b", 1.0), ("c", 1.0)]
    assert counts(table.delete(engine.rows(table.scan(filter="city = 'oslo'", meta=True).to_arrow()))) == (0, 0, 1)
    assert engine.rows_of(table, "uuid") == [("a",), ("b",)]


def test_rows_read_from_a_table_update_and_delete_by_their_meta_columns(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    read = table.scan(meta=True).to_arrow()
    changed = read.set_column(read.schema.get_field_index("fare"), "fare", pa.array([2.0, 2.0]))
    assert counts(table.upsert(engine.rows(changed))) == (0, 2, 0)
    only_meta = table.scan(["_hoodie_record_key", "_hoodie_partition_path"], filter="uuid = 'a'").to_arrow()
    assert counts(table.delete(engine.rows(only_meta))) == (0, 0, 1)
    assert engine.rows_of(table, "uuid", "fare") == [("b", 2.0)]


def test_a_delete_by_rows_that_say_no_generated_key_is_refused(engine):
    table = engine.create(record_key=None, ordering=None)
    table.insert(engine.rows(trips(trip("a"))))
    with pytest.raises(KeyMissing, match="_hoodie_record_key"):
        table.delete(engine.rows(trips(trip("a"))))


def test_a_users_own_key_generator_makes_keys_and_paths(engine, version):
    def spread(rows):
        return pc.utf8_upper(rows["uuid"]), pc.binary_join_element_wise("zone", rows["rider"], rows["city"], "/")

    register_key_generator("spread", spread)
    said = {
        "hoodie.datasource.write.keygenerator.class": "spread",
        KEYGEN: "USER_PROVIDED",
    }
    table = engine.create(version=version, options=said)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    assert identity(table) == [("A", "zone/r/sf"), ("B", "zone/r/oslo")]
    assert counts(table.upsert(engine.rows(trips(trip("a", fare=2.0), trip("c"))))) == (1, 1, 0)
    assert counts(table.delete(keys=["B"])) == (0, 0, 1)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 2.0), ("c", 1.0)]


@pytest.mark.parametrize("key", [["uuid"], ["uuid", "rider"]])
def test_virtual_keys_are_computed_from_the_rows(engine, version, key):
    table = engine.create(version=version, record_key=key, options={VIRTUAL: False})
    table.upsert(engine.rows(trips(trip("a"), trip("b"))))
    rows = table.scan(meta=True).to_arrow()
    assert rows["_hoodie_record_key"].null_count == 2
    result = table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0), trip("c"))))
    assert counts(result) == (1, 1, 0)
    table.delete(engine.rows(trips(trip("b"))))
    table.insert(engine.rows(trips(trip("d"))))
    table.update(set={"fare": "fare + 1"}, where="uuid = 'd'")
    assert engine.rows_of(table, "uuid", "fare") == [("a", 2.0), ("c", 1.0), ("d", 2.0)]


@pytest.mark.parametrize("style", [True, False])
def test_dropped_partition_columns_come_back_from_the_path(engine, version, style):
    table = engine.create(version=version, options={DROP: True, STYLE: style})
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0), trip("c", "rome"))))
    path = table.inspect.file_slices()["base_file"].to_pylist()[0]
    with table.state.storage.open_input(path) as source:
        assert "city" not in pa.parquet.ParquetFile(source).schema_arrow.names
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", "sf", 2.0), ("b", "oslo", 1.0), ("c", "rome", 1.0)]
    assert engine.rows_of(table, "uuid", filter="city = 'sf' or fare < 0") == [("a",)]
    assert engine.rows_of(table, "city") == [("oslo",), ("rome",), ("sf",)]
    assert table.scan().count() == 3
    assert counts(table.update(set={"rider": "city"}, where="city = 'rome' and fare = 1")) == (0, 1, 0)
    assert engine.rows_of(table, "rider", filter="uuid = 'c'") == [("rome",)]
    assert counts(table.delete(where="city = 'oslo'")) == (0, 0, 1)
    assert sorted_rows(table.scan().to_arrow())[0] == ("a", 2, "r", 2.0, "sf")
    assert table.schema.names == TRIPS.names


@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("has_new_encoding", [True, False])
def test_the_encoding_of_a_single_complex_key_is_that_of_the_stored_keys(engine, version, has_new_encoding):
    encoding = "hoodie.write.complex.keygen.new.encoding"
    said = {KEYGEN: "COMPLEX"}
    table = engine.create(version=version, options=said)
    table.upsert(engine.rows(trips(trip("a"))), options={encoding: has_new_encoding})
    expected = "a" if has_new_encoding else "uuid:a"
    assert identity(table) == [(expected, "sf")]
    for options in ({}, {encoding: not has_new_encoding}):
        assert counts(table.upsert(engine.rows(trips(trip("a", ts=2), trip("a", "oslo"))), options=options))[1] >= 1
    assert identity(table) == [(expected, "oslo"), (expected, "sf")]
    assert counts(table.delete(engine.rows(trips(trip("a"))))) == (0, 0, 1)


@pytest.mark.parametrize("uuid", [None, ""])
@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "delete", "insert_overwrite"])
def test_a_missing_key_is_refused_and_nothing_is_written(engine, verb, uuid):
    table = engine.create()
    before = {status.path for status in table.state.storage.list("")}
    with pytest.raises(KeyMissing, match="uuid"):
        getattr(table, verb)(engine.rows(trips(trip("a"), trip(uuid))))
    if engine.name == "spark" and verb == "bulk_insert":  # rows are gone over once, so it shows while they are written
        assert engine.rows_of(table) == []
        assert [one.action for one in table.timeline.instants] == [Action.ROLLBACK]
        return
    assert {status.path for status in table.state.storage.list("")} == before


def test_an_unregistered_key_generator_is_named(engine):
    said = {
        "hoodie.datasource.write.keygenerator.class": "com.example.Own",
        KEYGEN: "USER_PROVIDED",
    }
    table = engine.create(options=said)
    with pytest.raises(HudiError, match=r"com\.example\.Own"):
        table.upsert(engine.rows(trips(trip("a"))))


@pytest.mark.parametrize("city", ["..", "a/../b", "/etc", "a//b", ".hoodie"])
def test_a_partition_value_cannot_leave_the_table(engine, city):
    table = engine.create()
    before = listing(table)
    with pytest.raises(InvalidInput, match=r"[Pp]ath|partition"):
        table.upsert(engine.rows(trips(trip("a", city))))
    assert listing(table) == before


def not_utf8(kind, name):
    """Return rows of which the second has bytes in a column that are no text."""
    values = pa.array([b"fine", b"\xff\xfe"]).cast(kind, safe=False)
    rows = trips(trip("a"), trip("b"))
    return rows.set_column(rows.schema.get_field_index(name), name, values)


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
@pytest.mark.parametrize("said", [{}, {"record_key": ["ts", "uuid"]}, {"record_key": ["ts"], "partition_by": ["uuid"]}])
def test_keys_and_partitions_that_are_no_utf8_are_refused(engine, kind, said):
    if engine.name == "spark" and kind == pa.string():
        pytest.skip("arrow does not send such text to Spark; tests/spark/test_keys.py makes it there")
    table = engine.create(TRIPS.set(0, pa.field("uuid", kind)), **said)
    with pytest.raises(InvalidInput, match="UTF-8"):
        table.upsert(engine.rows(not_utf8(kind, "uuid")))
    assert engine.rows_of(table) == []
    table.upsert(engine.rows(not_utf8(kind, "uuid").slice(0, 1)))
    assert len(engine.rows_of(table)) == 1
