"""The blocks of Apache Hudi's quick start for PySpark, as they stand there; what is asserted stands between them."""

import pytest
from pyspark.sql.functions import col

import pyhudi.spark
from pyhudi.errors import NotBuilt

COLUMNS = ["ts", "uuid", "rider", "driver", "fare", "city"]
DATA = [
    (1695159649087, "334e26e9-8355-45cc-97c6-c31daf0df330", "rider-A", "driver-K", 19.10, "san_francisco"),
    (1695091554788, "e96c4396-3fad-413a-a942-4cb36106d721", "rider-B", "driver-L", 27.70, "san_francisco"),
    (1695046462179, "9909a8b1-2d15-4d3d-8ec9-efc48c536a00", "rider-C", "driver-M", 33.90, "san_francisco"),
    (1695332066204, "1dced545-862b-4ceb-8b43-d2a568f6616b", "rider-D", "driver-O", 93.50, "san_francisco"),
    (1695516137016, "e3cf430c-889d-4015-bc98-59bdce1e530c", "rider-E", "driver-P", 34.15, "sao_paulo"),
    (1695376420000, "7a84095f-737f-40bc-b62f-6b69664712d2", "rider-F", "driver-Q", 43.40, "sao_paulo"),
    (1695173887231, "3eeb61f7-c2b0-4636-99bd-5d7a5a1d2c04", "rider-G", "driver-R", 41.06, "chennai"),
    (1695115999911, "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa", "rider-J", "driver-T", 17.85, "chennai"),
]


@pytest.fixture(scope="module")
def hooked(spark):
    pyhudi.spark.install(spark)
    yield spark
    pyhudi.spark.uninstall()


@pytest.fixture(scope="module")
def basePath(hooked, tmp_path_factory):
    """Create and insert, as the quick start does."""
    spark, basePath = hooked, f"file://{tmp_path_factory.mktemp('quick')}/trips_table"
    tableName, columns, data = "trips_table", COLUMNS, DATA
    inserts = spark.createDataFrame(data).toDF(*columns)
    hudi_options = {"hoodie.table.name": tableName, "hoodie.datasource.write.partitionpath.field": "city"}
    inserts.write.format("hudi").options(**hudi_options).mode("overwrite").save(basePath)
    return basePath


def hudi_options():
    return {"hoodie.table.name": "trips_table", "hoodie.datasource.write.partitionpath.field": "city"}


def fares(spark, basePath, **options):
    frame = spark.read.format("hudi").options(**options).load(basePath)
    return {row.rider: row.fare for row in frame.select("rider", "fare").collect()}


@pytest.mark.everyday
def test_the_quick_start_runs_as_typed(hooked, basePath):
    spark = hooked
    spark.read.format("hudi").load(basePath).createOrReplaceTempView("trips_table")
    found = spark.sql("SELECT uuid, fare, ts, rider, driver, city FROM trips_table WHERE fare > 20.0").collect()
    assert sorted(row.rider for row in found) == [f"rider-{one}" for one in "BCDEFG"]

    # update
    updates = spark.read.format("hudi").load(basePath).filter("rider == 'rider-D'").withColumn("fare", col("fare") * 10)
    updates.write.format("hudi").options(**hudi_options()).mode("append").save(basePath)
    after = fares(spark, basePath)
    assert (len(after), after["rider-D"], after["rider-A"]) == (8, 935.0, 19.10)
    assert spark.read.format("hudi").load(basePath).count() == 8

    # delete
    deletes = spark.read.format("hudi").load(basePath).filter("rider == 'rider-F'")
    deletes.write.format("hudi").option("hoodie.datasource.write.operation", "delete").options(**hudi_options()).mode(
        "append"
    ).save(basePath)
    assert "rider-F" not in fares(spark, basePath)

    table = pyhudi.open_table(basePath)
    first, second, third = table.inspect.commits().sort_by("instant").to_pylist()

    # time travel
    assert fares(spark, basePath, **{"as.of.instant": first["instant"]})["rider-D"] == 93.5
    at = second["instant"]
    spelled = f"{at[:4]}-{at[4:6]}-{at[6:8]} {at[8:10]}:{at[10:12]}:{at[12:14]}.{at[14:]}"
    then = fares(spark, basePath, **{"as.of.instant": spelled})
    assert (then["rider-D"], "rider-F" in then) == (935.0, True)
    assert "rider-F" not in fares(spark, basePath, **{"as.of.instant": "2999-01-01"})
    assert fares(spark, basePath, **{"as.of.instant": "2021-07-28"}) == {}

    # incremental
    spark.sql("select distinct(_hoodie_commit_time) as commitTime from trips_table order by commitTime").collect()
    since = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": first["completion_time"],
    }
    assert fares(spark, basePath, **since) == {"rider-D": 935.0}
    assert fares(spark, basePath, **since | {"hoodie.datasource.read.begin.instanttime": "earliest"}).keys() == (
        fares(spark, basePath).keys()
    )
    until = {"hoodie.datasource.read.end.instanttime": first["completion_time"]}
    assert len(fares(spark, basePath, **since | {"hoodie.datasource.read.begin.instanttime": "000"} | until)) == 8
    assert (
        fares(spark, basePath, **since | {"hoodie.datasource.read.begin.instanttime": third["completion_time"]}) == {}
    )


def test_a_block_of_what_is_not_built_says_what_is_missing(hooked, basePath):
    spark = hooked
    cdc = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "0",
    }
    with pytest.raises(NotBuilt, match="CDC"):
        spark.read.format("hudi").options(**cdc).load(basePath)


def test_views_of_a_table_are_queried_and_not_changed(hooked, basePath):
    hooked.read.format("hudi").load(basePath).createOrReplaceTempView("trips")
    try:
        assert hooked.sql(f"SELECT count(*) AS n FROM trips JOIN hudi.`{basePath}` USING (uuid)").first().n > 0
        with pytest.raises(Exception, match=r"DELETE|table|None\.get"):  # Spark 3.5 says no more
            hooked.sql("DELETE FROM trips WHERE uuid = 'x'")
    finally:
        hooked.catalog.dropTempView("trips")


@pytest.mark.all
@pytest.mark.timeout(900)
@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES (type = 'mor')"], ids=["cow", "mor"])
def test_the_quick_start_for_sql_runs_as_typed(hooked, properties, tmp_path):
    spark = hooked
    columns = "ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING"
    values = ", ".join(map(str, DATA))
    adjusted = [
        (1695091554788, "e96c4396-3fad-413a-a942-4cb36106d721", "rider-B", "driver-L", -2.70, "san_francisco"),
        (1695530237068, "3f3d9565-7261-40e6-9b39-b8aa784f95e2", "rider-K", "driver-U", 64.20, "san_francisco"),
        (1695241330902, "ea4c36ff-2069-4148-9927-ef8c1a5abd24", "rider-H", "driver-R", 66.60, "sao_paulo"),
        (1695115999911, "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa", "rider-J", "driver-T", 1.85, "chennai"),
    ]
    spark.sql(f"CREATE DATABASE quick LOCATION '{tmp_path}/quick'")
    spark.sql("USE quick")
    try:
        spark.sql(f"CREATE TABLE hudi_table ({columns}) USING HUDI PARTITIONED BY (city) {properties}")
        spark.sql(f"INSERT INTO hudi_table VALUES {values}")
        assert spark.sql("SELECT ts, fare, rider, driver, city FROM  hudi_table WHERE fare > 20.0").count() == 6
        spark.sql("UPDATE hudi_table SET fare = 25.0 WHERE rider = 'rider-D'")
        spark.sql(f"CREATE TABLE fare_adjustment ({columns}) USING HUDI")
        spark.sql(f"INSERT INTO fare_adjustment VALUES {', '.join(map(str, adjusted))}")
        spark.sql(
            "MERGE INTO hudi_table AS target USING fare_adjustment AS source ON target.uuid = source.uuid "
            "WHEN MATCHED THEN UPDATE SET target.fare = target.fare + source.fare WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql("DELETE FROM hudi_table WHERE uuid = '3f3d9565-7261-40e6-9b39-b8aa784f95e2'")
        found = {row.rider: row.fare for row in spark.sql("SELECT rider, fare FROM hudi_table").collect()}
        expected = {row[2]: row[4] for row in DATA} | {
            "rider-B": 25.0,
            "rider-D": 25.0,
            "rider-H": 66.6,
            "rider-J": 19.7,
        }
        assert found == pytest.approx(expected)
        first = spark.sql("CALL show_commits(table => 'hudi_table')").collect()[-1].commit_time
        assert spark.sql(f"SELECT * FROM hudi_table TIMESTAMP AS OF '{first}' WHERE fare > 90").count() == 1
        changed = spark.sql("SELECT * FROM hudi_table_changes('hudi_table', 'latest_state', 'earliest')")
        assert changed.count() == len(expected)
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE quick CASCADE")
