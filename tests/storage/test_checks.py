"""Checks that all stores share."""

import pytest

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.storage.checks import check_file, check_range, require_length


def test_a_file_has_a_name():
    assert check_file("a/b") == "a/b"
    for path in ("", "a/../b"):
        with pytest.raises(InvalidInput):
            check_file(path)


def test_ranges_are_not_negative():
    check_range("a", 0, 0)
    for offset, length in [(-1, 0), (0, -1)]:
        with pytest.raises(InvalidInput):
            check_range("a", offset, length)


def test_lengths_are_exact():
    assert require_length(b"12", "a", 0, 2) == b"12"
    with pytest.raises(CorruptData, match="found_bytes=2"):
        require_length(b"12", "a", 0, 3)
