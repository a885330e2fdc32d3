import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.formats.hfile.ranges import KeyRanges, covered_blocks, covered_keys, every_key, key_ranges, prefix_ranges

FEW_BYTES = st.lists(st.sampled_from([b"\0", b"\1", b"a", b"\xfe", b"\xff"]), max_size=3).map(b"".join)
SETS = st.lists(FEW_BYTES, max_size=12, unique=True)


def array(values: list[bytes]) -> pa.Array:
    return pa.array([b"before", *values], pa.binary())[1:]


@given(keys=SETS, wanted=st.lists(FEW_BYTES, max_size=6))
def test_keys_in_a_range_are_those_equal_or_with_the_prefix(keys, wanted):
    keys = sorted(keys)
    points, prefixes = key_ranges(array(wanted)), prefix_ranges(array(wanted))
    assert covered_keys(array(keys), points).tolist() == [key in wanted for key in keys]
    assert covered_keys(array(keys), prefixes).tolist() == [key.startswith(tuple(wanted)) for key in keys]


@given(firsts=SETS, keys=SETS, wanted=st.lists(FEW_BYTES, max_size=6), data=st.data())
def test_every_block_that_has_a_key_in_a_range_is_read(firsts, keys, wanted, data):
    firsts = sorted(firsts)
    for ranges in (key_ranges(array(wanted)), prefix_ranges(array(wanted)), every_key()):
        chosen = covered_blocks(array(firsts), ranges).tolist()
        for key in keys:
            block = sum(first <= key for first in firsts) - 1
            if block >= 0 and covered_keys(array([key]), ranges)[0]:
                assert chosen[block]


@given(firsts=SETS, key=FEW_BYTES)
def test_one_key_is_in_one_block_at_most(firsts, key):
    firsts = sorted(firsts)
    chosen = covered_blocks(array(firsts), key_ranges(array([key]))).tolist()
    assert sum(chosen) == any(first <= key for first in firsts)


@pytest.mark.parametrize("ranges", [every_key(), key_ranges(array([])), prefix_ranges(array([]))])
def test_no_keys_are_in_no_range(ranges: KeyRanges):
    assert covered_keys(array([]), ranges).tolist() == []
    assert covered_blocks(array([]), ranges).tolist() == []
