import json

import pyarrow.parquet as pq
import pytest
from tests.spark.needing import needs_pyspark

import pyhudi
import pyhudi.spark
from pyhudi.errors import HudiError, InvalidInput, KeyMissing, NotBuilt, OptionError, PathNotShared, TableNotFound

KEYED = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.table.ordering.fields": "ts",
}
DDL = "id string, city string, ts long, fare double"


def rows(spark, *found):
    return spark.createDataFrame([(one, city, ts, fare) for one, city, ts, fare in found], DDL)


@pytest.fixture(scope="module")
def base(spark, tmp_path_factory):
    """Return a table of three rows; tests work on copies."""
    path = tmp_path_factory.mktemp("base") / "t"
    pyhudi.spark.write(
        rows(spark, ("a", "oslo", 1, 1.0), ("b", "lima", 1, 1.0), ("c", "oslo", 1, 1.0)), str(path), options=KEYED
    )
    return path


@pytest.fixture
def path(base, tmp_path):
    import shutil

    shutil.copytree(base, tmp_path / "t")
    return str(tmp_path / "t")


def read(spark, path, **options):
    return sorted((one.id, one.city, one.fare) for one in pyhudi.spark.read(spark, path, options).collect())


def test_upsert_insert_delete_and_overwrites_do_what_they_say(spark, path):
    result = pyhudi.spark.write(rows(spark, ("a", "oslo", 2, 2.0), ("d", "lima", 2, 2.0)), path)
    assert (result.operation, result.inserted, result.updated) == ("upsert", 1, 1)
    late = pyhudi.spark.write(rows(spark, ("a", "oslo", 0, 9.0)), path)
    assert read(spark, path)[0] == ("a", "oslo", 2.0), late
    gone = pyhudi.spark.write(rows(spark, ("d", "lima", 2, 2.0)), path, "delete")
    assert gone.deleted == 1
    pyhudi.spark.write(rows(spark, ("e", "oslo", 1, 5.0)), path, "insert_overwrite")
    assert read(spark, path) == [("b", "lima", 1.0), ("e", "oslo", 5.0)]
    options = {"hoodie.datasource.write.partitions.to.delete": "li*"}
    pyhudi.spark.write(spark.range(0), path, "delete_partition", options=options)
    assert read(spark, path) == [("e", "oslo", 5.0)]
    pyhudi.spark.write(rows(spark, ("f", "rome", 1, 6.0)), path, "insert_overwrite_table", "overwrite")
    assert read(spark, path) == [("f", "rome", 6.0)]
    assert len(pyhudi.open_table(path).inspect.commits()) == 7


def test_overwrite_begins_a_new_table(spark, path):
    pyhudi.spark.write(
        rows(spark, ("z", "oslo", 1, 1.0)), path, mode="overwrite", options={**KEYED, "hoodie.table.name": "new"}
    )
    table = pyhudi.open_table(path)
    assert (table.config.name, len(table.inspect.commits())) == ("new", 1)
    assert read(spark, path) == [("z", "oslo", 1.0)]


def test_overwrite_with_rows_that_do_not_fit_keeps_the_old_table(spark, path):
    with pytest.raises(KeyMissing):
        pyhudi.spark.write(rows(spark, (None, "oslo", 1, 1.0)), path, mode="overwrite", options=KEYED)
    with pytest.raises(InvalidInput):
        pyhudi.spark.write(spark.range(1), path, mode="overwrite", options=KEYED)
    with pytest.raises(InvalidInput, match="read from the table"):
        pyhudi.spark.write(pyhudi.spark.read(spark, path), path, mode="overwrite", options=KEYED)
    assert len(read(spark, path)) == 3


def test_rows_read_from_one_table_get_keys_of_their_own_in_another(spark, path, tmp_path):
    pyhudi.spark.write(pyhudi.spark.read(spark, path), str(tmp_path / "copy"), options={"hoodie.table.name": "copy"})
    keys = {one[0] for one in pyhudi.spark.read(spark, str(tmp_path / "copy")).select("_hoodie_record_key").collect()}
    assert len(keys) == 3
    assert not keys & {"a", "b", "c"}


def test_rows_that_say_they_are_deleted_are_no_column_of_a_new_table(spark, path):
    marked = rows(spark, ("a", "oslo", 1, 1.0), ("b", "oslo", 1, 1.0)).selectExpr("*", "id = 'a' as _hoodie_is_deleted")
    pyhudi.spark.write(marked, path, mode="overwrite", options=KEYED)
    assert read(spark, path) == [("b", "oslo", 1.0)]
    assert "_hoodie_is_deleted" not in pyhudi.open_table(path).schema.names


def test_options_may_come_from_the_session_and_the_call_wins(spark, path):
    spark.conf.set("spark.hoodie.datasource.write.operation", "delete")
    spark.conf.set("hoodie.datasource.write.operation", "insert")
    try:
        assert pyhudi.spark.write(rows(spark, ("a", "oslo", 1, 1.0)), path).deleted == 1
        said = {"hoodie.datasource.write.operation": "upsert"}
        assert pyhudi.spark.write(rows(spark, ("a", "oslo", 1, 1.0)), path, options=said).inserted == 1
    finally:
        spark.conf.unset("spark.hoodie.datasource.write.operation")
        spark.conf.unset("hoodie.datasource.write.operation")


def test_options_with_the_prefix_go_into_the_commit(spark, path):
    said = {"_source": "kafka", "hoodie.datasource.write.operation": "INSERT"}
    pyhudi.spark.write(rows(spark, ("x", "oslo", 1, 1.0)), path, options=said, commit_metadata={"by": "me"})
    extra = dict(pyhudi.open_table(path).inspect.commits().sort_by("instant")["extra_metadata"][-1].as_py())
    assert (extra["_source"], extra["by"]) == ("kafka", "me")
    assert json.loads(extra["schema"])["name"] == "trips_record"


@pytest.mark.parametrize(
    ("operation", "mode", "error"),
    [
        ("delete", "append", TableNotFound),
        ("delete_partition", "append", TableNotFound),
        ("delete", "overwrite", InvalidInput),
        ("bootstrap", "append", NotBuilt),
        ("upsrt", "append", OptionError),
        ("upsert", "replace", InvalidInput),
    ],
)
def test_what_cannot_be_meant_is_refused_with_nothing_written(spark, tmp_path, operation, mode, error):
    with pytest.raises(error):
        pyhudi.spark.write(rows(spark, ("a", "oslo", 1, 1.0)), str(tmp_path / "t"), operation, mode, KEYED)
    assert not (tmp_path / "t").exists()


BAD = (
    ("hoodie.parquet.max.file.size", "much"),
    ("hoodie.index.type", "FASTEST"),
    ("hoodie.table.type", "MERGE_ON_WRITE"),
)


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert"])
def test_a_first_write_without_partitions_that_fails_leaves_no_table(spark, tmp_path, operation):
    flat = {**KEYED, "hoodie.datasource.write.partitionpath.field": ""}
    with pytest.raises(KeyMissing):
        pyhudi.spark.write(rows(spark, (None, "oslo", 1, 1.0)), str(tmp_path / "t"), operation, options=flat)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "insert_overwrite"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_first_write_that_fails_leaves_no_table(spark, tmp_path, operation, mode):
    with pytest.raises(KeyMissing):
        pyhudi.spark.write(rows(spark, (None, "oslo", 1, 1.0)), str(tmp_path / "t"), operation, mode, KEYED)
    for key, value in BAD:
        with pytest.raises(HudiError):
            pyhudi.spark.write(
                rows(spark, ("a", "oslo", 1, 1.0)), str(tmp_path / "t"), operation, mode, {**KEYED, key: value}
            )
    with pytest.raises(InvalidInput, match="columns"):
        pyhudi.spark.write(spark.range(1).drop("id"), str(tmp_path / "t"), operation, mode)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_first_write_of_generated_keys_that_fails_leaves_no_table(spark, tmp_path, operation):
    times = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.keygenerator.type": "TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    with pytest.raises(HudiError):
        pyhudi.spark.write(rows(spark, ("a", "oslo", 1, 1.0)), str(tmp_path / "t"), operation, options=times)
    assert not (tmp_path / "t").exists()
    pyhudi.spark.write(rows(spark, ("a", "2026-01-02", 1, 1.0)), str(tmp_path / "t"), operation, options=times)
    assert pyhudi.open_table(str(tmp_path / "t")).count() == 1


@pytest.mark.parametrize(("key", "value"), BAD)
def test_overwrite_with_options_that_cannot_be_keeps_the_old_table(spark, path, key, value):
    with pytest.raises(HudiError):
        pyhudi.spark.write(rows(spark, ("z", "oslo", 1, 1.0)), path, mode="overwrite", options={**KEYED, key: value})
    assert len(read(spark, path)) == 3


def test_an_operation_and_an_option_that_contradict_each_other_are_refused(spark, path):
    said = {"hoodie.datasource.write.operation": "upsert"}
    with pytest.raises(OptionError, match="operation"):
        pyhudi.spark.write(rows(spark, ("a", "oslo", 2, 2.0)), path, "delete", options=said)
    assert len(read(spark, path)) == 3


def test_a_table_in_memory_is_refused(spark):
    with pytest.raises(PathNotShared):
        pyhudi.spark.write(rows(spark, ("a", "oslo", 1, 1.0)), "memory://spark/writing", options=KEYED)
    assert not pyhudi.table_exists("memory://spark/writing")


def test_only_dataframes_of_spark_are_written(tmp_path):
    with pytest.raises(InvalidInput, match="write_table"):
        pyhudi.spark.write([{"id": "a"}], str(tmp_path))


def test_a_stream_is_not_written_at_once(spark, tmp_path):
    with pytest.raises(InvalidInput, match="streaming_sink"):
        pyhudi.spark.write(spark.readStream.format("rate").load(), str(tmp_path / "t"))


def test_the_table_interface_takes_dataframes_and_gives_them(spark, path):
    table = pyhudi.open_table(path)
    first = table.latest_instant
    result = table.upsert(rows(spark, ("a", "oslo", 5, 5.0)))
    assert (result.updated, result.inserted) == (1, 0)
    merged = (
        table.merge(rows(spark, ("a", "oslo", 6, 6.0), ("n", "oslo", 6, 6.0)), on="t.id = s.id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    assert (merged.updated, merged.inserted) == (1, 1)
    assert table.delete(rows(spark, ("n", "oslo", 6, 6.0))).deleted == 1
    assert table.delete(where="fare > 5.5").deleted == 1
    assert table.scan(filter="city = 'oslo'").to_spark(spark).select("id").collect() == [("c",)]
    assert table.changes(after=first).to_spark(spark).count() == 0


@pytest.mark.all
@needs_pyspark("4.0", "data sources in Python")
def test_rows_that_spark_cannot_tell_come_from_the_table_survive_its_overwrite(spark, path):
    by_python = spark.read.format("hudi").load(path)
    assert by_python.inputFiles() == []
    pyhudi.spark.write(by_python.where("city = 'oslo'"), path, mode="overwrite", options=KEYED)
    assert read(spark, path) == [("a", "oslo", 1.0), ("c", "oslo", 1.0)]


def test_options_that_the_table_keeps_hold_on_spark_and_the_session_wins(spark, path):
    pyhudi.open_table(path).set_options({"hoodie.parquet.compression.codec": "gzip"})

    def codec(result):
        [file] = [one for one in result.files if one.endswith(".parquet")]
        return pq.ParquetFile(f"{path}/{file}").metadata.row_group(0).column(0).compression

    def write(ts, **said):
        return codec(pyhudi.spark.write(rows(spark, ("a", "oslo", ts, 2.0)), path, **said))

    assert write(2) == "GZIP"
    pyhudi.spark.streaming_sink(path, query_id="q")(rows(spark, ("a", "oslo", 3, 2.0)), 0)
    newest = [f"{path}/{one}" for one in pyhudi.open_table(path).inspect.file_slices()["base_file"].to_pylist()]
    assert {pq.ParquetFile(one).metadata.row_group(0).column(0).compression for one in newest} == {"ZSTD", "GZIP"}
    spark.conf.set("spark.hoodie.parquet.compression.codec", "snappy")
    try:
        assert write(4) == "SNAPPY"
        assert write(5, options={"hoodie.parquet.compression.codec": "zstd"}) == "ZSTD"
    finally:
        spark.conf.unset("spark.hoodie.parquet.compression.codec")
