"""Clusterings whose work a session does."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.table import create_table

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("x", pa.float64())])


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_the_executors_sort_and_write_what_a_session_is_asked_for(spark, tmp_path, table_type):
    table = create_table(
        str(tmp_path / "trips"),
        SCHEMA,
        record_key=["id"],
        partition_by=["city"],
        ordering=["ts"],
        table_type=table_type,
    )
    for part in range(3):
        rows = [
            {"id": f"{part}-{at}", "city": "ab"[at % 2], "ts": 1, "x": float((at * 7 + part) % 10)} for at in range(20)
        ]
        table.insert(rows, options={"hoodie.parquet.small.file.limit": 0})
    table.upsert([{"id": "0-0", "city": "a", "ts": 2, "x": 99.0}])
    before = sorted(map(str, table.scan().to_arrow().to_pylist()))
    done = table.cluster(order_by=["x"], spark=spark)
    assert (done.file_groups, done.new_file_groups) == (6, 2)
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == before
    for city in "ab":
        newest = [one for one in (tmp_path / "trips" / city).glob("*.parquet") if done.instants[0] in one.name]
        [stored] = [pq.ParquetFile(one).read(["x"])["x"].to_pylist() for one in newest]
        assert stored == sorted(stored)
    assert table.check().ok


@pytest.mark.parametrize("layout", ["z-order", "hilbert"])
def test_curves_keep_rows_together_that_are_near_in_both_columns(spark, tmp_path, layout):
    """A quarter of the file is a quarter of the square; in a linear order it has all of the second column."""
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("x", pa.int64()), ("y", pa.int64())])
    table = create_table(str(tmp_path / "points"), schema, record_key=["id"], ordering=["ts"])
    points = [{"id": f"{at}", "ts": 1, "x": at * 37 % 256 // 16, "y": at * 37 % 16} for at in range(256)]
    for part in range(2):
        table.insert(points[part::2], options={"hoodie.parquet.small.file.limit": 0})
    done = table.cluster(order_by=["x", "y"], layout=layout, spark=spark)
    assert done.new_file_groups == 1
    assert table.count() == len(points)
    [newest] = [one for one in (tmp_path / "points").glob("*.parquet") if done.instants[0] in one.name]
    quarter = pq.ParquetFile(newest).read(["x", "y"]).slice(0, len(points) // 4)
    for column in ("x", "y"):
        values = quarter[column].to_pylist()
        assert max(values) - min(values) < 10
