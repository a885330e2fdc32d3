"""Keys as values, as tuples, as dicts and as stored texts, in look-ups and deletes."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TINY_FILTERS, trip, trips

from pyhudi.errors import InvalidInput, KeyMissing, SchemaMismatch
from pyhudi.kernels.keys import register_key_generator
from pyhudi.queries.given_keys import keys_as_stored

TABLE_TYPES = ["cow", "mor"]

KEYGEN = "hoodie.datasource.write.keygenerator.type"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("uuid", pa.string()),
        ("day", pa.date32()),
        ("price", pa.decimal128(10, 2)),
        ("at", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("city", pa.string()),
        ("area", pa.string()),
        ("ts", pa.int64()),
    ]
)
DAY = datetime.date(2024, 2, 3)
ROW = {"uuid": "a", "day": DAY, "price": Decimal("1.50"), "at": {"x": 7, "y": "b"}, "city": "sf", "area": "n", "ts": 1}


def filled(engine, record_key, *ids, **said):
    table = engine.create(SCHEMA, record_key=record_key, **said)
    rows = pa.Table.from_pylist([{**ROW, "id": one, "uuid": f"u{one}"} for one in ids], schema=SCHEMA)
    table.upsert(engine.rows(rows), options=TINY_FILTERS)
    return table


def found(table, *keys):
    return sorted(table.lookup(list(keys)).column("id").to_pylist())


@pytest.mark.parametrize(
    ("record_key", "partition_by", "keys", "stored"),
    [
        (["id"], ["city"], [1, {"id": 2}, (3,), "4"], ["1", "2", "3", "4"]),
        (["id"], ["city", "area"], [1, {"id": 2}, [3], "4", "id:5"], ["id:1", "id:2", "id:3", "id:4", "id:5"]),
        (["id", "uuid"], ["city"], [(1, "u1"), {"uuid": "u2", "id": 2}], ["id:1,uuid:u1", "id:2,uuid:u2"]),
        (["id", "uuid"], ["city"], ["id:1,uuid:u1", (2, None)], ["id:1,uuid:u1", "id:2,uuid:__null__"]),
        (["day"], None, [DAY], ["2024-02-03"]),
        (["price"], None, [Decimal("1.5")], ["1.50"]),
        (["at.x", "at.y"], None, [(7, "b"), {"at.y": "c", "at.x": 8}], ["at.x:7,at.y:b", "at.x:8,at.y:c"]),
        (["id"], None, pa.array([2, 1, 2]), ["2", "1"]),
    ],
)
def test_keys_are_spelled_as_the_tables_key_generator_does(engine, record_key, partition_by, keys, stored):
    table = engine.create(SCHEMA, record_key=record_key, partition_by=partition_by)
    assert keys_as_stored(table.state, keys) == stored


@pytest.mark.parametrize("key", [["id"], ["id", "uuid"]])
@pytest.mark.parametrize("partition_by", [None, ["city"], ["city", "area"]])
def test_values_are_looked_up_and_deleted(engine, version, key, partition_by):
    table = filled(engine, key, 1, 2, 3, version=version, partition_by=partition_by)
    values = [(one, f"u{one}") if len(key) > 1 else one for one in (1, 2, 9)]
    assert found(table, *values) == [1, 2]
    planned = table.delete(keys=values, dry_run=True)
    assert (planned.deletes, planned.not_stored) == (2, 1)
    gone = table.delete(keys=[*values, values[0]])
    assert (gone.deleted, gone.not_stored) == (2, 1)
    assert "1 keys not stored" in str(gone)
    assert found(table, *values) == []
    again = table.delete(keys=values[:2])
    assert again.not_stored == 2
    assert sorted(engine.read(table.scan(["id"]))["id"].to_pylist()) == [3]


def test_a_text_is_the_value_of_a_key_that_is_stored_with_its_fields_name(engine, version):
    table = filled(engine, ["id"], 1, 2, version=version, partition_by=["city", "area"])
    assert engine.rows_of(table, "_hoodie_record_key") == [("id:1",), ("id:2",)]
    assert found(table, "1", "id:2") == [1, 2]
    assert table.delete(keys=["1"]).deleted == 1


@pytest.mark.parametrize("version", [6, 8])
def test_a_key_without_its_fields_name_is_found_where_the_stored_ones_have_none(engine, version):
    table = engine.create(SCHEMA, version=version, record_key=["id"], options={KEYGEN: "COMPLEX"})
    rows = pa.Table.from_pylist([{**ROW, "id": 1}], schema=SCHEMA)
    table.upsert(engine.rows(rows), options={"hoodie.write.complex.keygen.new.encoding": True})
    assert engine.rows_of(table, "_hoodie_record_key") == [("1",)]
    assert found(table, 1) == found(table, "1") == [1]


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "BUCKET"])
@pytest.mark.parametrize("partition_by", [None, ["city"]])
def test_how_many_keys_are_not_stored_is_told_under_every_index(engine, index, partition_by):
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": 2, **TINY_FILTERS}
    table = engine.create(partition_by=partition_by)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))), options=options)
    assert table.delete(keys=["a", "x", "y"], options=options).not_stored == 2
    assert table.delete(keys=["a", "b"], options=options).not_stored == 1
    assert table.delete(keys=["a", "b"], options=options).not_stored == 2


def test_a_key_in_two_partitions_is_one_that_is_stored(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a"), trip("a", "oslo"))))
    gone = table.delete(keys=["a", "b"])
    assert (gone.deleted, gone.not_stored) == (2, 1)


def test_a_users_own_generator_is_given_the_fields_of_a_dict(engine):
    register_key_generator("upper", lambda rows: (pc.utf8_upper(rows["uuid"]), rows["city"]))
    said = {"hoodie.datasource.write.keygenerator.class": "upper", KEYGEN: "USER_PROVIDED"}
    table = engine.create(options=said)
    table.upsert(engine.rows(trips(trip("a"))))
    assert table.lookup([{"uuid": "a", "city": "sf"}])["uuid"].to_pylist() == ["a"]


@pytest.mark.parametrize(
    ("record_key", "keys", "error", "says"),
    [
        (["id", "uuid"], [1], InvalidInput, "tuple"),
        (["id", "uuid"], [(1, "a", 2)], InvalidInput, "tuple"),
        (["id", "uuid"], [{"id": 1}], InvalidInput, "each key field"),
        (["id"], [{"id": 1, "city": "sf"}], InvalidInput, "each key field"),
        (["id"], [1.5], SchemaMismatch, "id"),
        (["uuid"], [1], SchemaMismatch, "uuid"),
        (["id"], [None], KeyMissing, "null"),
        (["id"], {"id": 1}, InvalidInput, "list of texts or values"),
        (None, [1], InvalidInput, "generated"),
    ],
)
def test_what_can_be_no_key_is_refused(engine, record_key, keys, error, says):
    table = engine.create(SCHEMA, record_key=record_key, ordering=None)
    for verb in (table.lookup, lambda given: table.delete(keys=given)):
        with pytest.raises(error, match=says):
            verb(keys)
