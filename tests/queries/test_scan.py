from functools import partial

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TRIPS, counts, trip, trips

from pyhudi.errors import PackageMissing, SnapshotExpired
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
    assert pa.Table.from_batches(scan.to_batches()).to_pylist() == expected
    assert scan.count() == 1
    assert scan.schema == scan.to_arrow().schema


def test_batches_come_one_file_after_the_other(table):
    batches = list(table.scan(["city"]).to_batches())
    assert sorted(batch.column(0).to_pylist() for batch in batches) == [["oslo"], ["sf"]]


def test_counting_reads_the_columns_the_filter_needs(table):
    assert table.scan().count() == 2
    assert table.scan(filter="fare > 1 or city = 'sf'").count() == 2
    assert table.scan(filter="fare > 5").count() == 0


def test_explain_says_what_is_read_and_why(table):
    text = table.scan(["uuid"], filter="city = 'sf' and fare > 0").explain()
    assert f"instant {table.latest_instant}" in text
    assert "1 of 2" in text
    assert "file groups: 1" in text
    assert "columns: uuid" in text
    assert "`city` = 'sf'" in text
    assert "filter: none" in table.scan().explain()


def test_explain_of_an_empty_table_begins_at_the_beginning(engine):
    assert "the beginning" in engine.create().scan().explain()


def test_a_scan_whose_files_were_cleaned_says_so(table):
    scan = table.scan()
    table.state.storage.delete(scan.plan.files[0].path)
    with pytest.raises(SnapshotExpired, match="scan again"):
        scan.to_arrow()
    with pytest.raises(SnapshotExpired):
        scan.count()
    with pytest.raises(SnapshotExpired):
        list(scan.to_batches())


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
