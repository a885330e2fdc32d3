"""Table functions in queries give the rows of the reads that they stand for; so do `_ro` names of a sync."""

import pyarrow as pa
import pytest

import pyhudi
import pyhudi.spark

MANUAL = {"hoodie.compact.inline": "false", "hoodie.clean.automatic": "false"}


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    """Have a merge-on-read table with logs, by name and as its read-optimized entry, on a hooked session."""
    path = str(tmp_path_factory.mktemp("functions") / "t")
    columns = pa.schema([("id", pa.string()), ("n", pa.int64()), ("city", pa.string())])
    made = pyhudi.create_table(path, columns, record_key=["id"], partition_by=["city"], table_type="MERGE_ON_READ")
    made.insert([{"id": f"k{i}", "n": i, "city": "ab"[i % 2]} for i in range(6)], options=MANUAL)
    made.upsert([{"id": "k0", "n": 10, "city": "a"}], options=MANUAL)
    made.delete(keys=["k1"], options=MANUAL)
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE functions")
    spark.sql("USE functions")
    spark.sql(f"CREATE TABLE t USING hudi LOCATION '{path}'")
    spark.sql(f"CREATE TABLE t_ro USING hudi LOCATION '{path}' TBLPROPERTIES ('hoodie.query.as.ro.table' = 'true')")
    yield made
    spark.sql("USE default")
    spark.sql("DROP DATABASE functions CASCADE")
    pyhudi.spark.uninstall()


def rows_of(frame):
    return sorted(map(tuple, frame.collect()))


def read(spark, table, **options):
    named = {f"hoodie.datasource.{key.replace('__', '.')}": value for key, value in options.items()}
    return spark.read.format("hudi").options(**named).load(table.path)


@pytest.mark.parametrize("mode", ["snapshot", "read_optimized"])
def test_hudi_query_is_the_read_of_that_type(spark, table, mode):
    found = spark.sql(f"SELECT * FROM hudi_query('t', '{mode}')")
    expected = read(spark, table, query__type=mode)
    assert found.columns == expected.columns
    assert rows_of(found) == rows_of(expected)
    assert rows_of(spark.sql(f"SELECT sum(n) FROM hudi_query('{table.path}', '{mode}') WHERE city = 'a'")) == (
        [(16,)] if mode == "snapshot" else [(6,)]
    )


def test_hudi_table_changes_is_the_incremental_read(spark, table):
    first, second = sorted(table.inspect.commits()["completion_time"].to_pylist())[:2]
    for begin, end in (("earliest", None), (first, None), (first, second)):
        until = f", '{end}'" if end else ""
        found = spark.sql(f"SELECT * FROM hudi_table_changes('t', 'latest_state', '{begin}'{until}) ORDER BY id")
        options = {"query__type": "incremental", "read__begin__instanttime": begin}
        expected = read(spark, table, **options, **({"read__end__instanttime": end} if end else {}))
        assert rows_of(found) == rows_of(expected)
    assert [row.id for row in found.collect()] == ["k0"]


def test_what_functions_say_of_the_table_is_what_the_table_says(spark, table):
    timeline = spark.sql("SELECT * FROM hudi_query_timeline('t', 'false') WHERE state = 'COMPLETED'")
    assert {row.Timestamp for row in timeline.collect()} == set(table.inspect.commits()["instant"].to_pylist())
    slices = spark.sql("SELECT * FROM hudi_filesystem_view('functions.t', '*') WHERE log_file_count > 0").collect()
    merged = {one.group.file_id: sum(log.size_bytes for log in one.logs) for one in table.scan().plan.merged}
    assert {row.File_ID: row.Log_File_Size for row in slices} == merged
    records = spark.sql("SELECT key FROM hudi_metadata('t') WHERE type = 1").collect()
    assert len(records) == 1


def test_the_read_optimized_entry_leaves_logs_out(spark, table):
    expected = rows_of(read(spark, table, query__type="read_optimized"))
    assert rows_of(spark.table("t_ro")) == expected
    assert rows_of(spark.sql("SELECT * FROM t_ro")) == expected
    assert spark.sql("SELECT n FROM t_ro WHERE id = 'k0'").first().n == 0
    assert spark.sql("SELECT t.n - r.n AS more FROM t JOIN t_ro r ON t.id = r.id WHERE t.id = 'k0'").first().more == 10


def test_an_entry_that_a_sync_registered_says_so_among_its_storage_properties(spark, table):
    pyhudi.spark.uninstall()
    try:
        spark.sql(f"CREATE TABLE synced USING hudi OPTIONS (`hoodie.query.as.ro.table` 'true') LOCATION '{table.path}'")
    finally:
        pyhudi.spark.install(spark)
    assert spark.sql("SELECT n FROM synced WHERE id = 'k0'").first().n == 0
