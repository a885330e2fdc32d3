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
