import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, counts, listing, trip, trips

from pyhudi.actions.bulk_insert import SortMode
from pyhudi.errors import OptionError

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}


def many(count, city="sf", start=0, **more):
    return [trip(f"k{i:03}", city, **more) for i in range(start, start + count)]


def keys_by_file(table):
    found = table.scan(["_hoodie_file_name", "uuid"]).to_arrow().to_pylist()
    files = {}
    for row in found:
        files.setdefault(row["_hoodie_file_name"], []).append(row["uuid"])
    return list(files.values())


def test_rows_are_split_into_file_groups_of_the_size_asked_for(engine, version):
    table = engine.create(version=version)
    result = table.upsert(engine.rows(trips(*many(45))), options=OPTIONS)
    assert len(result.files) == 5
    assert table.inspect.file_slices().num_rows == 5
    assert sorted(key for keys in keys_by_file(table) for key in keys) == [f"k{i:03}" for i in range(45)]


def test_updates_go_to_the_file_groups_that_hold_their_keys(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(*many(45), *many(45, "oslo"))), options=OPTIONS)
    before = table.inspect.file_slices()["file_id"].to_pylist()
    result = table.upsert(
        engine.rows(trips(*many(45, ts=2, fare=2.0))), options={**OPTIONS, "hoodie.parquet.small.file.limit": 0}
    )
    assert counts(result) == (0, 45, 0)
    assert table.inspect.file_slices()["file_id"].to_pylist() == before
    assert engine.rows_of(table, "fare", filter="city = 'sf'") == [(2.0,)] * 45
    assert engine.rows_of(table, "fare", filter="city = 'oslo'") == [(1.0,)] * 45


def test_a_touched_file_group_is_rewritten_and_the_others_are_not(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(*many(45))), options=OPTIONS)
    result = table.upsert(engine.rows(trips(trip("k007", ts=2))), options=OPTIONS)
    assert counts(result) == (0, 1, 0)
    assert len(result.files) == 1


def test_new_rows_fill_the_smallest_file_by_the_size_records_really_have(engine, version):
    table = engine.create(version=version)
    large = {**TINY_FILTERS, "hoodie.parquet.max.file.size": 10_000_000}
    table.upsert(engine.rows(trips(*many(60))), options=large)
    [size_bytes] = table.inspect.file_slices()["base_size_bytes"].to_pylist()
    record_bytes = size_bytes / 60
    sizes = {
        **TINY_FILTERS,
        "hoodie.parquet.small.file.limit": size_bytes + 1,
        "hoodie.record.size.estimation.threshold": 0.5,
    }
    room = int(size_bytes + record_bytes * 10)
    result = table.insert(
        engine.rows(trips(*many(30, start=100))), options={**sizes, "hoodie.parquet.max.file.size": room}
    )
    assert len(result.files) == 2
    sizes_by_file = sorted(len(keys) for keys in keys_by_file(table))
    assert sum(sizes_by_file) == 90
    assert 60 < sizes_by_file[1] <= 80
    assert sizes_by_file[0] < 30


def test_no_small_file_is_filled_when_the_limit_is_zero(engine):
    table = engine.create()
    options = {**TINY_FILTERS, "hoodie.parquet.small.file.limit": 0}
    table.insert(engine.rows(trips(trip("a"))), options=options)
    table.insert(engine.rows(trips(trip("b"))), options=options)
    assert table.inspect.file_slices().num_rows == 2


@pytest.mark.parametrize("mode", SortMode)
def test_every_sort_mode_of_bulk_insert_writes_every_row_once(engine, version, mode):
    table = engine.create(version=version)
    rows = [trip(f"k{i * 7 % 40:03}", ["sf", "oslo"][i % 2]) for i in range(40)]
    options = {"hoodie.bulkinsert.sort.mode": mode, **TINY_FILTERS}
    result = table.bulk_insert(engine.rows(trips(*rows)), options=options)
    assert counts(result) == (40, 0, 0)
    assert result.operation == "bulk_insert"
    assert engine.rows_of(table, "uuid", "city") == sorted((row["uuid"], row["city"]) for row in rows)
    if mode not in {SortMode.NONE, SortMode.PARTITION_PATH_REPARTITION}:
        assert all(keys == sorted(keys) for keys in keys_by_file(table))


def test_bulk_insert_sorts_by_the_columns_it_is_given(engine):
    table = engine.create()
    rows = [trip(f"k{i}", ts=i * 7 % 10) for i in range(10)]
    options = {
        "hoodie.bulkinsert.sort.mode": "PARTITION_SORT",
        "hoodie.bulkinsert.user.defined.partitioner.sort.columns": "ts",
    }
    table.bulk_insert(engine.rows(trips(*rows)), options=options)
    for file in table.inspect.file_slices()["base_file"].to_pylist():
        stamps = table.scan(["ts"], filter=f"_hoodie_file_name = '{file.rsplit('/', 1)[-1]}'").to_arrow()["ts"]
        assert stamps.to_pylist() == sorted(stamps.to_pylist())


@pytest.mark.parametrize("suffix", [True, False])
def test_rows_that_are_equal_in_the_sort_columns_are_sorted_by_key_where_that_is_asked_for(engine, suffix):
    table = engine.create(partition_by=[])
    rows = [trip(f"k{i * 7 % 10}", ts=i % 2) for i in range(10)]
    options = {
        "hoodie.bulkinsert.user.defined.partitioner.sort.columns": "ts",
        "hoodie.bulkinsert.sort.suffix.record_key": suffix,
    }
    table.bulk_insert(engine.rows(trips(*rows)), options=options)
    stored = [(row["ts"], row["uuid"]) for row in table.scan(["ts", "uuid"]).to_arrow().to_pylist()]
    assert (stored == sorted(stored)) == suffix


@pytest.mark.parametrize("mode", ["NONE", "PARTITION_SORT"])
def test_bulk_insert_closes_files_at_the_size_asked_for(engine, mode):
    table = engine.create()
    options = {**OPTIONS, "hoodie.bulkinsert.sort.mode": mode}
    result = table.bulk_insert(engine.rows(trips(*many(30), *many(30, "oslo"))), options=options)
    assert len(result.files) >= 6
    assert len(engine.rows_of(table, "uuid")) == 60


def test_bulk_insert_puts_a_second_row_beside_a_stored_key_and_never_grows_a_file(engine):
    table = engine.create()
    for _ in range(2):
        table.bulk_insert(engine.rows(trips(trip("a"))))
    assert engine.rows_of(table, "uuid") == [("a",), ("a",)]
    assert table.inspect.file_slices().num_rows == 2
    assert counts(table.upsert(engine.rows(trips(trip("a", ts=2, fare=5.0))))) == (0, 2, 0)
    assert engine.rows_of(table, "fare") == [(5.0,), (5.0,)]


@pytest.mark.parametrize("verb", ["insert", "bulk_insert", "upsert", "insert_overwrite"])
def test_rows_go_into_files_in_the_order_in_which_they_come(engine, verb):
    table = engine.create(partition_by=[])
    rows = [trip(f"k{i * 7919 % 100:03}", ts=i) for i in range(60)]
    getattr(table, verb)(engine.rows(trips(*rows)), options=OPTIONS)
    files = table.inspect.file_slices()["base_file"].to_pylist()
    assert len(files) >= 5
    spans = []
    for file in files:
        stamps = table.scan(["ts"], filter=f"_hoodie_file_name = '{file.rsplit('/', 1)[-1]}'").to_arrow()["ts"]
        spans.append((min(stamps.to_pylist()), max(stamps.to_pylist())))
        assert stamps.to_pylist() == sorted(stamps.to_pylist())
    assert all(before[1] < after[0] for before, after in zip(sorted(spans), sorted(spans)[1:], strict=False))


def test_sort_columns_alone_sort_all_rows(engine):
    table = engine.create(partition_by=[])
    rows = [trip(f"k{i:03}", ts=i * 7919 % 60) for i in range(60)]
    sorts = {"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "ts"}
    table.bulk_insert(engine.rows(trips(*rows)), options={**OPTIONS, **sorts})
    files = table.inspect.file_slices()["base_file"].to_pylist()
    found = [
        table.scan(["ts"], filter=f"_hoodie_file_name = '{file.rsplit('/', 1)[-1]}'").to_arrow()["ts"].to_pylist()
        for file in files
    ]
    assert len(found) >= 5
    assert [stamp for stamps in sorted(found) for stamp in stamps] == list(range(60))


def test_what_rows_cannot_be_sorted_by_is_refused_before_anything_is_written(engine):
    table = engine.create()
    for columns in ("nope", "ts, city.x"):
        sorts = {"hoodie.bulkinsert.user.defined.partitioner.sort.columns": columns}
        with pytest.raises(OptionError, match="rows cannot be sorted by these"):
            table.bulk_insert(engine.rows(trips(trip("a"))), options=sorts)
    assert table.inspect.pending().num_rows == 0
    assert not [one for one in listing(table) if "rollback" in one]
