"""The record index by partition: file groups of its own for each partition of the table, made as that is written."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata import checking
from tests.metadata.checking import TYPES, VERSIONS, metadata_of, rows

from pyhudi.errors import DuplicateKeys, InvalidInput
from pyhudi.metadata.definitions import is_partitioned, read_indexes
from pyhudi.metadata.partitions import record_index
from pyhudi.metadata.partitions.partitioned_record_index import PartitionedRecordIndexKind
from pyhudi.metadata.record_places import keys_by_shard, read_places
from pyhudi.metadata.shards import spans_of
from pyhudi.options import Settings

INDEX = "hoodie.index.type"
ENABLE = "hoodie.metadata.record.level.index.enable"
LEAST = "hoodie.metadata.record.level.index.min.filegroup.count"
BUILT = {
    "hoodie.metadata.enable": True,
    ENABLE: True,
    LEAST: 2,
    "hoodie.metadata.index.column.stats.enable": False,
    **TINY_FILTERS,
}


def new_table(table_type="cow", version=9, **said):
    return TableBuilder().reopen(checking.new_table(version, table_type=table_type, built=BUILT, **said))


def told(table):
    """Return the keys by partition, and check that look-ups find each, in the file group of its row."""
    table = TableBuilder().reopen(table)
    index = metadata_of(table)
    assert index.has_keys_by_partition
    found = read_places(index)
    assert sorted(found.to_pylist(), key=repr) == sorted(
        read_places(index, found["key"].combine_chunks().unique()).to_pylist(), key=repr
    )
    names = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    stored = table.scan(["uuid"], meta=True).to_arrow().select(names).to_pylist()
    places = [(row["key"], row["partition"], row["file_id"]) for row in found.to_pylist()]
    actual = [(key, where, name.split("_")[0].removeprefix(".")) for key, where, name in map(dict.values, stored)]
    assert sorted(places) == sorted(actual)
    assert not [one for one in table.check().problems.to_pylist() if one["kind"] == "record index"]
    return sorted((where, key) for key, where, _ in places)


def groups(table):
    """Return how many file groups each partition of the table has."""
    slices = metadata_of(table).file_groups("record_index")
    return {owner: span.count for owner, span in spans_of([one.group.file_id for one in slices]).items()}


@TYPES
@VERSIONS
def test_keys_come_and_go_with_their_rows_and_may_be_in_two_partitions(table_type, version):
    table = new_table(table_type, version)
    assert is_partitioned(read_indexes(table.state)["record_index"])
    assert told(table) == [("rio", "b"), ("sf", "a")]
    table.upsert(trips(trip("a", city="rio", ts=2), trip("c", city="oslo", ts=2)), options=TINY_FILTERS)
    assert told(table) == [("oslo", "c"), ("rio", "a"), ("rio", "b"), ("sf", "a")]
    table.delete(rows("a", ts=3))
    assert told(table) == [("oslo", "c"), ("rio", "a"), ("rio", "b")]
    table.upsert(rows("a", ts=4), options=TINY_FILTERS)
    assert told(table) == [("oslo", "c"), ("rio", "a"), ("rio", "b"), ("sf", "a")]


@VERSIONS
def test_a_partition_that_is_new_gets_file_groups_as_the_options_say_then(version):
    table = new_table(version=version)
    table.upsert(trips(trip("x", city="oslo")), options={LEAST: 3, **TINY_FILTERS})
    assert groups(TableBuilder().reopen(table)) == {"oslo": 3, "rio": 2, "sf": 2}


@TYPES
@VERSIONS
def test_compactions_of_the_metadata_table_keep_it(table_type, version):
    table = new_table(table_type, version)
    for number in range(12):
        more = {"hoodie.metadata.compact.max.delta.commits": 3, **TINY_FILTERS}
        table.upsert(trips(trip(f"k{number}", city=f"c-{number % 3}_.x")), options=more)
    table.delete(rows("b", ts=3))
    assert told(table) == sorted([("sf", "a"), *((f"c-{number % 3}_.x", f"k{number}") for number in range(12))])
    assert groups(TableBuilder().reopen(table)) == {"c-0_.x": 1, "c-1_.x": 1, "c-2_.x": 1, "rio": 2, "sf": 2}


@TYPES
def test_overwritten_and_deleted_partitions_take_their_keys_along(table_type):
    table = new_table(table_type)
    table.insert_overwrite(rows("b1", "b"), options=TINY_FILTERS)
    assert told(table) == [("rio", "b"), ("rio", "b1"), ("sf", "a")]
    table.delete_partitions(["rio"])
    assert told(table) == [("sf", "a")]
    table.upsert(rows("b2"), options=TINY_FILTERS)
    assert told(table) == [("rio", "b2"), ("sf", "a")]


@TYPES
@VERSIONS
@pytest.mark.parametrize("is_created", [True, False])
def test_it_is_built_of_a_table_with_a_history(table_type, version, is_created):
    table = TableBuilder(table_type).create(version=version)
    table.upsert(rows("a", "b"), options={"hoodie.metadata.enable": True, **TINY_FILTERS})
    table.upsert(trips(trip("a", city="rio", ts=2)), options=TINY_FILTERS)
    table.delete(rows("b", ts=3))
    if is_created:
        table.create_index("record_index", options={ENABLE: True, LEAST: 2})
    else:
        table.upsert(rows("a2", ts=2), options=BUILT)
    assert told(table) == [("rio", "a"), ("sf", "a"), *([] if is_created else [("sf", "a2")])]
    assert groups(TableBuilder().reopen(table)) == {"rio": 2, "sf": 2}


@VERSIONS
def test_it_is_dropped_with_its_definition(version):
    table = new_table(version=version)
    table.drop_index("record_index")
    table = TableBuilder().reopen(table)
    assert "record_index" not in read_indexes(table.state)
    table.create_index("record_index")
    assert not metadata_of(TableBuilder().reopen(table)).has_keys_by_partition


@TYPES
@VERSIONS
def test_rollbacks_and_restores_take_keys_back(table_type, version):
    table = new_table(table_type, version)
    last = table.upsert(trips(trip("c", city="oslo", ts=2)), options=TINY_FILTERS)
    table.rollback(last.instant, completed=True)
    assert told(table) == [("rio", "b"), ("sf", "a")]
    table.upsert(trips(trip("d", city="oslo", ts=2)), options={LEAST: 3, **TINY_FILTERS})
    assert told(table) == [("oslo", "d"), ("rio", "b"), ("sf", "a")]


@TYPES
def test_services_keep_it(table_type):
    table = new_table(table_type)
    table.upsert(trips(trip("a", city="rio", ts=2), trip("a1")), options=TINY_FILTERS)
    table.delete(rows("b", ts=2))
    if table_type == "mor":
        table.compact()
        assert told(table) == [("rio", "a"), ("sf", "a"), ("sf", "a1")]
    table.cluster()
    assert told(table) == [("rio", "a"), ("sf", "a"), ("sf", "a1")]
    table.clean()
    assert told(table) == [("rio", "a"), ("sf", "a"), ("sf", "a1")]


def test_two_rows_of_a_key_in_one_partition_are_refused():
    table = new_table()
    with pytest.raises(DuplicateKeys, match="one place"):
        table.bulk_insert(trips(trip("a", ts=5)), options=TINY_FILTERS)
    assert told(table) == [("rio", "b"), ("sf", "a")]


@pytest.mark.parametrize(
    ("index", "verb", "times"),
    [
        ("RECORD_LEVEL_INDEX", "upsert", 0),
        ("RECORD_LEVEL_INDEX", "insert", 1),
        ("SIMPLE", "upsert", 1),
    ],
)
def test_new_keys_are_not_looked_up_once_more_where_the_index_was_asked_for_them(monkeypatch, index, verb, times):
    table, asked = TableBuilder().create(), []
    table.upsert(rows("a", "b"), options={**BUILT, INDEX: index})

    def require_new(content, stored, *, table_version):
        asked.extend(content.keys.to_pylist())

    monkeypatch.setattr(record_index, "_require_new", require_new)
    getattr(TableBuilder().reopen(table), verb)(rows("c"), options=TINY_FILTERS)
    assert asked == [b"c"] * times
    monkeypatch.undo()
    assert told(table) == [("rio", "b"), ("rio", "c"), ("sf", "a")]


@VERSIONS
def test_a_table_without_partitions_has_one_set_of_file_groups(version):
    table = new_table(version=version, partition_by=None)
    assert groups(table) == {"": 2}
    assert told(table) == [("", "a"), ("", "b")]


def test_only_shards_of_partitions_that_are_asked_for_are_read():
    table = new_table()
    index = metadata_of(table)
    keys = read_places(index)["key"].combine_chunks()
    shards = {one.group.file_id for one, _ in keys_by_shard(index, keys, {"rio"})}
    assert shards
    assert all(one.startswith("record-index-rio-") for one in shards)
    assert read_places(index, keys, {"rio"}).column("key").to_pylist() == ["b"]


def test_repair_builds_it_anew_in_its_form():
    table = new_table()
    table.repair("record_index", options={LEAST: 4})
    assert told(table) == [("rio", "b"), ("sf", "a")]
    assert groups(TableBuilder().reopen(table)) == {"rio": 4, "sf": 4}


def test_a_secondary_index_needs_the_global_form():
    table = new_table()
    with pytest.raises(InvalidInput, match="global record index"):
        table.create_index("secondary", "city")


def test_shards_of_a_partition_are_counted_by_what_its_records_will_take():
    kind = PartitionedRecordIndexKind()
    assert kind.groups(Settings(), 1000) == 1
    assert kind.groups(Settings(), 10**9) == 10
    assert kind.groups(Settings({LEAST: "3"}), 0) == 3


def test_the_index_that_options_name_decides_the_form_before_the_table_keeps_one():
    table = TableBuilder().create()
    table.upsert(rows("a", "b"), options={"hoodie.metadata.enable": True, **TINY_FILTERS})
    table.create_index("record_index", options={"hoodie.index.type": "RECORD_LEVEL_INDEX"})
    table.upsert(trips(trip("a", city="rio")), options={"hoodie.index.type": "RECORD_LEVEL_INDEX", **TINY_FILTERS})
    assert told(table) == [("rio", "a"), ("rio", "b"), ("sf", "a")]
