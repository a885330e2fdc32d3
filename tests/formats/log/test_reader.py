import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.log.samples import Counted, golden_logs, samples

from pyhudi.errors import CorruptData, HudiError, LimitExceeded, Unsupported
from pyhudi.formats.log import BlockKind, Command, HeaderKey, NewBlock, encode_blocks, read_blocks

MAGIC = b"#HUDI#"
INSTANT = HeaderKey.INSTANT_TIME


def block(content=b"rows", kind=BlockKind.PARQUET, **headers):
    named = {HeaderKey[name]: value for name, value in headers.items()} or {INSTANT: "20260101000000000"}
    return encode_blocks([NewBlock(kind=kind, headers=named, content=content)])


def framed(body):
    """Put around any body the frame of a block: magic, length, trailing length."""
    return MAGIC + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 14)


def read(data):
    return list(read_blocks(Counted(data), len(data)))


def kinds(data):
    return [one.kind.name for one in read(data)]


# --- what Apache Hudi wrote


def test_a_rollback_of_version_6_is_a_command_without_content():
    logs = golden_logs("mor_rolled_back-v6")
    (found,) = read(next(data for path, data in logs.items() if path.endswith(".log.3_1-0-1")))
    assert (found.kind, found.version, found.content_bytes, found.size_bytes) == (BlockKind.COMMAND, 1, 0, 105)
    assert found.command is Command.ROLLBACK
    assert found.header(HeaderKey.TARGET_INSTANT_TIME) < found.instant
    assert found.read_content() == b""


def test_a_log_of_a_delta_commit_has_its_instant_schema_and_positions():
    path, (found,) = next((path, read(data)) for path, data in golden_logs("mor_late-v9").items())
    assert found.kind is BlockKind.AVRO
    assert f"_{found.instant}.log.1_" in path
    assert '"_hoodie_commit_time"' in found.schema
    assert found.header(HeaderKey.RECORD_POSITIONS)
    assert found.header(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS) < found.instant
    assert not found.is_partial
    assert found.compacted_instants == ()
    assert found.read_content()[:4] == b"\0\0\0\3"


def test_an_hfile_and_the_deletes_behind_it_are_two_blocks_of_one_file():
    found = [read(data) for data in golden_logs("cow_secondary_index-v9").values()]
    ((rows, deletes),) = [blocks for blocks in found if len(blocks) > 1]
    assert (rows.kind, deletes.kind) == (BlockKind.HFILE, BlockKind.DELETE)
    assert rows.read_at(0, 8) == b"DATABLK*"
    assert rows.end == deletes.position


# --- what is read, and how much of it


def test_a_small_file_is_read_at_once():
    file = Counted(block(b"x" * 1000) * 20)
    found = list(read_blocks(file, len(file.data)))
    assert [one.read_content() for one in found] == [b"x" * 1000] * 20
    assert file.requests == 1


def test_contents_that_are_not_asked_for_are_not_read():
    file = Counted(block(b"x" * 3_000_000) * 5)
    found = list(read_blocks(file, len(file.data)))
    assert len(found) == 5
    assert file.requests == 6
    assert file.bytes_read < 6 * 70_000
    assert found[3].read_at(2_999_990, 10) == b"x" * 10
    assert file.requests == 7


def test_large_headers_are_read_whole():
    data = block(b"x" * 3_000_000, SCHEMA="s" * 500_000, INSTANT_TIME="1") + block()
    file = Counted(data)
    first, second = read_blocks(file, len(data))
    assert (first.schema, second.content_bytes) == ("s" * 500_000, 4)
    assert file.bytes_read < 800_000


def test_a_part_beyond_the_content_is_refused():
    (found,) = read(block(b"rows"))
    assert found.read_at(1, 3) == b"ows"
    for offset, length in [(-1, 2), (0, 5), (4, 1), (0, -1)]:
        with pytest.raises(CorruptData, match="beyond the content"):
            found.read_at(offset, length)


def test_a_file_that_is_shorter_than_its_listing_is_refused():
    data = block()
    with pytest.raises(CorruptData, match="shorter than its listing"):
        list(read_blocks(lambda offset, length: data[offset : offset + length], len(data) + 1))


def test_nothing_and_less_than_a_magic_are_no_blocks():
    assert read(b"") == []
    assert read(b"#HUD") == []
    assert kinds(block() + b"#HUDI") == ["PARQUET"]


# --- what is corrupt


@pytest.mark.parametrize("kept", [6, 13, 14, 17, 22, 40, -1])
def test_a_torn_block_is_corrupt_up_to_the_end(kept):
    whole, torn = block(), block()[:kept]
    first, second = read(whole + torn)
    assert first.kind is BlockKind.PARQUET
    assert (second.kind, second.position, second.size_bytes) == (BlockKind.CORRUPT, len(whole), len(torn))
    assert second.read_content() == torn[6:]


@pytest.mark.parametrize("kept", [6, 14, 22, 40, -1])
def test_a_torn_block_is_corrupt_up_to_the_next_one(kept):
    data = block(b"a") + block()[:kept] + block(b"b") + block(b"c")
    assert kinds(data) == ["PARQUET", "CORRUPT", "PARQUET", "PARQUET"]
    assert [one.read_content() for one in read(data)][2:] == [b"b", b"c"]


def test_a_block_before_anything_but_a_block_is_corrupt():
    assert kinds(block() + b"garbage" + block()) == ["CORRUPT", "PARQUET"]


def test_a_block_with_another_trailing_length_is_corrupt():
    data = bytearray(block())
    data[-1] ^= 1
    assert kinds(bytes(data) + block()) == ["CORRUPT", "PARQUET"]


def test_the_upper_half_of_a_length_counts_as_little_as_in_apache_hudi():
    data = bytearray(block() + block())
    data[8] = 1
    assert kinds(bytes(data)) == ["PARQUET", "PARQUET"]


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 7, 2**31 - 1])
def test_impossible_lengths_are_corrupt(length):
    assert kinds(MAGIC + struct.pack(">q", length) + bytes(40) + block()) == ["CORRUPT", "PARQUET"]


def test_a_magic_across_two_stretches_is_found():
    for shift in range(-8, 3):
        torn = block(b"x" * 9)[:30] + bytes((1 << 20) - 30 + shift)
        assert kinds(torn + block(b"x" * 200_000)) == ["CORRUPT", "PARQUET"]


def test_what_is_corrupt_is_searched_once():
    torn = block(b"x" * 5_000_000)[:-8]
    file = Counted(torn + torn[:-100] + block(b"y"))
    found = list(read_blocks(file, len(file.data)))
    assert [one.kind.name for one in found] == ["CORRUPT", "CORRUPT", "PARQUET"]
    assert file.bytes_read < len(file.data) + 3 * 70_000


def test_a_file_of_nothing_but_magics_is_given_up_soon():
    file = Counted(MAGIC * 500_000)
    with pytest.raises(LimitExceeded, match="too many places"):
        list(read_blocks(file, len(file.data)))
    assert file.bytes_read < len(file.data)


# --- what is refused


def test_a_file_of_something_else_is_refused():
    with pytest.raises(CorruptData, match="not a log file"):
        read(b"PAR1 and more")


@pytest.mark.parametrize(
    "data",
    [
        b"HUDI\0\0\0\3\0\0\0\1x",
        framed(struct.pack(">i", 0) + b"deflated"),
        MAGIC + struct.pack(">qi", 12, 0) + b"deflated",
        MAGIC + struct.pack(">qi", 12, 0) + b"deflated" + block(),
    ],
)
def test_log_format_version_0_is_refused_by_name(data):
    with pytest.raises(Unsupported, match="log format version 0"):
        read(data)


def test_a_later_log_format_is_refused_by_its_version():
    with pytest.raises(Unsupported, match=r"not known.*version=2"):
        read(framed(struct.pack(">ii", 2, 0) + bytes(40)))


@pytest.mark.parametrize("kind", [-1, 2, 7, 99])
def test_kinds_that_are_not_known_are_refused_by_number(kind):
    with pytest.raises(Unsupported, match=rf"kind of log block.*kind={kind}"):
        read(framed(struct.pack(">iiiqi", 1, kind, 0, 0, 0)))


def test_headers_of_later_releases_are_passed_over():
    entries = struct.pack(">iii", 2, 9, 1) + b"2" + struct.pack(">ii", 0, 3) + b"123"
    (found,) = read(framed(struct.pack(">ii", 1, 3) + entries + struct.pack(">qi", 0, 0)))
    assert dict(found.headers) == {INSTANT: "123"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (struct.pack(">i", 1), "too short"),
        (struct.pack(">iiiq", 1, 3, -1, 0) + bytes(4), "impossible number of headers"),
        (struct.pack(">iiiq", 1, 3, 9, 0) + bytes(4), "impossible number of headers"),
        (struct.pack(">iiiii", 1, 3, 1, 0, 99) + bytes(12), "impossible length"),
        (struct.pack(">iiiii", 1, 3, 1, 0, -5) + bytes(12), "impossible length"),
        (struct.pack(">iiiii", 1, 3, 1, 0, 1) + b"\xff" + bytes(12), "no UTF-8"),
        (struct.pack(">iiiii", 1, 3, 2, 0, 8) + bytes(20), "cut off"),
        (struct.pack(">iiiqi", 1, 3, 0, -1, 0), "impossible content length"),
        (struct.pack(">iiiqi", 1, 3, 0, 9, 0), "impossible content length"),
        (struct.pack(">iiiqi", 1, 3, 0, 0, 0) + bytes(5), "bytes are left"),
    ],
)
def test_a_whole_block_with_an_impossible_inside_is_an_error_and_not_passed_over(body, said):
    blocks = read_blocks(Counted(data := block() + framed(body)), len(data))
    assert next(blocks).kind is BlockKind.PARQUET
    with pytest.raises(CorruptData, match=said):
        next(blocks)


def test_headers_without_end_are_refused():
    many = struct.pack(">i", 65) + struct.pack(">ii", 50, 0) * 65
    with pytest.raises(LimitExceeded, match="too many headers"):
        read(framed(struct.pack(">ii", 1, 3) + many + struct.pack(">qi", 0, 0)))
    large = struct.pack(">iii", 1, 50, 65 << 20) + bytes(65 << 20)
    with pytest.raises(LimitExceeded, match="too large"):
        read(framed(struct.pack(">ii", 1, 3) + large + struct.pack(">qi", 0, 0)))


def test_headers_that_a_block_must_have_are_asked_for_by_name():
    (command,) = read(encode_blocks([NewBlock(kind=BlockKind.COMMAND, headers={})]))
    with pytest.raises(CorruptData, match="INSTANT_TIME"):
        _ = command.instant
    with pytest.raises(CorruptData, match="COMMAND_BLOCK_TYPE"):
        _ = command.command
    for text, error in [("1", Unsupported), ("9" * 5000, Unsupported), ("x", CorruptData), ("", CorruptData)]:
        (command,) = read(block(kind=BlockKind.COMMAND, COMMAND_BLOCK_TYPE=text))
        with pytest.raises(error):
            _ = command.command


def test_what_later_engines_ask_of_a_block():
    (found,) = read(block(IS_PARTIAL="true", COMPACTED_BLOCK_TIMES="001,002"))
    assert found.is_partial
    assert found.compacted_instants == ("001", "002")


# --- anything


@st.composite
def damaged_logs(draw):
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(samples()), min_size=1, max_size=3))))
    for at in draw(st.lists(st.integers(0, len(data) - 1), max_size=6)):
        data[at] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        begin, end = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
        del data[begin:end]
    return bytes(data)


@settings(max_examples=300)
@given(damaged_logs())
def test_damaged_logs_are_read_or_refused(data):
    position = 0
    try:
        for one in read_blocks(Counted(data), len(data)):
            assert one.position == position
            assert one.end > position
            position = one.end
            assert len(one.read_content()) == one.content_bytes
    except HudiError:
        return
    assert len(data) - position < len(MAGIC)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(samples()), min_size=1, max_size=3), st.data())
def test_blocks_before_the_damage_are_given(logs, data):
    whole = b"".join(logs)
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    expected = [one for one in read(whole) if one.end + len(MAGIC) <= at]
    found = []
    with suppress(HudiError):
        found.extend(read_blocks(Counted(flipped), len(flipped)))
    assert found[: len(expected)] == expected


@settings(max_examples=200)
@given(st.lists(st.sampled_from(samples()), min_size=1, max_size=3), st.data())
def test_a_file_that_was_cut_gives_its_whole_blocks_and_what_is_torn(logs, data):
    whole = b"".join(logs)
    kept = data.draw(st.integers(0, len(whole)))
    expected = [one for one in read(whole) if one.end <= kept]
    found = read(whole[:kept])
    assert found[: len(expected)] == expected
    assert all(one.kind is BlockKind.CORRUPT for one in found[len(expected) :])
