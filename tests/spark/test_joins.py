"""Files that no joined row needs are left out, where that cannot change the result; and nowhere else."""

import os

import pyarrow as pa
import pytest

import pyhudi
import pyhudi.spark
from pyhudi.spark import joins, narrowing

FILES = 6
SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("part", pa.string())])
pytestmark = pytest.mark.skipif(
    bool(os.environ.get("PYHUDI_TEST_CONNECT")), reason="Connect does not show the plan that Spark has optimised"
)


@pytest.fixture(scope="module", params=["cow", "mor"])
def lake(spark, tmp_path_factory, request):
    """Have a table of six files, which have ten numbers each, and smaller things to join it with.

    In the one that is merged on read, logs have the numbers of every other file.
    """
    kind = request.param
    folder = tmp_path_factory.mktemp("joins")
    table = pyhudi.create_table(str(folder / "h"), SCHEMA, record_key=["id"], partition_by=["part"], table_type=kind)
    rows = [{"id": f"k{i:02}", "n": i, "x": i / 2, "part": f"p{i // 10}"} for i in range(10 * FILES)]
    logged = [row for row in rows if kind == "mor" and int(row["part"][1:]) % 2 == 0]
    table.insert(
        [{**row, "n": row["n"] + (1000 if row["n"] >= 10 else -1000)} if row in logged else row for row in rows]
    )
    names = [{"n": 3, "name": "three"}, {"n": 4, "name": "four"}]
    dim = pyhudi.create_table(
        str(folder / "dim"), pa.schema([("n", pa.int64()), ("name", pa.string())]), record_key=["n"], table_type=kind
    )
    dim.insert(names)
    if logged:
        table.upsert(logged)
        dim.upsert(names[1:])
    spark.range(11, 13).selectExpr("id AS n", "concat('p', id - 10) AS part").write.parquet(str(folder / "plain"))
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE joins")
    spark.sql("USE joins")
    spark.sql(f"CREATE TABLE h USING hudi LOCATION '{folder}/h'")
    spark.sql(f"CREATE TABLE dim USING hudi LOCATION '{folder}/dim'")
    spark.sql("CREATE TABLE kept USING parquet AS SELECT 3L AS n")
    spark.read.parquet(f"{folder}/plain").createOrReplaceTempView("plain")
    yield spark
    spark.catalog.dropTempView("plain")
    spark.sql("USE default")
    spark.sql("DROP DATABASE joins CASCADE")
    pyhudi.spark.uninstall()


@pytest.fixture(autouse=True)
def _any_table_is_large(monkeypatch):
    monkeypatch.setattr(narrowing, "LEAST_BYTES", 0)
    monkeypatch.setattr(joins, "_PART", 0)


NARROWED = {
    "SELECT h.id, name FROM h JOIN dim USING (n)": 1,
    "SELECT h.id FROM dim d, h WHERE d.n = h.n AND d.name = 'four'": 1,
    "SELECT id FROM h WHERE n IN (SELECT n FROM dim)": 1,
    "SELECT id FROM h JOIN VALUES (5L), (25L), (null) AS v(n) ON v.n = h.n": 2,
    "SELECT id FROM h WHERE EXISTS (SELECT 1 FROM plain p WHERE p.n = h.n)": 1,
    "SELECT h.id FROM plain p JOIN h ON p.part = h.part": 2,
    "SELECT d.name, h.id FROM dim d LEFT JOIN h ON d.n = h.n": 1,
    "SELECT d.name, h.id FROM h RIGHT JOIN dim d ON d.n = h.n AND h.x > 1": 1,
    "SELECT d.name FROM dim d WHERE NOT EXISTS (SELECT 1 FROM h WHERE h.n = d.n AND h.x < 200)": 1,
    "SELECT s.c, d.name FROM (SELECT n, count(*) AS c FROM h GROUP BY n) s JOIN dim d ON s.n = d.n": 1,
    "SELECT h.id FROM h JOIN dim d ON h.n = d.n JOIN plain p ON p.n > h.n": 1,
    "WITH c AS (SELECT id, n FROM h WHERE x >= 0) SELECT c.id FROM c JOIN dim d ON c.n = d.n": 1,
    "SELECT id FROM h JOIN (SELECT n FROM dim WHERE length(name) > 100) e ON e.n = h.n": 0,
    "SELECT * FROM (SELECT id, n FROM h UNION ALL SELECT 'more', 4L) u JOIN dim d ON u.n = d.n": 1,
}
LEFT_ALONE = [
    "SELECT h.id, name FROM h LEFT JOIN dim d ON d.n = h.n",
    "SELECT h.id, name FROM h FULL JOIN dim d ON d.n = h.n",
    "SELECT id FROM h WHERE n NOT IN (SELECT n FROM dim)",
    "SELECT id FROM h WHERE NOT EXISTS (SELECT 1 FROM dim d WHERE d.n = h.n)",
    "SELECT h.id FROM h JOIN dim d ON d.n <=> h.n",
    "SELECT h.id FROM h JOIN dim d ON d.n = h.n OR h.id = d.name",
    "SELECT h.id FROM h JOIN dim d ON d.n = h.n + 1",
    "SELECT h.id FROM h JOIN dim d ON d.n > h.n",
    "SELECT h.id FROM h JOIN (SELECT 1.5D AS x) d ON d.x = h.x",
    "SELECT h.id FROM h JOIN kept d ON d.n = h.n",
    "SELECT h.id FROM h JOIN (SELECT n FROM dim WHERE rand(1) < 0.9999999) d ON d.n = h.n",
    "SELECT s.c FROM (SELECT n, count(*) OVER () AS c FROM h) s JOIN dim d ON s.n = d.n",
    "SELECT s.n FROM (SELECT n FROM h ORDER BY n DESC LIMIT 50) s JOIN dim d ON s.n = d.n",
    "SELECT s.m FROM (SELECT max(n) AS m, min(n) AS n FROM h) s JOIN dim d ON s.n = d.n",
    "WITH c AS (SELECT * FROM h) SELECT c.id FROM c JOIN dim d ON c.n = d.n UNION ALL SELECT id FROM c",
    "WITH c AS (SELECT * FROM h) SELECT c.id, (SELECT max(n) FROM c) AS m FROM c JOIN dim d ON c.n = d.n",
    "SELECT a.id FROM h a JOIN h b ON a.n = b.n JOIN dim d ON d.n = a.n",
    (
        "SELECT * FROM (SELECT id, n, n AS m FROM h UNION ALL SELECT id, m, n FROM (SELECT id, n, x AS m FROM h)) u "
        "JOIN dim d ON u.n = d.n"
    ),
    "SELECT h.id FROM h JOIN dim d ON h.n = d.n AND h.x IN (SELECT count(*) / 2 FROM h)",
    "SELECT count(*) FROM h",
]


def rows_of(frame):
    return sorted(map(tuple, frame.collect()), key=repr)


def of_all_files(spark, query, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(narrowing, "LEAST_BYTES", 1 << 60)
        return rows_of(spark.sql(query))


@pytest.mark.parametrize("query", NARROWED)
def test_files_without_a_joined_value_are_left_out(lake, query, monkeypatch):
    said = pyhudi.spark.explain(lake, query)
    assert f"leave {NARROWED[query]} file groups" in said
    assert f"file groups: {NARROWED[query]} of" in said
    assert rows_of(lake.sql(query)) == of_all_files(lake, query, monkeypatch)


@pytest.mark.parametrize("query", LEFT_ALONE)
def test_where_it_could_change_the_result_all_files_are_read(lake, query, monkeypatch):
    said = pyhudi.spark.explain(lake, query)
    assert "joined values" not in said
    assert f"file groups: {FILES} of {FILES} read" in said
    assert rows_of(lake.sql(query)) == of_all_files(lake, query, monkeypatch)


def test_what_is_not_much_smaller_is_not_asked_also_if_it_has_logs(lake, monkeypatch):
    monkeypatch.setattr(joins, "_PART", 1000)
    assert "joined values" not in pyhudi.spark.explain(lake, "SELECT h.id FROM h JOIN dim d ON d.n = h.n")
    assert "joined values" in pyhudi.spark.explain(lake, "SELECT h.id FROM h JOIN VALUES (5L) AS v(n) ON v.n = h.n")
