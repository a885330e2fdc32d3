import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from tests.building import TRIPS, trip

from pyhudi.actions.call import WriteCall
from pyhudi.actions.records import key_rows, keyed_rows, take_records
from pyhudi.engine.api import KEY, PARTITION
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput, KeyMissing, SchemaMismatch
from pyhudi.options import Settings


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
    for wrong in ("a", [1], [None]):
        with pytest.raises(InvalidInput, match="keys"):
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
