import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, listing, trip, trips

from pyhudi.errors import DuplicateKeys, InvalidInput

TABLE_TYPES = ["cow", "mor"]


def test_an_upsert_inserts_new_keys_and_updates_existing_ones(engine, version):
    table = engine.create(version=version)
    first = table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    assert counts(first) == (2, 0, 0)
    assert first.operation == "upsert"
    assert len(first.files) == 2
    assert first.bytes_written > 0
    assert first.completion_time >= first.instant
    second = table.upsert(engine.rows(trips(trip("a", fare=9.0, ts=2), trip("c"))))
    assert counts(second) == (1, 1, 0)
    assert len(second.files) == 1
    assert engine.rows_of(table, "uuid", "fare") == [("a", 9.0), ("b", 1.0), ("c", 1.0)]
    assert table.latest_instant == second.instant


def test_meta_columns_name_key_partition_file_and_commit(engine, version):
    table = engine.create(version=version)
    first = table.upsert(engine.rows(trips(trip("a"), trip("b"))))
    second = table.upsert(engine.rows(trips(trip("a", ts=2))))
    rows = {row["_hoodie_record_key"]: row for row in engine.read(table.scan(meta=True)).to_pylist()}
    assert rows["a"]["_hoodie_commit_time"] == second.instant
    assert rows["b"]["_hoodie_commit_time"] == first.instant
    assert {row["_hoodie_partition_path"] for row in rows.values()} == {"sf"}
    # Rows of logs name their file group, those of base files the file.
    groups = {name.split("/")[-1].lstrip(".").split("_")[0] for name in second.files}
    assert {row["_hoodie_file_name"].split("_")[0] for row in rows.values()} == groups
    if engine.table_type == "cow":
        assert {f"sf/{row['_hoodie_file_name']}" for row in rows.values()} == set(second.files)
    assert len({row["_hoodie_commit_seqno"] for row in rows.values()}) == 2
    assert rows["a"]["_hoodie_commit_seqno"].startswith(second.instant + "_")


def test_the_newest_row_of_a_batch_wins(engine):
    table = engine.create()
    result = table.upsert(engine.rows(trips(trip("a", ts=1, fare=1.0), trip("a", ts=3, fare=3.0), trip("a", ts=2))))
    assert counts(result) == (1, 0, 0)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 3.0)]


def test_event_time_keeps_the_stored_row_if_it_is_newer(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5, fare=5.0), trip("b", ts=5, fare=5.0), trip("c", ts=5))))
    result = table.upsert(
        engine.rows(trips(trip("a", ts=4, fare=4.0), trip("b", ts=5, fare=6.0), trip("c", ts=None, fare=7.0))),
        options={"pyhudi.ordering.nulls": "allow"},
    )
    # What a log has is not compared with what is stored before it is read.
    assert counts(result) == (0, 1 if engine.table_type == "cow" else 3, 0)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 5.0), ("b", 6.0), ("c", 1.0)]


def test_a_null_ordering_value_loses_to_any_positive_one(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", ts=None, fare=1.0))), options={"pyhudi.ordering.nulls": "allow"})
    table.upsert(engine.rows(trips(trip("a", ts=1, fare=2.0))))
    assert engine.rows_of(table, "fare") == [(2.0,)]


def test_commit_time_takes_the_later_commit_whatever_its_ordering_value(engine, version):
    options = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    table = engine.create(version=version, options=options)
    table.upsert(engine.rows(trips(trip("a", ts=5, fare=5.0))))
    table.upsert(engine.rows(trips(trip("a", ts=4, fare=4.0), trip("a", ts=3, fare=3.0))))
    assert engine.rows_of(table, "fare") == [(4.0,)]


def test_without_ordering_fields_the_later_row_wins(engine):
    table = engine.create(ordering=None)
    table.upsert(engine.rows(trips(trip("a", ts=5, fare=5.0), trip("a", ts=1, fare=1.0))))
    assert engine.rows_of(table, "fare") == [(1.0,)]
    table.upsert(engine.rows(trips(trip("a", ts=0, fare=0.5))))
    assert engine.rows_of(table, "fare") == [(0.5,)]


def test_several_ordering_fields_compare_one_after_the_other(engine, version):
    table = engine.create(version=version, ordering=["ts", "fare"])
    table.upsert(engine.rows(trips(trip("a", ts=1, fare=2.0, rider="old"), trip("b", ts=1, fare=2.0, rider="old"))))
    table.upsert(engine.rows(trips(trip("a", ts=1, fare=1.0, rider="new"), trip("b", ts=2, fare=1.0, rider="new"))))
    assert engine.rows_of(table, "uuid", "rider") == [("a", "old"), ("b", "new")]


def test_rows_marked_deleted_delete(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5), trip("b", ts=5), trip("c", ts=5))))
    schema = TRIPS.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    marked = [trip("a", ts=6, _hoodie_is_deleted=True), trip("b", ts=4, _hoodie_is_deleted=True)]
    kept = [trip("c", ts=6, fare=3.0, _hoodie_is_deleted=False), trip("d", _hoodie_is_deleted=True)]
    result = table.upsert(engine.rows(trips(*marked, *kept, schema=schema)))
    assert counts(result) == (0, 1, 1)
    assert engine.rows_of(table) == [("b", 5, "r", 1.0, "sf"), ("c", 6, "r", 3.0, "sf")]
    assert table.schema.names == TRIPS.names


def test_a_delete_of_an_unknown_partition_writes_no_file(engine):
    table = engine.create()
    schema = TRIPS.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    result = table.upsert(engine.rows(trips(trip("a", _hoodie_is_deleted=True), schema=schema)))
    assert result.files == ()
    assert engine.rows_of(table) == []


def test_a_delete_marker_of_the_users_own_deletes(engine):
    table = engine.create()
    options = {"hoodie.payload.delete.field": "rider", "hoodie.payload.delete.marker": "gone"}
    table.upsert(engine.rows(trips(trip("a"), trip("b"))), options=options)
    result = table.upsert(engine.rows(trips(trip("a", ts=2, rider="gone"))), options=options)
    assert counts(result) == (0, 0, 1)
    assert engine.rows_of(table, "uuid") == [("b",)]


def test_insert_puts_a_second_row_beside_a_stored_key(engine, version):
    table = engine.create(version=version)
    table.insert(engine.rows(trips(trip("a", fare=1.0))))
    result = table.insert(engine.rows(trips(trip("a", fare=2.0), trip("a", fare=3.0))))
    assert counts(result) == (2, 0, 0)
    assert len(result.files) == 1
    assert engine.rows_of(table, "uuid", "fare") == [("a", 1.0), ("a", 2.0), ("a", 3.0)]


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "BUCKET"])
def test_insert_drops_rows_whose_key_is_stored(engine, kind):
    options = {"hoodie.index.type": kind, "hoodie.bucket.index.num.buckets": 2}
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a"), trip("b"))), options=options)
    result = table.insert(engine.rows(trips(trip("a", fare=2.0), trip("c"))), duplicates="drop", options=options)
    assert (result.inserted, result.rejected) == (1, 1)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 1.0), ("b", 1.0), ("c", 1.0)]


def test_a_global_index_drops_rows_whose_key_is_stored_elsewhere(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", "sf"))))
    options = {"hoodie.index.type": "GLOBAL_SIMPLE"}
    result = table.insert(engine.rows(trips(trip("a", "oslo"), trip("b", "oslo"))), duplicates="drop", options=options)
    assert (result.inserted, result.rejected) == (1, 1)
    assert engine.rows_of(table, "uuid", "city") == [("a", "sf"), ("b", "oslo")]


def test_insert_fails_on_a_stored_key_and_leaves_the_rows_alone(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    with pytest.raises(DuplicateKeys, match="upsert") as failure:
        table.insert(engine.rows(trips(trip("a", fare=2.0), trip("b"))), duplicates="fail")
    assert failure.value.values["keys_count"] == 1
    assert engine.rows_of(table, "uuid", "fare") == [("a", 1.0)]
    assert table.inspect.pending().num_rows == 0


def test_insert_may_keep_one_row_a_key(engine):
    table = engine.create()
    result = table.insert(
        engine.rows(trips(trip("a", ts=1), trip("a", ts=2))), options={"hoodie.combine.before.insert": True}
    )
    assert counts(result) == (1, 0, 0)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 2)]


def test_delete_takes_keys_away_wherever_they_are(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"), trip("c"))))
    result = table.delete(keys=["a", "b", "absent"])
    assert counts(result) == (0, 0, 2)
    assert result.operation == "delete"
    assert engine.rows_of(table, "uuid") == [("c",)]
    assert counts(table.delete(keys=["absent"])) == (0, 0, 0)


def test_delete_takes_records_away_in_their_partition(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5), trip("a", "oslo"), trip("c"))))
    narrow = trips(trip("a"), trip("x")).select(["uuid", "city"])
    assert counts(table.delete(engine.rows(narrow))) == (0, 0, 1)
    assert engine.rows_of(table, "uuid", "city") == [("a", "oslo"), ("c", "sf")]


def test_delete_takes_exactly_one_kind_of_argument(engine):
    table = engine.create()
    for given in ({}, {"keys": ["a"], "where": "ts > 1"}):
        with pytest.raises(InvalidInput, match="exactly one"):
            table.delete(**given)


def test_insert_overwrite_replaces_the_partitions_it_names(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b"), trip("c", "oslo"))))
    result = table.insert_overwrite(engine.rows(trips(trip("d"))))
    assert counts(result) == (1, 0, 0)
    assert engine.rows_of(table, "uuid", "city") == [("c", "oslo"), ("d", "sf")]
    commit = {"cow": "commit", "mor": "deltacommit"}[engine.table_type]
    assert table.inspect.commits()["action"].to_pylist() == ["replacecommit", commit]
    assert table.inspect.commits()["file_groups_replaced"].to_pylist() == [1, 0]


def test_insert_overwrite_table_replaces_everything(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("c", "oslo"))))
    table.insert_overwrite_table(engine.rows(trips(trip("d"))))
    assert engine.rows_of(table, "uuid", "city") == [("d", "sf")]
    table.upsert(engine.rows(trips(trip("a", "oslo"), trip("d", ts=2))))
    assert engine.rows_of(table, "uuid", "city") == [("a", "oslo"), ("d", "sf")]


@pytest.mark.parametrize("city", [".x", "_x", "x.", "#x", " x", "%41", "x=y", "täx", "-", "a\tb"])
def test_a_partition_of_any_name_is_read_again(engine, version, city):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", city))))
    table.upsert(engine.rows(trips(trip("a", city, ts=2))))
    assert engine.rows_of(table, "uuid", "city", "ts") == [("a", city, 2)]


def test_partitions_are_deleted_by_name_and_by_pattern(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(*(trip(city, city) for city in ("sf", "oslo", "omsk", "rome")))))
    assert table.delete_partitions(["o*"], dry_run=True).partitions == ("omsk", "oslo")
    table.delete_partitions(["o*"])
    assert engine.rows_of(table, "city") == [("rome",), ("sf",)]
    table.delete_partitions(["rome"])
    assert engine.rows_of(table, "city") == [("sf",)]
    before = listing(table)
    with pytest.raises(InvalidInput, match="no partition fits"):
        table.delete_partitions(["oslo"])
    with pytest.raises(InvalidInput, match="is a list"):
        table.delete_partitions("sf")
    assert listing(table) == before


def test_commit_metadata_is_kept_beside_the_schema(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))), commit_metadata={"job": "nightly"})
    table.delete_partitions(["sf"], commit_metadata={"job": "weekly"})
    extras = [dict(extra) for extra in table.inspect.commits()["extra_metadata"].to_pylist()]
    assert [extra["job"] for extra in extras] == ["weekly", "nightly"]
    assert '"uuid"' in extras[1]["schema"]


def test_an_empty_batch_is_an_empty_commit(engine):
    table = engine.create()
    assert counts(table.upsert(engine.rows(trips()))) == (0, 0, 0)
    assert engine.rows_of(table) == []
