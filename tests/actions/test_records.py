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
