import random

import numpy as np
import pyarrow as pa
import pytest
from tests.formats.parquet.test_page_rows import index_of, numbers, written

from pyhudi.formats.parquet import page_index, read_footer, read_page_bounds, read_pages

NAN = float("nan")


def _pages(table: pa.Table, name: str, **options: object):
    data = written(table, **options)
    source, footer = pa.BufferReader(data), read_footer(pa.BufferReader(data))
    pages = read_pages(source, footer, 0, name)
    return pages, None if pages is None else read_page_bounds(source, footer, 0, name, pages)


def test_pages_say_which_rows_they_have() -> None:
    pages, bounds = _pages(numbers(400), "n", write_batch_size=100)
    assert pages.first_rows.tolist() == [0, 100, 200, 300]
    assert pages.ends.tolist() == [100, 200, 300, 400]
    assert [(one.least, one.greatest, one.nulls_count, one.rows_count) for one in bounds] == [
        (0, 99, 0, 100), (100, 199, 0, 100), (200, 299, 0, 100), (300, 399, 0, 100),
    ]  # fmt: skip
    assert pages.with_rows(np.array([[99, 100], [350, 400]])).tolist() == [0, 3]


def test_pages_of_nulls_have_no_bounds_and_only_nulls() -> None:
    _, bounds = _pages(pa.table({"d": pa.nulls(30, pa.float64())}), "d", use_dictionary=False)
    assert [(one.least, one.greatest, one.nulls_count, one.rows_count) for one in bounds] == [(None, None, 30, 30)]


def test_floats_are_bounded_where_some_are_no_number() -> None:
    column = pa.array([1.5, *[NAN] * 9, *range(10)], pa.float64())
    _, bounds = _pages(pa.table({"d": column}), "d", write_batch_size=10, use_dictionary=False)
    assert [(one.least, one.greatest) for one in bounds] == [(1.5, 1.5), (0.0, 9.0)]


@pytest.mark.parametrize("name", ["missing", "tags"])
def test_nested_and_absent_columns_have_no_pages(name: str) -> None:
    table = pa.table({"n": [1], "tags": pa.array([["a"]], pa.list_(pa.field("element", pa.string())))})
    assert _pages(table, name) == (None, None)


def test_a_column_without_an_index_has_no_pages() -> None:
    assert _pages(numbers(40), "n", write_page_index=False) == (None, None)


@pytest.mark.parametrize("count", [3, 15, 400])
def test_locations_are_decoded_at_once_as_one_by_one(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = _pages(numbers(count * 4), "s", write_batch_size=4)
    monkeypatch.setattr(page_index, "_plain_locations", lambda stored: None)
    one_by_one, _ = _pages(numbers(count * 4), "s", write_batch_size=4)
    assert len(whole.starts) == count
    for name in ("starts", "sizes", "first_rows", "ends"):
        assert getattr(whole, name).tolist() == getattr(one_by_one, name).tolist()


def test_bounds_that_are_not_those_of_the_row_group_are_none() -> None:
    """Damage to the least or greatest bound of all, which would leave rows out, is seen."""
    data = written(numbers(400), write_batch_size=100)
    footer = read_footer(pa.BufferReader(data))
    expected = _pages(numbers(400), "n", write_batch_size=100)
    dice = random.Random(5)
    for at in index_of(data, footer):
        damaged = bytearray(data)
        damaged[at] ^= 1 << dice.randrange(8)
        source = pa.BufferReader(bytes(damaged))
        pages = read_pages(source, footer, 0, "n")
        bounds = None if pages is None else read_page_bounds(source, footer, 0, "n", pages)
        if bounds is not None and bounds != expected[1]:
            assert (min(one.least for one in bounds), max(one.greatest for one in bounds)) == (0, 399)
