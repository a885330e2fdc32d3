"""Orders along curves against references that go row by row."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput
from pyhudi.kernels.curves import Curve, curve_order

CURVES = (Curve.ZORDER, Curve.HILBERT)
NUMBERS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=60)


def columns_of(rows):
    return [pa.chunked_array([list(values)]) for values in zip(*rows, strict=True)]


def z_place(row, bits=4):
    """Weave the bits of a row's numbers."""
    place = 0
    for bit in reversed(range(bits)):
        for number in row:
            place = place * 2 + (number >> bit & 1)
    return place


def full_grid(columns_count, size):
    grid = np.stack(np.meshgrid(*[np.arange(size)] * columns_count, indexing="ij"), -1)
    rows = grid.reshape(-1, columns_count).tolist()
    np.random.default_rng(1).shuffle(rows)
    return rows


@given(NUMBERS)
def test_z_order_is_that_of_woven_bits(rows):
    # Every number is there in both columns, so that ranks are the numbers themselves.
    rows = [*rows, *((one, one) for one in range(16))]
    order = curve_order(columns_of(rows), Curve.ZORDER).to_pylist()
    assert sorted(order) == list(range(len(rows)))
    places = [z_place(rows[at]) for at in order]
    assert places == sorted(places)
    assert order == sorted(order, key=lambda at: (z_place(rows[at]), at))


@pytest.mark.parametrize(("columns_count", "size"), [(2, 16), (3, 8)])
def test_neighbours_on_the_hilbert_curve_are_neighbours_in_the_grid(columns_count, size):
    rows = full_grid(columns_count, size)
    order = curve_order(columns_of(rows), Curve.HILBERT).to_pylist()
    assert sorted(order) == list(range(len(rows)))
    steps = [math.dist(rows[one], rows[other]) for one, other in itertools.pairwise(order)]
    assert set(steps) == {1.0}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([None, -(2**63), -1, 0, 1, 2**63 - 1]),
        pa.array([None, -math.inf, -1e300, -1.5, 0.0, 1e-300, 2.0, math.inf, math.nan]),
        pa.array([None, "", "a", "aa", "ab", "b", "é"]),
        pa.array([None, "prefix-1", "prefix-2", "prefix-20", "prefix-3"]),
        pa.array([None, b"\x00", b"\x00\x01", b"\x7f", b"\xff"]),
        pa.array([None, False, True]),
        pa.array([None, -5, 0, 7], pa.date32()),
        pa.array([None, -5, 0, 7], pa.timestamp("us", "UTC")),
        pa.array([None, "-1.50", "0.00", "2.25"]).cast(pa.decimal128(10, 2)),
        pa.array([None, -3, 0, 3], pa.int16()),
    ],
    ids=lambda values: str(values.type),
)
def test_values_of_every_type_are_in_order_with_nulls_first(values, curve):
    shuffled = np.random.default_rng(3).permutation(len(values))
    column = pa.chunked_array([values.take(pa.array(shuffled))])
    order = curve_order([column], curve).to_numpy()
    assert shuffled[order].tolist() == list(range(len(values)))


@pytest.mark.parametrize("curve", CURVES)
def test_codes_are_ordered_as_the_text_that_they_stand_for(curve):
    text = pa.chunked_array([["b", "a", None, "c"]])
    assert curve_order([text.dictionary_encode()], curve).equals(curve_order([text], curve))


def test_a_column_with_two_values_has_as_much_say_as_one_with_many():
    rows = [(one % 2, one) for one in range(64)]
    halves = curve_order(columns_of(rows), Curve.ZORDER).to_pylist()
    assert {rows[at][0] for at in halves[:32]} == {0}


@pytest.mark.parametrize("curve", CURVES)
def test_no_rows_have_no_order_and_equal_rows_keep_theirs(curve):
    assert curve_order([pa.chunked_array([[]], pa.int64())], curve).to_pylist() == []
    assert curve_order([pa.chunked_array([[7] * 5])] * 2, curve).to_pylist() == [0, 1, 2, 3, 4]
    assert curve_order([pa.chunked_array([[None, None]], pa.string())], curve).to_pylist() == [0, 1]


def test_a_sample_of_few_rows_still_gives_every_row_a_place():
    column = pa.chunked_array([list(range(1000, 0, -1))])
    assert sorted(curve_order([column, column], Curve.HILBERT, sampled_rows=10).to_pylist()) == list(range(1000))


def test_nested_columns_and_too_many_are_refused():
    with pytest.raises(InvalidInput, match="nested"):
        curve_order([pa.chunked_array([[[1]]])], Curve.ZORDER)
    with pytest.raises(InvalidInput, match="no bit"):
        curve_order([pa.chunked_array([[1]])] * 65, Curve.ZORDER)
