import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.kernels.merge import MergeSpec, merge_batch, probe
from pyhudi.kernels.ordering import comparable, compare_values, compares_as_stored
from pyhudi.kernels.precombine import newer_rows

NAN = float("nan")
FLOATS = [-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, NAN]
BYTES = [b"", b"\x80", b"\x80\x00", b"\xff", b"\x00", b"\x01", b"\x01\x80", b"\x01\x00", b"\x7f"]


def java_rank(value):
    """Return what Python compares as Java compares a value: Double.compare, ByteBuffer.compareTo; null is 0."""
    if isinstance(value, float):
        bits = struct.unpack(">q", struct.pack(">d", NAN if math.isnan(value) else value))[0]
        return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF
    return struct.unpack(f"{len(value)}b", value) if isinstance(value, bytes) else value


KINDS = {
    "double": (pa.float64(), st.floats(), 0.0),
    "float": (pa.float32(), st.floats(width=32), 0.0),
    "bytes": (pa.binary(), st.binary(max_size=3), b""),
    "large bytes": (pa.large_binary(), st.binary(max_size=3), b""),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1), 0),
    "text": (pa.string(), st.text(max_size=3), ""),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_values_compare_as_java_compares_them(name, data):
    kind, values, zero = KINDS[name]
    pairs = data.draw(st.lists(st.tuples(values | st.none(), values | st.none()), min_size=1, max_size=8))
    ranked = [tuple(java_rank(zero if one is None else one) for one in pair) for pair in pairs]
    left, right = (comparable(pa.chunked_array([[one[side] for one in pairs]], kind)) for side in (0, 1))
    smaller, equal = compare_values([left], [right], len(pairs))
    assert smaller.tolist() == [one < other for one, other in ranked]
    assert equal.tolist() == [one == other for one, other in ranked]


NARROW = np.array([-1.5, -0.0, 0.0, 1.5, NAN], np.float32)


@pytest.mark.parametrize("values", [pa.array(FLOATS), pa.array(NARROW), pa.array(BYTES)])
def test_values_that_are_listed_in_java_s_order_are_in_order(values):
    sliced = comparable(values.slice(1))
    for ranked in (comparable(values), comparable(values.dictionary_encode()), sliced):
        smaller, equal = compare_values([ranked[:-1]], [ranked[1:]], len(ranked) - 1)
        assert smaller.all()
        assert not equal.any()


def test_later_columns_count_where_the_earlier_ones_are_equal():
    left = [comparable(pa.array(values)) for values in ([0.0, -0.0, NAN, NAN], [1, 9, 1, 2])]
    right = [comparable(pa.array(values)) for values in ([0.0, 0.0, NAN, NAN], [2, 1, 1, 1])]
    smaller, equal = compare_values(left, right, 4)
    assert smaller.tolist() == [True, True, False, False]
    assert equal.tolist() == [False, False, True, False]


def test_statistics_of_files_order_neither_floats_nor_bytes():
    kinds = [pa.float32(), pa.float64(), pa.binary(), pa.large_binary()]
    assert not any(map(compares_as_stored, kinds))
    assert all(map(compares_as_stored, [pa.int64(), pa.string(), pa.decimal128(20, 2), pa.timestamp("us"), pa.bool_()]))


@pytest.mark.parametrize(("low", "high"), [(-0.0, 0.0), (math.inf, NAN), (b"\xff", b"\x01"), (b"", b"\x80")])
def test_precombine_and_merge_follow_java_s_order(low, high):
    spec = MergeSpec(ordering=("ts",), is_event_time=True)
    keys = pa.chunked_array([["a", "a"]])
    for values, kept in (([low, high], 1), ([high, low], 0)):
        table = pa.table({"ts": values})
        assert newer_rows(keys, [table["ts"]], np.zeros(2, np.bool_)).tolist() == [kept]
        stored = pa.RecordBatch.from_pydict({"key": ["a"], "ts": values[:1], "n": [0]})
        update = pa.table({"key": ["a"], "ts": values[1:], "n": [1]})
        prepared = probe(update, update["key"], np.zeros(1, np.bool_), spec)
        assert merge_batch(stored, stored["key"], prepared, spec).batch["n"].to_pylist() == [kept]
