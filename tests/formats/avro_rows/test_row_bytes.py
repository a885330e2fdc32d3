"""Rows grow by pieces."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.avro_rows.test_source import LONGS, number

from pyhudi.formats.avro_rows.row_bytes import RowBytes, cut_rows, edges_of, fill_rows


@given(st.lists(st.tuples(LONGS, st.booleans()), min_size=1, max_size=20))
def test_numbers_are_added_where_the_mask_is(pairs):
    values = np.array([value for value, _ in pairs], np.int64)
    mask = np.array([wanted for _, wanted in pairs])
    rows = RowBytes(len(pairs))
    rows.add_longs(values)
    rows.add_constant(b"|")
    rows.add_longs(values, mask)
    expected = [number(value) + b"|" + (number(value) if wanted else b"") for value, wanted in pairs]
    assert rows.join().to_pylist() == expected


def test_pieces_follow_each_other():
    rows = RowBytes(2)
    rows.add_constant(b"<")
    rows.add_rows(pa.array([b"ab", b""], pa.large_binary()))
    rows.add_block(np.array([[1, 2], [3, 4]], np.uint8), np.array([True, False]))
    rows.add_block(np.array([[5, 6], [7, 8]], np.uint8), np.array([[True, False], [True, True]]))
    assert rows.join().to_pylist() == [b"<ab\x01\x02\x05", b"<\x07\x08"]


def test_nothing_added_is_empty_rows():
    assert RowBytes(2).join().to_pylist() == [b"", b""]
    assert RowBytes(0).join().to_pylist() == []


def test_lanes_are_filled_without_a_copy():
    rows = pa.array([b"no", b"ab", b"c"], pa.large_binary()).slice(1)
    filled = fill_rows(rows, np.array([1, 3]), 4)
    assert filled.to_pylist() == [b"", b"ab", b"", b"c"]
    assert filled.buffers()[2].address == rows.buffers()[2].address
    assert edges_of(filled).tolist() == [2, 2, 4, 4, 5]


def test_rows_are_cut_at_edges():
    assert cut_rows(pa.py_buffer(b"abcd"), np.array([1, 1, 3])).to_pylist() == [b"", b"bc"]
    assert edges_of(pa.array([], pa.large_binary())).tolist() == [0]
