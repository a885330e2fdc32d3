"""The changes of a table as a stream, hooked and as Spark finds it by itself."""

import datetime
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import types

import pyhudi
import pyhudi.spark
from pyhudi.errors import InvalidInput, NotBuilt, OptionError, SchemaMismatch, TableNotFound, Unsupported

limits = pytest.importorskip("pyspark.sql.streaming.datasource", reason="pyspark before 4.2 has no limits of streams")

from pyhudi.spark import stream_source  # noqa: E402
from pyhudi.spark.datasource import HudiSource  # noqa: E402

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("city", pa.string())])
AT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
START, LIMIT = "hoodie.datasource.streaming.startOffset", "maxCommitsPerTrigger"


@pytest.fixture
def hooked(spark):
    pyhudi.spark.install(spark)
    yield spark
    pyhudi.spark.uninstall()


def made(path, kind="cow"):
    """a, b | a again, c | d."""
    table = pyhudi.create_table(str(path), SCHEMA, table_type=kind, record_key=["id"], partition_by=["city"])
    for rows in ([("a", 1), ("b", 1)], [("a", 2), ("c", 1)], [("d", 1)]):
        add(table, rows)
    return table


def add(table, rows):
    return table.upsert([{"id": key, "n": n, "at": AT, "city": "x" if key < "c" else "y"} for key, n in rows])


class Batches:
    """A sink that keeps what each batch had."""

    def __init__(self):
        self.seen = {}

    def __call__(self, df, batch_id):
        self.seen[batch_id] = sorted((one.id, one.n) for one in df.collect())


def run(stream, checkpoint, batches):
    """Read until what is there now, and return the batches so far."""
    query = (
        stream.writeStream.foreachBatch(batches)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return list(batches.seen.values())


def test_a_query_without_install_goes_on_from_its_checkpoint(spark, tmp_path):
    table = made(tmp_path / "t")
    stream = spark.readStream.format("hudi").option(LIMIT, 2).load(str(tmp_path / "t"))
    assert stream.isStreaming
    assert stream.columns[-4:] == SCHEMA.names
    batches = Batches()
    assert run(stream, tmp_path / "c", batches) == [[("a", 2), ("b", 1), ("c", 1)], [("d", 1)]]
    assert run(stream, tmp_path / "c", batches) == [[("a", 2), ("b", 1), ("c", 1)], [("d", 1)]]
    add(table, [("e", 1)])
    assert run(stream, tmp_path / "c", batches)[2:] == [[("e", 1)]]
    table.rollback(max(table.timeline.completed), completed=True)
    with pytest.raises(StreamingQueryException, match=r"HistoryExpired.*taken back"):
        run(stream, tmp_path / "c", batches)


def test_a_hooked_query_follows_a_merge_on_read_table(hooked, tmp_path):
    table = made(tmp_path / "t", "mor")
    first = min(table.timeline.completed)
    reader = hooked.readStream.format("org.apache.hudi").option(START, first).option("pyhudi.columns", "id,n")
    stream = reader.load(str(tmp_path / "t"))
    assert stream.columns == ["id", "n"]
    batches = Batches()
    query = stream.writeStream.foreachBatch(batches).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        query.processAllAvailable()
        assert batches.seen == {0: [("a", 2), ("c", 1), ("d", 1)]}
        table.compact()
        query.processAllAvailable()
        add(table, [("b", 2)])
        query.processAllAvailable()
    finally:
        query.stop()
    assert batches.seen == {0: [("a", 2), ("c", 1), ("d", 1)], 1: [("b", 2)]}


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"as.of.instant": "2026"}, OptionError, "startOffset"),
        ({"hoodie.datasource.read.begin.instanttime": "0"}, OptionError, "startOffset"),
        ({"hoodie.datasource.query.type": "read_optimized"}, OptionError, "changes"),
        ({"hoodie.datasource.query.incremental.format": "cdc"}, NotBuilt, "CDC"),
        ({LIMIT: "-1"}, OptionError, LIMIT),
        ({"maxComitsPerTrigger": "1"}, OptionError, LIMIT),
        ({"maxFilesPerTrigger": "1"}, NotBuilt, LIMIT),
    ],
)
def test_what_a_stream_has_no_place_for_is_refused_at_once(hooked, tmp_path, options, error, match):
    pyhudi.create_table(str(tmp_path / "t"), SCHEMA)
    with pytest.raises(error, match=match):
        hooked.readStream.format("hudi").options(**options).load(str(tmp_path / "t"))
    with pytest.raises(error, match=match):
        HudiSource({"path": str(tmp_path / "t"), **options}).streamReader(types.StructType())


def test_a_hooked_reader_is_for_one_table_and_its_schema(hooked, tmp_path):
    with pytest.raises(TableNotFound):
        hooked.readStream.format("hudi").load(str(tmp_path))
    with pytest.raises(InvalidInput, match="path"):
        hooked.readStream.load(format="hudi")
    with pytest.raises(InvalidInput, match="schema"):
        hooked.readStream.format("hudi").schema("id long").load(str(tmp_path))


def test_other_formats_pass_through(hooked, tmp_path):
    hooked.range(3).selectExpr("id", "id as n").write.json(str(tmp_path / "in"))
    stream = hooked.readStream.schema("id long, n long").option("maxFilesPerTrigger", 9).json(str(tmp_path / "in"))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "c")).partitionBy("id")
    assert writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(60)
    assert {one.name for one in (tmp_path / "out").glob("id=*")} == {"id=0", "id=1", "id=2"}


def test_sessions_options_count_in_a_stream_but_for_those_of_batches(hooked, tmp_path):
    made(tmp_path / "t")
    hooked.conf.set("spark.hoodie.datasource.query.type", "incremental")
    hooked.conf.set("spark.hoodie.datasource.read.begin.instanttime", "earliest")
    hooked.conf.set(f"spark.{START}", "latest")
    try:
        assert run(hooked.readStream.format("hudi").load(str(tmp_path / "t")), tmp_path / "c", Batches()) == [[]]
    finally:
        for key in ("datasource.query.type", "datasource.read.begin.instanttime", START.removeprefix("hoodie.")):
            hooked.conf.unset(f"spark.hoodie.{key}")


# --- the reader itself, without Spark


def reader(path, columns=("id", "n"), **options):
    fields = {
        "id": types.StringType(),
        "n": types.IntegerType(),
        "at": types.TimestampType(),
        "later": types.LongType(),
    }
    schema = types.StructType([types.StructField(name, fields[name]) for name in columns])
    return HudiSource({"path": str(path), **options}).streamReader(schema)


def rows(reading, begin, end):
    found = [batch for task in reading.partitions(begin, end) for batch in reading.read(task)]
    return sorted(tuple(row.values()) for batch in found for row in batch.to_pylist())


def test_limits_are_those_of_the_trigger(tmp_path):
    made(tmp_path / "t")
    reading = reader(tmp_path / "t", **{LIMIT.lower(): "2"})
    assert reading.getDefaultReadLimit() == limits.ReadMaxFiles(2)
    begin = reading.initialOffset()
    middle = reading.latestOffset(begin, limits.ReadMaxFiles(2))
    end = reading.latestOffset(begin, limits.ReadAllAvailable())
    assert rows(reading, begin, middle) == [("a", 2), ("b", 1), ("c", 1)]
    assert rows(reading, middle, end) == [("d", 1)]
    assert reading.partitions(end, end) == []
    assert reader(tmp_path / "t").getDefaultReadLimit() == limits.ReadAllAvailable()


def test_available_now_ends_at_what_was_there(tmp_path):
    table = made(tmp_path / "t")
    reading = reader(tmp_path / "t")
    reading.prepareForTriggerAvailableNow()
    add(table, [("e", 1)])
    end = reading.latestOffset(reading.initialOffset(), limits.ReadAllAvailable())
    assert rows(reading, reading.initialOffset(), end) == [("a", 2), ("b", 1), ("c", 1), ("d", 1)]
    assert reading.latestOffset(end, limits.ReadAllAvailable()) == end


def test_spark_4_0_asks_without_a_beginning(tmp_path):
    table = made(tmp_path / "t")
    reading = reader(tmp_path / "t", **{START: "2999-01-01"})
    begin = reading.initialOffset()
    assert reading.latestOffset() == begin, "a beginning in the future stays"
    reading = reader(tmp_path / "t")
    end = reading.latestOffset()
    assert rows(reading, reading.initialOffset(), end) == [("a", 2), ("b", 1), ("c", 1), ("d", 1)]
    assert reading.latestOffset() == end
    add(table, [("e", 1)])
    assert rows(reading, end, reading.latestOffset()) == [("e", 1)]


def test_spark_4_0_refuses_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(stream_source, "_HAS_LIMITS", False)
    with pytest.raises(Unsupported, match=r"4\.2"):
        reader(tmp_path / "t", **{LIMIT: "1"})


def test_a_stream_without_news_lists_a_shared_store_rarely(tmp_path, monkeypatch):
    table = made(tmp_path / "t")
    reading = reader(tmp_path / "t")
    end = reading.latestOffset(reading.initialOffset(), limits.ReadAllAvailable())
    listed = []
    listing = type(table.state.storage).list_names
    monkeypatch.setattr(
        type(table.state.storage), "list_names", lambda self, path: listed.append(path) or listing(self, path)
    )
    assert reading.latestOffset(end, limits.ReadAllAvailable()) == end
    listed.clear()
    assert [reading.latestOffset(end, limits.ReadAllAvailable()) for _ in range(5)] == [end] * 5
    assert len(listed) == 5, "of a local directory one listing each, and nothing is opened"
    shared = replace(table.state.storage.traits, is_shared=True)
    monkeypatch.setattr(type(table.state.storage), "traits", shared)
    monkeypatch.setattr(stream_source, "_LISTED_FOR_S", 60)
    listed.clear()
    add(table, [("e", 1)])
    listed.clear()
    assert reading.latestOffset(end, limits.ReadAllAvailable()) == end
    assert listed == []
    monkeypatch.setattr(stream_source, "_LISTED_FOR_S", 0)
    assert reading.latestOffset(end, limits.ReadAllAvailable()) != end


def test_columns_are_those_the_query_began_with(tmp_path):
    table = made(tmp_path / "t")
    reading = reader(tmp_path / "t", ("id", "later"))
    begin = reading.initialOffset()
    end = reading.latestOffset(begin, limits.ReadAllAvailable())
    assert rows(reading, begin, end)[0] == ("a", None)
    wider = pa.schema([field.with_type(pa.int64()) if field.name == "n" else field for field in SCHEMA])
    row = {"id": "w", "n": 2**40, "at": AT, "city": "x"}
    table.upsert(pa.Table.from_pylist([row], wider))
    reading = reader(tmp_path / "t")
    with pytest.raises(SchemaMismatch, match="begin it again"):
        rows(reading, end, reading.latestOffset(end, limits.ReadAllAvailable()))
