import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.hfile.reference import HEADER
from tests.formats.hfile.test_reader import opened, pairs, written

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.hfile import HFileCodec
from pyhudi.formats.hfile.checksum import crc32c_chunks


def crc32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_the_checksum_is_that_of_the_standard():
    assert crc32c_chunks(b"123456789", 9).tolist() == [0xE3069283]
    assert crc32c_chunks(bytes(32), 32).tolist() == [0x8A9136AA]


@given(data=st.binary(max_size=700), chunk=st.integers(1, 300))
def test_checksums_are_those_of_each_chunk(data, chunk):
    expected = [crc32c(data[at : at + chunk]) for at in range(0, len(data), chunk)]
    assert crc32c_chunks(data, chunk).tolist() == expected


CHECKSUMS = {1: zlib.crc32, 2: crc32c}


def with_checksums(data: bytes, kind: int, chunk: int) -> bytes:
    """Put checksums behind the first block, where zeros were."""
    magic, stored, unpacked, previous, _, _, content = HEADER.unpack_from(data)
    block = HEADER.pack(magic, stored, unpacked, previous, kind, chunk, content) + data[HEADER.size : content]
    sums = [CHECKSUMS.get(kind, zlib.crc32)(block[at : at + chunk]) for at in range(0, content, chunk)]
    checksums = b"".join(one.to_bytes(4) for one in sums)
    assert len(checksums) == stored + HEADER.size - content
    return block + checksums + data[HEADER.size + stored :]


@pytest.mark.parametrize("kind", CHECKSUMS)
def test_checksums_that_are_there_are_checked(kind):
    keys = [b"%04d" % number for number in range(600)]
    data = with_checksums(written(keys, codec=HFileCodec.NONE), kind, 16384)
    assert pairs(opened(data).read()) == pairs(opened(written(keys)).read())
    value = data.index(b"value of 0300")
    with pytest.raises(CorruptData, match="checksums"):
        opened(data[:value] + b"V" + data[value + 1 :]).read()


def test_checksums_of_another_kind_or_number_are_refused():
    data = written([b"a"], codec=HFileCodec.NONE)
    with pytest.raises(Unsupported):
        opened(with_checksums(data, 3, 16384)).read()
    for chunk in (0, -1, 8):
        header = data[:24] + b"\2" + chunk.to_bytes(4, signed=True) + data[29:]
        with pytest.raises(CorruptData):
            opened(header).read()


def test_empty_bytes_have_no_checksum():
    assert crc32c_chunks(b"", 16).tolist() == []
