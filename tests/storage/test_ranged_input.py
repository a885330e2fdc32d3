"""ReadSet over ranged requests: the same bytes as the file, few requests."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData
from pyhudi.storage import ranged_input
from pyhudi.storage.ranged_input import RangedInput

DATA = bytes(range(256)) * 4


def opened(tail_bytes: int) -> tuple[RangedInput, list[tuple[int, int]]]:
    asked: list[tuple[int, int]] = []

    def fetch(start: int, length: int) -> bytes:
        asked.append((start, length))
        return DATA[start : start + length]

    return RangedInput("p", fetch, len(DATA), DATA[len(DATA) - tail_bytes :]), asked


@given(st.lists(st.tuples(st.integers(0, 1100), st.integers(-1, 300)), max_size=20), st.integers(0, 1024))
def test_any_reads_give_the_bytes_of_the_file(reads, tail_bytes: int):
    file, asked = opened(tail_bytes)
    plain = io.BytesIO(DATA)
    for offset, length in reads:
        assert file.seek(offset) == plain.seek(offset)
        assert file.read(length) == plain.read(length)
        assert file.tell() == max(offset, plain.tell())
    assert all(start >= 0 and length > 0 and start + length <= len(DATA) for start, length in asked)


def test_small_reads_fetch_ahead_and_large_ones_do_not(monkeypatch):
    monkeypatch.setattr(ranged_input, "BLOCK_BYTES", 100)
    file, asked = opened(100)
    for _ in range(10):
        file.read(10)
    file.seek(500)
    file.read(250)
    file.seek(-100, io.SEEK_END)
    file.readall()
    assert asked == [(0, 100), (500, 250)]


def test_seeking_works_from_each_end_and_buffers_are_filled():
    file, _ = opened(0)
    file.seek(10)
    assert file.seek(5, io.SEEK_CUR) == 15
    assert file.seek(-4, io.SEEK_END) == len(DATA) - 4
    buffer = bytearray(10)
    assert file.readinto(buffer) == 4
    assert bytes(buffer[:4]) == DATA[-4:]
    assert (file.size(), file.readable(), file.seekable()) == (len(DATA), True, True)


def test_a_short_answer_is_corrupt_data():
    file = RangedInput("p", lambda start, length: b"x", 1000, b"")
    with pytest.raises(CorruptData):
        file.read(100)
