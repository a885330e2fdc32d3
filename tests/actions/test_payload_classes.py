"""Tables that are made by a payload class keep the cells, and the rows, that it keeps."""

import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, trip, trips

TABLE_TYPES = ("cow", "mor")
MODEL = "org.apache.hudi.common.model."


def made_by(engine, version, name):
    return engine.create(version=version, options={"hoodie.datasource.write.payload.class": MODEL + name})


def test_nulls_do_not_overwrite_what_a_partial_update_keeps(engine, version):
    table = made_by(engine, version, "PartialUpdateAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=1, rider="r", fare=1.0), trip("b", ts=9, rider="r", fare=None))))
    table.upsert(engine.rows(trips(trip("a", ts=2, rider=None, fare=2.0), trip("b", ts=2, rider="x", fare=3.0))))
    assert engine.rows_of(table, "uuid", "ts", "rider", "fare") == [("a", 2, "r", 2.0), ("b", 9, "r", 3.0)]


def test_nulls_do_not_overwrite_where_the_later_row_wins(engine, version):
    table = made_by(engine, version, "OverwriteNonDefaultsWithLatestAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=9, rider="r", fare=1.0))))
    table.upsert(engine.rows(trips(trip("a", ts=2, rider=None, fare=2.0))))
    assert engine.rows_of(table, "ts", "rider", "fare") == [(2, "r", 2.0)]


def test_the_later_row_wins_by_a_class_that_heeds_no_order(engine, version):
    table = made_by(engine, version, "OverwriteWithLatestAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=9, fare=1.0))))
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))))
    assert engine.rows_of(table, "fare") == [(2.0,)]


DMS = pa.schema([*TRIPS, ("Op", pa.string())])


def captured(engine, version, *rows):
    """Make a table of DMS rows."""
    options = {"hoodie.datasource.write.payload.class": MODEL + "AWSDmsAvroPayload"}
    table = engine.create(DMS, version=version, options=options)
    table.upsert(engine.rows(trips(*rows, schema=DMS)))
    return table


def test_a_row_that_says_it_is_a_delete_deletes_by_whichever_verb_it_comes(engine, version):
    table = captured(engine, version, *(trip(key, ts=5, Op="I") for key in "abcd"))
    source = [trip("a", ts=3, Op="D"), trip("b", ts=6, Op="U"), trip("e", Op="D"), trip("f", Op="I")]
    merge = table.merge(engine.rows(trips(*source, schema=DMS)), on="t.uuid = s.uuid and t.city = s.city")
    result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert counts(result) == (1, 1, 1)
    assert engine.rows_of(table, "uuid", "ts") == [("b", 6), ("c", 5), ("d", 5), ("f", 1)]
    planned = table.update(set={"Op": "'D'"}, where="uuid = 'c'", dry_run=True)
    assert (planned.updates, planned.deletes) == (None, None)
    assert counts(table.update(set={"Op": "'D'", "ts": "1"}, where="uuid = 'c'")) == (0, 0, 1)
    assert engine.rows_of(table, "uuid") == [("b",), ("d",), ("f",)]
    table.compact() if table.config.table_type == "MERGE_ON_READ" else None
    assert engine.rows_of(table, "uuid", "Op") == [("b", "U"), ("d", "I"), ("f", "I")]


def test_a_dry_run_does_not_count_rows_that_say_they_are_deletes(engine):
    table = captured(engine, 9, trip("a", Op="I"))
    marked = engine.rows(trips(trip("a", ts=2, Op="D"), trip("b", Op="D"), trip("c", Op="I"), schema=DMS))
    planned = [
        table.upsert(marked, dry_run=True),
        table.insert(marked, duplicates="drop", dry_run=True),
        table.insert_overwrite(marked, dry_run=True),
        table.bulk_insert(marked, dry_run=True),
    ]
    assert [(one.inserts, one.updates) for one in planned] == [(None, None), (None, 0), (None, 0), (None, 0)]
    assert table.insert(marked, duplicates="drop").inserted == 1


@pytest.mark.parametrize("mode", ["NONE", "GLOBAL_SORT", "PARTITION_SORT"])
def test_a_bulk_insert_leaves_out_rows_that_say_they_are_deletes(engine, mode):
    table = captured(engine, 9, trip("z", Op="I"))
    marked = engine.rows(trips(trip("a", Op="D"), trip("b", Op="I"), schema=DMS))
    assert counts(table.bulk_insert(marked, options={"hoodie.bulkinsert.sort.mode": mode})) == (1, 0, 0)
    assert engine.rows_of(table, "uuid") == [("b",), ("z",)]


MYSQL = pa.schema([*TRIPS, ("_event_seq", pa.string()), ("_change_operation_type", pa.string())])


@pytest.mark.parametrize("version", [6, 8])
def test_an_update_counts_where_a_row_at_the_place_of_the_stored_one_does_not(engine, version):
    options = {"hoodie.datasource.write.payload.class": MODEL + "debezium.MySqlDebeziumAvroPayload"}
    table = engine.create(MYSQL, version=version, options=options, ordering=["_event_seq"], partition_by=[])
    table.upsert(engine.rows(trips(trip("a", _event_seq="1.1"), trip("b", _event_seq="1.1"), schema=MYSQL)))
    for rider, place in (("base", "1.9"), ("log", "1.9")):
        assert table.update(set={"rider": f"'{rider}'"}, where="uuid = 'a'").updated == 1
        assert engine.rows_of(table, "uuid", "rider") == [("a", rider), ("b", "r")]
        table.upsert(engine.rows(trips(trip("a", _event_seq=place), schema=MYSQL)))
    for rider, place in (("later", "1.10"), ("earlier", "1.2")):
        table.update(set={"rider": f"'{rider}'", "_event_seq": f"'{place}'"}, where="uuid = 'a'")
        assert engine.rows_of(table, "uuid", "rider") == [("a", rider), ("b", "r")]
