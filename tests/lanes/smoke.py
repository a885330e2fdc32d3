"""What must work wherever the wheel is installed: `smoke.py local|readme|classic|connect|sail`.

Plain Python, run by `make lanes` in an environment that has the wheel and one pyspark, and of this tree nothing but
this folder.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
from streams import run_streams

import pyhudi
from statements import run_statements

HAS_DATA_SOURCES = any(
    Path(room, "sql", "datasource.py").exists()
    for room in getattr(find_spec("pyspark"), "submodule_search_locations", ())
)  # to ask for the module itself would import pyspark
"""Spark 3.5 has none in Python."""
README = Path(__file__).resolve().parents[2] / "README.md"

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])

DDL = "id string, city string, ts long, fare double"

Rows = list[dict[str, Any]]


def rows(ids: range, ts: int, fare: float) -> Rows:
    """Make rows in two partitions."""
    return [{"id": f"k{i}", "city": ("oslo", "lima")[i % 2], "ts": ts, "fare": fare} for i in ids]


def run(path: str, frame: Callable[[Rows], Any]) -> None:
    """Create, upsert, read, travel in time, follow changes."""
    table = pyhudi.create_table(path, SCHEMA, name="smoke", record_key=["id"], partition_by=["city"], ordering=["ts"])
    first = table.upsert(frame(rows(range(100), 1, 1.0)))
    assert (first.inserted, first.updated) == (100, 0), first
    second = table.upsert(frame(rows(range(90, 120), 2, 2.0)))
    assert (second.inserted, second.updated) == (20, 10), second
    late = table.upsert(frame(rows(range(5), 0, 9.0)))
    assert late.inserted == 0, late

    again = pyhudi.open_table(path)
    assert again.scan().count() == 120
    assert again.scan(filter="fare = 2").count() == 30
    assert again.scan(filter="fare = 9").count() == 0, "an older row must not win"
    assert again.scan(columns=["id"], filter="city = 'oslo'").to_arrow().column_names == ["id"]
    assert again.scan(as_of=first.instant).count() == 100
    assert again.changes(after=first.instant, until=second.instant).count() == 30
    assert pa.table(again.scan(limit=7)).num_rows == again.scan().to_pyarrow_dataset().head(7).num_rows == 7
    deleted = again.delete(keys=["k1", "k3"])
    assert deleted.deleted == 2, deleted
    assert again.scan().count() == 118


def run_installed(spark: Any, path: str, *, is_found: bool = HAS_DATA_SOURCES) -> None:
    """Write and read every type by `format("hudi")`, where it `is_found` without install too, and merge."""
    frame = spark.sql(
        "select string(id) id, id % 3 part, timestamp_micros(id) at, timestamp_ntz'2024-07-01 12:00:00' local_at,"
        " date'2024-07-01' day, decimal(id) / 3 price, array(id, null) list, named_struct('x', id) struct,"
        " map('k', id) map, binary('b') bytes, id > 5 flag, float(id) f, smallint(id) short from range(10)"
    )
    options = {
        "hoodie.table.name": "installed",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
    }
    frame.write.format("hudi").options(**options).mode("overwrite").save(path)
    frame.where("id = '3'").write.format("hudi").options(**options).mode("append").save(path)
    texts = ["to_json(struct(*)) row"]
    expected = sorted(row.row for row in frame.selectExpr(*texts).collect())
    for is_installed in (True, False)[: 1 + is_found]:
        if not is_installed:
            pyhudi.spark.uninstall()
        read = spark.read.format("hudi").load(path).select(frame.columns)
        found = sorted(row.row for row in read.selectExpr(*texts).collect())
        assert found == expected, (is_installed, found, expected)
    merged = (
        pyhudi.open_table(path)
        .merge(frame.where("id < '3'").withColumn("f", frame.f + 1), on="t.id = s.id")
        .when_matched_update_all(condition="s.id <> '0'")
        .when_matched_delete()
        .execute()
    )
    assert (merged.updated, merged.deleted) == (2, 1), merged


def run_sail(path: str) -> None:
    """Do the same on Sail's server of Spark Connect, but for what it does not have."""
    os.environ["SAIL_EXECUTION__CHECKPOINT__PATH"] = f"file://{path}-checkpoints"
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer(port=0)
    server.start(background=True)
    _, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    try:
        statements_on_sail(spark, path)
    finally:
        spark.stop()  # or the client asks a server that is gone, for ten minutes, before Python ends
        server.stop()


def statements_on_sail(spark: Any, path: str) -> None:
    """Read, write and run statements, and be refused what Sail has not."""
    import pyhudi.spark

    run(path, lambda wanted: spark.createDataFrame([tuple(row.values()) for row in wanted], DDL))
    pyhudi.spark.install(spark)
    spark.sql(f"CREATE DATABASE lane LOCATION '{path}.db'")
    spark.sql("USE DATABASE lane")
    for kind in ("cow", "mor"):
        run_statements(spark, f"{path}-{kind}", kind, ("views",))
    run_installed(spark, f"{path}-installed", is_found=False)
    pyhudi.spark.uninstall()
    from pyhudi.spark.datasource import HudiSource

    spark.dataSource.register(HudiSource)
    assert spark.read.format("hudi").load(path).count() == 118
    pyhudi.spark.install(spark)
    for call in (
        lambda: spark.readStream.format("hudi").load(path),
        lambda: spark.readStream.format("rate").load().writeStream.format("hudi").start(path),
    ):
        try:
            call()
        except pyhudi.errors.Unsupported:
            continue
        raise AssertionError("Sail streams tables now: say so in docs/spark.md")


def run_spark(path: str, way: str) -> None:
    """Do the same with Spark DataFrames, and through `format("hudi")`."""
    from pyspark.sql import SparkSession

    import pyhudi.spark

    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.config(map=settings)
    builder = builder.remote("local[2]") if way == "connect" else builder.master("local[2]")
    spark = builder.getOrCreate()
    try:
        run(path, lambda wanted: spark.createDataFrame([tuple(row.values()) for row in wanted], DDL))
        assert pyhudi.open_table(path).scan().to_spark(spark).count() == 118
        if HAS_DATA_SOURCES:
            assert spark.read.format("hudi").load(path).count() == 118, "the data source is found by itself"
        pyhudi.spark.install(spark)
        for kind in ("cow", "mor"):
            run_statements(spark, f"{path}-{kind}", kind, () if HAS_DATA_SOURCES else ("views",))
        run_streams(spark, f"{path}-streams", has_source=HAS_DATA_SOURCES)
        run_installed(spark, f"{path}-installed")
    finally:
        spark.stop()


def run_readme() -> None:
    """Run the README's Python in an empty directory, but what needs Spark."""
    known: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL):
        if "spark" not in block:
            exec(compile(block, str(README), "exec"), known)


def main(way: str) -> None:
    """Run one way in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="pyhudi-smoke-") as folder:
        os.chdir(folder)
        if way == "readme":
            run_readme()
        elif way == "local":
            run(f"{folder}/local", lambda wanted: pa.Table.from_pylist(wanted, schema=SCHEMA))
            assert "pyspark" not in sys.modules, "the local engine must not import pyspark"
        elif way == "sail":
            run_sail(f"{folder}/sail")
        else:
            run_spark(f"{folder}/{way}", way)
    sys.stdout.write(f"smoke test passed: {way}\n")


if __name__ == "__main__":
    main(sys.argv[1])
