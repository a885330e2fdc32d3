"""writeStream.format("hudi") after install; sources are in test_stream_source."""

import json

import pytest
from pyspark.sql import functions as F
from tests.spark.needing import needs_pyspark

import pyhudi
import pyhudi.spark
from pyhudi.errors import InvalidInput, NotBuilt, OptionError
from pyhudi.spark.streaming import BATCH_ID, QUERY_ID

OPTIONS = {"hoodie.table.name": "events"}


@pytest.fixture
def source(spark, tmp_path):
    """Return a function that adds a file of rows for the stream, one file a batch."""
    folder = tmp_path / "source"
    folder.mkdir()

    def add(number, first, count):
        lines = "".join(f'{{"id": {one}}}\n' for one in range(first, first + count))
        (folder / f"{number}.json").write_text(lines)

    add.folder = str(folder)
    return add


@pytest.fixture
def hooked(spark):
    pyhudi.spark.install(spark)
    yield spark
    pyhudi.spark.uninstall()


def stream_of(spark, source):
    return spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(source.folder)


def written(writer, path, checkpoint, **options):
    """Run a writer over what is there."""
    started = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    assert started.start(str(path), format="hudi", **options).awaitTermination(120)
    return pyhudi.open_table(str(path))


def ids(table):
    return sorted(table.scan(["id"]).to_arrow()["id"].to_pylist())


@pytest.mark.everyday
def test_a_stream_is_written_with_every_option_and_goes_on_from_its_checkpoint(hooked, source, tmp_path):
    source(0, 0, 3)
    rows = stream_of(hooked, source).selectExpr("id", "cast(id % 2 as string) as p")
    writer = rows.writeStream.partitionBy("p").options(**OPTIONS, _owner="me").outputMode("append").queryName("q")
    table = written(writer, tmp_path / "t", tmp_path / "c", **{"hoodie.datasource.write.operation": "bulk_insert"})
    assert table.config.partition_fields == ("p",)
    source(1, 3, 3)
    written(writer, tmp_path / "t", tmp_path / "c")
    assert ids(table) == list(range(6))
    commits = table.inspect.commits().sort_by("instant").to_pylist()
    extras = [dict(one["extra_metadata"]) for one in commits]
    assert [(one[BATCH_ID], one["_owner"]) for one in extras] == [("0", "me"), ("1", "me")]
    assert [one["operation"].lower() for one in commits] == ["bulk_insert"] * 2
    assert extras[0][QUERY_ID] == json.loads((tmp_path / "c" / "metadata").read_text())["id"]


def test_complete_results_replace_the_table_and_changed_ones_update_it(hooked, source, tmp_path):
    source(0, 0, 3)
    counts = stream_of(hooked, source).groupBy((F.col("id") % 2).alias("id")).count()
    key = {**OPTIONS, "hoodie.datasource.write.recordkey.field": "id"}
    for mode in ("complete", "update"):
        table = written(counts.writeStream.outputMode(mode).options(**key), tmp_path / mode, tmp_path / f"c-{mode}")
        assert sorted(table.scan(["id", "count"]).to_arrow().to_pylist(), key=str) == [
            {"id": 0, "count": 2},
            {"id": 1, "count": 1},
        ]
    source(1, 4, 1)
    for mode, operation in (("complete", "insert_overwrite_table"), ("update", "upsert")):
        table = written(counts.writeStream.outputMode(mode), tmp_path / mode, tmp_path / f"c-{mode}")
        assert {one["id"]: one["count"] for one in table.scan().to_arrow().to_pylist()} == {0: 3, 1: 1}
        assert {one.lower() for one in table.inspect.commits()["operation"].to_pylist()} == {operation}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda writer: writer.start("x"), OptionError, "checkpointLocation"),
        (lambda writer: writer.option("checkpointLocation", "c").start(), InvalidInput, "path"),
        pytest.param(
            lambda writer: writer.clusterBy("id").start("x"),
            InvalidInput,
            "clusterBy",
            marks=needs_pyspark("4.0", "clusterBy"),
        ),
        (lambda writer: writer.outputMode("update").start("x", checkpointLocation="c"), OptionError, "record key"),
        (
            lambda writer: writer.start("x", outputMode="complete", **{"hoodie.datasource.write.operation": "delete"}),
            OptionError,
            "operation of its own",
        ),
        (lambda writer: writer.toTable("x"), NotBuilt, "start"),
        (lambda writer: writer.option("hoodie.table.name", "").start("x"), OptionError, "name"),
        (lambda writer: writer.option("hoodie.tabel.name", "x").start("x"), OptionError, "hoodie.table.name"),
    ],
)
def test_what_a_sink_has_no_place_for_is_refused_before_the_query_begins(hooked, source, change, error, match):
    with pytest.raises(error, match=match):
        change(stream_of(hooked, source).writeStream.format("hudi").options(**OPTIONS))
    assert not hooked.streams.active
