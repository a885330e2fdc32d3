"""Blocks that stay decoded between look-ups: they answer for their own bytes only, and take what they say."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.hfile.reference import HEADER

from pyhudi.errors import CorruptData, HudiError
from pyhudi.formats.hfile import HFileCodec, KeptBlock, open_hfile, write_hfile
from pyhudi.formats.hfile.kept import KeptEntries, block_digest, decode_to_keep
from pyhudi.storage.process import RecentlyUsed

KEYS = st.sets(st.binary(max_size=6), min_size=1, max_size=40)
ALL = [b"k%05d" % number for number in range(3000)]


class Kept(dict):
    """Keeps every block, and remembers what was asked."""

    def __init__(self):
        super().__init__()
        self.hits = self.added = 0

    def get(self, key):
        found = super().get(key)
        self.hits += found is not None
        return found

    def add(self, key, value, weight):
        assert weight == value.size_bytes
        self[key] = value
        self.added += 1
        return value


def written(keys=ALL, values=None, **shape):
    values = [b"value of " + key for key in keys] if values is None else values
    shape = {"block_bytes": 2000, **shape}
    return write_hfile(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), **shape)


def opened(data, kept=None):
    return open_hfile(lambda offset, length: data[offset : offset + length], len(data), kept)


@given(keys=KEYS, asked=st.lists(KEYS, min_size=1, max_size=4), prefix=st.booleans(), few=st.booleans())
def test_what_is_kept_answers_as_the_file_does(keys, asked, prefix, few):
    keys = sorted(keys)
    values = [b"v%d" % (len(key) % 2 if few else number) for number, key in enumerate(keys)]
    data, kept = written(keys, values, block_bytes=60), Kept()
    for wanted in (*asked, keys, keys):
        wanted = pa.array(list(wanted), pa.binary())
        expected = opened(data).lookup(wanted, prefix=prefix)
        assert opened(data, kept).lookup(wanted, prefix=prefix).equals(expected)
    assert kept.added == len(kept)


@pytest.mark.parametrize("distinct", [1, 7, 3000])
def test_blocks_are_decoded_once_and_again_where_some_are_gone(distinct):
    values = [b"file group %030d" % (number % distinct) for number in range(len(ALL))]
    data, kept = written(values=values), Kept()
    expected = opened(data).lookup(pa.array(ALL[::3]))
    assert opened(data, kept).lookup(pa.array(ALL[::3])).equals(expected)
    assert (kept.hits, kept.added) == (0, len(kept))
    for number, digest in enumerate(list(kept)):
        if number % 2:
            del kept[digest]
    left = len(kept)
    assert opened(data, kept).lookup(pa.array(ALL[::3])).equals(expected)
    assert kept.hits == left
    codes = [block.codes for block in kept.values()]
    assert (codes[0] is None) == (distinct == 3000)
    assert all(one is None or one.base is None for one in codes)  # none holds the codes of other blocks


def test_a_file_of_the_same_size_with_other_values_is_read_anew():
    kept = Kept()
    first = opened(written(values=[b"old"] * len(ALL)), kept)
    other = written(values=[b"new"] * len(ALL))
    assert set(first.lookup(ALL)["value"].to_pylist()) == {b"old"}
    assert set(opened(other, kept).lookup(ALL)["value"].to_pylist()) == {b"new"}
    assert kept.hits == 0


def test_what_decides_how_bytes_are_read_is_part_of_the_name():
    stored = memoryview(b"the same bytes")
    names = {block_digest(stored, codec, has_version=has) for codec in HFileCodec for has in (True, False)}
    assert len(names) == 4
    assert block_digest(memoryview(b"the same byte!"), HFileCodec.GZ, has_version=True) not in names


@pytest.mark.parametrize("codec", HFileCodec)
def test_damaged_bytes_are_never_answered_from_what_is_kept(codec):
    data, kept = written(ALL[:150], codec=codec), Kept()
    expected = opened(data, kept).lookup(ALL)
    stored_bytes = HEADER.unpack_from(data)[1]
    for at in [*range(HEADER.size), *range(HEADER.size, HEADER.size + stored_bytes, 17)]:
        damaged = bytearray(data)
        damaged[at] ^= 4
        try:
            plain = opened(bytes(damaged)).lookup(ALL)
        except HudiError as error:
            with pytest.raises(type(error)):
                opened(bytes(damaged), kept).lookup(ALL)
        else:
            assert opened(bytes(damaged), kept).lookup(ALL).equals(plain)
    assert opened(data, kept).lookup(ALL).equals(expected)


def test_keys_of_kept_blocks_that_do_not_follow_each_other_are_refused():
    low, high = (decode_to_keep([payload_of(keys)])[0] for keys in ([b"a", b"b"], [b"c"]))
    assert KeptEntries.of([low, high, high]).keys.to_pylist() == [b"a", b"b", b"c", b"c"]
    with pytest.raises(CorruptData, match="not sorted"):
        KeptEntries.of([high, low])
    assert decode_to_keep([]) == []


def payload_of(keys):
    from pyhudi.formats.hfile.entries import encode_entries

    array = encode_entries(pa.array(keys, pa.binary()), pa.array(keys, pa.binary()))
    return b"".join(array.to_pylist())


def test_the_whole_file_is_read_past_what_is_kept():
    kept = Kept()
    assert opened(written(), kept).read().num_rows == len(ALL)
    assert not kept


@pytest.mark.parametrize("distinct", [5, 1 << 40])
def test_kept_blocks_stay_within_their_bound_and_take_no_more(distinct):
    random, bound = np.random.default_rng(3), 1 << 20
    keys = [b"%036d" % number for number in range(60_000)]
    values = [b"%040d" % one for one in random.integers(0, distinct, len(keys))]
    data = written(keys, values, block_bytes=16 << 10)
    kept, before = RecentlyUsed[bytes, KeptBlock](bound), pa.total_allocated_bytes()
    expected = opened(data).lookup(keys[::9])
    for asked in (keys[::9], keys[:500], keys[::9]):
        found = opened(data, kept).lookup(asked)
    assert found.equals(expected)
    del found, expected
    assert bound // 2 < pa.total_allocated_bytes() - before <= bound
