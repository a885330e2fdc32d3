import random

import pyarrow as pa
import pytest
from tests.building import rows_by_key, trip, trips
from tests.spark.building import SparkTableBuilder

from pyhudi.engine.api import (
    BUCKET,
    FILE_INDEX,
    IS_MOVED,
    KEY,
    ORDER,
    PARTITION,
    STORED,
    TASK,
    KeyedRows,
    Moves,
    Routes,
)
from pyhudi.engine.local import LocalEngine
from pyhudi.kernels.merge import MergeSpec
from pyhudi.spark import engine as spark_engine
from pyhudi.spark.releases import collect_arrow, frame_of
from pyhudi.spark.routing import route_as_decided, route_in_spark, settled_in_spark
from pyhudi.storage.memory import MemoryStorage

PLACES = ["p", "q", "r"]
TIMES = [None, -1.0, -0.0, 0.0, 3.0, float("nan")]


def _rows(chance, count):
    rows = {
        KEY: [chance.choice("abcdefgh") for _ in range(count)],
        PARTITION: [chance.choice([*PLACES, "lost"]) for _ in range(count)],
        ORDER: pa.array(range(count), pa.int64()),
        "ts": pa.array([chance.choice(TIMES) for _ in range(count)], pa.float64()),
        "_hoodie_is_deleted": [chance.choice([True, False, None]) for _ in range(count)],
    }
    return pa.table(rows)


def _located(chance, count):
    found = sorted({(chance.choice("abcdefgh"), file) for file in range(count) for _ in range(4)})
    return pa.table(
        {
            KEY: [key for key, _ in found],
            PARTITION: [PLACES[file % 3] for _, file in found],
            FILE_INDEX: pa.array([file for _, file in found], pa.int32()),
            STORED + "ts": pa.array([chance.choice(TIMES) for _ in found], pa.float64()),
        }
    )


@pytest.mark.parametrize("moves", Moves)
def test_spark_routes_rows_as_the_local_engine_does(spark, moves):
    """With one slot a partition there is no choice left to an engine's own hash."""
    chance = random.Random(7)
    rows, located = _rows(chance, 80), _located(chance, 5)
    plan = Routes(
        bucket_of_file=(0, 1, -1, 3, 4),
        partitions=tuple(PLACES),
        first_slot=(0, 1, 2),
        slots_count=(1, 1, 1),
        bucket_of_slot=(5, 6, -1),
        task_of_bucket=(2, 0, 1, 2, 0, 1, 2),
        moves=moves,
        beaten_by=MergeSpec(ordering=("ts",), is_event_time=True),
    )
    local = LocalEngine(MemoryStorage(), threads=1)
    expected = local.collect(local.route(KeyedRows(frame=local.frame(rows)), local.frame(located), plan))
    routed = collect_arrow(route_in_spark(KeyedRows(frame=frame_of(spark, rows)), frame_of(spark, located), plan))
    names = [ORDER, KEY, PARTITION, "ts", BUCKET, TASK, IS_MOVED]
    decided = local.route(KeyedRows(frame=local.frame(rows)), local.frame(located), plan)
    joined = collect_arrow(route_as_decided(frame_of(spark, rows), decided, plan))
    assert _sorted(routed, names) == _sorted(joined, names) == _sorted(expected, names)
    assert expected.num_rows > 40


@pytest.mark.parametrize("copies", [1, 2])
def test_rows_go_where_it_was_decided_by_their_number(spark, copies):
    """Numbers are those of several partitions of Spark's; a key that two files hold makes two rows."""
    count = 400
    numbers = pa.array([(number % 3 << 33) + number // 3 * 5 for number in range(count)], pa.int64())
    partitions = [PLACES[number % 3] for number in range(count)]
    rows = pa.table({KEY: [f"k{number}" for number in range(count)], PARTITION: partitions, ORDER: numbers})
    stored = rows.slice(0, 300).append_column(FILE_INDEX, pa.array([number % 3 for number in range(300)], pa.int32()))
    located = pa.concat_tables([stored, stored.slice(0, (copies - 1) * 10)]).drop_columns([ORDER])
    plan = Routes(
        bucket_of_file=(0, 1, 2),
        partitions=tuple(PLACES),
        first_slot=(0, 1, 2),
        slots_count=(1, 1, 1),
        bucket_of_slot=(3, 4, -1),
        task_of_bucket=(2, 0, 1, 2, 0),
        moves=Moves.IMPOSSIBLE,
    )
    local = LocalEngine(MemoryStorage(), threads=1)
    decided = local.route(KeyedRows(frame=local.frame(rows)), local.frame(located), plan)
    routed = collect_arrow(route_as_decided(frame_of(spark, rows), decided, plan))
    names = [ORDER, KEY, PARTITION, BUCKET, TASK, IS_MOVED]
    assert _sorted(routed, names) == _sorted(local.collect(decided), names)
    assert routed.num_rows == count - 33 + (copies - 1) * 10


def _sorted(table, names):
    return sorted(map(repr, table.select(names).to_pylist()))


def test_spark_settles_places_as_the_local_engine_does(spark):
    chance = random.Random(3)
    located = _located(chance, 6)
    dead = located.filter(pa.array([chance.random() < 0.6 for _ in range(len(located))]))
    local = LocalEngine(MemoryStorage(), threads=1)
    expected = local.collect(local.settle(local.frame(located), local.frame(dead)))
    found = collect_arrow(settled_in_spark(frame_of(spark, located), frame_of(spark, dead)))
    assert _sorted(found, located.column_names) == _sorted(expected, located.column_names)
    assert 0 < expected.num_rows < located.num_rows


def test_many_rows_whose_keys_were_deleted_and_put_in_again_have_one_place(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark_engine, "_FEW_ROWS", 1)
    builder = SparkTableBuilder(spark, tmp_path, "mor")
    table = builder.create()
    table.upsert(builder.rows(trips(*(trip(key, ts=1) for key in "abc"))))
    table.delete(keys=["a", "b"])
    table.insert(builder.rows(trips(trip("a", ts=2))), options={"hoodie.parquet.small.file.limit": 0})
    table.upsert(builder.rows(trips(trip("a", ts=3, fare=3.0), trip("b", ts=3, fare=4.0))))
    assert rows_by_key(table) == {"a": [3.0], "b": [4.0], "c": [1.0]}


@pytest.mark.parametrize("few", [1, 1_000_000])
def test_rows_join_the_log_that_hides_another_one_of_their_key(spark, tmp_path, monkeypatch, few):
    monkeypatch.setattr(spark_engine, "_FEW_ROWS", few)
    builder = SparkTableBuilder(spark, tmp_path, "mor")
    table = builder.create()
    table.upsert(builder.rows(trips(*(trip(key, ts=26) for key in "ab"))))
    table.delete(keys=["a"])
    table.compact(schedule=True)
    table.upsert(trips(trip("a", ts=5)))
    table.insert(builder.rows(trips(trip("a", ts=30, fare=3.0), trip("b", ts=31), trip("c"))), duplicates="drop")
    table.compact()
    assert rows_by_key(table) == {"a": [3.0], "b": [1.0], "c": [1.0]}
