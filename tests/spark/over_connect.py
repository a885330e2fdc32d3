"""The surface over Spark Connect, in a process of its own: a process has either a classic session or a client.

Run as `python -m tests.spark.over_connect FOLDER`; it prints `done` when everything was as it should be.
"""

import sys

from pyspark.sql import SparkSession
from tests.conftest import SETTINGS
from tests.lanes.statements import run_statements
from tests.lanes.streams import run_streams

import pyhudi
import pyhudi.spark
from pyhudi.errors import HudiError, NotBuilt, OptionError

DDL = "id string, city string, ts long, fare double"
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.table.ordering.fields": "ts",
}


def refused(call, kind=NotBuilt):
    """Return whether a call is refused as it should be."""
    try:
        call()
    except kind:
        return True
    return False


def surface(spark, path):
    """Create, upsert, read, and be refused, through the hooks."""
    rows = spark.createDataFrame([(f"k{i}", "ab"[i % 2], 1, 1.0) for i in range(10)], DDL)
    rows.write.format("hudi").options(**OPTIONS).partitionBy("city").save(path)
    changed = spark.createDataFrame([("k0", "a", 2, 2.0), ("k1", "b", 0, 9.0), ("new", "b", 1, 3.0)], DDL)
    changed.write.format("hudi").options(**OPTIONS).mode("append").save(path)
    spark.read.format("hudi").load(path).createOrReplaceTempView("trips")
    found = {row.id: row.fare for row in spark.sql("select id, fare from trips").collect()}
    assert (len(found), found["k0"], found["k1"], found["new"]) == (11, 2.0, 1.0, 3.0), found
    first = min(pyhudi.open_table(path).inspect.commits()["instant"].to_pylist())
    assert spark.read.format("hudi").option("as.of.instant", first).load(path).count() == 10
    only = spark.read.format("hudi").option("pyhudi.filter", "city = 'a'").load(path)
    assert (len(only.inputFiles()), only.count()) == (1, 5)
    assert refused(lambda: rows.write.format("hudi").options(**OPTIONS).save(path), HudiError)
    statements(spark, path)
    assert refused(lambda: pyhudi.spark.streaming_sink(path)(rows, 0), HudiError)


def stream(spark, path, folder):
    """Carry one table's changes into another, and go on from the checkpoint."""
    for fare in (5.0, 6.0):
        changed = spark.createDataFrame([("k0", "a", int(fare), fare)], DDL)
        changed.write.format("hudi").options(**OPTIONS).mode("append").save(path)
        rows = spark.readStream.format("hudi").load(path).select("id", "city", "ts", "fare")
        writer = rows.writeStream.format("hudi").partitionBy("city").options(**OPTIONS).trigger(availableNow=True)
        assert refused(lambda writer=writer: writer.start(f"{folder}/copy"), OptionError), "no checkpoint"
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
        assert writer.start(f"{folder}/copy").awaitTermination(120)
        both = [
            sorted(
                tuple(one.asDict().values())
                for one in spark.read.format("hudi").load(where).select(*rows.columns).collect()
            )
            for where in (path, f"{folder}/copy")
        ]
        assert both[0] == both[1], both
    assert len(pyhudi.open_table(f"{folder}/copy").inspect.commits()) == 2


def statements(spark, path):
    """Change and query a catalog table, with arguments and frames."""
    spark.sql(f"CREATE TABLE by_name USING hudi LOCATION '{path}'")
    changed = spark.sql("UPDATE by_name SET fare = 5 WHERE id = :id", args={"id": "k0"}).collect()
    assert changed[0].num_updated_rows == 1, changed
    source = spark.createDataFrame([("k0", 7.0)], "id string, fare double")
    merge = "MERGE INTO by_name t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET fare = s.fare"
    assert spark.sql(merge, source=source).collect()[0].num_updated_rows == 1
    found = spark.sql("SELECT id, fare FROM by_name WHERE city = ? AND fare > ?", args=["a", 6.0])
    assert (len(found.inputFiles()), [row.id for row in found.collect()]) == (1, ["k0"])
    assert spark.sql("SELECT count(*) AS n FROM {rows} JOIN by_name USING (id)", rows=source).collect()[0].n == 1
    assert spark.table("by_name").count() == 11
    spark.sql("DROP TABLE by_name")


def main(folder):
    """Run it."""
    builder = SparkSession.builder.config(map=SETTINGS).config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    spark = builder.remote("local[1]").getOrCreate()
    try:
        pyhudi.spark.install(spark)
        surface(spark, f"{folder}/t")
        stream(spark, f"{folder}/t", folder)
        spark.catalog.dropTempView("trips")
        run_statements(spark, folder, "mor")
        run_streams(spark, f"{folder}/streams", has_source=True)
        pyhudi.spark.uninstall()
        table = pyhudi.open_table(f"{folder}/t")
        assert table.delete(spark.createDataFrame([("k2", "a", 1, 1.0)], DDL)).deleted == 1
        assert spark.read.format("hudi").load(f"{folder}/t").count() == 10
    finally:
        spark.stop()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1])
