"""Queries over Hudi tables: the same rows as before, of fewer files."""

import pytest

import pyhudi
import pyhudi.spark
from pyhudi.errors import StatementError, TableNotFound

DDL = "id string, city string, ts long, fare double"


@pytest.fixture(scope="module")
def trips(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("frames") / "trips")
    rows = [{"id": f"k{i}", "city": ["oslo", "rome", "lima"][i % 3], "ts": i, "fare": float(i)} for i in range(6)]
    pyhudi.write_table(path, rows, record_key=["id"], partition_by=["city"], ordering=["ts"], name="trips")
    table = pyhudi.open_table(path)
    table.upsert([{"id": "k0", "city": "oslo", "ts": 9, "fare": 90.0}])
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE frames")
    spark.sql(f"CREATE TABLE frames.trips USING hudi LOCATION '{path}'")
    spark.sql("USE frames")
    yield table
    spark.sql("USE default")
    spark.sql("DROP DATABASE frames CASCADE")
    pyhudi.spark.uninstall()


QUERIES = {
    "SELECT id FROM trips WHERE city = 'oslo'": 1,
    "SELECT t.id FROM trips AS t WHERE t.city IN ('oslo', 'rome') AND t.fare > 0 ORDER BY 1": 2,
    "SELECT frames.trips.id FROM frames.trips WHERE frames.trips.city = 'lima'": 1,
    "WITH trips AS (SELECT 1 AS id) SELECT * FROM trips": 0,
    "SELECT count(*) FROM trips": 3,
    "SELECT a.id FROM trips a JOIN trips b USING (id) WHERE a.city = 'oslo'": 3,
    "SELECT id FROM (SELECT * FROM trips WHERE city = 'oslo') WHERE fare > 5": 1,
    "SELECT id FROM trips WHERE city = 'oslo' UNION ALL SELECT id FROM trips WHERE city = 'rome'": 2,
    "SELECT '{x}' AS a, id FROM trips WHERE city LIKE 'o%' AND id <> 'it''s' ORDER BY id -- city = 'rome'": 1,
    "SELECT id FROM trips WHERE city = 'oslo' OR fare = 1.0": 2,
    "SELECT id, (SELECT max(fare) FROM trips) AS top FROM trips WHERE city = 'rome'": 1,
    "FROM trips SELECT id WHERE city = 'oslo'": 1,
    "SELECT extract(year FROM date '2026-01-01') AS y, id FROM trips WHERE city = 'oslo'": 1,
    "SELECT id FROM trips WHERE CITY = 'oslo'": 1,
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_rewritten_query_gives_the_rows_of_the_unrewritten_one(spark, trips, query):
    found = spark.sql(query)
    plain = pyhudi.open_table(trips.path).scan().to_arrow()
    spark.createDataFrame(plain).createOrReplaceTempView("plain_trips")
    wanted = spark.sql(query.replace("frames.trips", "plain_trips").replace(" trips", " plain_trips"))
    assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))
    assert len(found.inputFiles()) == QUERIES[query]


def test_arguments_prune_too(spark, trips):
    for query, args in (("city = :c", {"c": "oslo"}), ("city = ? AND fare > ?", ["oslo", 0.0])):
        found = spark.sql(f"SELECT id FROM trips WHERE {query}", args=args)
        assert (len(found.inputFiles()), found.count()) == (1, 2)
    frame = spark.createDataFrame([("k1",)], "id string")
    found = spark.sql("SELECT id, city FROM {frame} JOIN trips USING (id)", frame=frame)
    assert found.collect()[0].city == "rome"


def test_time_travel_is_by_text_number_and_time(spark, trips):
    first = min(trips.inspect.commits()["instant"].to_pylist())
    at = f"{first[:4]}-{first[4:6]}-{first[6:8]} {first[8:10]}:{first[10:12]}:{first[12:14]}.{first[14:]}"
    for moment in (f"TIMESTAMP AS OF '{first}'", f"TIMESTAMP AS OF '{at}'", f"VERSION AS OF {first}"):
        found = spark.sql(f"SELECT fare FROM trips {moment} AS t WHERE t.id = 'k0'")
        assert found.collect()[0].fare == 0.0, moment
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        later = f"TIMESTAMP '{at}Z'"
        assert spark.sql(f"SELECT fare FROM trips TIMESTAMP AS OF {later} WHERE id = 'k0'").first().fare == 0.0
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    both = (
        "SELECT n.fare - o.fare AS more FROM trips n JOIN trips TIMESTAMP AS OF '{}' o ON n.id = o.id WHERE n.id = 'k0'"
    )
    assert spark.sql(both.format(first)).first().more == 90.0
    with pytest.raises(StatementError, match="null"):
        spark.sql("SELECT * FROM trips TIMESTAMP AS OF NULL")


def test_a_path_is_a_table(spark, trips):
    assert spark.sql(f"SELECT count(*) AS n FROM hudi.`{trips.path}` WHERE city = 'oslo'").first().n == 2
    with pytest.raises(TableNotFound):
        spark.sql("SELECT * FROM hudi.`/nowhere/at/all`")


def test_a_query_of_another_format_reads_hudi_tables_in_it(spark, trips):
    spark.sql("CREATE TABLE copy USING parquet AS SELECT id, fare FROM trips WHERE city = 'oslo'")
    spark.sql("INSERT INTO copy SELECT id, fare FROM trips WHERE city = 'rome'")
    assert spark.sql("SELECT count(*) AS n FROM copy JOIN trips USING (id)").first().n == 4


def test_views_and_what_is_not_understood_read_as_well(spark, trips):
    spark.sql("CREATE VIEW seen AS SELECT id, city FROM trips")
    assert spark.sql("SELECT count(*) AS n FROM seen WHERE city = 'oslo'").first().n == 2
    assert spark.sql("SELECT count(*) AS n FROM IDENTIFIER('tr' || 'ips')").first().n == 6
    with pytest.raises(Exception, match="nothing"):
        spark.sql("SELECT nothing FROM trips")
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        spark.sql("SELECT id FROM trips WHERE city = = 1")


def test_tables_are_read_by_the_methods_of_the_session(spark, trips):
    assert spark.table("frames.trips").where("city = 'oslo'").count() == 2
    first = min(trips.inspect.commits()["instant"].to_pylist())
    old = spark.read.option("as.of.instant", first).table("trips")
    assert old.where("id = 'k0'").first().fare == 0.0
    assert spark.catalog.tableExists("frames.trips")
    assert [one.name for one in spark.catalog.listTables() if not one.isTemporary and one.name == "trips"] == ["trips"]
    assert "fare" in [one.name for one in spark.catalog.listColumns("trips")]
