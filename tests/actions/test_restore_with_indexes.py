"""A table with indexes goes back: they tell of the rows of then, also where they were built since."""

import pytest
from tests.building import TableBuilder, trip, trips

APART = {"hoodie.parquet.small.file.limit": "0", "hoodie.metadata.enable": "true"}
RECORD = "record_index"
OTHERS = (
    ("secondary", "city", {}),
    ("expression", "city", {"expr": "upper"}),
    ("expression", "city", {"expr": "lower", "kind": "bloom_filters"}),
)


def index(table, version):
    """Make the indexes that tables of a version can have."""
    table.create_index(RECORD)
    for kind, column, named in OTHERS if version > 6 else ():
        table.create_index(kind, column, **named)
    return set(table.inspect.indexes()["partition"].to_pylist())


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("is_built_since", [False, True])
def test_indexes_go_back_with_the_rows(table_type, version, is_built_since):
    table = TableBuilder(table_type).create(version=version)
    table.upsert(trips(trip("a"), trip("b", city="rio")), options=APART)
    had = set() if is_built_since else index(table, version)
    kept = table.upsert(trips(trip("c", city="rio")), options=APART).instant
    table.savepoint(kept)
    table.upsert(trips(trip("d", city="rio"), trip("b", city="rio")), options=APART)
    table.delete(keys=["a"])
    had |= index(table, version) if is_built_since else set()
    table.restore(kept)
    fresh = TableBuilder().reopen(table)
    assert set(fresh.inspect.indexes()["partition"].to_pylist()) >= had
    assert set(fresh.inspect.indexes()["state"].to_pylist()) == {"ready"}
    assert fresh.check(all_keys=True).problems.to_pylist() == []
    assert sorted(fresh.lookup(["a", "b", "d"])["uuid"].to_pylist()) == ["a", "b"]
    assert sorted(fresh.scan(filter="city = 'rio'").to_arrow()["uuid"].to_pylist()) == ["b", "c"]
    fresh.upsert(trips(trip("d", city="rio")), options=APART)
    assert fresh.check(all_keys=True).problems.to_pylist() == []
