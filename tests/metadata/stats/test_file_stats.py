import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.stats.file_stats import enclosing, measured, parquet_stats


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


def test_a_footer_tells_of_all_row_groups():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [3, None, 1, 2], "y": ["b", "a", "c", "d"]}), sink, row_group_size=2)
    source = pa.BufferReader(sink.getvalue())
    found = {
        name: (bounds, counts[:2])
        for name, _, bounds, counts in parquet_stats(source, read_footer(source), ["x", "y", "z"], 9)
    }
    assert found == {"x": ((1, 3), (4, 1)), "y": (("a", "d"), (4, 0))}


def test_bounds_of_several_enclose_them_all_and_nan_is_the_greatest():
    assert enclosing([(1, 5), (None, None), (-2, 3)]) == (-2, 5)
    assert enclosing([]) == enclosing([(None, None)]) == (None, None)
    for told in ([(1.0, 2.0), (0.5, math.nan)], [(0.5, math.nan), (1.0, 2.0)], [(math.nan, math.nan), (0.5, 2.0)]):
        least, greatest = enclosing(told)
        assert least == 0.5
        assert math.isnan(greatest)
    assert all(math.isnan(bound) for bound in enclosing([(math.nan, math.nan)]))
