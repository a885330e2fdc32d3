"""Rows of many tasks are placed in their order by what was counted of them."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, rows_by_key, trip, trips
from tests.spark.building import SparkTableBuilder

from pyhudi.engine.api import BUCKET, KEY, ORDER, PARTITION, KeyedRows, Placing, Routes
from pyhudi.engine.local import LocalEngine
from pyhudi.spark import engine as spark_engine
from pyhudi.spark import few_rows, in_order
from pyhudi.spark.engine import SparkEngine
from pyhudi.spark.releases import collect_arrow
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage

MODE = "hoodie.bulkinsert.sort.mode"
ROWS = 600
SLOTS = 5


def take_for_few(monkeypatch, count):
    """Bring the keys of so many rows to the driver, of a classic session and over Connect."""
    for limit in ("_FEW_ROWS", "_FEW_ROWS_CONNECT"):
        monkeypatch.setattr(spark_engine, limit, count)


@pytest.fixture
def working(spark, tmp_path, monkeypatch):
    """Return an engine that takes a few rows for many."""
    take_for_few(monkeypatch, 1)
    return SparkEngine(spark, LocalStorage(str(tmp_path)))


def keyed(spark, key="id", partition="'p'", parts=4):
    """Return rows whose ORDER is as Spark makes it."""
    columns = [f"concat('k', {key}) as {KEY}", f"{partition} as {PARTITION}"]
    return spark.range(0, ROWS, 1, parts).selectExpr(*columns, f"monotonically_increasing_id() as {ORDER}", "id")


def plan(placing, partitions=("p",), placed_rows=(ROWS,)):
    """Plan several slots for each partition."""
    count = SLOTS * len(partitions)
    return Routes(
        bucket_of_file=(),
        partitions=partitions,
        first_slot=tuple(range(0, count, SLOTS)),
        slots_count=(SLOTS,) * len(partitions),
        bucket_of_slot=tuple(range(count)),
        task_of_bucket=(0,) * count,
        placed_rows=placed_rows,
        placing=placing,
    )


def buckets(working, frame, routes):
    rows = working.count_keyed(frame)
    assert rows.keys is None
    routed = collect_arrow(working.route(rows, None, routes)).sort_by(ORDER)
    assert routed.num_rows == ROWS
    return routed


@pytest.mark.parametrize("placing", [Placing.IN_ORDER, Placing.IN_ORDER_OF_KEYS])
@pytest.mark.parametrize("span_bits", [0, 3, 13, 33])
def test_rows_of_many_tasks_are_placed_as_those_of_one_process(working, spark, monkeypatch, placing, span_bits):
    monkeypatch.setattr(few_rows, "_SPAN_BITS", span_bits)
    frame = keyed(spark)
    found = buckets(working, frame, plan(placing))
    local = LocalEngine(MemoryStorage(), threads=1)
    rows = KeyedRows(frame=local.frame(collect_arrow(frame).sort_by(ORDER)))
    expected = local.collect(local.route(rows, None, plan(placing)))
    assert found[BUCKET].to_pylist() == expected[BUCKET].to_pylist()


@pytest.mark.parametrize("most_spans", [1, 40, 10_000])
def test_files_of_partitions_that_come_mixed_are_about_as_large(working, spark, monkeypatch, most_spans):
    """However coarsely it was counted, no slot begins before the one before it, and each has its share."""
    monkeypatch.setattr(in_order, "_MOST_SPANS", most_spans)
    monkeypatch.setattr(few_rows, "_SPAN_BITS", 4)
    monkeypatch.setattr(few_rows, "_MOST_SPANS", 20)
    # One partition lies all over the rows, the other one in their second half, where it is ever denser.
    frame = keyed(spark, partition="case when id > 300 and (id % 4 = 0 or id > 500) then 'q' else 'p' end")
    found = buckets(working, frame, plan(Placing.IN_ORDER, ("p", "q"), (426, 174)))
    for partition in "pq":
        mine = found.filter(pc.equal(found[PARTITION], partition))
        assert mine[BUCKET].to_pylist() == sorted(mine[BUCKET].to_pylist())
        counts = [one["counts"] for one in pc.value_counts(mine[BUCKET]).to_pylist()]
        assert len(counts) == SLOTS
        assert max(counts) < (2.2 if most_spans == 1 else 1.5) * len(mine) / SLOTS


def test_rows_of_many_partitions_find_their_places_by_a_join(working, spark):
    partitions = tuple(f"p{number}" for number in range(20))
    frame = keyed(spark, partition="concat('p', id % 20)")
    found = buckets(working, frame, plan(Placing.IN_ORDER, partitions, (ROWS // 20,) * 20))
    for partition in partitions:
        mine = found.filter(pc.equal(found[PARTITION], partition))[BUCKET].to_pylist()
        assert (mine, len(set(mine))) == (sorted(mine), SLOTS)


@pytest.mark.parametrize(("most", "is_in_order"), [(10_000, True), (10, False)])
def test_rows_of_a_key_meet_where_the_first_of_them_goes(working, spark, monkeypatch, most, is_in_order):
    """Where many keys come in several places, all go by their keys."""
    monkeypatch.setattr(in_order, "_MOST_SPLIT", most)
    frame = keyed(spark, key="if(id >= 580, id - 580, id)")
    found = buckets(working, frame, plan(Placing.IN_ORDER_OF_KEYS))
    first = dict(zip(reversed(found[KEY].to_pylist()), reversed(found[BUCKET].to_pylist()), strict=True))
    assert [first[key] for key in found[KEY].to_pylist()] == found[BUCKET].to_pylist()
    once = found[BUCKET].to_pylist()[:580]
    assert (once == sorted(once)) == is_in_order
    assert len(set(once)) == SLOTS


def test_rows_of_a_partition_with_stored_keys_go_by_their_keys(working, spark):
    """Its new rows may be the last ones, and all of them would go to one file."""
    found = buckets(working, keyed(spark), plan(Placing.IN_ORDER, placed_rows=(ROWS // 2,)))[BUCKET].to_pylist()
    assert found != sorted(found)
    assert len(set(found)) == SLOTS


def files_that_do_not_meet(rows, column):
    """Return how many files rows are in, whose ranges of a column have nothing in common."""
    names = f"{column}_min", f"{column}_max"
    spans = rows.group_by("_hoodie_file_name").aggregate([(column, "min"), (column, "max")]).sort_by(names[0])
    first, last = (spans[name] for name in names)
    assert pc.all(pc.less(last[:-1], first[1:])).as_py()
    return spans.num_rows


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({MODE: "PARTITION_PATH_REPARTITION"}, "ts"),
        ({MODE: "GLOBAL_SORT"}, "uuid"),
        ({"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "fare"}, "fare"),
    ],
)
@pytest.mark.parametrize("few", [1, 1_000_000])
def test_files_of_a_bulk_insert_have_their_parts_of_a_column(spark, tmp_path, monkeypatch, options, column, few):
    take_for_few(monkeypatch, few)
    builder = SparkTableBuilder(spark, tmp_path)
    table = builder.create()
    rows = [trip(f"k{i * 7919 % 1000:03}", ["sf", "rio"][i % 2], ts=i, fare=float(i * 31 % 97)) for i in range(90)]
    table.bulk_insert(builder.rows(trips(*rows)), options={**SMALL_FILES, **TINY_FILTERS, **options})
    found = table.scan(["city", "_hoodie_file_name", column]).to_arrow()
    for city in ("sf", "rio"):
        assert files_that_do_not_meet(found.filter(pc.equal(found["city"], city)), column) >= 4


@pytest.mark.parametrize("verb", ["insert", "upsert", "insert_overwrite"])
def test_many_rows_go_into_files_in_the_order_in_which_they_come(spark, tmp_path, monkeypatch, verb):
    take_for_few(monkeypatch, 1)
    builder = SparkTableBuilder(spark, tmp_path)
    table = builder.create(partition_by=[])
    rows = [trip(f"k{i * 7919 % 100:03}", ts=i) for i in range(60)]
    getattr(table, verb)(builder.rows(trips(*rows)), options={**SMALL_FILES, **TINY_FILTERS})
    assert files_that_do_not_meet(table.scan(["_hoodie_file_name", "ts"]).to_arrow(), "ts") >= 5


def test_many_rows_of_one_key_are_one_row_of_the_table(spark, tmp_path, monkeypatch):
    take_for_few(monkeypatch, 1)
    builder = SparkTableBuilder(spark, tmp_path)
    table = builder.create(partition_by=[])
    keys = [f"k{i:03}" for i in range(60)] * 2
    random.Random(3).shuffle(keys)
    rows = [trip(key, ts=i, fare=float(i)) for i, key in enumerate(keys)]
    table.upsert(builder.rows(trips(*rows)), options={**SMALL_FILES, **TINY_FILTERS})
    assert rows_by_key(table) == {row["uuid"]: [row["fare"]] for row in rows}


def test_what_was_counted_of_rows_is_bounded():
    """However many rows and partitions a task has, it tells little more than how many rows each partition has."""
    count = 100_000
    columns = {
        PARTITION: pa.array([f"p{number % 50}" for number in range(count)]),
        KEY: pa.nulls(count, pa.string()),
        ORDER: pa.array(range(count), pa.int64()),
        "_pyhudi_place": pa.array(range(count), pa.int64()),
        "_pyhudi_bytes": pa.array([10 if number < 100 else None for number in range(count)], pa.int64()),
    }
    batches = pa.table(columns).to_batches(max_chunksize=1000)
    found = pa.Table.from_batches(few_rows.count_task(iter(batches), most=1, most_bytes=1), few_rows.COUNTED)
    assert 50 < found.num_rows <= 256
    assert pc.sum(few_rows.spread(found)["rows"]).as_py() == count
    assert few_rows.row_bytes(found) == 10
    spans = few_rows.spread(found)
    assert all(order % span == 0 for order, span in zip(*(spans[n].to_pylist() for n in (ORDER, "span")), strict=True))
