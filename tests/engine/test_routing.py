import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.engine.api import BUCKET, FILE_INDEX, IS_MOVED, KEY, PARTITION, TASK, Moves, Routes
from pyhudi.engine.routing import match, route
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
