import datetime as dt

import pyarrow as pa
import pytest
from tests.building import TRIPS, listing, trip, trips

from pyhudi.errors import InvalidInput, SchemaMismatch

TABLE_TYPES = ["cow", "mor"]


def test_columns_are_added_without_rows(engine, version, caplog):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    done = table.add_columns({"tip": pa.float64(), "seats": pa.int32()}, commit_metadata={"why": "asked"})
    assert done.added == {"tip": "double", "seats": "int32"}
    assert (done.operation, done.inserted, done.files) == ("alter_schema", 0, ())
    *others, city = TRIPS.names
    assert table.schema.names == [*others, "tip", "seats", city], "a partition column that stands last stays there"
    assert engine.rows_of(table, "uuid", "tip") == [("a", None)]
    assert "tip" not in caplog.text
    wider = TRIPS.append(pa.field("tip", pa.float64())).append(pa.field("seats", pa.int32()))
    assert table.upsert(engine.rows(trips(trip("b", tip=1.5), schema=wider))).added == {}
    assert engine.rows_of(table, "uuid", "tip", filter="tip > 1") == [("b", 1.5)]
    assert table.history().to_pylist()[1]["operation"] == "ALTER_SCHEMA"
    assert table.scan(as_of=done.instant).schema.names == table.schema.names
    assert table.check().ok


def test_columns_may_come_before_the_first_rows(engine, version):
    table = engine.create(version=version)
    table.add_columns(pa.schema([("tip", pa.float64())]))
    assert sorted(table.schema.names) == sorted([*TRIPS.names, "tip"])
    assert table.count() == 0
    assert table.check().ok


def test_added_columns_are_taken_back(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    table.rollback(table.add_columns({"tip": pa.float64()}).instant, completed=True)
    assert table.schema.names == TRIPS.names
    assert engine.rows_of(table, "uuid") == [("a",)]


def test_a_column_becomes_wider_without_rows(engine, version):
    wide = TRIPS.append(pa.field("seats", pa.int32()))
    table = engine.create(schema=wide, version=version)
    table.upsert(engine.rows(trips(trip("a", seats=2), schema=wide)))
    done = table.widen_columns({"seats": pa.float64()})
    assert (done.operation, done.widened) == ("alter_schema", {"seats": "int32 -> double"})
    assert table.schema.field("seats").type == pa.float64()
    wider = TRIPS.append(pa.field("seats", pa.float64()))
    table.upsert(engine.rows(trips(trip("b", seats=0.5), schema=wider)))
    assert engine.rows_of(table, "uuid", "seats") == [("a", 2.0), ("b", 0.5)]
    assert engine.rows_of(table, "uuid", filter="seats = 2.0") == [("a",)]
    with pytest.raises(SchemaMismatch, match="does not become narrower"):
        table.widen_columns({"seats": pa.int32()})
    with pytest.raises(SchemaMismatch, match="does not have this column"):
        table.widen_columns({"seat": pa.float64()})
    assert table.check().ok


@pytest.mark.parametrize("column", ["id", "place"])
def test_keys_and_paths_are_spelled_as_before_a_column_was_widened(engine, column):
    schema = pa.schema([("id", pa.int32()), ("place", pa.int32()), ("ts", pa.int64())])
    table = engine.create(schema=schema, record_key=["id"], partition_by=["place"])
    one = pa.table({"id": [1], "place": [1], "ts": [1]}, schema=schema)
    table.upsert(engine.rows(one))
    at = schema.get_field_index(column)
    with pytest.raises(SchemaMismatch, match="keeps its type"):
        table.upsert(engine.rows(one.set_column(at, column, pa.array([1.5]))))
    with pytest.raises(SchemaMismatch, match="keeps its type"):
        table.widen_columns({column: pa.float64()})
    table.widen_columns({column: pa.int64()})
    table.upsert(engine.rows(one.set_column(at, column, pa.array([1], pa.int64()))))
    assert engine.rows_of(table, "id", "place") == [(1, 1)]


def test_a_column_that_an_index_is_of_becomes_nothing_of_which_the_index_would_have_other_entries(engine):
    schema = pa.schema([("id", pa.string()), ("on", pa.date32()), ("n", pa.int32()), ("ts", pa.int64())])
    table = engine.create(schema=schema, record_key=["id"], partition_by=[])
    told = {"hoodie.metadata.enable": True}
    one = pa.table({"id": ["a"], "on": [dt.date(2020, 1, 2)], "n": [7], "ts": [1]}, schema=schema)
    table.upsert(engine.rows(one), options=told)
    for kind, column in (("record_index", None), ("secondary", "on"), ("secondary", "n")):
        table.create_index(kind, column, name=column, options=told)
    table.create_index("expression", "on", name="year", expr="year", options=told)
    wider = {**told, "hoodie.datasource.write.reconcile.schema": True}
    table.widen_columns({"n": pa.string()}, options=wider)
    assert engine.rows_of(table, "id", filter="n = '7'") == [("a",)]
    for index in ("on", "year"):
        with pytest.raises(SchemaMismatch, match="drop the index first"):
            table.widen_columns({"on": pa.string()}, options=wider)
        table.drop_index(index)
    table.widen_columns({"on": pa.string()}, options=wider)
    assert engine.rows_of(table, "id", filter="on = '2020-01-02'") == [("a",)]
    assert table.check().ok


def test_a_dry_run_adds_nothing(engine):
    table = engine.create()
    before = listing(table)
    assert table.add_columns({"tip": pa.float64()}, dry_run=True).added == {"tip": "double"}
    assert listing(table) == before


def test_a_column_that_is_there_is_refused(engine):
    table = engine.create()
    with pytest.raises(SchemaMismatch, match="has this column already"):
        table.add_columns({"fare": pa.float64()})
    with pytest.raises(SchemaMismatch, match="differs from fare by case only"):
        table.add_columns({"Fare": pa.float64()})


@pytest.mark.parametrize(
    "columns", [None, {}, 5, "tip", {"tip": "nope"}, {"_hoodie_file_name": pa.string()}, {"": pa.int64()}]
)
def test_what_is_no_column_is_refused(engine, columns):
    with pytest.raises(InvalidInput):
        engine.create().add_columns(columns)
