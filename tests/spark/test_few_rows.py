"""Keys of few rows come to the driver with the job that computes the rows, and the rows after them."""

import os

import pyarrow as pa
import pytest
from tests.actions.test_merge import (  # noqa: F401
    test_by_source_clauses_reach_every_file_group,
    test_the_first_clause_whose_condition_is_true_acts,
)
from tests.actions.test_write import (  # noqa: F401
    test_a_global_index_drops_rows_whose_key_is_stored_elsewhere,
    test_an_upsert_inserts_new_keys_and_updates_existing_ones,
    test_delete_takes_records_away_in_their_partition,
    test_insert_overwrite_replaces_the_partitions_it_names,
)
from tests.building import TINY_FILTERS
from tests.spark.building import SparkTableBuilder

import pyhudi
from pyhudi.engine.api import KEY, ORDER, PARTITION
from pyhudi.spark import engine as spark_engine
from pyhudi.spark import few_rows
from pyhudi.spark.engine import SparkEngine
from pyhudi.storage.local import LocalStorage


@pytest.fixture(autouse=True)
def _rows_stay_on_spark():
    """Let few rows be few in this module."""


@pytest.fixture
def engine(spark, tmp_path):
    """Return tables on Spark."""
    return SparkTableBuilder(spark, tmp_path)


@pytest.fixture
def version():
    """Return the newest version: versions differ below the engine."""
    return 9


def keyed(spark, count, partitions=3):
    columns = [f"concat('k', id) as {KEY}", f"concat('p', id % 2) as {PARTITION}", f"id as {ORDER}"]
    return spark.range(0, count, 1, partitions).selectExpr(*columns)


@pytest.mark.parametrize("limit", [1, 10, 34, 99, 101, 102, 103, 200])
def test_keys_are_all_there_or_only_counted(spark, tmp_path, monkeypatch, limit):
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    monkeypatch.setattr(spark_engine, "_FEW_ROWS", limit)
    rows = working.count_keyed(keyed(spark, 100))
    assert rows.counts == {"p0": 50, "p1": 50}
    assert rows.rows_at_most == 100
    if rows.keys is not None:
        assert sorted(rows.keys[ORDER].to_pylist()) == list(range(100))
    assert (rows.keys is not None) == (limit > 102)  # 34 rows of the third partition count three times each


def test_keys_that_are_large_are_not_brought(spark, tmp_path, monkeypatch):
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    monkeypatch.setattr(few_rows, "_KEYS_BYTES", 1000)
    rows = working.count_keyed(keyed(spark, 300))
    assert (rows.keys, rows.counts, rows.size_bytes) == (None, {"p0": 150, "p1": 150}, None)
    assert working.fetch_keys(rows).keys is None


@pytest.mark.skipif(bool(os.environ.get("PYHUDI_TEST_CONNECT")), reason="a client sees no jobs")
@pytest.mark.parametrize("limit", [1, 1000])
def test_keys_are_counted_by_one_job_whether_they_come_or_not(spark, tmp_path, monkeypatch, limit):
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    monkeypatch.setattr(spark_engine, "_FEW_ROWS", limit)
    rows = keyed(spark, 100)

    def counted():
        return working.count_keyed(rows)

    assert jobs_of(spark, counted)[1] == 1


def test_a_task_that_has_more_than_its_share_only_counts():
    def batch(first, keys):
        columns = {
            PARTITION: pa.array(["p", None] * (len(keys) // 2)),
            KEY: pa.array(keys),
            ORDER: pa.array(range(first, first + len(keys))),
            "_pyhudi_place": pa.array(range(first, first + len(keys))),
            "_pyhudi_bytes": pa.array([7] * len(keys)),
        }
        return pa.record_batch(columns)

    def counted(most, most_bytes=1000):
        made = few_rows.count_task(
            iter([batch(0, ["a", "b"]), batch(2, ["c", "d", "e", "f"])]), most=most, most_bytes=most_bytes
        )
        return pa.Table.from_batches(made, few_rows.COUNTED)

    assert counted(7)[KEY].to_pylist() == ["a", "b", "c", "d", "e", "f"]
    for found in (counted(6), counted(7, most_bytes=9)):
        assert few_rows.keys_of_all(found) is None
        assert found.num_rows == 2
        assert few_rows.counts_by_partition(found).to_pydict() == {PARTITION: ["p", None], "rows": [3, 3]}
    assert few_rows.counts_by_partition(counted(7)).to_pydict() == {PARTITION: ["p", None], "rows": [3, 3]}
    nothing = pa.Table.from_batches(few_rows.count_task(iter([]), most=1, most_bytes=1), few_rows.COUNTED)
    assert few_rows.keys_of_all(nothing).num_rows == 0


def test_wide_rows_that_spark_takes_for_small_are_not_brought(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(few_rows, "_ANY_ROWS", 10)
    monkeypatch.setattr(few_rows, "_SHARED_BYTES", 100_000)
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    wide = keyed(spark, 100, 1).selectExpr("*", "repeat('x', 2000) as text")
    assert working._brought(wide, 1 << 20) is None
    narrow = keyed(spark, 100, 1).selectExpr("*", "repeat('x', 20) as text")
    assert working._brought(narrow, 1 << 20).num_rows == 100


def test_long_texts_and_nested_values_are_measured(spark, tmp_path):
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    narrow = working.count_keyed(keyed(spark, 10)).size_bytes
    wide = keyed(spark, 10).selectExpr("*", "repeat('x', 1000) as text", "array_repeat('yy', 500) as texts")
    assert 10 * 2000 <= working.count_keyed(wide).size_bytes - narrow <= 10 * 3500


def jobs_of(spark, work):
    """Return what work gives, and how many jobs it ran."""
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup(work.__name__, "")
    before = len(tracker.getJobIdsForGroup(work.__name__))
    found = work()
    return found, len(tracker.getJobIdsForGroup(work.__name__)) - before


@pytest.mark.skipif(bool(os.environ.get("PYHUDI_TEST_CONNECT")), reason="Connect does not show the plan")
def test_rows_that_spark_takes_for_few_come_whole_in_one_job_and_are_not_kept(spark, tmp_path):
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))

    def few():
        return working.bring_keyed(keyed(spark, 100), 1 << 20)

    rows, jobs = jobs_of(spark, few)
    assert (jobs, rows.counts, rows.rows_at_most) == (1, {"p0": 50, "p1": 50}, 100)
    assert sorted(rows.whole[ORDER].to_pylist()) == sorted(row[ORDER] for row in rows.frame.collect())

    def brought():
        return working.bring(rows)

    (_, here), jobs = jobs_of(spark, brought)
    assert (jobs, here.frame.table()) == (0, rows.whole)


@pytest.mark.parametrize("here_bytes", [0, 1000, 1 << 40])
def test_rows_that_are_not_few_stay_where_they_are(spark, tmp_path, monkeypatch, here_bytes):
    """Also those of which Spark takes too few for granted."""
    monkeypatch.setattr(few_rows, "_WHOLE_ROWS", 100)
    working = SparkEngine(spark, LocalStorage(str(tmp_path)))
    assert working.bring_keyed(keyed(spark, 200), here_bytes) is None


@pytest.mark.parametrize("here_bytes", [0, 1 << 20])
def test_a_null_struct_whose_fields_are_never_null_is_a_value_like_others(spark, tmp_path, here_bytes):
    rows = spark.sql(
        "select 'a' uuid, 1L ts, array(struct(1 as x, 'u' as y), null) legs, map('k', struct(2 as x)) more"
    )
    pyhudi.write_table(
        str(tmp_path / "t"),
        rows,
        record_key=["uuid"],
        ordering=["ts"],
        options={"pyhudi.spark.driver.write.bytes": here_bytes},
    )
    found = pyhudi.open_table(str(tmp_path / "t")).scan(columns=["legs", "more"]).to_arrow().to_pylist()
    assert found == [{"legs": [{"x": 1, "y": "u"}, None], "more": [("k", {"x": 2})]}]


@pytest.mark.parametrize("few", [1, 1_000_000])
@pytest.mark.parametrize("said", [{}, {"hoodie.copyonwrite.record.size.estimate": 1_000}])
def test_wide_rows_are_parted_by_what_was_measured_with_their_count(spark, tmp_path, monkeypatch, few, said):
    """As in one process, however few they are; the option comes first where it is given."""
    monkeypatch.setattr(spark_engine, "_FEW_ROWS", few)
    digits = "transform(sequence(1, 80), x -> sha2(concat(id, '-', x), 512))"
    rows = spark.range(0, 60, 1, 3).selectExpr("concat('k', id) as id", f"array_join({digits}, '') as value")
    sizes = {**TINY_FILTERS, "hoodie.parquet.max.file.size": 100_000, "pyhudi.spark.driver.write.bytes": 0}
    pyhudi.write_table(str(tmp_path / "t"), rows, record_key=["id"], options={**sizes, **said})
    found = pyhudi.open_table(str(tmp_path / "t")).inspect.file_slices()["base_size_bytes"].to_pylist()
    if said:
        assert len(found) == 1
    else:
        assert 50_000 < min(found) <= max(found) < 125_000
