import datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.building import TRIPS, counts, trip

from pyhudi.actions.records import key_rows, keyed_rows, take_records
from pyhudi.commit.call import WriteCall
from pyhudi.engine.api import KEY, PARTITION
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput, KeyMissing, SchemaMismatch, SnapshotExpired
from pyhudi.options import Settings
from pyhudi.table import open_table, write_table


def call_on(table):
    return WriteCall(state=table.state, settings=Settings(), engine=LocalEngine(table.state.storage))


@pytest.fixture
def call(engine):
    return call_on(engine.create())


def test_dicts_get_the_types_of_the_table(call):
    rows = call.engine.collect(take_records(call, [trip("a", fare=1), {"uuid": "b", "extra": 3}]))
    assert rows.schema.field("fare").type == pa.float64()
    assert rows.schema.field("extra").type == pa.int64()
    assert rows["city"].to_pylist() == ["sf", None]


def test_a_merges_source_keeps_its_own_types(call):
    rows = call.engine.collect(take_records(call, [{"uuid": 1}], is_as_it_is=True))
    assert rows.schema.field("uuid").type == pa.int64()


def test_a_value_that_is_no_value_of_its_column_is_named(call):
    with pytest.raises(SchemaMismatch, match="fare"):
        take_records(call, [trip("a", fare="cheap")])


def test_keys_alone_have_no_partition_unless_the_table_has_none(engine, call):
    rows = call.engine.collect(key_rows(call, ["a", "b"]))
    assert rows[PARTITION].null_count == 2
    flat = call_on(engine.create(partition_by=None))
    assert flat.engine.collect(key_rows(flat, ["a"]))[PARTITION].to_pylist() == [""]
    for wrong, says in (("a", "keys"), ([1], "uuid"), ([None], "key")):
        with pytest.raises(InvalidInput, match=says):
            key_rows(call, wrong)


def test_rows_are_reduced_to_their_keys(call):
    frame = call.engine.frame(pa.Table.from_pylist([trip("a"), trip("b", "oslo")], schema=TRIPS))
    rows = call.engine.collect(keyed_rows(call, frame))
    assert rows[KEY].to_pylist() == ["a", "b"]
    assert rows[PARTITION].to_pylist() == ["sf", "oslo"]
    assert "fare" not in rows.column_names
    with pytest.raises(KeyMissing, match="uuid"):
        keyed_rows(call, call.engine.frame(pa.table({"city": ["sf"]})))


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("n", pa.int64(), 2.9),
        ("n", pa.int32(), Decimal("1.5")),
        ("n", pa.float32(), 1e39),
        ("day", pa.date32(), datetime.datetime(2024, 1, 2, 3)),
        ("at", pa.timestamp("us"), pd.Timestamp(1_700_000_000_000_000_001)),
        ("place", pa.struct([("x", pa.int64())]), {"x": 2.9}),
    ],
)
def test_a_dicts_value_that_would_change_is_refused_by_row_column_and_value(engine, name, kind, value):
    call = call_on(engine.create(TRIPS.append(pa.field(name, kind))))
    with pytest.raises(SchemaMismatch) as caught:
        take_records(call, [trip("a", **{name: None}), trip("b", **{name: value})])
    said = caught.value.values
    assert (said["row"], said["column"].split(".")[0]) == (1, name)
    assert str(said["value"]) in repr(value)
    assert name in str(caught.value)


def test_a_field_of_a_struct_that_the_table_lacks_is_not_dropped(engine):
    call = call_on(engine.create(TRIPS.append(pa.field("place", pa.struct([("x", pa.int64())])))))
    rows = call.engine.collect(take_records(call, [trip("a", place={"x": 1, "y": 2})]))
    assert rows["place"].to_pylist() == [{"x": 1, "y": 2}]


@pytest.mark.parametrize("wrong", [[{1: "a"}], [{"\ud800": "a"}], [{"uuid": "a"}, "b"], [None]])
def test_lists_that_hold_no_rows_are_refused(call, wrong):
    with pytest.raises(InvalidInput):
        take_records(call, wrong)


PARTS = {
    "batches": lambda rows: rows.to_batches(max_chunksize=1),
    "a generator of batches": lambda rows: (one for one in rows.to_batches(max_chunksize=1)),
    "a tuple of tables": lambda rows: (rows.slice(0, 1), rows.slice(1)),
    "pandas frames": lambda rows: [rows.slice(0, 1).to_pandas(), rows.slice(1).to_pandas()],
    "a generator of dicts": lambda rows: iter(rows.to_pylist()),
    "a dataset": ds.dataset,
    "a scanner": lambda rows: ds.dataset(rows).scanner(),
    "a lazy frame": lambda rows: pl.from_arrow(rows).lazy(),
    "categories": lambda rows: pl.from_arrow(rows).with_columns(pl.col("rider", "city", "uuid").cast(pl.Categorical)),
    "an enum": lambda rows: pl.from_arrow(rows).with_columns(pl.col("city").cast(pl.Enum(["sf", "oslo"]))),
    "dictionaries": lambda rows: rows.set_column(4, "city", rows["city"].dictionary_encode()),
}


@pytest.fixture
def two_rows():
    return pa.Table.from_pylist([trip("a"), trip("b", "oslo")], schema=TRIPS)


@pytest.mark.parametrize("kind", PARTS)
def test_rows_are_taken_as_users_have_them(engine, two_rows, kind):
    table = engine.create()
    assert counts(table.upsert(PARTS[kind](two_rows))) == (2, 0, 0)
    assert table.scan().to_arrow().sort_by("uuid").equals(two_rows)
    merge = table.merge(PARTS[kind](two_rows), "t.uuid = s.uuid and t.city = s.city")
    assert counts(merge.when_matched_update({"rider": "concat(s.rider, s.city)"}).execute()) == (0, 2, 0)
    assert engine.rows_of(table, "rider") == [("roslo",), ("rsf",)]
    assert counts(table.delete(PARTS[kind](two_rows))) == (0, 0, 2)
    assert table.schema == TRIPS


@pytest.mark.parametrize("kind", PARTS)
def test_a_new_table_is_made_of_rows_as_users_have_them(two_rows, kind):
    path = f"memory://records-{kind.replace(' ', '-')}"
    assert counts(write_table(path, PARTS[kind](two_rows), record_key=["uuid"], partition_by=["city"])) == (2, 0, 0)
    assert open_table(path).schema == TRIPS


def test_a_scan_is_written_batch_by_batch(engine, two_rows):
    table, other = engine.create(), engine.create()
    table.upsert(two_rows)
    assert counts(other.upsert(table.scan().to_batches())) == (2, 0, 0)
    assert counts(other.upsert(table.scan(filter="fare > 99").to_batches())) == (0, 0, 0)


def test_categories_within_lists_and_structs_are_taken(engine):
    frame = pl.DataFrame([trip("a")]).with_columns(pl.col("rider").cast(pl.Categorical))
    frame = frame.with_columns(pl.struct("rider").alias("of"), pl.concat_list("rider").alias("all"))
    table = engine.create()
    table.upsert(frame)
    assert engine.rows_of(table, "of", "all") == [({"rider": "r"}, ["r"])]


def test_a_pandas_index_of_parts_is_no_column(engine, two_rows):
    table = engine.create()
    table.upsert([two_rows.to_pandas().rename_axis("row")])
    assert table.schema == TRIPS


def failing_batches(rows, error):
    yield from rows.to_batches()
    raise error


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rows: [rows, rows.drop_columns(["fare"])],
        lambda rows: [rows, trip("c")],
        lambda rows: [rows, [rows]],
        lambda rows: [rows, None],
        lambda rows: (one for one in ["a"]),
        lambda rows: failing_batches(rows, ValueError("a failure of the caller's own")),
    ],
)
def test_parts_that_are_no_rows_of_one_kind_are_refused(engine, two_rows, wrong):
    table = engine.create()
    with pytest.raises(InvalidInput):
        table.upsert(wrong(two_rows))
    assert table.count() == 0


def test_an_error_of_ours_in_a_generator_stays_what_it_is(engine, two_rows):
    with pytest.raises(SnapshotExpired):
        engine.create().upsert(failing_batches(two_rows, SnapshotExpired("cleaned")))
