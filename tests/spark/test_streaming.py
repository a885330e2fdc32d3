"""Each batch of a streaming query once, whatever dies between the table's commit and the checkpoint's."""

import json

import pytest

import pyhudi
import pyhudi.spark
from pyhudi.errors import CorruptData, OptionError
from pyhudi.spark.streaming import BATCH_ID, LAST_BATCHES, QUERY_ID, StreamingSink, last_batches

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


def run(spark, source, sink, checkpoint):
    """Run the query over what is there, and give its error or None."""
    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).json(source.folder)
    query = (
        stream.writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination(120)
    except Exception as error:
        return error
    return None


class DiesAfterCommit:
    """A sink that dies once, when the table has the batch and the checkpoint does not."""

    def __init__(self, sink, batch_id):
        self.sink, self.batch_id, self.seen = sink, batch_id, []

    def __call__(self, df, batch_id):
        self.sink(df, batch_id)
        self.seen.append(batch_id)
        if batch_id == self.batch_id and self.seen.count(batch_id) == 1:
            raise RuntimeError("killed after the commit")


@pytest.mark.everyday
def test_a_query_killed_between_both_commits_writes_each_batch_once(spark, source, tmp_path):
    path = str(tmp_path / "table")
    source(0, 0, 10)
    source(1, 10, 10)
    sink = DiesAfterCommit(pyhudi.spark.streaming_sink(path, "insert", OPTIONS), 1)
    assert "killed after the commit" in str(run(spark, source, sink, tmp_path / "checkpoint"))
    assert pyhudi.open_table(path).scan().count() == 20
    source(2, 20, 10)
    assert run(spark, source, sink, tmp_path / "checkpoint") is None
    assert sink.seen == [0, 1, 1, 2], "batch 1 came again"
    found = sorted(one.id for one in pyhudi.spark.read(spark, path).collect())
    assert found == list(range(30))
    extras = [dict(one) for one in pyhudi.open_table(path).inspect.commits()["extra_metadata"].to_pylist()]
    assert sorted(one[BATCH_ID] for one in extras) == ["0", "1", "2"]
    assert len({one[QUERY_ID] for one in extras}) == 1


def test_a_merge_on_read_table_has_each_batch_once_beside_its_compactions(spark, source, tmp_path):
    path = str(tmp_path / "table")
    options = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": 2,
        "hoodie.compact.inline": True,
        "hoodie.compact.inline.max.delta.commits": 2,
    }
    for number in range(4):
        source(number, number * 5, 10)  # half of the keys come again
    sink = DiesAfterCommit(pyhudi.spark.streaming_sink(path, "upsert", options), 1)
    assert "killed after the commit" in str(run(spark, source, sink, tmp_path / "checkpoint"))
    assert run(spark, source, sink, tmp_path / "checkpoint") is None
    assert sink.seen == [0, 1, 1, 2, 3]
    table = pyhudi.open_table(path)
    assert sorted(table.scan(["id"]).to_arrow()["id"].to_pylist()) == list(range(25))
    actions = [one.action for one in table.timeline.completed.values()]
    assert actions == [*["deltacommit"] * 2, "commit"] * 2
    assert [*last_batches(table.state, "another").values()] == [3], "behind the newest compaction"


def test_two_queries_into_one_table_do_not_hide_each_others_batches(spark, tmp_path):
    path = str(tmp_path / "table")
    a, b = (pyhudi.spark.streaming_sink(path, "insert", OPTIONS, query_id=name) for name in "ab")
    a(spark.range(2), 0)
    b(spark.range(2), 0)
    b(spark.range(2), 1)
    a(spark.range(2), 0)
    b(spark.range(2), 1)
    b(spark.range(0), 2)
    table = pyhudi.open_table(path)
    assert table.scan().count() == 6
    assert last_batches(table.state, "a") == {"a": 0, "b": 2}
    newest = dict(table.inspect.commits().sort_by("instant")["extra_metadata"][-1].as_py())
    assert json.loads(newest[LAST_BATCHES]) == {"a": 0, "b": 2}


def test_what_other_commits_carry_may_be_older_than_a_querys_own(spark, tmp_path):
    """A commit of b that began before a's carries a's batch before."""
    path = str(tmp_path / "table")
    a = pyhudi.spark.streaming_sink(path, "insert", OPTIONS, query_id="a")
    a(spark.range(1), 0)
    a(spark.range(1), 1)
    late = {QUERY_ID: "b", BATCH_ID: "0", LAST_BATCHES: json.dumps({"a": 0, "b": 0})}
    table = pyhudi.open_table(path)
    table.insert(spark.range(1), commit_metadata=late)
    assert last_batches(table.state, "a") == {"a": 1, "b": 0}
    a(spark.range(1), 1)
    assert table.scan().count() == 3


def test_without_a_query_an_id_must_be_given(spark, tmp_path):
    with pytest.raises(OptionError, match="query_id"):
        pyhudi.spark.streaming_sink(str(tmp_path / "t"), options=OPTIONS)(spark.range(1), 0)
    assert not (tmp_path / "t").exists()


def test_where_spark_does_not_tell_the_query_its_checkpoint_does(spark, tmp_path):
    sink = StreamingSink(path=str(tmp_path / "t"), options=OPTIONS, checkpoint=str(tmp_path / "c"))
    with pytest.raises(OptionError, match="query_id"):
        sink(spark.range(1), 0)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "metadata").write_text('{"id":"one"}')
    sink(spark.range(1), 0)
    sink(spark.range(1), 0)
    assert [*last_batches(pyhudi.open_table(str(tmp_path / "t")).state, "one").items()] == [("one", 0)]
    for text in ("{}", "[]", "{"):
        (tmp_path / "c" / "metadata").write_text(text)
        with pytest.raises((CorruptData, OptionError), match="query's id"):
            sink(spark.range(1), 1)
