"""A check compares the record index with the rows."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips
from tests.metadata.partitions.test_record_index import BUILT, told

from pyhudi.metadata.record_places import PLACES
from pyhudi.queries import check_places


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_what_the_index_and_the_rows_differ_in_is_found_and_repaired(table_type, monkeypatch):
    table = TableBuilder(table_type).create()
    table.upsert(trips(trip("a"), trip("b", city="rio"), trip("c")), options=BUILT)
    table.delete(keys=["c"])
    fresh = TableBuilder().reopen(table)
    assert fresh.check().problems.num_rows == 0
    read = check_places.read_places
    lacking = pa.table([["b", "z"], ["rio", "rio"], ["x", "y"]], schema=PLACES)
    monkeypatch.setattr(check_places, "read_places", lambda _: lacking)
    found = fresh.check()
    assert sorted(text.split(",")[0] for text in found.problems["found"].to_pylist()) == [
        "2 keys that it names where no row of them is",
        "2 keys with rows that it does not name there",
    ]
    assert found.to_repair == ("record_index",)
    monkeypatch.setattr(check_places, "read_places", read)
    fresh.repair("record_index")
    assert told(fresh) == ["a", "b"]
    assert TableBuilder().reopen(table).check().problems.num_rows == 0
