import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.formats.parquet.row_ranges import Ranges, joined, rows_count, rows_in, runs_near, runs_where

ROWS = st.sets(st.integers(0, 60))


def runs(rows: set[int], most_apart: int = 1) -> Ranges:
    return runs_near(np.array(sorted(rows), np.int64), most_apart)


@given(ROWS)
def test_runs_hold_the_rows_that_they_were_made_of(rows: set[int]) -> None:
    assert rows_in(runs(rows)).tolist() == sorted(rows)
    assert rows_count(runs(rows)) == len(rows)


@given(ROWS, st.integers(1, 9))
def test_runs_that_are_near_are_one(rows: set[int], most_apart: int) -> None:
    found = runs(rows, most_apart)
    assert rows <= set(rows_in(found).tolist())
    assert (found[1:, 0] - found[:-1, 1] + 1 > most_apart).all()


@given(ROWS, ROWS)
def test_joined_runs_hold_the_rows_of_both(one: set[int], other: set[int]) -> None:
    found = joined(runs(one), runs(other))
    assert rows_in(found).tolist() == sorted(one | other)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4))))
def test_flagged_segments_become_runs(segments: list[tuple[bool, int]]) -> None:
    flags, counts = [flag for flag, _ in segments], [count for _, count in segments]
    found = runs_where(np.array(flags, np.bool_), np.cumsum(np.array(counts, np.int64)))
    assert rows_in(found).tolist() == np.flatnonzero(np.repeat(flags, counts)).tolist()
    assert (found[1:, 0] > found[:-1, 1]).all()
