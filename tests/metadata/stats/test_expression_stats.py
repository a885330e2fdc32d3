"""Bounds of what an expression makes of a column, of base files and logs."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips

from pyhudi.metadata.listing import file_index
from pyhudi.metadata.stats.expression_stats import read_expression_stats
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.predicate import parse
from pyhudi.queries.slices import visible_slices

AVRO = {"hoodie.logfile.data.block.format": "avro"}
UUID = pa.field("uuid", pa.string())


def files_of(table):
    slices = visible_slices(file_index(table.state, table.timeline), None)
    return [(one.group.partition, file.name) for one in slices for file in (one.base, *one.logs) if file is not None]


def stats(table, text, source=UUID):
    return read_expression_stats(
        files_of(table),
        storage=table.state.storage,
        expression=parse(text),
        source=source,
        table_version=9,
    )


def bounds(found, kind):
    least, greatest = decode_bounds(
        *(found[name].combine_chunks() for name in ("minValue", "maxValue", "valueType")), kind
    )
    return list(zip(least.to_pylist(), greatest.to_pylist(), strict=True))


@pytest.mark.parametrize("options", [{}, AVRO], ids=["parquet", "avro"])
def test_base_files_and_logs_have_bounds(options):
    table = TableBuilder("mor").create(version=9)
    table.upsert(trips(trip("aa"), trip("b")))
    table.upsert(trips(trip("b", ts=2)), options=options)
    found = stats(table, "upper(uuid)")
    assert bounds(found, pa.string()) == [("AA", "B"), ("B", "B")]
    assert found["columnName"].to_pylist() == ["uuid", "uuid"]
    assert found["valueCount"].to_pylist() == [2, 1]
    assert bounds(stats(table, "length(uuid)"), pa.int32()) == [(1, 2), (1, 1)]


def test_a_column_that_files_lack_is_null_there():
    table = TableBuilder("mor").create(version=9)
    table.upsert(trips(trip("aa")))
    found = stats(table, "upper(tip)", pa.field("tip", pa.string()))
    assert (found["valueCount"].to_pylist(), found["nullCount"].to_pylist()) == ([1], [1])


def test_a_log_of_deletes_has_no_values():
    table = TableBuilder("mor").create(version=9)
    table.upsert(trips(trip("aa")))
    table.delete(keys=["aa"])
    assert stats(table, "upper(uuid)")["valueCount"].to_pylist() == [1, 0]


def test_values_that_have_no_bounds_are_left_out():
    table = TableBuilder().create(version=9)
    table.upsert(trips(trip("aa")))
    assert stats(table, "cast(uuid as binary)").num_rows == 0
