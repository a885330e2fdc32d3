"""The keys of file slices as readers see them."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips
from tests.index.test_live_keys import opened

from pyhudi.engine.api import KEY
from pyhudi.filegroup.slice_keys import last_keys, may_delete, rows_with_keys, stored_rows

TS = pa.schema([("ts", pa.int64())])


def test_keys_are_those_that_logs_leave_with_their_newest_values():
    table = TableBuilder("mor").create()
    table.upsert(trips(trip("a"), trip("b"), trip("c")))
    assert not may_delete(opened(table)[1], storage=opened(table)[0], spec=opened(table)[2])
    table.upsert(trips(trip("b", ts=4)))
    table.delete(keys=["c"])
    storage, one, spec = opened(table)
    assert may_delete(one, storage=storage, spec=spec)
    found = rows_with_keys(one, storage=storage, spec=spec, stored=TS)
    assert sorted(zip(found[KEY].to_pylist(), found["ts"].to_pylist(), strict=True)) == [("a", 1), ("b", 4)]
    some = stored_rows(one, keys=pa.array(["b", "c", "z"]), storage=storage, spec=spec, stored=TS)
    assert some.to_pylist() == [{KEY: "b", "ts": 4}]


@pytest.mark.parametrize("block_bytes", [1 << 20, 20 << 20], ids=["many row groups", "one"])
def test_new_keys_are_those_of_the_last_rows(block_bytes):
    table, options = (
        TableBuilder().create(),
        {"hoodie.parquet.block.size": block_bytes, "hoodie.parquet.page.size": 4096},
    )
    table.insert(trips(*(trip(f"k{number}") for number in range(20_000))), options=options)
    table.upsert(trips(trip("a", ts=2), trip("k7", ts=2), trip("z", ts=2), trip("k19999", ts=2)), options=options)
    storage, one, spec = opened(table)
    for count, expected in ((2, ["a", "z"]), (3, ["k19999", "a", "z"]), (0, [])):
        assert last_keys(one.base, count, storage=storage, spec=spec).to_pylist() == expected
    assert len(last_keys(one.base, 1 << 20, storage=storage, spec=spec)) == 20_002
