"""Streams and pipelines without install: rows are gathered in one process and committed there."""

import json

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql import types

import pyhudi
import pyhudi.spark
from pyhudi.errors import InvalidInput, NotBuilt, OptionError, Unsupported
from pyhudi.spark import gathered
from pyhudi.spark.datasource import HudiSource
from pyhudi.spark.gathered import Destination, GatheringStreamWriter, destination_in
from pyhudi.spark.streaming import BATCH_ID, QUERY_ID

OPTIONS = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}
SCHEMA = types.StructType([types.StructField("id", types.LongType()), types.StructField("n", types.LongType())])


def read(path):
    """Read a table as pairs."""
    return sorted(tuple(one.values()) for one in pyhudi.open_table(str(path)).scan(["id", "n"]).to_arrow().to_pylist())


def test_a_stream_without_install_is_committed_by_one_process_each_batch_once(spark, tmp_path):
    spark.range(4).repartition(2).withColumn("n", F.lit(1)).write.json(str(tmp_path / "in"))
    rows = spark.readStream.schema("id long, n long").json(str(tmp_path / "in"))
    writer = rows.writeStream.format("hudi").options(**OPTIONS).option("checkpointLocation", str(tmp_path / "c"))
    writer = writer.trigger(availableNow=True)
    assert writer.start(str(tmp_path / "t")).awaitTermination(120)
    spark.range(2, 6).withColumn("n", F.lit(2)).write.mode("append").json(str(tmp_path / "in"))
    assert writer.start(str(tmp_path / "t")).awaitTermination(120)
    assert read(tmp_path / "t") == [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2), (5, 2)]
    extras = [
        dict(one) for one in pyhudi.open_table(str(tmp_path / "t")).inspect.commits()["extra_metadata"].to_pylist()
    ]
    query = json.loads((tmp_path / "c" / "metadata").read_text())["id"]
    assert sorted((one[QUERY_ID], one[BATCH_ID]) for one in extras) == [(query, "0"), (query, "1")]


def test_rows_that_say_where_they_go_are_added_without_install(spark, tmp_path):
    rows = spark.range(3).withColumn("n", F.lit(1))
    said = pyhudi.spark.into(rows, str(tmp_path / "t"), OPTIONS)
    assert said.columns == ["id", "n"]
    said.write.format("hudi").mode("append").save("anywhere")
    assert read(tmp_path / "t") == [(0, 1), (1, 1), (2, 1)]
    with pytest.raises(PySparkException, match=r"pyhudi\.spark\.install"):
        said.write.format("hudi").mode("overwrite").save("anywhere")


def packed(*batches, query="q"):
    """Return what tasks return, one a batch of rows."""
    tables = [pa.table({"id": [one for one, _ in rows], "n": [n for _, n in rows]}) for rows in batches]
    return [gathered._Rows(gathered._packed(table.to_batches()), query) for table in tables]


def test_a_batch_that_comes_again_is_left_out(tmp_path):
    writer = GatheringStreamWriter(Destination(path=str(tmp_path / "t"), options={**OPTIONS, "_who": "me"}), SCHEMA)
    writer.commit([], 0)
    assert not (tmp_path / "t").exists()
    for _ in range(2):
        writer.commit(packed([(1, 1)], [], [(2, 1)]), 1)
    writer.commit([*packed([(2, 2)]), None], 2)
    assert read(tmp_path / "t") == [(1, 1), (2, 2)]
    extras = [
        dict(one) for one in pyhudi.open_table(str(tmp_path / "t")).inspect.commits()["extra_metadata"].to_pylist()
    ]
    assert sorted((one[BATCH_ID], one["_who"]) for one in extras) == [("1", "me"), ("2", "me")]
    writer.abort(packed([(9, 9)]), 3)
    assert read(tmp_path / "t") == [(1, 1), (2, 2)]
    with pytest.raises(OptionError, match="query"):
        writer.commit(packed([(3, 1)], query=None), 3)


def test_what_is_too_much_for_one_process_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(gathered, "_MOST_BYTES", 100)
    writer = GatheringStreamWriter(Destination(path=str(tmp_path / "t"), options=OPTIONS), SCHEMA)
    with pytest.raises(InvalidInput, match=r"pyhudi\.spark\.install"):
        writer.commit(packed([(1, 1)]), 0)
    assert not (tmp_path / "t").exists()


def test_what_a_writer_without_install_cannot_do_it_says(tmp_path, monkeypatch):
    source = HudiSource({"path": str(tmp_path / "t"), **OPTIONS})
    with pytest.raises(NotBuilt, match="install"):
        source.writer(SCHEMA, False)
    with pytest.raises(NotBuilt, match="install"):
        source.streamWriter(SCHEMA, True)
    with pytest.raises(InvalidInput, match="path"):
        HudiSource(OPTIONS).streamWriter(SCHEMA, False)
    with pytest.raises(OptionError, match=r"hoodie\.table\.name"):
        HudiSource({"path": "x", "hoodie.tabel.name": "t"}).streamWriter(SCHEMA, False)
    with pytest.raises(OptionError, match="install"):
        HudiSource({"path": "x", "hoodie.datasource.write.operation": "delete"}).streamWriter(SCHEMA, False)
    monkeypatch.setattr(gathered, "_HAS_ARROW", False)
    with pytest.raises(Unsupported, match=r"4\.0"):
        source.streamWriter(SCHEMA, False)


def test_where_rows_go_is_said_by_one_column(spark):
    rows = spark.range(1).withColumn("n", F.lit(1))
    assert destination_in(rows.schema) is None
    assert destination_in(pyhudi.spark.into(rows, "p", OPTIONS).schema) == Destination(path="p", options=OPTIONS)
    assert destination_in(pyhudi.spark.into(rows, "p", column="n").select("n").schema) == Destination(
        path="p", options={}
    )
    with pytest.raises(InvalidInput, match="column"):
        pyhudi.spark.into(rows, "p")
    with pytest.raises(OptionError):
        pyhudi.spark.into(rows, "p", {"hoodie.tabel.name": "t"})


def test_a_failed_task_of_a_stream_writes_nothing(spark, tmp_path):
    spark.range(2).write.json(str(tmp_path / "in"))
    rows = spark.readStream.schema("id long").json(str(tmp_path / "in"))
    broken = rows.withColumn("n", F.expr("assert_true(id < 1)").cast("long"))
    writer = broken.writeStream.format("hudi").options(**OPTIONS).option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(StreamingQueryException):
        writer.trigger(availableNow=True).start(str(tmp_path / "t")).awaitTermination(120)
    assert not (tmp_path / "t").exists()
