"""Every statement about a Hudi table, on one session; what each one means is tried in `tests/statements`."""

import os
from pathlib import Path

import pytest

import pyhudi
import pyhudi.spark
from pyhudi.actions import rewrite
from pyhudi.actions.rewrite import _rewrite_file
from pyhudi.errors import ExpressionError, NotBuilt, StatementError, TableExists

COLUMNS = "id string, rider string, fare double, ts bigint, city string"
ROWS = "VALUES ('a', 'ann', 1.5D, 1L, 'oslo'), ('b', 'bob', 2.5D, 1L, 'rome'), ('c', 'cyd', 3.5D, 1L, 'oslo')"


@pytest.fixture(scope="module")
def hooked(spark):
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE statements")
    spark.sql("USE statements")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE statements CASCADE")
    pyhudi.spark.uninstall()


@pytest.fixture(params=["cow", "mor"])
def trips(request, hooked):
    said = f"type = '{request.param}', primaryKey = 'id', orderingFields = 'ts', 'hoodie.keep.max.commits' = '50'"
    hooked.sql(f"CREATE TABLE trips ({COLUMNS}) USING hudi PARTITIONED BY (city) TBLPROPERTIES ({said})")
    hooked.sql(f"INSERT INTO trips {ROWS}")
    yield hooked
    for left in hooked.sql("SHOW TABLES").collect():
        if not left.isTemporary:
            hooked.sql(f"DROP TABLE IF EXISTS {left.tableName}")


def fares(spark, table="trips"):
    """Return the fares by id."""
    return {row.id: row.fare for row in spark.sql(f"SELECT id, fare FROM {table}").collect()}


def counts(frame):
    """Return how many rows a statement updated, deleted and inserted."""
    (row,) = frame.collect()
    assert row.num_affected_rows == row.num_updated_rows + row.num_deleted_rows + row.num_inserted_rows
    return row.num_updated_rows, row.num_deleted_rows, row.num_inserted_rows


def test_rows_are_changed_by_each_statement(trips):
    assert counts(trips.sql("UPDATE trips SET fare = fare * 2 WHERE id = 'a'")) == (1, 0, 0)
    assert counts(trips.sql("UPDATE trips SET fare = fare + :more WHERE id = :id", args={"more": 1.0, "id": "a"})) == (
        1,
        0,
        0,
    )
    assert counts(trips.sql("DELETE FROM trips WHERE rider = ?", args=["bob"])) == (0, 1, 0)
    source = trips.createDataFrame([("c", 9.0, "oslo"), ("n", 7.0, "lima")], "id string, fare double, city string")
    merged = trips.sql(
        """MERGE INTO trips t USING {source} s ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET fare = s.fare, rider = initcap(t.rider)
           WHEN NOT MATCHED THEN INSERT (id, fare, ts, city, rider) VALUES (s.id, s.fare, 1, s.city, upper(s.id))""",
        source=source,
    )
    assert counts(merged) == (1, 0, 1)
    assert fares(trips) == {"a": 4.0, "c": 9.0, "n": 7.0}
    riders = {row.id: row.rider for row in trips.sql("SELECT id, rider FROM trips").collect()}
    assert riders == {"a": "ann", "c": "Cyd", "n": "N"}
    by_query = "UPDATE trips SET rider = 'x' WHERE fare = (SELECT max(fare) FROM trips)"
    assert counts(trips.sql(by_query)) == (1, 0, 0)
    assert trips.sql("TRUNCATE TABLE trips").collect() == []
    assert counts(trips.sql("DELETE FROM trips")) == (0, 0, 0)


def recorded(task, **how):
    """Rewrite a file, and leave the number of the process that does it."""
    Path(how["storage"].url.removeprefix("file://"), f"process-{os.getpid()}").touch()
    return _rewrite_file(task, **how)


def test_stored_rows_are_rewritten_by_tasks(trips, tmp_path, monkeypatch):
    monkeypatch.setattr(rewrite, "_rewrite_file", recorded)
    trips.sql(f"CREATE TABLE apart LIKE trips LOCATION '{tmp_path}/apart'")
    trips.sql("INSERT INTO apart SELECT id, rider, fare, ts, city FROM trips")
    assert counts(trips.sql("UPDATE apart SET fare = fare * 2 WHERE city = 'oslo'")) == (2, 0, 0)
    assert counts(trips.sql("DELETE FROM apart WHERE fare = 2.5")) == (0, 1, 0)
    assert fares(trips, "apart") == {"a": 3.0, "c": 7.0}
    assert counts(trips.sql("DELETE FROM apart")) == (0, 2, 0)
    processes = {path.name for path in (tmp_path / "apart").glob("process-*")}
    assert processes
    assert f"process-{os.getpid()}" not in processes


def test_rows_are_inserted_in_each_way(trips):
    assert counts(trips.sql("INSERT INTO trips PARTITION (city = 'lima') VALUES ('d', 'dee', 4, 1)")) == (0, 0, 1)
    assert counts(trips.sql("INSERT INTO trips (city, id, fare, ts) VALUES ('rome', 'e', 5, 1)")) == (0, 0, 1)
    trips.sql("INSERT INTO trips BY NAME SELECT 6.0D AS fare, 'f' AS id, 1 AS ts, 'rome' AS city")
    assert fares(trips) == {"a": 1.5, "b": 2.5, "c": 3.5, "d": 4.0, "e": 5.0, "f": 6.0}
    trips.sql("INSERT OVERWRITE trips PARTITION (city = 'rome') SELECT 'g', 'gil', 7.0D, 1L")
    assert set(fares(trips)) == {"a", "c", "d", "g"}
    trips.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        trips.sql("INSERT OVERWRITE trips VALUES ('h', 'hal', 8.0D, 1L, 'lima')")
        assert set(fares(trips)) == {"a", "c", "g", "h"}
    finally:
        trips.conf.unset("spark.sql.sources.partitionOverwriteMode")
    trips.sql("INSERT OVERWRITE trips VALUES ('i', 'ida', 9.0D, 1L, 'lima')")
    assert fares(trips) == {"i": 9.0}


def test_a_value_that_does_not_fit_is_an_error_with_and_without_ansi(trips):
    for is_ansi in ("true", "false"):
        trips.conf.set("spark.sql.ansi.enabled", is_ansi)
        try:
            with pytest.raises(Exception, match=r"CAST|fit"):
                trips.sql("INSERT INTO trips VALUES ('z', 'z', 1.0D, 99999999999999999999999BD, 'oslo')")
            trips.sql("UPDATE trips SET ts = 5 WHERE id = 'a'")
        finally:
            trips.conf.unset("spark.sql.ansi.enabled")
    assert set(fares(trips)) == {"a", "b", "c"}


def test_a_table_is_described_altered_and_renamed(trips):
    assert [row.partition for row in trips.sql("SHOW PARTITIONS trips").collect()] == ["city=oslo", "city=rome"]
    made = trips.sql("SHOW CREATE TABLE trips").first().createtab_stmt
    assert "PARTITIONED BY (`city`)" in made
    assert ["id", "string"] in [list(row)[:2] for row in trips.sql("DESCRIBE trips").collect()]
    assert "# Detailed Table Information" in [row.col_name for row in trips.sql("DESC EXTENDED trips").collect()]
    trips.sql("ALTER TABLE trips SET TBLPROPERTIES ('hoodie.keep.min.commits' = '40', 'note' = 'a, b=c')")
    trips.sql("ALTER TABLE trips UNSET TBLPROPERTIES ('hoodie.keep.max.commits')")
    properties = dict(map(tuple, trips.sql("SHOW TBLPROPERTIES trips").collect()))
    assert properties["note"] == "a, b=c"
    assert "hoodie.keep.max.commits" not in properties
    trips.sql("ALTER TABLE trips ADD COLUMNS (tip double)")
    trips.sql("ALTER TABLE trips ALTER COLUMN tip COMMENT 'in kroner'")
    assert trips.sql("SELECT tip FROM trips").first().tip is None
    trips.sql("ALTER TABLE trips DROP PARTITION (city = 'rome')")
    assert trips.sql("CALL show_commits(table => 'trips', limit => 1)").count() == 1
    trips.sql("ALTER TABLE trips RENAME TO rides")
    assert set(fares(trips, "rides")) == {"a", "c"}
    trips.sql("DROP TABLE rides")
    assert not trips.catalog.tableExists("rides")


def test_tables_are_created_in_each_way(trips, tmp_path):
    trips.sql("CREATE TABLE IF NOT EXISTS trips USING hudi AS SELECT 1 AS a")
    with pytest.raises(TableExists):
        trips.sql("CREATE TABLE trips (a int) USING hudi")
    trips.sql(f"CREATE TABLE made USING hudi LOCATION '{tmp_path}/made' TBLPROPERTIES (primaryKey = 'id') AS {ROWS_OF}")
    trips.sql(f"CREATE TABLE again USING hudi LOCATION '{tmp_path}/made'")
    trips.sql("CREATE TABLE alike LIKE trips")
    trips.sql("CREATE TABLE plain USING parquet AS SELECT id FROM made")
    try:
        assert set(fares(trips, "again")) == {"a"}
        assert fares(trips, "alike") == {}
        assert trips.sql("SELECT count(*) AS n FROM plain").first().n == 1
        with pytest.raises(StatementError, match="no Hudi table"):
            trips.sql(f"CREATE TABLE none USING hudi LOCATION '{tmp_path}/none'")
    finally:
        for name in ("made", "again", "alike", "plain"):
            trips.sql(f"DROP TABLE IF EXISTS {name}")
    assert pyhudi.open_table(f"{tmp_path}/made").count() == 1


ROWS_OF = "SELECT 'a' AS id, 1.5D AS fare"


def test_what_is_not_understood_shows_its_place(trips):
    with pytest.raises(StatementError, match="position=24"):
        trips.sql("UPDATE trips SET fare =")
    with pytest.raises(ExpressionError, match="nothing"):
        trips.sql("INSERT INTO trips SELECT nothing FROM trips")
    with pytest.raises(NotBuilt):
        trips.sql("ALTER TABLE trips DROP COLUMN fare")
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        trips.sql("UPSERT trips")


def test_statements_about_other_tables_are_sparks(trips):
    trips.sql("CREATE TABLE plain (a int) USING parquet")
    try:
        trips.sql("INSERT INTO plain VALUES (1)")
        assert trips.sql("DESCRIBE plain").first().col_name == "a"
        assert trips.sql("SHOW TBLPROPERTIES plain").collect() is not None
        trips.sql("ALTER TABLE plain ADD COLUMNS (b int)")
        trips.sql("CREATE TEMPORARY VIEW trips AS SELECT 1 AS a")
        assert trips.sql("SELECT * FROM trips").columns == ["a"]
        assert trips.sql("DESCRIBE trips").first().col_name == "a"
        assert trips.sql("DESCRIBE statements.trips").first().col_name == "_hoodie_commit_time"
    finally:
        trips.catalog.dropTempView("trips")
        trips.sql("DROP TABLE plain")
