"""The bucket index: a key's hash names its file group, whatever verb writes the row."""

import pytest
from tests.building import TINY_FILTERS, trip, trips

from pyhudi.errors import InvalidInput
from pyhudi.filegroup.model import FileId
from pyhudi.kernels.bucket import bucket_number

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 3, **TINY_FILTERS}


def buckets_of(table):
    return sorted(bucket_number(FileId(one)) for one in table.inspect.file_slices()["file_id"].to_pylist())


def test_bulk_insert_writes_the_rows_where_upsert_looks_for_them(engine, version):
    table = engine.create(version=version)
    keys = [f"k{number}" for number in range(12)]
    result = table.bulk_insert(engine.rows(trips(*(trip(key) for key in keys))), options=BUCKETS)
    assert (result.inserted, buckets_of(table)) == (12, [0, 1, 2])
    more = [f"m{number}" for number in range(6)]
    table.bulk_insert(engine.rows(trips(*(trip(key) for key in more))), options=BUCKETS)
    assert buckets_of(table) == [0, 1, 2]
    changed = table.upsert(engine.rows(trips(*(trip(key, ts=2) for key in keys + more))), options=BUCKETS)
    assert (changed.inserted, changed.updated) == (0, 18)


def test_two_file_groups_of_one_bucket_are_refused(engine):
    """Apache Hudi's bulk_insert into a filled bucket makes them; a key may then be in both."""
    table = engine.create()
    table.upsert(engine.rows(trips(*(trip(f"k{number}") for number in range(12)))), options=BUCKETS)
    storage = table.state.storage
    name = next(one.path for one in storage.list("") if one.path.startswith("sf/00000001-"))
    storage.put(name.replace("00000001-", "00000000-"), storage.get(name))
    with pytest.raises(InvalidInput, match="two file groups are of one bucket"):
        table.upsert(engine.rows(trips(trip("k1"))), options=BUCKETS)
