"""How many jobs a write of many rows is, what it shuffles, and what comes to the driver."""

import os

import pytest
from tests.building import TINY_FILTERS
from tests.spark.jobs import ran

import pyhudi
from pyhudi import open_table
from pyhudi.spark import engine as spark_engine
from pyhudi.spark.types import from_spark

pytestmark = pytest.mark.skipif(bool(os.environ.get("PYHUDI_TEST_CONNECT")), reason="a client sees no jobs")

ROWS, PARTITIONS = 4_000, 40
WIDE = 150
"""Of 256 characters that are as many digits, compressed."""
KINDS = {
    "cow-simple": ("COPY_ON_WRITE", {}),
    "mor-simple": ("MERGE_ON_READ", {}),
    "cow-bucket": ("COPY_ON_WRITE", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}),
    "mor-bucket": ("MERGE_ON_READ", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}),
    "cow-record": (
        "COPY_ON_WRITE",
        {"hoodie.index.type": "RECORD_INDEX", "hoodie.metadata.global.record.level.index.enable": True},
    ),
}


def rows_of(spark, step=1, ts=1):
    columns = ["concat('key-', id) as uuid", f"cast(id % {PARTITIONS} as string) as city", f"{ts}L as ts"]
    return spark.range(0, ROWS, step, 4).selectExpr(
        *columns, "concat(sha2(string(id), 512), sha2(string(-id), 512)) as note"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_few_keys", [True, False])
def test_an_upsert_counts_in_one_job_and_shuffles_its_rows_once(spark, tmp_path, monkeypatch, kind, has_few_keys):
    """But where many keys are looked up: the rows meet what is found of them in a join."""
    if not has_few_keys:
        monkeypatch.setattr(spark_engine, "_FEW_ROWS", 1)
    table_type, options = KINDS[kind]
    options = {**TINY_FILTERS, **options, "hoodie.datasource.write.table.type": table_type}
    path = str(tmp_path / "t")

    def first():
        said = {"record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"]}
        pyhudi.write_table(path, rows_of(spark), options=options, **said)

    def update():
        open_table(path).upsert(rows_of(spark, step=10, ts=2), options=options)

    looks_up = kind in {"mor-simple", "cow-record"} and not has_few_keys
    for work, count in ((first, ROWS), (update, ROWS // 10)):
        found = ran(spark, work)
        assert found.of("make keys") == 1
        assert found.of("plan") == 0
        if work is first or not looks_up:
            assert found.of("write files") <= 3
            assert found.of("find keys") <= (2 if "record" in kind else 1)
            assert found.wide(WIDE) == [count]
    assert open_table(path).scan().count() == ROWS


def test_a_bulk_insert_writes_its_rows_where_they_are(spark, tmp_path):
    path = str(tmp_path / "t")
    rows = rows_of(spark)
    pyhudi.create_table(path, from_spark(rows.schema), record_key=["uuid"], partition_by=["city"], ordering=["ts"])
    found = ran(spark, lambda: open_table(path).bulk_insert(rows, options=TINY_FILTERS))
    assert (found.of("write files"), found.of("make keys"), found.wide(WIDE)) == (1, 0, [])
