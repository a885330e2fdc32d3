"""What a pandas frame brings beside its columns: the index."""

import logging

import pandas as pd
import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, trip, trips

import pyhudi
from pyhudi.errors import KeyMissing

FRAME = pd.DataFrame([trip("a", ts=1), trip("b", ts=2), trip("c", ts=3)])


@pytest.fixture
def table(engine):
    if engine.name != "local":
        pytest.skip("pandas frames are written in this process")
    return engine.create()


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table"])
def test_an_index_without_a_name_is_never_stored(engine, table, verb):
    getattr(table, verb)(FRAME[FRAME.ts > 1])
    assert table.schema == TRIPS
    table.upsert(FRAME.sort_values("ts", ascending=False))
    table.upsert(FRAME.set_index([[3, 1, 2], ["x", "y", "z"]]))
    assert table.schema == TRIPS
    assert engine.rows_of(table, "uuid", "ts") == [("a", 1), ("b", 2), ("c", 3)]


def test_an_arrow_table_with_a_pandas_index_is_written_without_it(table):
    table.upsert(pa.Table.from_pandas(FRAME[FRAME.ts > 1]))
    assert table.schema == TRIPS


@pytest.mark.parametrize("rows", [FRAME[FRAME.ts > 1], FRAME.set_index("uuid")])
def test_an_index_is_no_hindrance_to_a_delete_or_a_merge(engine, table, rows):
    table.upsert(FRAME)
    table.merge(rows, "t.uuid = s.uuid").when_matched_update({"fare": "s.fare + 1"}).execute()
    assert ("b", 2.0) in engine.rows_of(table, "uuid", "fare")
    assert table.delete(rows).deleted == len(rows)
    assert table.schema == TRIPS


def test_a_named_index_is_the_column_of_that_name(engine, table):
    assert counts(table.upsert(FRAME.set_index("uuid"))) == (3, 0, 0)
    assert counts(table.upsert(FRAME.set_index(["uuid", "city"]))) == (0, 3, 0)
    numbered = FRAME.drop(columns="ts").set_index(pd.RangeIndex(7, 10, name="ts"))
    assert counts(table.upsert(numbered)) == (0, 3, 0)
    assert table.schema == TRIPS
    assert engine.rows_of(table, "uuid", "ts") == [("a", 7), ("b", 8), ("c", 9)]


def test_an_index_named_like_no_column_is_left_out_and_said(table, caplog):
    with caplog.at_level(logging.WARNING, "pyhudi"):
        table.upsert(FRAME.set_index(pd.Index([3, 1, 2], name="place")))
    assert table.schema == TRIPS
    assert "place" in caplog.text
    table.upsert(FRAME.set_index(pd.RangeIndex(3, name="number")))
    assert table.schema == TRIPS


def test_a_table_that_stores_an_index_is_written_without_it(engine, table):
    table = engine.create(TRIPS.append(pa.field("__index_level_0__", pa.int64())))
    stored = trips({**trip("a"), "__index_level_0__": 5}, schema=table.schema)
    table.upsert(stored)
    table.upsert(FRAME.tail(2).reset_index(drop=True))
    assert engine.rows_of(table, "uuid", "__index_level_0__") == [("a", 5), ("b", None), ("c", None)]
    table.upsert(pd.DataFrame([trip("a", ts=9, __index_level_0__=6)]))
    assert ("a", 6) in engine.rows_of(table, "uuid", "__index_level_0__")


def test_spark_rows_with_a_pandas_index_are_written_without_it(engine):
    table = engine.create()
    table.upsert(engine.rows(pa.table({**trips(trip("a")).to_pydict(), "__index_level_0__": [4]})))
    assert table.schema == TRIPS


def test_a_new_table_stores_an_index_only_as_a_field_that_it_is_told(tmp_path):
    path = str(tmp_path / "filtered")
    pyhudi.write_table(path, FRAME[FRAME.ts > 1], record_key=["uuid"])
    assert pyhudi.open_table(path).schema.names == TRIPS.names
    path = str(tmp_path / "indexed")
    pyhudi.write_table(path, FRAME.set_index(["uuid", "rider"]), record_key=["uuid"], partition_by=["city"])
    table = pyhudi.open_table(path)
    assert sorted(table.schema.names) == sorted(set(TRIPS.names) - {"rider"})
    assert sorted(table.scan(["uuid"]).to_arrow()["uuid"].to_pylist()) == ["a", "b", "c"]
    path = str(tmp_path / "told by options")
    pyhudi.write_table(path, FRAME.set_index("uuid"), options={"hoodie.datasource.write.recordkey.field": "uuid"})
    assert pyhudi.open_table(path).config.record_key == ("uuid",)


def test_a_delete_needs_the_key_as_a_column_or_the_index(table):
    table.upsert(FRAME)
    with pytest.raises(KeyMissing, match="uuid"):
        table.delete(FRAME.drop(columns="uuid"))
