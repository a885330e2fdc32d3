from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.building import TRIPS, trip, trips
from tests.filegroup.test_writer import KEYS, LAYOUT, keyed

from pyhudi.filegroup.rows import RowLayout, base_file_rows, decoded, record_keys_of, stored_batches
from pyhudi.formats.parquet import read_footer
from pyhudi.timeline.instant import InstantTime

INSTANT = InstantTime("20260101000000001")


def laid_out(*rows, layout=LAYOUT, **more):
    return base_file_rows(keyed(*rows), layout, INSTANT, 7, "f.parquet", **more)


def reopened(rows, layout=LAYOUT, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **options)
    source = pa.BufferReader(sink.getvalue())
    return stored_batches(source, read_footer(source), layout, "sf", "next.parquet")


def test_new_rows_get_their_meta_columns():
    rows = laid_out(trip("a"), trip("b")).to_pylist()
    assert [row["_hoodie_record_key"] for row in rows] == ["a", "b"]
    assert [row["_hoodie_commit_seqno"] for row in rows] == [f"{INSTANT}_7_0", f"{INSTANT}_7_1"]
    assert {row["_hoodie_file_name"] for row in rows} == {"f.parquet"}
    assert laid_out(trip("a")).schema == LAYOUT.file_schema


def test_dropped_columns_are_left_out():
    layout = replace(LAYOUT, dropped=("city",))
    assert "city" not in layout.file_schema.names
    assert "city" not in laid_out(trip("a"), layout=layout).column_names


def test_stored_rows_come_under_the_name_of_the_next_file():
    stored = reopened(laid_out(trip("a"), trip("b")))
    rows = pa.Table.from_batches([decoded(batch) for batch in stored.batches]).to_pylist()
    assert {row["_hoodie_file_name"] for row in rows} == {"next.parquet"}
    assert {row["_hoodie_partition_path"] for row in rows} == {"sf"}
    assert [row["_hoodie_record_key"] for row in rows] == ["a", "b"]


def test_new_rows_are_coded_as_the_stored_ones_are():
    many = [trip(f"k{i}", rider=f"r{i % 2}") for i in range(1000)]
    stored = reopened(laid_out(*many), use_dictionary=["rider", "_hoodie_file_name"])
    batches = list(stored.batches)
    assert pa.types.is_dictionary(stored.schema.field("rider").type)
    fresh = stored.conform(laid_out(trip("x", rider="other"), trip("y", rider=None)))
    together = pa.Table.from_batches([*batches, *fresh.to_batches()])
    assert together.num_rows == 1002
    assert decoded(fresh.to_batches()[0])["rider"].to_pylist() == ["other", None]


def test_files_of_an_older_schema_are_read_as_today():
    old = pa.schema([("uuid", pa.string()), ("ts", pa.int32()), ("city", pa.string())])
    before = RowLayout(schema=old, key_spec=KEYS)
    rows = keyed(trip("a")).select(["uuid", "ts", "city", "_hoodie_record_key", "_hoodie_partition_path"])
    rows = rows.set_column(1, "ts", rows["ts"].cast(pa.int32()))
    stored = reopened(base_file_rows(rows, before, INSTANT, 7, "f.parquet"))
    [batch] = list(stored.batches)
    assert batch.schema.names == LAYOUT.file_schema.names
    assert decoded(batch).to_pylist()[0]["fare"] is None
    assert decoded(batch).schema.field("ts").type == pa.int64()


@pytest.mark.parametrize("has_meta_values", [True, False])
def test_keys_of_stored_rows_are_read_or_computed(has_meta_values):
    layout = replace(LAYOUT, has_meta_values=has_meta_values)
    rows = laid_out(trip("a"), trip("b"), layout=layout)
    assert rows["_hoodie_record_key"].null_count == (0 if has_meta_values else 2)
    [batch] = rows.to_batches()
    assert record_keys_of(batch, layout).to_pylist() == ["a", "b"]
    assert trips(trip("a")).schema == TRIPS
