"""Numbers and lengths are read at many places at once, whatever their size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows.source import Source, read_lengths, read_longs, require_room, skip_lengths, skip_longs

LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70) | st.integers(0, 62).map(lambda bits: 1 << bits)


def number(value: int) -> bytes:
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


def placed(parts: list[bytes]) -> tuple[Source, np.ndarray]:
    sizes = [len(part) for part in parts]
    starts = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    return Source(np.frombuffer(b"".join(parts), np.uint8)), starts


@given(st.lists(LONGS, max_size=40))
def test_numbers_of_all_sizes_are_read_and_skipped(values):
    source, at = placed([number(value) for value in values])
    found, after = read_longs(source, at)
    ends = [*at.tolist(), source.size][1:]
    assert found.tolist() == values
    assert after.tolist() == skip_longs(source, at).tolist() == (ends if values else [])


@pytest.mark.parametrize("wide", [b"\xff" * 9 + b"\x02", b"\xff" * 10, b"\xff" * 11])
def test_a_number_of_more_than_64_bits_is_refused(wide):
    source, at = placed([b"\x02", wide])
    for read in (read_longs, skip_longs, read_lengths):
        with pytest.raises(CorruptData):
            read(source, at)


@pytest.mark.parametrize("length", [-1, 7, 2**62, -(2**63)])
def test_impossible_lengths_are_refused(length):
    source, at = placed([number(length), b"ab"])
    with pytest.raises(CorruptData, match="impossible length"):
        read_lengths(source, at[:1] if length != 7 else np.array([0]) if source.size < 7 else at)
    with pytest.raises(CorruptData, match="impossible length"):
        skip_lengths(source, at[:1])


def test_values_are_gathered_to_the_last_byte():
    source, _ = placed([bytes(range(16))])
    assert source.gather(np.array([0, 8]), "<u8").tolist() == [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    assert source.gather(np.array([3]), "V2").tobytes() == b"\x03\x04"
    assert len(source.gather(np.empty(0, np.int64), "V99")) == 0
    with pytest.raises(IndexError):
        source.gather(np.array([40]), "<u8")


def test_ranges_must_not_overlap_nor_reach_beyond_the_bytes():
    source, _ = placed([bytes(10)])
    require_room(source, np.array([0, 5]), np.array([5, 10]))
    with pytest.raises(CorruptData):
        require_room(source, np.array([0, 5]), np.array([6, 10]))
    with pytest.raises(CorruptData):
        require_room(source, np.array([0, 5]), np.array([5, 11]))
