"""Format hudi as Spark finds it by itself, without install."""

import ast
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import pyhudi

pytest.importorskip("pyspark.sql.datasource", reason="pyspark 3.5 has no data sources in Python")

from pyhudi.spark.datasource import HudiReader, HudiSource

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("n", pa.int32()),
        ("at", pa.timestamp("us", "UTC")),
        ("d", pa.date32()),
    ]
)
IMPORT_LIMIT_S = 0.05


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("source") / "t")
    table = pyhudi.create_table(path, SCHEMA, record_key=["id"], partition_by=["city"])
    table.upsert([{"id": f"k{i}", "city": "ab"[i % 2], "n": i, "at": None, "d": None} for i in range(4)])
    table.upsert([{"id": "k0", "city": "a", "n": 10, "at": None, "d": None}])
    return path


def test_reads_need_no_install(spark, path):
    frame = spark.read.format("hudi").load(path)
    assert frame.columns[:5] == list(pyhudi.open_table(path).scan(meta=True).schema.names[:5])
    assert {one.id: one.n for one in frame.collect()} == {"k0": 10, "k1": 1, "k2": 2, "k3": 3}
    frame.createOrReplaceTempView("found")
    assert spark.sql("select sum(n) as n from found where city = 'b'").first().n == 4


def test_options_travel_and_filter(spark, path):
    first = min(pyhudi.open_table(path).inspect.commits()["instant"].to_pylist())
    then = spark.read.format("hudi").option("as.of.instant", first).option("pyhudi.filter", "city = 'a'").load(path)
    assert sorted((one.id, one.n) for one in then.collect()) == [("k0", 0), ("k2", 2)]
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING hudi OPTIONS (path '{path}', `pyhudi.columns` 'id,n')")
    assert spark.sql("select * from v where n > 2").count() == 2


def test_columns_that_only_the_path_has_are_read_from_it(spark, tmp_path):
    path, drop = str(tmp_path / "t"), {"hoodie.datasource.write.drop.partition.columns": True}
    table = pyhudi.create_table(path, SCHEMA, record_key=["id"], partition_by=["city"], options=drop)
    table.upsert([{"id": key, "city": city, "n": 1, "at": None, "d": None} for key, city in [("a", "sf"), ("n", None)]])
    frame = spark.read.format("hudi").load(path)
    assert sorted((one.id, one.city) for one in frame.select("id", "city").collect()) == [("a", "sf"), ("n", None)]


def test_writes_name_install(spark, path):
    with pytest.raises(PySparkException, match=r"pyhudi\.spark\.install"):
        spark.range(1).write.format("hudi").mode("append").save(path)


def test_an_empty_table_gives_no_rows(spark, tmp_path):
    pyhudi.create_table(str(tmp_path / "t"), SCHEMA, record_key=["id"])
    assert spark.read.format("hudi").load(str(tmp_path / "t")).count() == 0


def test_a_reader_plans_one_task_a_file_and_reads_what_spark_asks(path):
    source = HudiSource({"path": path})
    schema = source.schema()
    reader = source.reader(schema)
    assert isinstance(reader, HudiReader)
    tasks = reader.partitions()
    assert len(tasks) == 2
    batches = [batch for task in tasks for batch in reader.read(task)]
    assert {tuple(batch.schema.names) for batch in batches} == {tuple(schema.fieldNames())}
    assert sum(batch.num_rows for batch in batches) == 4


def test_spark_waits_little_for_the_import():
    """CPU seconds, after Spark's own part is imported: Spark does this in a worker, for every Python data source."""
    code = (
        "import pyspark.sql.datasource, sys, time; t = time.process_time(); import pyspark_hudi; "
        "print((time.process_time() - t, 'pyarrow' in sys.modules))"
    )
    told = [
        ast.literal_eval(
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(3)
    ]
    assert min(seconds for seconds, _ in told) < IMPORT_LIMIT_S
    assert not any(has_arrow for _, has_arrow in told)
