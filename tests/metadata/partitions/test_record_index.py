"""The record index of the metadata table: a record for each key that has a row, with its place."""

import uuid

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata import checking
from tests.metadata.checking import TYPES, VERSIONS, metadata_of, rows

from pyhudi.errors import DuplicateKeys
from pyhudi.metadata.partitions.record_index import RecordIndexKind, split_file_id
from pyhudi.metadata.record_places import read_places
from pyhudi.options import Settings

BUILT = {
    "hoodie.metadata.enable": True,
    "hoodie.metadata.global.record.level.index.enable": True,
    "hoodie.metadata.index.column.stats.enable": False,
    **TINY_FILTERS,
}


def new_table(table_type="cow", version=9, **said):
    return checking.new_table(version, table_type=table_type, built=BUILT, **said)


def told(table):
    """Return the keys, and check that each has the partition and the file group of its row."""
    found = read_places(metadata_of(table))
    assert found.equals(read_places(metadata_of(table), found["key"].combine_chunks()))
    places = {row["key"]: (row["partition"], row["file_id"]) for row in found.to_pylist()}
    assert len(places) == found.num_rows
    names = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    stored = table.scan(["uuid"], meta=True).to_arrow().select(names)
    for key, partition, name in zip(*(column.to_pylist() for column in stored.columns), strict=True):
        assert places[key] == (partition, name.split("_")[0].removeprefix("."))
    assert places.keys() == set(stored.column("_hoodie_record_key").to_pylist())
    return sorted(places)


@TYPES
@VERSIONS
def test_keys_come_and_go_with_their_rows(table_type, version):
    table = new_table(table_type, version)
    assert told(table) == ["a", "b"]
    table.upsert(rows("a", "aa", ts=2), options=TINY_FILTERS)
    assert told(table) == ["a", "aa", "b"]
    table.delete(rows("a", ts=3))
    assert told(table) == ["aa", "b"]
    table.upsert(rows("a", ts=4), options=TINY_FILTERS)
    assert told(table) == ["a", "aa", "b"]


@TYPES
@VERSIONS
def test_compactions_of_the_metadata_table_keep_it(table_type, version):
    table = new_table(table_type, version)
    for number in range(12):
        table.upsert(rows(f"a{number}"), options={"hoodie.metadata.compact.max.delta.commits": 3, **TINY_FILTERS})
    table.delete(rows("a3", "b", ts=3))
    assert told(table) == sorted(["a", *(f"a{number}" for number in range(12) if number != 3)])


@TYPES
def test_overwritten_and_deleted_partitions_take_their_keys_along(table_type):
    table = new_table(table_type)
    table.insert_overwrite(rows("b1", "b"), options=TINY_FILTERS)
    assert told(table) == ["a", "b", "b1"]
    table.insert_overwrite(rows("b1"), options=TINY_FILTERS)
    assert told(table) == ["a", "b1"]
    table.delete_partitions(["rio"])
    assert told(table) == ["a"]


@TYPES
def test_a_key_that_moves_within_a_commit_stays(table_type):
    table = TableBuilder(table_type).create()
    table.upsert(rows("a", "b"), options={**BUILT, "hoodie.index.type": "GLOBAL_SIMPLE"})
    table.upsert(trips(trip("a", city="rio", ts=5)), options=TINY_FILTERS)
    assert told(table) == ["a", "b"]


@TYPES
def test_it_is_built_of_a_table_with_a_history(table_type):
    table = TableBuilder(table_type).create()
    table.upsert(rows("a", "b"), options={"hoodie.metadata.enable": True, **TINY_FILTERS})
    table.upsert(rows("a1", "b1", ts=2), options=TINY_FILTERS)
    table.delete(rows("b", ts=3))
    table.upsert(rows("a2", ts=2), options=BUILT)
    assert told(table) == ["a", "a1", "a2", "b1"]


@TYPES
@VERSIONS
def test_rollbacks_and_restores_take_keys_back(table_type, version):
    table = new_table(table_type, version)
    last = table.upsert(rows("a1", ts=2), options=TINY_FILTERS)
    table.rollback(last.instant, completed=True)
    assert told(TableBuilder().reopen(table)) == ["a", "b"]


@TYPES
def test_services_keep_it(table_type):
    table = new_table(table_type)
    table.upsert(rows("a", "a1", ts=2), options=TINY_FILTERS)
    table.delete(rows("b", ts=2))
    if table_type == "mor":
        table.compact()
        assert told(table) == ["a", "a1"]
    table.cluster()
    assert told(table) == ["a", "a1"]
    table.clean()
    assert told(table) == ["a", "a1"]


def test_a_delete_that_comes_late_takes_no_key():
    table = TableBuilder("mor").create()
    table.upsert(rows("a", "b", ts=5), options=BUILT)
    table.upsert(trips(trip("a", ts=3)).append_column("_hoodie_is_deleted", pa.array([True])), options=TINY_FILTERS)
    assert told(table) == ["a", "b"]


def test_two_rows_of_a_key_are_refused():
    table = new_table()
    table.insert_overwrite(rows("b"), options=TINY_FILTERS)
    with pytest.raises(DuplicateKeys, match="one place"):
        table.bulk_insert(trips(trip("x", city="sf"), trip("x", city="rio")), options=TINY_FILTERS)
    with pytest.raises(DuplicateKeys, match="one place"):
        table.upsert(trips(trip("a", city="rio", ts=9)), options=TINY_FILTERS)
    assert told(table) == ["a", "b"]


def test_file_ids_are_spelled_as_apache_hudi_does():
    one = uuid.UUID("ffffffff-ffff-ffff-0000-000000000001")
    assert split_file_id(f"{one}-3") == (-1, 1, 3)
    assert split_file_id(str(one)) == (-1, 1, -1)
    assert split_file_id("file-1") is None


def test_shards_are_counted_by_what_the_records_will_take():
    kind = RecordIndexKind()
    assert kind.groups(Settings(), 1000) == 10
    assert kind.groups(Settings(), 10**9) == 89
    least = "hoodie.metadata.global.record.level.index.min.filegroup.count"
    assert kind.groups(Settings({least: "3"}), 0) == 3
