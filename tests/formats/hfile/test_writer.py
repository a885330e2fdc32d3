"""Writing of HFiles: blocks, index and trailer as Apache Hudi's writers make them."""

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.hfile.reference import HEADER, all_rows, blocks, rows
from tests.formats.hfile.test_reader import KEYS, SHAPES, opened, pairs, written

from pyhudi.errors import DuplicateKeys, InvalidInput
from pyhudi.formats.hfile import HFileCodec, KeyForm, open_hfile, write_hfile, writer
from pyhudi.formats.hfile.trailer import decode_trailer

SUFFIX = bytes.fromhex("00 7fffffffffffffff 04")


def cut_row_by_row(keys: list[bytes], values: list[bytes], block_bytes: int) -> list[list[bytes]]:
    """Apache Hudi's rule: a block ends before the entry with which it would be too long."""
    found, size = [], 0
    for key, value in zip(keys, values, strict=True):
        entry = len(key) + len(value) + 21
        if not found or size + entry > block_bytes:
            found.append([])
            size = 0
        found[-1].append(key)
        size += entry
    return found


def data_blocks(data: bytes) -> list[bytes]:
    return [payload for magic, payload, _ in blocks(data) if magic == b"DATABLK*"]


@given(keys=KEYS, shape=SHAPES, lengths=st.lists(st.integers(0, 300), min_size=40, max_size=40))
def test_blocks_end_where_those_of_apache_hudi_do(keys, shape, lengths):
    keys = sorted(keys)
    values = [b"v" * length for length in lengths[: len(keys)]]
    data = write_hfile(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), **shape)
    assert all_rows(data) == list(zip(keys, values, strict=True))
    found = [[key for key, _ in rows(payload)] for payload in data_blocks(data)]
    assert found == cut_row_by_row(keys, values, shape["block_bytes"])


@given(keys=KEYS.filter(bool), form=st.sampled_from(KeyForm))
def test_the_trailer_says_what_the_file_has(keys, form):
    data = written(sorted(keys), block_bytes=100, key_form=form)
    found = list(blocks(data))
    trailer = decode_trailer(data[-4096:], len(data) - 4096)
    assert trailer.entries == len(keys)
    assert trailer.levels == 1
    assert trailer.data_index_count == len(data_blocks(data))
    assert [magic for magic, _, _ in found[-3:]] == [b"IDXROOT2", b"IDXROOT2", b"FILEINF2"]
    assert data[trailer.load_on_open :].startswith(b"IDXROOT2")
    assert data[trailer.file_info :].startswith(b"FILEINF2")
    assert data[-4:] == b"\0\0\0\3"


def test_each_data_block_names_the_one_before():
    keys = [b"%04d" % number for number in range(50)]
    data = written(keys, block_bytes=200)
    at, offsets = 0, []
    for magic, _, previous in blocks(data):
        if magic == b"DATABLK*":
            assert previous == (offsets[-1] if offsets else -1)
            offsets.append(at)
        at += HEADER.size + HEADER.unpack_from(data, at)[1]
    assert len(offsets) > 5


@pytest.mark.parametrize("form", KeyForm)
def test_long_keys_have_their_length_in_the_index_in_several_bytes(form):
    keys = [b"k" * length for length in (1, 113, 125, 126, 127, 128, 250, 300, 32_767)]
    data = written(keys, block_bytes=1, key_form=form)
    payload = next(payload for magic, payload, _ in blocks(data) if magic == b"IDXROOT2")
    suffix = SUFFIX if form is KeyForm.WHOLE else b""
    entry = struct.pack(">h", 250) + keys[6] + suffix
    assert (
        bytes([0x8F if len(entry) < 256 else 0x8E]) + len(entry).to_bytes(1 if len(entry) < 256 else 2) + entry
        in payload
    )
    assert pairs(opened(data).lookup(keys)) == all_rows(data)


@pytest.mark.parametrize(("index_block_bytes", "levels"), [(1 << 20, 1), (4000, 2), (300, 3), (1, 8)])
@pytest.mark.parametrize("form", KeyForm)
def test_an_index_that_grows_gets_levels(index_block_bytes, levels, form):
    keys = [b"%06d" % number for number in range(500)]
    data = written(keys, block_bytes=150, index_block_bytes=index_block_bytes, key_form=form)
    assert decode_trailer(data[-4096:], len(data) - 4096).levels == levels
    magics = [magic for magic, _, _ in blocks(data)]
    assert (b"IDXLEAF2" in magics, b"IDXINTE2" in magics) == (levels > 1, levels > 2)
    file = opened(data)
    assert pairs(file.read()) == all_rows(data)
    for key in keys[::37]:
        assert file.lookup([key])["key"].to_pylist() == [key]
    assert file.lookup([b"0001"], prefix=True).num_rows == 100


def test_few_checksums_stand_behind_a_large_block():
    """Apache Hudi's reader overlooks entries that begin in as many bytes at the end of a block as it has checksums."""
    keys = [b"%06d" % number for number in range(10_000)]
    for block_bytes, chunk_bytes in ((65_536, 16_384), (1 << 20, 131_072)):
        data = written(keys, block_bytes=block_bytes, codec=HFileCodec.NONE)
        _, stored, _, _, kind, chunk, content = HEADER.unpack_from(data)
        checksums = stored + HEADER.size - content
        assert (kind, chunk) == (0, chunk_bytes)
        assert checksums == 4 * -(-content // chunk) < 21


def test_arrays_of_any_kind_and_in_chunks_make_the_same_file():
    keys, values = ["a", "b", "c"], [b"1", b"2", b"3"]
    whole = write_hfile(pa.array(keys), pa.array(values))
    chunks = pa.chunked_array([["a"], ["b", "c"]], pa.large_string())
    assert write_hfile(chunks, pa.array([b"", *values], pa.large_binary())[1:]) == whole


def test_entries_are_encoded_some_at_a_time(monkeypatch):
    keys = [b"%06d" % number for number in range(2000)]
    whole = written(keys, block_bytes=500)
    monkeypatch.setattr(writer, "_RUN_BYTES", 3000)
    assert written(keys, block_bytes=500) == whole


def test_what_the_format_says_of_itself_is_in_the_file_info():
    info = opened(written([b"a", b"bcd"], file_info={"schema": b"{}"}, created_ms=5)).file_info
    assert dict(info) == {
        "schema": b"{}",
        "KEY_VALUE_VERSION": struct.pack(">i", 1),
        "MAX_MEMSTORE_TS_KEY": struct.pack(">q", 0),
        "hfile.AVG_KEY_LEN": struct.pack(">i", 2 + 12),
        "hfile.AVG_VALUE_LEN": struct.pack(">i", 11),
        "hfile.CREATE_TIME_TS": struct.pack(">q", 5),
        "hfile.LASTKEY": struct.pack(">h", 3) + b"bcd" + SUFFIX,
    }


@pytest.mark.parametrize(
    ("keys", "values", "error"),
    [
        (pa.array([b"b", b"a"]), pa.array([b"", b""]), InvalidInput),
        (pa.array([b"a", b"a"]), pa.array([b"", b""]), DuplicateKeys),
        (pa.array([b"a", None]), pa.array([b"", b""]), InvalidInput),
        (pa.array([b"a"]), pa.array([None], pa.binary()), InvalidInput),
        (pa.array([b"a"]), pa.array([], pa.binary()), InvalidInput),
        (pa.array([1]), pa.array([b""]), InvalidInput),
        (pa.array([b"k" * 32_768]), pa.array([b""]), InvalidInput),
        (pa.array([b"\x7f", b"\xff", b"\x80"]), pa.array([b""] * 3), InvalidInput),
    ],
)
def test_what_no_reader_could_find_is_refused(keys, values, error):
    with pytest.raises(error):
        write_hfile(keys, values)


@pytest.mark.parametrize("sizes", [{"block_bytes": 0}, {"index_block_bytes": -1}])
def test_a_block_has_at_least_a_byte(sizes):
    with pytest.raises(InvalidInput):
        written([b"a"], **sizes)


def test_an_entry_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(writer, "_MAX_ENTRY_BYTES", 100)
    with pytest.raises(InvalidInput, match="limit=100"):
        write_hfile(pa.array([b"a"]), pa.array([b"x" * 100]))


def test_values_of_a_dictionary_are_written_as_themselves():
    keys = pa.array([b"a", b"b", b"c", b"d"])
    values = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1], pa.int32()), pa.array([b"zz", b"y"]))
    assert write_hfile(keys, values) == write_hfile(keys, pa.array([b"y", b"zz", b"y", b"y"]))


@pytest.mark.parametrize("widths", [(3, 3, 3), (3, 4, 3), (200, 200, 200), (3, 3, 4)])
@pytest.mark.parametrize("form", list(KeyForm))
def test_an_index_of_keys_of_one_length_reads_as_any_other(widths, form):
    keys = pa.array([bytes([at + 97]) * width for at, width in enumerate(widths)])
    data = write_hfile(keys, keys, block_bytes=1, key_form=form)
    found = open_hfile(lambda offset, length: data[offset : offset + length], len(data))
    assert found.lookup(keys).column("key").to_pylist() == keys.to_pylist()
    assert found.lookup([b"zzz"]).num_rows == 0
