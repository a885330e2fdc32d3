"""A write of few rows to few files runs in the driver; one that may read or rewrite more stays where its rows are."""

import pytest
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.spark.building import SparkTableBuilder

from pyhudi.commit.few_rows import DRIVER_WRITE_BYTES
from pyhudi.errors import InvalidInput

pytestmark = pytest.mark.spark


@pytest.fixture
def builder(spark, tmp_path):
    return SparkTableBuilder(spark, tmp_path)


def jobs_of(spark, write):
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    write()
    return scheduler.numTotalJobs() - before


def test_an_upsert_of_few_rows_is_one_job(builder, spark):
    table = builder.create(TRIPS)
    table.upsert([trip("a1", "a"), trip("b1", "b")], options=TINY_FILTERS)
    rows = builder.rows([trip("a1", "a", ts=2, fare=7.0), trip("b2", "b")])
    assert jobs_of(spark, lambda: table.upsert(rows, options=TINY_FILTERS)) == 1
    assert builder.rows_of(table, "uuid", "fare") == [("a1", 7.0), ("b1", 1.0), ("b2", 1.0)]


def test_a_write_that_may_rewrite_many_bytes_stays_on_spark(builder, spark):
    table = builder.create(TRIPS)
    table.upsert([trip("a1", "a"), trip("b1", "b")], options=TINY_FILTERS)
    rows = builder.rows([trip("a1", "a", ts=2, fare=7.0), trip("b2", "b")])
    options = {**TINY_FILTERS, DRIVER_WRITE_BYTES.key: 1}
    assert jobs_of(spark, lambda: table.upsert(rows, options=options)) > 2
    assert builder.rows_of(table, "uuid", "fare") == [("a1", 7.0), ("b1", 1.0), ("b2", 1.0)]


def test_a_merge_that_reaches_all_partitions_counts_the_files_of_all(builder, spark):
    table = builder.create(TRIPS)
    for city in "abc":
        table.upsert([trip(f"{city}1", city)], options=TINY_FILTERS)
    bytes_of_one = max(one.size_bytes for one in table.scan().plan.files)
    rows = builder.rows([trip("a1", "a", fare=7.0)])
    options = {**TINY_FILTERS, DRIVER_WRITE_BYTES.key: 2 * bytes_of_one}
    merging = table.merge(rows, "t.uuid = s.uuid and t.city = s.city", options=options).when_matched_update_all()
    assert jobs_of(spark, merging.execute) == 1
    assert jobs_of(spark, merging.when_not_matched_by_source_delete().execute) > 2
    assert builder.rows_of(table, "uuid") == [("a1",)]


def test_logs_count_among_the_bytes_that_a_write_may_read(spark, tmp_path):
    builder = SparkTableBuilder(spark, tmp_path, "mor")
    buckets = {**TINY_FILTERS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}
    table = builder.create(TRIPS)
    table.upsert([trip("a1", "a")], options=buckets)
    [log] = table.scan().plan.slices[0].logs
    options = {**buckets, DRIVER_WRITE_BYTES.key: log.size_bytes}
    assert jobs_of(spark, lambda: table.upsert(builder.rows([trip("a1", "a", ts=2)]), options=options)) > 2
    assert builder.rows_of(table, "uuid", "ts") == [("a1", 2)]


def test_few_files_are_rewritten_by_the_driver_and_many_by_tasks(builder, spark):
    table = builder.create(TRIPS)
    table.upsert([trip("a1", "a"), trip("b1", "b"), trip("b2", "b")], options=TINY_FILTERS)
    many = {**TINY_FILTERS, DRIVER_WRITE_BYTES.key: 1}

    def update(options):
        assert table.update(set={"fare": "fare + 1"}, where="city = 'b'", options=options, spark=spark).updated == 2

    assert jobs_of(spark, lambda: update(TINY_FILTERS)) == 0
    assert jobs_of(spark, lambda: update(many)) > 0
    assert jobs_of(spark, lambda: table.delete(where="fare = 1", options=many, spark=spark)) > 0
    assert builder.rows_of(table, "uuid", "fare") == [("b1", 3.0), ("b2", 3.0)]
    assert jobs_of(spark, lambda: table.delete(keys=["b1"], options=many, spark=spark)) > 0
    assert builder.rows_of(table, "uuid") == [("b2",)]
    with pytest.raises(InvalidInput, match="session"):
        table.delete([trip("b2", "b")], spark=spark)
    with pytest.raises(InvalidInput, match="SparkSession"):
        table.update(set={"fare": "1.0"}, spark="local")
