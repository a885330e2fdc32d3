"""Statistics of partitions that a compaction makes tight again."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import BUILT, metadata_of, new_table
from tests.metadata.table.test_compaction import compacted
from tests.txn.writing import begun

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.stats.reader import read_stats
from pyhudi.metadata.stats.values import decode_bounds

VERSIONS = pytest.mark.parametrize("version", [8, 9])
NO_SMALL_FILES = {**TINY_FILTERS, "hoodie.parquet.small.file.limit": 0}


def told(table, column="ts"):
    """Return by partition the bounds that are stored, and whether they are tight."""
    found = metadata_of(table)
    kind = MetadataPartition.PARTITION_STATS
    stats = read_stats(found, table.timeline, kind, [column], [PartitionPath("sf"), PartitionPath("rio")])
    stats = stats.combine_chunks()
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    bounds = (stats.column(name).combine_chunks() for name in ("minValue", "maxValue"))
    low, high = decode_bounds(*bounds, said, table.schema.field(column).type)
    tight = stats.column("isTightBound").to_pylist()
    rows = zip(stats.column("fileName").to_pylist(), low.to_pylist(), high.to_pylist(), tight, strict=True)
    return {where: (least, greatest, is_tight) for where, least, greatest, is_tight in rows}


def put(table, *keys, ts, options=TINY_FILTERS, city="sf"):
    table.upsert(trips(*(trip(key, city, ts=ts) for key in keys)), options=options)


@VERSIONS
def test_what_was_replaced_is_in_the_bounds_until_a_compaction(version):
    table = new_table(version)
    for ts in (1000, 5, 2000):
        put(table, "a", ts=ts)
    table.update(set={"ts": "7"}, where="uuid = 'a'", options=TINY_FILTERS)
    assert told(table)["sf"] == (1, 2000, False)
    assert compacted(table.state)
    assert told(table)["sf"][1] == 7
    assert table.check().ok
    assert table.scan(filter="ts > 100").count() == 0
    assert table.scan(filter="ts = 7").count() == 1
    put(table, "a", ts=9)
    assert told(table)["sf"][1] == 9
    assert table.check().ok


def test_bounds_enclose_what_all_files_of_a_partition_have():
    table = new_table()
    put(table, "x", ts=50, options=NO_SMALL_FILES)
    put(table, "y", ts=900, options=NO_SMALL_FILES)
    put(table, "z", ts=70, options=NO_SMALL_FILES, city="rio")
    table.update(set={"ts": "60"}, where="uuid = 'y'", options=TINY_FILTERS)
    put(table, "z", ts=71, options=TINY_FILTERS, city="rio")
    assert compacted(table.state)
    low, high, _ = told(table)["sf"]
    assert (low, high) == (50, 60) or low <= 50 <= high
    assert high == 60
    assert table.check().ok


def test_a_column_that_some_file_has_no_statistics_of_keeps_its_wide_bounds():
    table = TableBuilder().create()
    few = {"hoodie.metadata.index.column.stats.column.list": "fare"}
    put(table, "a", ts=1, options={**BUILT, **few})
    put(table, "b", ts=500, options={**NO_SMALL_FILES, **few})
    for ts in (600, 700, 3):
        put(table, "a", ts=ts)
    assert compacted(table.state)
    assert told(table)["sf"][1] == 700
    assert table.scan(filter="ts = 500").count() == 1


def test_what_a_pending_write_adds_later_is_in_them():
    table = new_table()
    for ts in (1000, 2000, 5):
        put(table, "a", ts=ts)
    with begun(table.state):
        assert compacted(table.state)
    put(table, "aa", ts=8000, options=NO_SMALL_FILES)
    assert told(table)["sf"][1] == 8000
    assert table.scan(filter="ts > 7000").count() == 1
    assert table.check().ok
