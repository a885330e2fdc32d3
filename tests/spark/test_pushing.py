"""Filters of queries that are not rewritten reach the data source of a hooked session."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import pyhudi
import pyhudi.spark
from pyhudi.predicate import to_sql
from pyhudi.spark.releases import HAS_PUSHED_FILTERS
from pyhudi.spark.types import to_spark

source = pytest.importorskip("pyspark.sql.datasource", reason="pyspark 3.5 has no data sources in Python")
pushing = pytest.importorskip("pyhudi.spark.pushing")
pytestmark = pytest.mark.skipif(not HAS_PUSHED_FILTERS, reason="pyspark 4.0 pushes no filters to Python")

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("d", pa.date32()),
        ("cost", pa.decimal128(9, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("s", pa.struct([("a", pa.int32())])),
    ]
)


def of(name, *values):
    """Return a filter; none on a release that has no such class."""
    kind = getattr(source, name, None)
    return kind and kind((values[0],) if isinstance(values[0], str) else values[0], *values[1:])


def no(child):
    return child and source.Not(child)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([of("EqualTo", "id", "it's")], "`id` = 'it\\'s'"),
        ([of("EqualNullSafe", "n", 3)], "`n` <=> 3"),
        ([of("GreaterThan", "x", 1.5), of("LessThanOrEqual", "n", -2)], "`x` > 1.5D and `n` <= -2"),
        ([no(of("In", "n", (1, 2)))], "not `n` in (1, 2)"),
        ([of("IsNull", "id"), of("IsNotNull", "n")], "`id` is null and `n` is not null"),
        ([of("LessThan", "d", datetime.date(2026, 1, 2))], "`d` < date '2026-01-02'"),
        ([of("GreaterThanOrEqual", "cost", Decimal("1.50"))], "`cost` >= 1.50BD"),
        ([of("EqualTo", "n", 1), of("StringStartsWith", "id", "a")], "`n` = 1"),
        ([of("EqualTo", "at", datetime.datetime(2026, 1, 2))], None),
        ([of("EqualTo", ("s", "a"), 1)], None),
        ([of("EqualTo", "x", float("nan")), of("In", "x", (1.0, float("inf")))], None),
        ([of("EqualTo", "id", 5), of("EqualTo", "gone", 5), of("In", "n", (1, None))], None),
        ([no(of("StringContains", "id", "a"))], None),
        ([], None),
    ],
)
def test_a_filter_is_taken_where_it_means_the_same(filters, expected):
    condition = pushing.condition_of(filters, SCHEMA)
    assert (None if condition is None else to_sql(condition)) == expected


@pytest.fixture
def trips(spark, tmp_path):
    table = pyhudi.create_table(
        str(tmp_path / "trips"), SCHEMA, record_key=["id"], partition_by=["n"], options={"hoodie.table.name": "trips"}
    )
    rows = [
        {"id": f"k{i}", "n": i % 3, "x": float(i), "d": None, "cost": None, "at": None, "s": {"a": i}} for i in range(9)
    ]
    table.upsert(rows)
    pyhudi.spark.install(spark)
    spark.sql(f"CREATE TABLE pushed USING hudi LOCATION '{table.path}'")
    yield table
    spark.sql("DROP VIEW IF EXISTS over_pushed")
    spark.sql("DROP TABLE pushed")
    pyhudi.spark.uninstall()


def test_files_that_no_row_can_match_are_not_opened(spark, trips):
    spark.sql("CREATE VIEW over_pushed AS SELECT * FROM pushed")
    files = {file.partition: file.path for file in trips.scan().plan.files}
    for partition in ("0", "2"):
        path = f"{trips.path}/{files[partition]}".removeprefix("file://")
        with open(path, "wb") as file:
            file.write(b"damaged")
    found = spark.sql("SELECT id FROM over_pushed WHERE n = 1 AND x > 2").collect()
    assert sorted(row.id for row in found) == ["k4", "k7"]
    found = spark.sql("WITH c AS (SELECT * FROM over_pushed) SELECT count(*) AS n FROM c WHERE n <=> 1").collect()
    assert found[0].n == 3
    with pytest.raises(Exception, match=r"damaged|Corrupt|parquet"):
        spark.sql("SELECT id FROM over_pushed WHERE x > 2").collect()


def test_a_plan_is_of_the_moment_at_which_the_reader_was_made(trips):
    reader = pushing.PushingReader({"path": trips.path}, to_spark(SCHEMA))
    trips.upsert([{"id": "new", "n": 1, "x": 1.0, "d": None, "cost": None, "at": None, "s": None}])
    filters = [of("EqualTo", "n", 1)]
    assert list(reader.pushFilters(filters)) == filters
    (task,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(task)) == 3
