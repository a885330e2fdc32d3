import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.engine.api import BUCKET, FILE_INDEX, IS_MOVED, KEY, PARTITION, TASK, Moves, Placing, Routes
from pyhudi.engine.routing import match, route, runs_by_bucket
from pyhudi.kernels.merge import MergeSpec

PAIRS = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from(["p", "q", "r"])), max_size=12)
STRINGS = pa.string()


def _table(pairs, **columns):
    keys, partitions = zip(*pairs, strict=True) if pairs else ((), ())
    table = {KEY: pa.array(keys, STRINGS), PARTITION: pa.array(partitions, STRINGS), **columns}
    return pa.table(table)


def _located(pairs):
    return _table(pairs, **{FILE_INDEX: pa.array(range(len(pairs)), pa.int32())})


@given(rows=PAIRS, stored=PAIRS, by_partition=st.booleans())
def test_match_pairs_rows_as_two_loops_do(rows, stored, by_partition):
    expected = [
        (i, j)
        for i, (key, partition) in enumerate(rows)
        for j, (other, place) in enumerate(stored)
        if key == other and (partition == place or not by_partition)
    ]
    left, right = match(_table(rows), _located(stored), by_partition=by_partition)
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == expected
    assert left.tolist() == sorted(left.tolist())


@given(rows=PAIRS, stored=PAIRS, moves=st.sampled_from(Moves), losers=st.sets(st.integers(0, 11)))
def test_routes_are_what_a_row_loop_gives(rows, stored, moves, losers):
    """File j has bucket j; partition number i has the one slot of bucket 100 + i."""
    places = ["p", "q", "r"]
    plan = Routes(
        bucket_of_file=tuple(range(len(stored))),
        partitions=tuple(places),
        first_slot=(0, 1, 2),
        slots_count=(1, 1, 1),
        bucket_of_slot=(100, 101, 102),
        task_of_bucket=tuple(range(103)),
        moves=moves,
        beaten_by=MergeSpec(ordering=("ts",), is_event_time=True),
    )

    def find_losers(rules, left, right):
        return np.array([j in losers for j in right.tolist()], np.bool_)

    routed = route(_table(rows), _located(stored), plan, find_losers)
    columns = [routed.columns[name].to_pylist() for name in (PARTITION, BUCKET, IS_MOVED)]
    found = sorted(zip(routed.rows.tolist(), *columns, strict=True))
    assert found == sorted(_expected(rows, stored, moves, losers, places))
    assert np.array_equal(routed.columns[TASK], routed.columns[BUCKET])


def _expected(rows, stored, moves, losers, places):
    for i, (key, partition) in enumerate(rows):
        hits = [(j, place) for j, (other, place) in enumerate(stored) if other == key]
        own = [(j, place) for j, place in hits if place == partition]
        others = [(j, place) for j, place in hits if place != partition]
        if moves is Moves.KEEP_PARTITION and hits:
            yield from ((i, place, j, False) for j, place in hits)
            continue
        if moves is Moves.DELETE_AND_INSERT:
            if any(j in losers for j, _ in others):
                continue
            yield from ((i, place, j, True) for j, place in others)
        yield from ((i, partition, j, False) for j, _ in own)
        if not own:
            yield (i, partition, 100 + places.index(partition), False)


PLACED = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("pq")), min_size=1, max_size=30)


@given(rows=PLACED, slots=st.tuples(st.integers(1, 4), st.integers(1, 4)), placing=st.sampled_from(Placing))
def test_new_rows_are_placed_as_a_row_loop_places_them(rows, slots, placing):
    plan = Routes(
        bucket_of_file=(),
        partitions=("p", "q"),
        first_slot=(0, slots[0]),
        slots_count=slots,
        bucket_of_slot=tuple(range(sum(slots))),
        task_of_bucket=tuple(range(sum(slots))),
        placing=placing,
    )
    routed = route(_table(rows), _located([]), plan, lambda *_: np.zeros(0, np.bool_))
    buckets = routed.columns[BUCKET].to_pylist()
    assert routed.rows.tolist() == list(range(len(rows)))
    if placing is Placing.IN_ORDER:
        assert buckets == [_place(rows, number, slots) for number in range(len(rows))]
    else:
        homes = {}
        assert all(homes.setdefault(row, bucket) == bucket for row, bucket in zip(rows, buckets, strict=True))
    if placing is Placing.IN_ORDER_OF_KEYS and len({key for key, _ in rows}) == len(rows):
        assert buckets == [_place(rows, number, slots) for number in range(len(rows))]


def _place(rows, number, slots):
    partition = rows[number][1]
    before = sum(place == partition for _, place in rows[:number])
    count = slots["pq".index(partition)]
    return (0, slots[0])["pq".index(partition)] + before * count // sum(place == partition for _, place in rows)


def batches_of(buckets, sizes):
    table = pa.table({BUCKET: pa.array(buckets, pa.int32()), "row": list(range(len(buckets)))})
    start = 0
    for size in sizes:
        yield from table.slice(start, size).to_batches() or table.schema.empty_table().to_batches()
        start += size
    yield from table.slice(start).to_batches()


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=30).map(sorted), st.lists(st.integers(0, 7), max_size=6))
def test_a_stream_is_cut_where_the_bucket_changes_however_it_is_batched(buckets, sizes):
    runs = [(bucket, rows["row"].to_pylist()) for bucket, rows in runs_by_bucket(batches_of(buckets, sizes))]
    assert [bucket for bucket, _ in runs] == sorted(set(buckets))
    assert [row for _, rows in runs for row in rows] == list(range(len(buckets)))
    assert all(buckets[row] == bucket for bucket, rows in runs for row in rows)


def test_one_bucket_is_given_before_the_next_batch_is_asked_for():
    asked = []

    def stream():
        for bucket in (0, 1, 2):
            asked.append(bucket)
            yield pa.record_batch({BUCKET: pa.array([bucket], pa.int32())})

    runs = runs_by_bucket(stream())
    assert next(runs)[0] == 0
    assert asked == [0, 1]
