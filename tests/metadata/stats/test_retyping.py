"""Statistics of partitions of columns that become wider, as readers in Java merge them."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.metadata.checking import metadata_of, new_table
from tests.metadata.table.test_compaction import compacted

from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.records import STATS_FIELD
from pyhudi.queries.problems import ProblemKind

VERSIONS = pytest.mark.parametrize("version", [8, 9])
WIDENING = {**TINY_FILTERS, "hoodie.datasource.write.reconcile.schema": "true"}


def put(table, key, city, kind, size):
    rows = pa.Table.from_pylist([trip(key, city)], schema=TRIPS)
    table.upsert(rows.append_column("size", pa.array([size], kind)), options=WIDENING)


def clashes(table):
    """Return what Java cannot merge: a record of a partition that stands not alone, and one of another type below."""
    found = metadata_of(table)
    entries = read_entries(found, MetadataPartition.PARTITION_STATS, Wanted())
    rows = entries.decoded(STATS_FIELD, table.state.config.table_version).sort_by("layer").to_pylist()
    below, bad = {}, []
    for row in rows:
        stats, key = row[STATS_FIELD], row["key"]
        kinds = {name for name, value in (stats["minValue"] or {}).items() if value is not None}
        if kinds != below.get(key, kinds) and not stats["isTightBound"]:
            bad.append((stats["fileName"], stats["columnName"], kinds, below[key]))
        below[key] = kinds or below.get(key, kinds)
    return bad


def statistics_problems(table):
    kinds = {ProblemKind.COLUMN_STATISTICS, ProblemKind.PARTITION_STATISTICS}
    return [one for one in table.check().problems.to_pylist() if one["kind"] in kinds]


@pytest.mark.parametrize("kinds", [(pa.int32(), pa.int64(), pa.float64()), (pa.int32(), pa.string())], ids=str)
@pytest.mark.parametrize(("version", "table_type"), [pytest.param(8, "mor", marks=pytest.mark.all), (9, "cow")])
def test_bounds_of_a_wider_type_replace_those_of_the_narrower_one(version, kinds, table_type):
    table = new_table(version, table_type=table_type)
    for number, kind in enumerate(kinds):
        value = str(number) if pa.types.is_string(kind) else number
        for city in ("sf", "rio")[: 1 + number]:
            put(table, f"k{number}", city, kind, value)
            put(table, f"k{number}", city, kind, value)
            assert clashes(table) == []
    for _ in range(5):  # until the metadata table may be compacted
        put(table, "late", "oslo", kinds[-1], "5" if pa.types.is_string(kinds[-1]) else 5)
    assert clashes(table) == []
    first = "size = '0'" if pa.types.is_string(kinds[-1]) else "size = 0"
    assert table.scan(filter=first).to_arrow()["uuid"].to_pylist() == ["k0"]
    assert statistics_problems(table) == []
    assert compacted(table.state)
    assert table.scan(filter=first).to_arrow()["uuid"].to_pylist() == ["k0"]
    assert pc.count(table.scan(filter="size is not null").to_arrow()["uuid"]).as_py() == len(kinds) + 1 + len(kinds[1:])
    put(table, "k0", "sf", kinds[-1], "7" if pa.types.is_string(kinds[-1]) else 7)
    assert clashes(table) == []
    assert statistics_problems(table) == []


@VERSIONS
def test_partition_statistics_that_are_built_enclose_values_of_the_wider_type(version):
    table = new_table(version)
    for key, city in (("a", "sf"), ("b", "rio"), ("c", "rio")):
        put(table, key, city, pa.int32(), 1)
    put(table, "b", "rio", pa.int64(), 1 << 40)
    for city in ("rio", "sf"):
        table.drop_index("partition_stats")
        table.create_index("partition_stats")
        assert table.scan(filter=f"size > {1 << 39}").to_arrow()["uuid"].to_pylist() == ["b"]
        assert statistics_problems(table) == []
        put(table, "d", city, pa.int64(), 1)


@VERSIONS
def test_a_partition_that_was_not_written_while_a_column_grew_is_told_of_its_new_type(version):
    table = new_table(version)
    put(table, "a", "sf", pa.int32(), 1)
    put(table, "b", "rio", pa.int32(), 2)
    put(table, "b", "rio", pa.int64(), 1 << 40)
    put(table, "b", "rio", pa.int64(), 3)
    put(table, "a", "sf", pa.int64(), 4)
    assert clashes(table) == []
    assert table.scan(filter="size = 4").to_arrow()["uuid"].to_pylist() == ["a"]
    assert statistics_problems(table) == []
