"""Indexes on Spark: made, kept up, asked and dropped by one session, in SQL and by the API."""

import pytest

import pyhudi
import pyhudi.spark

ZONE = "spark.sql.session.timeZone"
MADE = """CREATE TABLE {name} (id string, rider string, ts bigint, at timestamp, city string) USING hudi
    PARTITIONED BY (city) LOCATION '{place}' TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = '{kind}',
    'hoodie.index.type' = 'GLOBAL_RECORD_LEVEL_INDEX', 'hoodie.record.index.update.partition.path' = 'true',
    'hoodie.parquet.small.file.limit' = '0')"""


@pytest.fixture
def installed(spark):
    pyhudi.spark.install(spark)
    zone = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "UTC")
    yield spark
    spark.conf.set(ZONE, zone)
    pyhudi.spark.uninstall()


@pytest.fixture(params=["mor", pytest.param("cow", marks=pytest.mark.all)])
def trips(installed, tmp_path, request):
    """A table of a file for each of three days, whose keys and riders overlap."""
    name = f"indexed_{request.param}"
    installed.sql(MADE.format(name=name, place=tmp_path / name, kind=request.param))
    for day in (1, 2, 3):
        rows = ", ".join(
            f"('{key}{day}', 'r{key}{day}', 1, TIMESTAMP '2026-01-0{day} 20:00:00', 'oslo')" for key in "az"
        )
        installed.sql(f"INSERT INTO {name} VALUES {rows}")
    installed.sql(f"CREATE INDEX IF NOT EXISTS record_index ON {name} (id)")
    installed.sql(f"CREATE INDEX idx_rider ON {name} (rider)")
    installed.sql(
        f"CREATE INDEX days ON {name} USING column_stats(at) OPTIONS (expr = 'date_format', format = 'yyyy-MM-dd')"
    )
    yield name, pyhudi.open_table(str(tmp_path / name))
    installed.sql(f"DROP TABLE {name} PURGE")


def test_indexes_are_kept_up_and_asked(installed, trips):
    name, table = trips

    def ids(where):
        found = installed.sql(f"SELECT id FROM {name} WHERE {where}").collect()
        return sorted(row.id for row in found)

    def told(where):
        return str(pyhudi.spark.explain(installed, f"SELECT id FROM {name} WHERE {where}"))

    assert ids("id = 'a2'") == ["a2"]
    assert "2 by record_index" in told("id = 'a2'")
    assert ids("rider = 'rz3'") == ["z3"]
    assert "2 by secondary_index_idx_rider" in told("rider = 'rz3'")
    day = "date_format(at, 'yyyy-MM-dd') = '2026-01-02'"
    assert ids(day) == ["a2", "z2"]
    assert "by expr_index_days" in told(day)
    assert "file groups: 1 of 3 read" in told(day)

    installed.sql(f"UPDATE {name} SET rider = 'new', ts = 2 WHERE id = 'a1'")
    clauses = "WHEN MATCHED THEN UPDATE SET rider = s.rider, ts = s.ts"
    given = "SELECT 'a2' AS id, 'merged' AS rider, 2L AS ts"
    installed.sql(f"MERGE INTO {name} t USING ({given}) s ON t.id = s.id {clauses}")
    installed.sql(f"DELETE FROM {name} WHERE id = 'z2'")
    source = "SELECT 'z3' AS id, 'moved' AS rider, 3L AS ts, TIMESTAMP '2026-01-02 00:00:00' AS at, 'rome' AS city"
    pyhudi.open_table(table.path).upsert(installed.sql(source))
    assert ids("rider IN ('new', 'ra1', 'rz2')") == ["a1"]
    assert ids("rider IN ('ra2', 'merged')") == ["a2"]
    assert ids("rider = 'moved' AND city = 'rome'") == ["z3"]
    assert ids("id IN ('z2', 'z3')") == ["z3"]
    assert ids(day) == ["a2", "z3"]
    assert table.lookup(["z3", "z2"])["city"].to_pylist() == ["rome"]
    assert table.lookup(["moved"], by="rider")["id"].to_pylist() == ["z3"]
    assert table.check().problems.to_pylist() == []

    installed.sql(f"DROP INDEX days ON {name}")
    assert ids(day) == ["a2", "z3"]
    left = [row.index_name for row in installed.sql(f"SHOW INDEXES FROM {name}").collect()]
    assert "days" not in left


def test_moments_in_another_zone_are_left_to_spark(installed, trips):
    name, _ = trips
    query = f"SELECT id FROM {name} WHERE date_format(at, 'yyyy-MM-dd') = '2026-01-02'"
    installed.conf.set(ZONE, "Pacific/Auckland")
    assert "expr_index_days" not in str(pyhudi.spark.explain(installed, query))
    assert sorted(row.id for row in installed.sql(query).collect()) == ["a1", "z1"]
