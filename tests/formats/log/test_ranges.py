from tests.formats.log.samples import Counted

from pyhudi.formats.log.ranges import FileRanges, small_file_at_once

MEBIBYTE = 1 << 20


def test_the_two_stretches_that_were_read_last_are_kept():
    file = Counted(bytes(range(256)) * 4096 * 2)
    ranges = FileRanges(file, len(file.data))
    assert ranges.read(1, 3) == b"\1\2\3"
    assert ranges.read(MEBIBYTE, 2) == b"\0\1"
    assert ranges.read(5, 1) == b"\5"
    assert file.requests == 2
    assert ranges.read(MEBIBYTE // 2, 1) == b"\0"
    assert ranges.read(MEBIBYTE + 7, 1) == b"\7"
    assert file.requests == 3
    assert ranges.read(5, 1) == b"\5"
    assert file.requests == 4


def test_no_more_is_read_than_the_file_has():
    file = Counted(b"123456")
    assert FileRanges(file, 6).read(4, 2) == b"56"
    assert file.bytes_read == 2


def test_a_pattern_is_found_wherever_it_is():
    for at in [0, 5, MEBIBYTE - 3, MEBIBYTE, MEBIBYTE + 1]:
        file = Counted(bytes(at) + b"needle" + bytes(10))
        assert FileRanges(file, len(file.data)).find(b"needle", 0) == at
        assert FileRanges(file, len(file.data)).find(b"needle", at + 1) == len(file.data)


def test_a_search_begins_with_what_is_at_hand():
    file = Counted(bytes(100) + b"needle" + bytes(MEBIBYTE))
    ranges = FileRanges(file, len(file.data))
    ranges.read(0, 6)
    assert ranges.find(b"needle", 1) == 100
    assert file.requests == 1


def test_a_search_reads_a_file_once():
    file = Counted(bytes(20 * MEBIBYTE))
    assert FileRanges(file, len(file.data)).find(b"needle", 0) == len(file.data)
    assert file.bytes_read < len(file.data) + 200


def test_small_files_are_read_once_and_large_ones_never_whole():
    small, large = Counted(bytes(MEBIBYTE)), Counted(bytes(MEBIBYTE + 1))
    read_small, read_large = (small_file_at_once(file, len(file.data)) for file in (small, large))
    assert read_small(10, 5) == read_large(10, 5) == bytes(5)
    assert (small.bytes_read, large.bytes_read) == (MEBIBYTE, 5)
