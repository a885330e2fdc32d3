import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, counts, listing, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.errors import InvalidInput
from pyhudi.kernels.bucket import bucket_number

KINDS = ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "BUCKET"]
GLOBAL = ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"]
MOVES = {
    "GLOBAL_SIMPLE": "hoodie.simple.index.update.partition.path",
    "GLOBAL_BLOOM": "hoodie.bloom.index.update.partition.path",
}


def options_of(kind, **more):
    return {"hoodie.index.type": kind, "hoodie.bucket.index.num.buckets": 4, **TINY_FILTERS, **more}


@pytest.mark.parametrize("kind", KINDS)
def test_every_index_finds_stored_keys_in_many_file_groups(engine, version, kind):
    table = engine.create(version=version)
    options = {**options_of(kind), **SMALL_FILES}
    rows = [trip(f"k{i:02}", ["sf", "oslo"][i % 2]) for i in range(40)]
    table.upsert(engine.rows(trips(*rows)), options=options)
    again = [trip(f"k{i:02}", ["sf", "oslo"][i % 2], ts=2, fare=2.0) for i in range(0, 50, 3)]
    assert counts(table.upsert(engine.rows(trips(*again)), options=options)) == (3, 14, 0)
    expected = {row["uuid"]: row["fare"] for row in rows} | {row["uuid"]: row["fare"] for row in again}
    assert engine.rows_of(table, "uuid", "fare") == sorted(expected.items())


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM", "BUCKET"])
def test_an_index_of_partitions_lets_one_key_live_in_two(engine, kind):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", "sf"))), options=options_of(kind))
    assert counts(table.upsert(engine.rows(trips(trip("a", "oslo"))), options=options_of(kind))) == (1, 0, 0)
    assert engine.rows_of(table, "city") == [("oslo",), ("sf",)]


@pytest.mark.parametrize("kind", GLOBAL)
def test_a_record_moves_to_the_partition_of_its_new_row(engine, version, kind):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", "sf"), trip("b", "sf"))), options=options_of(kind))
    result = table.upsert(engine.rows(trips(trip("a", "oslo", ts=2, fare=2.0))), options=options_of(kind))
    assert counts(result) == (1, 0, 1)
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", "oslo", 2.0), ("b", "sf", 1.0)]
    result = table.upsert(engine.rows(trips(trip("a", "sf", ts=3, fare=3.0))), options=options_of(kind))
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", "sf", 3.0), ("b", "sf", 1.0)]


@pytest.mark.parametrize("kind", GLOBAL)
def test_a_record_stays_where_it_is_if_the_option_says_so(engine, kind):
    table = engine.create()
    options = options_of(kind, **{MOVES[kind]: False})
    table.upsert(engine.rows(trips(trip("a", "sf"))), options=options)
    assert counts(table.upsert(engine.rows(trips(trip("a", "oslo", ts=2, fare=2.0))), options=options)) == (0, 1, 0)
    assert engine.rows_of(table, "uuid", "fare", "_hoodie_partition_path") == [("a", 2.0, "sf")]
    assert table.inspect.partitions()["partition"].to_pylist() == ["sf"]


@pytest.mark.parametrize("kind", GLOBAL)
def test_under_event_time_an_older_row_moves_nothing(engine, version, kind):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", "sf", ts=5, fare=5.0))), options=options_of(kind))
    result = table.upsert(engine.rows(trips(trip("a", "oslo", ts=4), trip("b", "oslo"))), options=options_of(kind))
    assert counts(result) == (1, 0, 0)
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", "sf", 5.0), ("b", "oslo", 1.0)]
    table.upsert(engine.rows(trips(trip("a", "oslo", ts=5, fare=6.0))), options=options_of(kind))
    assert engine.rows_of(table, "uuid", "city", "fare") == [("a", "oslo", 6.0), ("b", "oslo", 1.0)]


@pytest.mark.parametrize("kind", GLOBAL)
def test_under_commit_time_an_older_row_moves_its_record(engine, kind):
    table = engine.create(options={"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.upsert(engine.rows(trips(trip("a", "sf", ts=5))), options=options_of(kind))
    table.upsert(engine.rows(trips(trip("a", "oslo", ts=4))), options=options_of(kind))
    assert engine.rows_of(table, "uuid", "city") == [("a", "oslo")]


@pytest.mark.parametrize("kind", GLOBAL)
def test_two_rows_of_one_key_and_two_partitions_leave_the_newer(engine, kind):
    table = engine.create()
    rows = trips(trip("a", "sf", ts=2), trip("a", "oslo", ts=1))
    assert counts(table.upsert(engine.rows(rows), options=options_of(kind))) == (1, 0, 0)
    assert engine.rows_of(table, "uuid", "city") == [("a", "sf")]


@pytest.mark.parametrize("kind", GLOBAL)
def test_a_global_delete_finds_its_record_in_another_partition(engine, kind):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", "sf"), trip("b", "sf"))), options=options_of(kind))
    result = table.delete(engine.rows(trips(trip("a", "oslo"))), options=options_of(kind))
    assert counts(result) == (0, 0, 1)
    assert engine.rows_of(table, "uuid") == [("b",)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_index_deletes_by_key(engine, kind):
    table = engine.create()
    rows = [trip(f"k{i:02}", ["sf", "oslo"][i % 2]) for i in range(20)]
    table.upsert(engine.rows(trips(*rows)), options={**options_of(kind), **SMALL_FILES})
    assert counts(table.delete(keys=["k01", "k02", "x"], options=options_of(kind))) == (0, 0, 2)
    assert len(engine.rows_of(table, "uuid")) == 18


def test_bloom_reads_keys_only_of_files_that_may_hold_them(engine):
    options = {**options_of("BLOOM"), "hoodie.parquet.small.file.limit": 0}
    table = engine.create()
    for start in range(0, 40, 10):
        rows = [trip(f"k{i:02}") for i in range(start, start + 10)]
        table.insert(engine.rows(trips(*rows)), options=options)
    faulty = FaultyStorage(table.state.storage)
    engine.reopen(table, faulty).upsert(trips(trip("k15", ts=2), trip("k17", ts=2)), options=options)
    opened = {}
    for one in faulty.operations:
        if one.name == "open_input" and one.path.endswith(".parquet"):
            opened[one.path] = opened.get(one.path, 0) + 1
    assert sorted(opened.values()) == [1, 1, 1, 3]


def test_a_key_lies_in_the_file_group_of_its_bucket(engine, version):
    table = engine.create(version=version)
    options = options_of("BUCKET")
    table.upsert(engine.rows(trips(*(trip(f"k{i}") for i in range(20)))), options=options)
    slices = table.inspect.file_slices()["file_id"].to_pylist()
    assert sorted(bucket_number(file_id) for file_id in slices) == [0, 1, 2, 3]
    table.upsert(engine.rows(trips(*(trip(f"k{i}", ts=2) for i in range(30)))), options=options)
    assert table.inspect.file_slices()["file_id"].to_pylist() == slices
    assert len(engine.rows_of(table, "uuid")) == 30


def test_buckets_hash_the_fields_they_are_told_to(engine):
    table = engine.create(record_key=["uuid", "rider"])
    options = {**options_of("BUCKET"), "hoodie.bucket.index.hash.field": "rider"}
    table.upsert(engine.rows(trips(*(trip(f"k{i}", rider="same") for i in range(9)))), options=options)
    assert table.inspect.file_slices().num_rows == 1
    table.upsert(engine.rows(trips(*(trip(f"k{i}", rider="same", ts=2, fare=2.0) for i in range(9)))), options=options)
    assert engine.rows_of(table, "fare") == [(2.0,)] * 9


def test_a_bucket_index_deletes_records_only_where_they_are(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a"))), options=options_of("BUCKET"))
    before = listing(table)
    result = table.delete(engine.rows(trips(trip("a"), trip("b"), trip("c", "oslo"))), options=options_of("BUCKET"))
    assert counts(result) == (0, 0, 1)
    assert [path for path in listing(table) if path not in before and path.startswith("oslo")] == []


def test_a_bucket_index_refuses_file_groups_that_are_no_buckets(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a"))))
    before = set(listing(table))
    with pytest.raises(InvalidInput, match="bucket"):
        table.upsert(engine.rows(trips(trip("a", ts=2))), options=options_of("BUCKET"))
    assert {path for path in set(listing(table)) - before if path.endswith("parquet")} == set()


def test_a_bucket_index_refuses_another_number_of_buckets(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(*(trip(f"k{i}") for i in range(20)))), options=options_of("BUCKET"))
    options = {**options_of("BUCKET"), "hoodie.bucket.index.num.buckets": 2}
    with pytest.raises(InvalidInput, match="bucket"):
        table.upsert(engine.rows(trips(trip("k1", ts=2))), options=options)


PLANNED = {"hoodie.compact.inline": "false", "hoodie.compact.inline.max.delta.commits": "5"}
"""What is planned is run, and nothing is planned."""


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_key_that_came_back_before_a_planned_compaction_took_it_is_found(engine, version, kind):
    """The row lies in the logs of its old file group, whose next base file has not its key."""
    table, options = engine.create(version=version, table_type="mor"), options_of(kind, **PLANNED)
    table.upsert(engine.rows(trips(trip("a"), trip("b"))), options=options)
    table.delete(keys=["a"], options=options)
    table.compact(schedule=True)
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))), options=options)
    assert table.run_due_services(options=options)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 2.0), ("b", 1.0)]
    assert table.scan(filter="uuid = 'a'").count() == 1
    given = trips(trip("a", ts=3, fare=3.0), trip("c", ts=3, fare=3.0))
    assert counts(table.upsert(engine.rows(given), options=options)) == (1, 1, 0)
    assert engine.rows_of(table, "uuid", "fare") == [("a", 3.0), ("b", 1.0), ("c", 3.0)]
    result = table.insert(engine.rows(given), duplicates="drop", options=options)
    assert result.inserted == 0
    table.delete(keys=["a"], options=options)
    assert engine.rows_of(table, "uuid", "fare") == [("b", 1.0), ("c", 3.0)]
    assert table.check(all_keys=True).ok
