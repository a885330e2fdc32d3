import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.formats.hfile.ranges import KeyRanges, covered_blocks, covered_keys, every_key, key_ranges, prefix_ranges

FEW_BYTES = st.lists(st.sampled_from([b"\0", b"\1", b"a", b"\xfe", b"\xff"]), max_size=3).map(b"".join)
SETS = st.lists(FEW_BYTES, max_size=12, unique=True)
UNEVEN = st.lists(st.text("ab\x01ÿ", max_size=3).map(str.encode), max_size=12)
"""Keys of which none ends with a null byte; some come twice."""
WIDE = b"w" * 5000


def array(values: list[bytes]) -> pa.Array:
    return pa.array([b"before", *values], pa.binary())[1:]


@given(keys=SETS, wanted=st.lists(FEW_BYTES, max_size=6))
def test_keys_in_a_range_are_those_equal_or_with_the_prefix(keys, wanted):
    keys = sorted(keys)
    points, prefixes = key_ranges(array(wanted)), prefix_ranges(array(wanted))
    assert covered_keys(array(keys), points).tolist() == [key in wanted for key in keys]
    assert covered_keys(array(keys), prefixes).tolist() == [key.startswith(tuple(wanted)) for key in keys]


@given(keys=UNEVEN, wanted=UNEVEN, before=UNEVEN)
def test_keys_of_any_lengths_are_found_as_often_as_they_are_there(keys, wanted, before):
    keys, wanted = sorted(keys), [*wanted, *keys[::3]]
    sliced = pa.array([*before, *keys], pa.binary())[len(before) :]
    assert covered_keys(sliced, key_ranges(array(wanted))).tolist() == [key in wanted for key in keys]


@pytest.mark.parametrize("odd", [b"a\0", WIDE, b"", b"\xff\xfe"])
@pytest.mark.parametrize("others", [[b"a", b"b"], [b"a", WIDE[1:]], [b"a\0\0", b"b"], [b"\xff\xff"]])
def test_keys_that_are_no_texts_of_one_width_are_told_from_others(odd, others):
    keys = sorted([odd, *others])
    for wanted in ([odd], others, [b"a"], [WIDE], [odd, b"zz"]):
        ranges = key_ranges(array(wanted))
        assert covered_keys(array(keys), ranges).tolist() == [key in wanted for key in keys]
        assert covered_blocks(array(keys), ranges).tolist() == blocks_of(keys, wanted)


def blocks_of(firsts, wanted):
    """Return for each block whether one of some keys can be in it, asked one by one."""
    ends = [*firsts[1:], None][: len(firsts)]
    return [
        any(first <= key and (end is None or key < end) for key in wanted)
        for first, end in zip(firsts, ends, strict=True)
    ]


@given(firsts=SETS, wanted=UNEVEN)
def test_a_block_is_read_for_no_key_of_another(firsts, wanted):
    firsts = sorted(firsts)
    assert covered_blocks(array(firsts), key_ranges(array(wanted))).tolist() == blocks_of(firsts, wanted)


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
