from functools import partial

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from tests.building import TRIPS, counts, sorted_rows, trip, trips
from tests.queries.cleaning import clean

from pyhudi.errors import CorruptData, FileMissing, InvalidInput, PackageMissing, SnapshotExpired
from pyhudi.schema.meta_fields import META_FIELDS


@pytest.fixture
def table(engine):
    made = engine.create()
    made.upsert(engine.rows(trips(trip("a", fare=1.0), trip("b", "oslo", fare=2.0))))
    return made


def test_a_scan_reads_into_every_form(table):
    scan = table.scan(["uuid", "fare"], filter="fare > 1")
    expected = [{"uuid": "b", "fare": 2.0}]
    assert scan.to_arrow().to_pylist() == expected
    assert isinstance(scan.to_pandas(), pd.DataFrame)
    assert scan.to_pandas().to_dict("records") == expected
    assert isinstance(scan.to_polars(), pl.DataFrame)
    assert scan.to_polars().to_dicts() == expected
    with duckdb.connect() as connection:
        assert scan.to_duckdb(connection, "trips") is connection
        assert connection.sql("select uuid, fare from trips").fetchall() == [("b", 2.0)]
        assert connection.sql("select fare from scan").fetchall() == [(2.0,)]
    assert scan.to_duckdb().filter("fare > 1").fetchall() == [("b", 2.0)]
    assert pa.Table.from_batches(scan.to_batches()).to_pylist() == expected
    assert pa.Table.from_batches(scan).to_pylist() == expected
    assert scan.to_pylist() == expected
    assert scan.count() == len(scan) == 1
    assert scan.schema == scan.to_arrow().schema


def test_a_scan_of_no_rows_is_a_scan(table):
    scan = table.scan(["uuid"], filter="fare > 99")
    assert scan
    assert len(scan) == 0
    assert list(scan) == scan.to_pylist() == []
    assert scan.to_duckdb().fetchall() == []


def test_what_takes_arrow_streams_takes_a_scan_that_has_a_length(table):
    scan = table.scan(["uuid", "fare"])
    for rows in (
        pa.table(scan).to_pylist(),
        pl.DataFrame(scan).to_dicts(),
        [row for batch in scan for row in batch.to_pylist()],
    ):
        assert sorted(one["uuid"] for one in rows) == ["a", "b"]


def test_half_of_what_a_view_needs_is_refused(table):
    with pytest.raises(InvalidInput):
        table.scan().to_duckdb(name="trips")
    with duckdb.connect() as connection, pytest.raises(InvalidInput):
        table.scan().to_duckdb(connection)


def test_batches_come_one_file_after_the_other(table):
    batches = list(table.scan(["city"]).to_batches())
    assert sorted(batch.column(0).to_pylist() for batch in batches) == [["oslo"], ["sf"]]


def test_counting_all_rows_reads_no_column_where_no_log_changes_them(engine, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a column was read")

    table = engine.create()
    table.bulk_insert(engine.rows(trips(*(trip(f"k{number}", ["sf", "oslo"][number % 2]) for number in range(20)))))
    with monkeypatch.context() as patched:
        patched.setattr("pyhudi.engine.scanning.iter_batches", fail)
        assert table.count() == len(table.scan()) == 20
        assert table.scan(filter="city = 'sf'", limit=5).explain()
    table.upsert(engine.rows(trips(trip("k0", ts=2), trip("new"))))
    table.delete(keys=["k2"])
    assert table.count() == 20


def test_counting_names_a_file_that_is_damaged(table):
    path = table.inspect.file_slices()["base_file"][0].as_py()
    content = table.state.storage.get(path)
    table.state.storage.put(path, content[:-9])
    with pytest.raises(CorruptData, match=r"\.parquet"):
        table.count()


def test_counting_reads_the_columns_the_filter_needs(table):
    assert table.scan().count() == 2
    assert table.scan(filter="fare > 1 or city = 'sf'").count() == 2
    assert table.scan(filter="fare > 5").count() == 0


def test_explain_says_what_is_read_and_why(table):
    text = table.scan(["uuid"], filter="city = 'sf' and fare > 0").explain()
    assert f"instant {table.latest_instant}" in text
    assert "partitions: 1 of 2 read, 1 left out by their paths, 0 by statistics" in text
    assert "file groups: 1 of 1 read, 0 left out by statistics" in text
    assert "columns: uuid" in text
    assert "`city` = 'sf'" in text
    assert "filter: none" in table.scan().explain()


def test_explain_of_an_empty_table_begins_at_the_beginning(engine):
    assert "the beginning" in engine.create().scan().explain()


def test_a_scan_whose_files_were_cleaned_says_so(table):
    scan = table.scan()
    clean(table, scan.plan.files[0].path)
    with pytest.raises(SnapshotExpired, match="scan again"):
        scan.to_arrow()
    with pytest.raises(SnapshotExpired):
        scan.count()
    with pytest.raises(SnapshotExpired):
        list(scan.to_batches())


def test_a_scan_whose_commit_was_taken_back_says_so(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    done = table.upsert(engine.rows(trips(trip("a", ts=2))))
    scan = table.scan()
    path = scan.plan.files[0].path
    for name in table.state.storage.list_names(table.state.layout.timeline_path):
        if name.startswith(done.instant):
            table.state.storage.delete(f"{table.state.layout.timeline_path}/{name}")
    table.state.storage.delete(path)
    with pytest.raises(SnapshotExpired, match="taken back"):
        engine.read(scan)


def test_a_scan_names_a_file_that_is_gone_and_that_nothing_took(table):
    scan = table.scan()
    table.state.storage.delete(scan.plan.files[0].path)
    with pytest.raises(CorruptData, match="missing") as refused:
        scan.to_arrow()
    assert refused.value.values["file"] == scan.plan.files[0].path


def test_a_missing_package_is_named(table, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(PackageMissing, match=r"pyhudi\[polars\]"):
        table.scan().to_polars()


def test_a_scan_has_the_users_columns_and_the_meta_columns_where_they_are_asked_for(engine):
    table = engine.create()
    first = table.upsert(engine.rows(trips(trip("a"))))
    table.upsert(engine.rows(trips(trip("b"))))
    for read in (table.scan, partial(table.changes, after=first.instant)):
        assert engine.read(read()).column_names == TRIPS.names
        assert engine.read(read(meta=True)).column_names == [*META_FIELDS, *TRIPS.names]
        assert engine.read(read(columns=["fare", "_hoodie_commit_time"])).column_names == [
            "fare",
            "_hoodie_commit_time",
        ]
        assert engine.read(read(columns=["fare"], meta=True)).column_names == [*META_FIELDS, "fare"]
    assert table.lookup(["b"]).column_names == TRIPS.names
    assert table.lookup(["b"], meta=True).column_names == [*META_FIELDS, *TRIPS.names]


def test_rows_read_with_and_without_meta_columns_update_what_they_were_read_from(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    for has_meta in (True, False):
        rows = table.scan(meta=has_meta).to_arrow()
        place = rows.schema.get_field_index("ts")
        later = rows.set_column(place, "ts", pc.add(rows["ts"], 1))
        assert counts(table.upsert(engine.rows(later))) == (0, 2, 0)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 3), ("b", 3)]


@pytest.fixture
def spread(engine):
    """Ten rows in three files."""
    made = engine.create()
    made.upsert(engine.rows(trips(*(trip(f"k{n}", ["oslo", "lima", "rome"][n % 3], fare=float(n)) for n in range(10)))))
    return made


@pytest.mark.parametrize("limit", [0, 1, 4, 9, 10, 11])
def test_no_more_rows_come_than_the_limit(engine, spread, limit):
    scan = spread.scan(["uuid"], limit=limit)
    rows = engine.read(scan)
    assert rows.num_rows == scan.count() == min(limit, 10)
    assert rows.schema == scan.schema
    assert len(set(rows["uuid"].to_pylist())) == rows.num_rows
    assert sum(batch.num_rows for batch in scan.to_batches()) == min(limit, 10)
    assert spread.scan(filter="fare > 6", limit=limit).count() == min(limit, 3)
    assert spread.changes(limit=limit).to_arrow().num_rows == min(limit, 10)


def test_a_limit_reads_no_more_files_than_it_takes(spread):
    scan = spread.scan(limit=1)
    for file in scan.plan.files[1:]:
        spread.state.storage.delete(file.path)
    assert scan.to_arrow().num_rows == 1
    assert scan.head(1).num_rows == 1


@pytest.mark.parametrize("limit", [-1, 1.5, "3", True])
def test_a_limit_is_a_number_of_rows(spread, limit):
    with pytest.raises(InvalidInput, match="limit"):
        spread.scan(limit=limit)


def test_the_head_of_a_scan_is_a_few_rows(spread):
    assert spread.scan().head().num_rows == 5
    assert spread.scan(limit=2).head().num_rows == 2
    assert spread.scan(["uuid"]).head(3).column_names == ["uuid"]


def test_a_scan_is_taken_as_it_is_by_what_takes_arrow_streams(spread):
    scan = spread.scan(["uuid", "fare"], filter="fare >= 8")
    expected = [{"uuid": "k8", "fare": 8.0}, {"uuid": "k9", "fare": 9.0}]
    for _ in range(2):
        assert sorted(pa.table(scan).to_pylist(), key=repr) == expected
    assert pl.DataFrame(scan).sort("uuid").to_dicts() == expected
    with duckdb.connect() as connection:
        assert connection.sql("select uuid, fare from scan order by uuid").fetchall() == [("k8", 8.0), ("k9", 9.0)]
    assert pa.table(spread.scan(filter="fare > 100")).num_rows == 0


def test_a_scan_shows_what_it_reads_and_reads_nothing_for_it(engine, spread):
    scan = spread.scan(["uuid", "fare"], filter="fare > 1", limit=7)
    for file in scan.plan.files:
        spread.state.storage.delete(file.path)
    assert repr(scan).startswith("Scan(table=")
    assert "columns=2, files=3, filter=" in repr(scan)
    assert "limit=7" in repr(scan)
    assert len(repr(scan)) < 300
    assert "uuid, fare" in scan._repr_html_()
    assert "limit: 7" in scan.explain()


def test_a_dataset_reads_its_files_when_it_is_read(engine, spread):
    found = spread.scan(["uuid", "fare"]).to_pyarrow_dataset()
    assert found.schema.names == ["uuid", "fare"]
    assert found.count_rows() == 10
    over = found.to_table(columns=["uuid"], filter=ds.field("fare") > 7)
    assert sorted(over["uuid"].to_pylist()) == ["k8", "k9"]
    with duckdb.connect() as connection:
        assert connection.sql("select count(*) from found where fare > 4").fetchall() == [(5,)]
    assert pl.scan_pyarrow_dataset(found).filter(pl.col("fare") > 8).collect()["uuid"].to_list() == ["k9"]
    spread.state.storage.delete(spread.scan().plan.files[0].path)
    with pytest.raises(FileMissing):
        found.to_table()


def test_a_dataset_has_columns_that_older_files_lack_or_have_in_another_type(engine):
    table = engine.create(pa.schema([("uuid", pa.string()), ("n", pa.int32()), ("city", pa.string())]), ordering=None)
    table.upsert(engine.rows(pa.table({"uuid": ["a"], "n": pa.array([1], pa.int32()), "city": ["sf"]})))
    wide = pa.table({"uuid": ["b"], "n": pa.array([2**40], pa.int64()), "city": ["oslo"], "tip": [0.5]})
    table.upsert(engine.rows(wide), options={"hoodie.write.set.null.for.missing.columns": "true"})
    scan = table.scan()
    assert sorted_rows(scan.to_pyarrow_dataset().to_table()) == sorted_rows(scan.to_arrow())
    assert scan.to_pyarrow_dataset().schema == scan.schema


def test_a_dataset_of_a_filtered_or_limited_scan_has_its_rows(engine, spread):
    assert spread.scan(filter="fare > 6").to_pyarrow_dataset().count_rows() == 3
    assert spread.scan(limit=4).to_pyarrow_dataset().count_rows() == 4
    assert engine.create().scan().to_pyarrow_dataset().count_rows() == 0
    dropped = engine.create(options={"hoodie.datasource.write.drop.partition.columns": True})
    dropped.upsert(engine.rows(trips(trip("a"))))
    assert dropped.scan().to_pyarrow_dataset().to_table()["city"].to_pylist() == ["sf"]
