"""Hudi tables in a Hive metastore on Derby, in a process of its own: no session of the tests has a metastore.

Run as `python -m tests.spark.on_hive FOLDER hooked`, and then with `unhooked`: by a session of its own without hooks.
With `found` it goes on with what Apache Hudi's Spark registered. It prints `done` when everything was as it should be.
"""

import re
import sys
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from tests.conftest import SETTINGS

import pyhudi
import pyhudi.spark
from pyhudi.errors import TableExists

COLUMNS = "id INT, fare DOUBLE, ts BIGINT, city STRING"
PROPERTIES = (
    "TBLPROPERTIES (type = '{type}', primaryKey = 'id', orderingFields = 'ts', 'hoodie.keep.max.commits' = '50')"
)


def session_on(folder):
    """Return a session whose catalog is a metastore in a folder."""
    url = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    java = f"{SETTINGS['spark.driver.extraJavaOptions']} -Dderby.system.home={folder}"
    builder = SparkSession.builder.master("local[1]").config(map={**SETTINGS, "spark.driver.extraJavaOptions": java})
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").config("spark.sql.shuffle.partitions", 1)
    return builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", url).enableHiveSupport().getOrCreate()


def rows_of(spark, name, columns="id, fare, city"):
    """Return rows of a table, in order."""
    return [tuple(row) for row in spark.sql(f"SELECT {columns} FROM {name} ORDER BY {columns}").collect()]


def names_in(spark, database):
    """Return the tables of a database."""
    return sorted(row.tableName for row in spark.sql(f"SHOW TABLES IN {database}").collect())


def hooked(spark, folder):
    """Make tables, change them, and leave some for the session without hooks."""
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE lake")
    for kind in ("cow", "mor"):
        name = f"lake.trips_{kind}"
        properties = PROPERTIES.format(type=kind)
        spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING hudi PARTITIONED BY (city) {properties}")
        spark.sql(f"INSERT INTO {name} VALUES (1, 1.0, 1, 'oslo'), (2, 2.0, 1, 'lima')")
        source = "SELECT 2 AS id, 20.0D AS fare, 2L AS ts, 'lima' AS city UNION ALL SELECT 3, 3.0D, 1L, 'rome'"
        spark.sql(
            f"MERGE INTO {name} t USING ({source}) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql(f"UPDATE {name} SET fare = fare + 0.5 WHERE id = 1")
        spark.sql(f"DELETE FROM {name} WHERE city = 'rome'")
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS (note STRING)")
        spark.sql(f"UPDATE {name} SET note = 'new' WHERE id = 1")
        assert rows_of(spark, name, "id, fare, city, note") == [(1, 1.5, "oslo", "new"), (2, 20.0, "lima", None)]
        found = [row.partition for row in spark.sql(f"SHOW PARTITIONS {name}").collect()]
        assert [one for one in found if one != "city=rome"] == ["city=lima", "city=oslo"], found
    spark.sql(
        f"CREATE TABLE lake.filled USING hudi {PROPERTIES.format(type='cow')} AS SELECT 1 AS id, 2.0D AS fare, 3L AS ts"
    )
    spark.sql(
        f"CREATE TABLE lake.placed ({COLUMNS}) USING hudi LOCATION '{folder}/placed' {PROPERTIES.format(type='cow')}"
    )
    spark.sql("INSERT INTO lake.placed VALUES (7, 7.0, 1, 'oslo')")
    _as_another_engine_registers(spark, folder)
    spark.sql("ALTER TABLE lake.filled RENAME TO lake.renamed")
    spark.sql("CREATE VIEW lake.fares AS SELECT city, sum(fare) AS total FROM lake.trips_mor GROUP BY city")
    assert names_in(spark, "lake") == ["fares", "foreign", "placed", "renamed", "trips_cow", "trips_mor"]
    _refused(lambda: spark.sql("CREATE TABLE lake.renamed (id INT) USING hudi"), TableExists)
    spark.sql("DROP TABLE lake.renamed")
    assert not pyhudi.table_exists(f"{folder}/warehouse/lake.db/filled")
    assert rows_of(spark, "lake.fares", "city, total") == [("lima", 20.0), ("oslo", 1.5)]


def _as_another_engine_registers(spark, folder):
    """Add an entry with columns, and with none of the metadata by which ours are read without hooks."""
    listed = ", ".join(f"{name} STRING" for name in _META)
    pyhudi.spark.uninstall()
    spark.sql(f"CREATE TABLE lake.foreign ({listed}, {COLUMNS}) USING hudi LOCATION '{folder}/placed'")
    pyhudi.spark.install(spark)
    assert rows_of(spark, "lake.foreign") == [(7, 7.0, "oslo")]
    assert spark.table("lake.foreign").count() == 1
    spark.sql("INSERT INTO lake.foreign VALUES (8, 8.0, 1, 'oslo')")
    spark.sql("UPDATE lake.foreign SET fare = 8.5 WHERE id = 8")
    assert rows_of(spark, "lake.placed") == [(7, 7.0, "oslo"), (8, 8.5, "oslo")]


_META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


def unhooked(spark, folder):
    """Read every table that the hooked session left; a write says how to go on."""
    assert names_in(spark, "lake") == ["fares", "foreign", "placed", "trips_cow", "trips_mor"]
    for kind in ("cow", "mor"):
        expected = [(1, 1.5, "oslo", "new"), (2, 20.0, "lima", None)]
        assert rows_of(spark, f"lake.trips_{kind}", "id, fare, city, note") == expected
        assert spark.table(f"lake.trips_{kind}").where("city = 'oslo'").count() == 1
    assert rows_of(spark, "lake.fares", "city, total") == [("lima", 20.0), ("oslo", 1.5)]
    assert rows_of(spark, "lake.placed JOIN lake.trips_cow USING (city)", "placed.id, trips_cow.id") == [(7, 1), (8, 1)]
    _refused(lambda: spark.table("lake.foreign").count(), AnalysisException, "pyhudi.spark.install")
    insert = "INSERT INTO lake.placed (id, fare, ts, city) VALUES (9, 9.0, 1, 'oslo')"
    _refused(lambda: spark.sql(insert), PySparkException, "pyhudi.spark.install")
    for text in ("DELETE FROM lake.placed WHERE id = 7", "UPDATE lake.placed SET fare = 0"):
        _refused(lambda text=text: spark.sql(text), PySparkException, "does not support")
    rows = spark.createDataFrame([(9, 9.0, 1, "oslo")], "id int, fare double, ts long, city string")
    pyhudi.spark.write(rows, f"{folder}/placed", "upsert")
    assert rows_of(spark, "lake.placed") == [(7, 7.0, "oslo"), (8, 8.5, "oslo"), (9, 9.0, "oslo")]


def found(spark, folder):
    """Read and change the tables of another engine, found by provider and location."""
    for name in ("cow", "mor"):
        _refused(lambda name=name: spark.table(f"theirs.{name}").count(), AnalysisException, "pyhudi.spark.install")
    pyhudi.spark.install(spark)
    assert {"cow", "mor"} <= {*names_in(spark, "theirs")}  # and what Apache Hudi's own sync adds
    for name in ("theirs.cow", "theirs.mor"):
        assert rows_of(spark, name) == [(1, 1.5, "oslo"), (2, 2.0, "lima")]
        spark.sql(f"UPDATE {name} SET fare = fare * 2 WHERE id = 2")
        source = "SELECT 3 AS id, 3.0D AS fare, 1L AS ts, 'rome' AS city"
        spark.sql(f"MERGE INTO {name} t USING ({source}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS (note STRING)")
        expected = [(1, 1.5, "oslo", None), (2, 4.0, "lima", None), (3, 3.0, "rome", None)]
        assert rows_of(spark, name, "id, fare, city, note") == expected
    spark.sql("DROP TABLE theirs.cow")
    assert "cow" not in names_in(spark, "theirs")
    assert pyhudi.table_exists(f"{folder}/theirs/cow"), "their files stay"


def _refused(call, kind, said="already"):
    """Check that a call is refused, and how."""
    with pytest.raises(kind, match=re.escape(said)):
        call()


if __name__ == "__main__":
    where = str(Path(sys.argv[1]).resolve())
    spark = session_on(where)
    try:
        {"hooked": hooked, "unhooked": unhooked, "found": found}[sys.argv[2]](spark, where)
    finally:
        spark.stop()
    print("done")
