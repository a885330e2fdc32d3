"""Keys are found by the record index of the metadata table."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import metadata_of
from tests.metadata.partitions import test_partitioned_record_index as by_partition
from tests.metadata.partitions.test_record_index import told

from pyhudi.commit import tag
from pyhudi.metadata.table.upkeep import update_properties
from pyhudi.state.properties_file import open_state

INDEX = {"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX", "hoodie.metadata.enable": True, **TINY_FILTERS}
MOVES = "hoodie.record.index.update.partition.path"
TYPES = pytest.mark.parametrize("table_type", ["cow", "mor"])


def new_table(table_type, version=9):
    table = TableBuilder(table_type).create(version=version)
    table.upsert(trips(trip("a"), trip("b", city="rio"), trip("c")), options=INDEX)
    return table


@TYPES
@pytest.mark.parametrize("version", [6, 8, 9])
def test_rows_go_where_the_index_says_and_no_base_file_is_read(table_type, version, monkeypatch):
    table = new_table(table_type, version)
    monkeypatch.setattr(tag, "search", None)
    table.upsert(trips(trip("a", ts=2), trip("b", city="sf", ts=2), trip("d", ts=2)), options=TINY_FILTERS)
    rows = TableBuilder().rows_of(table, "uuid", "ts")
    assert rows == [("a", 2), ("b", 2), ("c", 1), ("d", 2)]
    assert told(table) == ["a", "b", "c", "d"]


@TYPES
@pytest.mark.parametrize("follows", [True, False])
def test_a_key_with_another_partition_moves_or_stays(table_type, follows):
    table = new_table(table_type)
    table.upsert(trips(trip("b", city="sf", ts=3)), options={MOVES: follows, **TINY_FILTERS})
    stored = table.scan(["uuid"], meta=True).to_arrow()
    places = dict(zip(stored["uuid"].to_pylist(), stored["_hoodie_partition_path"].to_pylist(), strict=True))
    assert places == {"a": "sf", "b": "sf" if follows else "rio", "c": "sf"}
    assert told(table) == ["a", "b", "c"]


@TYPES
def test_an_older_row_does_not_move_a_newer_one(table_type):
    table = new_table(table_type)
    table.upsert(trips(trip("b", city="sf", ts=0)), options={MOVES: True, **TINY_FILTERS})
    assert ("b", 1, "rio") in TableBuilder().rows_of(table, "uuid", "ts", "city")
    assert told(table) == ["a", "b", "c"]


@TYPES
@pytest.mark.parametrize("kind", ["GLOBAL_RECORD_LEVEL_INDEX", "RECORD_LEVEL_INDEX"])
def test_an_index_that_is_ahead_of_what_a_write_has_seen_is_no_damage(table_type, kind, monkeypatch):
    options = {**INDEX, "hoodie.index.type": kind, "hoodie.parquet.small.file.limit": 0}
    table, places = TableBuilder(table_type).create(), tag.told_places
    table.upsert(trips(trip("a"), trip("b", city="rio")), options=options)

    def later(*given, **named):
        monkeypatch.undo()
        TableBuilder().reopen(table).upsert(trips(trip("d", ts=2)), options=options)
        return places(*given, **named)

    monkeypatch.setattr(tag, "told_places", later)
    TableBuilder().reopen(table).upsert(trips(trip("a", ts=3), trip("d", ts=3)), options=options)
    assert TableBuilder().rows_of(table, "uuid", "ts") == [("a", 3), ("b", 1), ("d", 3)]
    assert TableBuilder().reopen(table).check(all_keys=True).ok


@TYPES
def test_a_key_that_was_deleted_is_new_again(table_type):
    table = new_table(table_type)
    table.delete(keys=["b"])
    table.upsert(trips(trip("b", city="sf", ts=7)), options=TINY_FILTERS)
    assert ("b", 7, "sf") in TableBuilder().rows_of(table, "uuid", "ts", "city")
    assert told(table) == ["a", "b", "c"]


def test_without_the_partition_keys_are_read_from_base_files(caplog):
    table = new_table("cow")
    state = open_state(table.state.storage, table.state.env)
    update_properties(state.storage, state.env, {"hoodie.table.metadata.partitions": "files"})
    lost = TableBuilder().reopen(table)
    lost.upsert(trips(trip("a", ts=2)), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
    assert "no record index" in caplog.text
    assert TableBuilder().rows_of(lost, "uuid", "ts") == [("a", 2), ("b", 1), ("c", 1)]


IN_PARTITION = {**INDEX, "hoodie.index.type": "RECORD_LEVEL_INDEX"}


@TYPES
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_key_is_looked_for_in_the_partition_of_its_row(engine, table_type, version, monkeypatch):
    table = engine.create(version=version, table_type=table_type)
    table.upsert(engine.rows(trips(trip("a"), trip("b", city="rio"), trip("c"))), options=IN_PARTITION)
    assert metadata_of(table).has_keys_by_partition
    monkeypatch.setattr(tag, "search", None)
    table.upsert(
        engine.rows(trips(trip("a", ts=2), trip("b", city="sf", ts=2), trip("d", city="oslo"))), options=TINY_FILTERS
    )
    found = table.scan(["uuid", "ts", "city"]).to_arrow().to_pylist()
    rows = sorted((row["uuid"], row["ts"], row["city"]) for row in found)
    assert rows == [("a", 2, "sf"), ("b", 1, "rio"), ("b", 2, "sf"), ("c", 1, "sf"), ("d", 1, "oslo")]
    table.delete(keys=["b"])
    monkeypatch.undo()
    assert by_partition.told(table) == [("oslo", "d"), ("sf", "a"), ("sf", "c")]


@TYPES
@pytest.mark.parametrize(
    ("kind", "enable"),
    [
        ("GLOBAL_RECORD_LEVEL_INDEX", by_partition.ENABLE),
        ("RECORD_LEVEL_INDEX", "hoodie.metadata.global.record.level.index.enable"),
    ],
)
def test_either_index_reads_either_form_of_the_partition(table_type, kind, enable):
    table = TableBuilder(table_type).create()
    rows = trips(trip("a"), trip("b", city="rio"), trip("c"))
    table.upsert(rows, options={"hoodie.metadata.enable": True, enable: True, **TINY_FILTERS})
    assert metadata_of(table).has_keys_by_partition == (enable == by_partition.ENABLE)
    table.upsert(trips(trip("a", ts=2), trip("d", ts=2)), options={"hoodie.index.type": kind, **TINY_FILTERS})
    assert TableBuilder().rows_of(table, "uuid", "ts") == [("a", 2), ("b", 1), ("c", 1), ("d", 2)]
