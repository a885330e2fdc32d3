"""Readers and writers of catalog tables, by the methods of Spark."""

import pytest
from pyspark.sql import functions as F

import pyhudi
import pyhudi.spark
from pyhudi.errors import InvalidInput, NotBuilt, SchemaMismatch, TableExists, TableNotFound

DDL = "id string, city string, ts long"
OPTIONS = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.ordering.fields": "ts"}


@pytest.fixture(scope="module")
def hooked(spark):
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE hooks")
    spark.sql("USE hooks")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE hooks CASCADE")
    pyhudi.spark.uninstall()


@pytest.fixture
def rows(hooked):
    yield hooked.createDataFrame([("a", "oslo", 1), ("b", "rome", 1)], DDL)
    for name in ("t", "plain"):
        hooked.sql(f"DROP TABLE IF EXISTS {name}")


def ids(spark):
    return sorted(row.id for row in spark.table("t").collect())


def test_save_as_table_makes_a_table_and_adds_to_it(hooked, rows):
    rows.write.format("hudi").options(**OPTIONS).partitionBy("city").saveAsTable("t")
    assert hooked.table("t").columns[-3:] == ["id", "ts", "city"]
    with pytest.raises(TableExists):
        rows.write.format("hudi").options(**OPTIONS).saveAsTable("t")
    rows.write.saveAsTable("hooks.t", format="hudi", mode="ignore")
    hooked.createDataFrame([("c", "oslo", 1)], DDL).write.mode("append").saveAsTable("t")
    assert ids(hooked) == ["a", "b", "c"]
    more = hooked.createDataFrame([("d", "rome", 1, 2.0)], f"{DDL}, tip double")
    more.write.saveAsTable("t", format="hudi", mode="overwrite", partitionBy="city", **OPTIONS)
    assert hooked.sql("SELECT tip FROM t").first().tip == 2.0
    assert hooked.sql("SHOW PARTITIONS t").first().partition == "city=rome"


def test_save_as_table_knows_its_place(hooked, rows, tmp_path):
    path = str(tmp_path / "given")
    rows.write.format("hudi").options(**OPTIONS).option("path", path).saveAsTable("t")
    hooked.sql("DROP TABLE t")
    assert pyhudi.open_table(path).count() == 2
    rows.write.saveAsTable("plain", format="parquet")
    with pytest.raises(TableExists):
        rows.write.format("hudi").options(**OPTIONS).mode("append").saveAsTable("plain")
    with pytest.raises(InvalidInput):
        rows.write.format("hudi").options(**OPTIONS).bucketBy(2, "id").saveAsTable("t")


def test_insert_into_goes_by_position(hooked, rows):
    hooked.sql("CREATE TABLE t (id string, ts long, city string) USING hudi PARTITIONED BY (city)")
    rows.select("id", "ts", "city").write.insertInto("t")
    with pytest.raises(SchemaMismatch):
        rows.write.insertInto("t")
    rows.limit(1).select("id", "ts", "city").write.insertInto("t", overwrite=True)
    assert ids(hooked) == ["a"]
    rows.write.saveAsTable("plain")
    rows.write.insertInto("plain")
    assert hooked.table("plain").count() == 4


def test_the_writer_of_version_two(hooked, rows):
    made = rows.writeTo("t").using("hudi").tableProperty("primaryKey", "id").partitionedBy(F.col("city"))
    made.create()
    with pytest.raises(TableExists):
        rows.writeTo("t").using("hudi").create()
    rows.selectExpr("'c' AS id", "5L AS ts", "'lima' AS city").limit(1).writeTo("t").append()
    assert ids(hooked) == ["a", "b", "c"]
    rows.selectExpr("'d' AS id", "5L AS ts", "'lima' AS city").limit(1).writeTo("t").overwritePartitions()
    assert ids(hooked) == ["a", "b", "d"]
    with pytest.raises(NotBuilt):
        rows.writeTo("t").overwrite(F.col("city") == "oslo")
    with pytest.raises(NotBuilt):
        rows.writeTo("t").using("hudi").createOrReplace()
    with pytest.raises(TableNotFound):
        rows.writeTo("nowhere").using("hudi").append()
    rows.writeTo("plain").using("parquet").create()
    assert hooked.table("plain").count() == 2
