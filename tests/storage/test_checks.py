"""Checks that all stores share."""

import pytest

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded
from pyhudi.storage.checks import MOST_BYTES, MOST_LEVELS, check_file, check_range, require_length, require_readable


def test_a_file_has_a_name():
    assert check_file("a/b") == "a/b"
    for path in ("", "a/../b", "a/" * (MOST_LEVELS + 1) + "b"):
        with pytest.raises(InvalidInput):
            check_file(path)


def test_a_file_that_is_read_whole_is_not_too_large():
    require_readable("a", MOST_BYTES)
    with pytest.raises(LimitExceeded, match="path='a'"):
        require_readable("a", MOST_BYTES + 1)


def test_ranges_are_not_negative():
    check_range("a", 0, 0)
    for offset, length in [(-1, 0), (0, -1)]:
        with pytest.raises(InvalidInput):
            check_range("a", offset, length)


def test_lengths_are_exact():
    assert require_length(b"12", "a", 0, 2) == b"12"
    with pytest.raises(CorruptData, match="found_bytes=2"):
        require_length(b"12", "a", 0, 3)
