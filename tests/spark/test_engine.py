import contextlib
import datetime
import io
import random

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from tests.conformance.engine import SIMPLE, TRIPS, EngineTests, echo, route_plan, rows_of, stored_trips, trips
from tests.spark.needing import needs_pyspark

from pyhudi.engine.api import BUCKET, KEY, ORDER, PARTITION, KeyedRows, ScanFile
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.registry import engine_for
from pyhudi.errors import ExpressionError, PathNotShared, SchemaMismatch
from pyhudi.index.lookup import locate
from pyhudi.predicate import parse
from pyhudi.spark import scanning
from pyhudi.spark.engine import SparkEngine
from pyhudi.spark.session import is_connect
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage


class TestSparkEngine(EngineTests):
    @pytest.fixture
    def engine(self, spark, storage):
        return SparkEngine(spark, storage)

    @needs_pyspark("4.0", "name of the file in what its scan raises")
    def test_scan_of_a_damaged_file_names_it(self, engine, storage):
        super().test_scan_of_a_damaged_file_names_it(engine, storage)


@pytest.fixture
def engine(spark, tmp_path):
    return SparkEngine(spark, LocalStorage(str(tmp_path)))


def test_the_engine_for_a_dataframe_is_spark(spark, tmp_path):
    engine = engine_for(spark.range(1), LocalStorage(str(tmp_path)))
    assert isinstance(engine, SparkEngine)


def test_a_table_in_memory_is_refused(spark):
    with pytest.raises(PathNotShared, match="memory"):
        SparkEngine(spark, MemoryStorage())


def test_a_step_names_the_jobs_and_gives_the_callers_name_back(engine, spark):
    if is_connect(spark):
        with engine.describe("write, files"):
            assert any("write files" in tag for tag in spark.getTags())
        assert spark.getTags() == set()
        return
    context = spark.sparkContext
    context.setJobDescription("the caller's")
    with engine.describe("write files"):
        assert context.getLocalProperty("spark.job.description") == "write files"
    assert context.getLocalProperty("spark.job.description") == "the caller's"
    context.setLocalProperty("spark.job.description", None)


def test_tasks_see_timestamps_in_utc_whatever_the_session_says(engine, spark):
    moment = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC)
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = engine.frame(pa.table({"t": [moment]}, schema=schema))
        assert engine.collect(engine.map(frame, echo, schema)) == pa.table({"t": [moment]}, schema=schema)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_frame_the_caller_cached_stays_cached(engine, spark):
    frame = spark.range(3).persist()
    with engine.hold(frame) as held:
        assert held is frame
    assert frame.storageLevel.useMemory
    frame.unpersist()


def test_a_held_frame_is_computed_once(engine, spark):
    frame = engine.map(spark.range(3), _chances, pa.schema([("chance", pa.float64())]))
    assert engine.collect(frame) != engine.collect(frame)
    with engine.hold(frame) as held:
        assert engine.collect(held) == engine.collect(held)


def _chances(_, batches):
    for batch in batches:
        yield pa.record_batch({"chance": [random.random() for _ in range(batch.num_rows)]})


def test_a_column_name_twice_is_refused(engine, spark):
    frame = spark.range(1).selectExpr("id as a", "id as a")
    with pytest.raises(SchemaMismatch, match="once"):
        engine.schema(frame)


def test_a_value_that_does_not_fit_is_refused(engine):
    frame = engine.frame(pa.table({"n": pa.array([1, 2**40], pa.int64())}))
    with pytest.raises((SchemaMismatch, ExpressionError)):
        engine.collect(engine.conform(frame, pa.schema([("n", pa.int32())])))


def test_names_with_dots_and_backticks_are_names(engine):
    table = pa.table({"a.b": [1], "c`d": ["x"]})
    assert engine.count(engine.frame(table), ["a.b", "c`d"]).to_pylist() == [{"a.b": 1, "c`d": "x", "rows": 1}]


def test_the_bytes_of_a_file_do_not_pass_through_python_where_spark_can_scan(engine, tmp_path):
    file = stored_trips(LocalStorage(str(tmp_path)), "rome/f.parquet", ["a"])
    frame = engine.scan([file], TRIPS, ["id"], parse("fare > 0"))
    assert "MapInArrow" not in _plan(frame)
    assert "PushedFilters: [IsNotNull(fare), GreaterThan(fare,0)]" in _plan(frame)


def _plan(frame):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        frame.explain()
    return out.getvalue()


def test_storage_without_a_file_system_in_spark_is_read_by_tasks(spark, tmp_path, monkeypatch):
    storage = LocalStorage(str(tmp_path))
    files = [stored_trips(storage, "rome/f", ["a", "b"]), stored_trips(storage, "oslo/f", ["c"])]
    engine = SparkEngine(spark, storage)
    monkeypatch.setattr(engine, "_is_native", lambda file: False)
    frame = engine.scan(files, TRIPS, ["id"], parse("id <> 'a'"))
    assert rows_of(engine, frame) == [("b",), ("c",)]
    keyed = engine.with_keys(engine.frame(trips(("a", "rome", 1), ("c", "rome", 1))), SIMPLE)
    for by_partition, expected in ((True, [("a", "rome")]), (False, [("a", "rome"), ("c", "oslo")])):
        rows = KeyedRows(frame=keyed)
        located = locate(engine, storage, rows, files, SIMPLE, by_partition=by_partition, columns=["fare"])
        assert rows_of(engine, located.frame, KEY, PARTITION) == expected


def test_a_scheme_spark_does_not_know_is_said_once(spark, caplog):
    class Elsewhere(MemoryStorage):
        url = "nowhere://bucket/table"

    file = ScanFile(path="p/f.parquet", size_bytes=1, partition="p")
    assert not scanning.can_scan(spark, Elsewhere(), file)
    assert "nowhere://bucket/table" in caplog.text


def test_keys_of_few_rows_are_looked_up_by_tasks_and_routed_from_here(engine, tmp_path):
    file = stored_trips(LocalStorage(str(tmp_path)), "rome/f.parquet", ["a"])
    keyed = engine.with_keys(engine.frame(trips(("a", "rome", 1))), SIMPLE)
    storage = LocalStorage(str(tmp_path))
    counted, uncounted = (
        locate(
            engine, storage, KeyedRows(frame=keyed, counts=count and {None: count}), [file], SIMPLE, by_partition=True
        )
        for count in (1, None)
    )
    assert isinstance(uncounted.frame, DataFrame)
    assert isinstance(counted.frame, LocalFrame)
    assert rows_of(engine, counted.frame) == rows_of(engine, uncounted.frame) == [("a", "rome", 0)]
    by_number, by_key = (engine.route(one.rows, one.frame, route_plan()) for one in (counted, uncounted))
    assert rows_of(engine, by_number, KEY, BUCKET) == rows_of(engine, by_key, KEY, BUCKET)
    assert ORDER in _plan(by_number).split("BroadcastHashJoin")[1].split("]")[0]
