"""Bounds of values, part by part."""

import math

import pyarrow as pa
import pytest

from pyhudi.filegroup.bounds import enclosing, measured, together


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([2, None, 1], (1, (1, 2))),
        ([None], (1, (None, None))),
        ([-1.5, 0.5], (0, (-1.5, 0.5))),
    ],
)
def test_nulls_and_bounds_are_measured(values, said):
    assert measured(pa.array(values)) == said


def test_bounds_of_what_is_no_utf8_are_wider():
    broken = pa.array([b"\xff", b"\x80"], pa.binary()).view(pa.string())
    nulls, (least, greatest) = measured(broken)
    assert (nulls, least < "m" < greatest) == (0, True)
    nulls, (least, _) = measured(pa.array([b"a", b"\xff"], pa.binary()).view(pa.string()))
    assert least == "a"


def test_where_a_float_is_nan_it_is_the_greatest():
    nulls, (least, greatest) = measured(pa.array([1.0, math.nan, None]))
    assert (nulls, least, math.isnan(greatest)) == (1, 1.0, True)


def test_bounds_of_several_enclose_them_all_and_nan_is_the_greatest():
    assert enclosing([(1, 5), (None, None), (-2, 3)]) == (-2, 5)
    assert enclosing([]) == enclosing([(None, None)]) == (None, None)
    for told in ([(1.0, 2.0), (0.5, math.nan)], [(0.5, math.nan), (1.0, 2.0)], [(math.nan, math.nan), (0.5, 2.0)]):
        least, greatest = enclosing(told)
        assert least == 0.5
        assert math.isnan(greatest)
    assert all(math.isnan(bound) for bound in enclosing([(math.nan, math.nan)]))


def test_parts_of_a_column_are_put_together():
    assert together([(1, (2, 5)), (2, (None, None)), (0, (-1, 0))]) == (3, (-1, 5))
    assert together([]) == (0, (None, None))
