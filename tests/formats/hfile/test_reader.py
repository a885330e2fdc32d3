"""Reading of HFiles: a look-up returns what a filter over all entries would, and reads no more than it needs."""

import contextlib
import struct
import zlib
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.hfile.reference import HEADER, all_rows, blocks, hbase_hfiles
from tests.golden.catalogue import golden_tables

from pyhudi.errors import CorruptData, HudiError, InvalidInput, LimitExceeded, Unsupported
from pyhudi.formats.hfile import HFile, HFileCodec, KeyForm, open_hfile, reader, write_hfile
from pyhudi.formats.hfile.entries import decode_entries, encode_entries
from pyhudi.formats.hfile.protobuf import encode_message, encode_varint

KEYS = st.sets(st.binary(max_size=6), max_size=40)
SHAPES = st.fixed_dictionaries(
    {
        "block_bytes": st.sampled_from([1, 60, 200, 65536]),
        "index_block_bytes": st.sampled_from([1, 200, 1 << 20]),
        "codec": st.sampled_from(HFileCodec),
        "key_form": st.sampled_from(KeyForm),
    }
)


class Counted:
    """A file that remembers what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.reads = data, []

    def __call__(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return self.data[offset : offset + length]

    @property
    def read_bytes(self) -> int:
        return sum(length for _, length in self.reads)


def opened(data: bytes) -> HFile:
    return open_hfile(lambda offset, length: data[offset : offset + length], len(data))


def written(keys: list[bytes], **shape) -> bytes:
    values = [b"value of " + key for key in keys]
    return write_hfile(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), **shape)


def pairs(table: pa.Table) -> list[tuple[bytes, bytes]]:
    return list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


# --- what is found


@given(keys=KEYS, wanted=st.lists(st.binary(max_size=6), max_size=20), shape=SHAPES)
def test_a_lookup_returns_what_a_filter_would(keys, wanted, shape):
    data = written(sorted(keys), **shape)
    everything = all_rows(data)
    file = opened(data)
    wanted += sorted(keys)[::3]
    assert pairs(file.read()) == everything
    assert pairs(file.lookup(wanted)) == [row for row in everything if row[0] in wanted]
    assert pairs(file.lookup(wanted, prefix=True)) == [row for row in everything if row[0].startswith(tuple(wanted))]


@pytest.mark.parametrize("blocks_count", [1, 63, 64, 65, 200])
def test_few_blocks_and_many_are_walked_through_alike(blocks_count):
    keys = [b"%06d" % number for number in range(1000)]
    data = written(keys, block_bytes=40_000 // blocks_count, codec=HFileCodec.NONE)
    assert pairs(opened(data).read()) == all_rows(data)


def test_blocks_of_different_length_are_walked_through():
    keys = [b"%06d" % number for number in range(3000)]
    values = [b"x" * (3000 if number % 10 == 0 and number < 1500 else number % 7) for number in range(3000)]
    data = write_hfile(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), block_bytes=2000)
    assert pairs(opened(data).read()) == all_rows(data) == list(zip(keys, values, strict=True))


def test_keys_to_look_up_may_be_strings_in_chunks_and_repeat():
    data = written([b"a", b"b", b"c"])
    wanted = pa.chunked_array([["c", "a"], ["c"]], pa.large_string())
    assert opened(data).lookup(wanted)["key"].to_pylist() == [b"a", b"c"]


@pytest.mark.parametrize("prefix", [b"\xff", b"a\xff", b"\xff\xff", b"a\xff\xff"])
def test_prefixes_that_end_with_the_highest_byte_have_an_end(prefix):
    keys = sorted([b"a", b"a\xfe", b"a\xff", b"a\xff\x01", b"a\xff\xff", b"b", b"\xff", b"\xff\x00", b"\xff\xff\xff"])
    found = opened(written(keys, block_bytes=1)).lookup([prefix], prefix=True)
    assert found["key"].to_pylist() == [key for key in keys if key.startswith(prefix)]


def test_slices_of_arrays_are_looked_up():
    data = written([b"a", b"b", b"c"])
    wanted = pa.array([b"a", b"b", b"c"], pa.binary())[1:2]
    assert opened(data).lookup(wanted)["key"].to_pylist() == [b"b"]
    assert opened(data).lookup(wanted, prefix=True)["key"].to_pylist() == [b"b"]


@pytest.mark.parametrize("keys", [pa.array([None], pa.binary()), [1], pa.array([1])])
def test_what_is_no_key_cannot_be_looked_up(keys):
    with pytest.raises(InvalidInput):
        opened(written([b"a"])).lookup(keys)


def test_an_empty_file_has_no_entries():
    file = opened(written([]))
    assert file.entries == file.read().num_rows == file.lookup([b"a"]).num_rows == 0
    assert file.read().schema == file.lookup([b""], prefix=True).schema


def test_meta_blocks_and_file_info_come_by_name():
    file = opened(written([b"a"], meta_blocks={"bloomFilter": b"bits"}, file_info={"schema": b"{}"}))
    assert (file.meta_block("bloomFilter"), file.meta_block("other")) == (b"bits", None)
    assert file.file_info["schema"] == b"{}"


@pytest.mark.parametrize("data", hbase_hfiles(), ids=["gz", "none"])
def test_files_of_hbase_with_many_levels_are_read(data):
    """Their index has fake keys between blocks, and more in its root than entries."""
    assert {magic for magic, _, _ in blocks(data)} > {b"IDXLEAF2", b"IDXINTE2"}
    expected = [(b"key%06d" % number, b"v" * (number % 7)) for number in range(300)]
    file = opened(data)
    assert pairs(file.read()) == expected
    for key, value in expected:
        assert pairs(file.lookup([key, key + b"x"])) == [(key, value)]
    assert pairs(file.lookup([b"key00020", b"key00010"], prefix=True)) == expected[100:110] + expected[200:210]
    assert file.meta_block("bloomFilter") == b"\x04bits"


# --- what is read of the file


@pytest.fixture(scope="module")
def large():
    """Return a file of 10 MB, whose index has two levels; its values do not pack."""
    noise = np.random.default_rng(1)
    keys = [b"%08d" % number for number in range(10_000)]
    values = [noise.bytes(1000) for _ in keys]
    index_block_bytes = 3_000
    return write_hfile(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), index_block_bytes=index_block_bytes)


def test_opening_reads_the_end_of_the_file_once(large):
    source = Counted(large)
    assert open_hfile(source, len(large)).entries == 10_000
    assert len(source.reads) == 1
    assert source.read_bytes <= 64 << 10


@pytest.mark.parametrize(("tail_bytes", "reads"), [(64 << 10, 1), (5 << 10, 2)])
def test_a_point_lookup_reads_one_block_and_the_leaf_above_it(large, monkeypatch, tail_bytes, reads):
    monkeypatch.setattr(reader, "_TAIL_BYTES", tail_bytes)
    source = Counted(large)
    file = open_hfile(source, len(large))
    source.reads.clear()
    assert file.lookup([b"00002345"]).num_rows == 1
    assert len(source.reads) == reads
    assert source.read_bytes < 80 << 10


def test_absent_keys_read_no_more_than_present_ones(large):
    source = Counted(large)
    file = open_hfile(source, len(large))
    source.reads.clear()
    assert file.lookup([b"00002345x", b"", b"x"]).num_rows == 0
    assert source.read_bytes < 200 << 10


def test_neighbouring_blocks_come_in_one_read(large):
    source = Counted(large)
    file = open_hfile(source, len(large))
    source.reads.clear()
    assert file.lookup([b"000023"], prefix=True).num_rows == 100
    assert len(source.reads) == 1
    source.reads.clear()
    assert file.read().num_rows == 10_000
    assert len(source.reads) <= 1 + len(large) // (7 << 20)
    assert max(length for _, length in source.reads) <= 8 << 20


def test_a_small_file_is_read_once():
    source = Counted(written([b"a", b"b"], meta_blocks={"bloomFilter": b"bits"}))
    file = open_hfile(source, len(source.data))
    assert file.lookup([b"a"]).num_rows == 1
    assert file.meta_block("bloomFilter") == b"bits"
    assert len(source.reads) == 1


def test_batches_keep_within_their_bytes(large, monkeypatch):
    monkeypatch.setattr(reader, "_PIECE_BYTES", 1 << 20)
    sizes = [batch.nbytes for batch in opened(large).batches()]
    assert len(sizes) > 5
    assert max(sizes) < 2 << 20


# --- what is damaged


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Return files that Apache Hudi wrote, by each of its writers, and one of ours with all levels."""
    folder = tmp_path_factory.mktemp("golden")
    found = hbase_hfiles()
    for table in golden_tables():
        if table.name in {"cow_metadata-v9", "cow_metadata-v6"}:
            place = table.unpack(folder)
            found += [path.read_bytes() for path in sorted(place.rglob("*.hfile")) if path.stat().st_size][:2]
    keys = [b"%04d" % number for number in range(200)]
    for codec in HFileCodec:
        found.append(written(keys, block_bytes=300, index_block_bytes=200, codec=codec, meta_blocks={"a": b"b"}))
    return found


def everything(data: bytes) -> list:
    file = opened(data)
    return [pairs(file.read()), pairs(file.lookup([b"0"], prefix=True)), file.meta_block("a"), dict(file.file_info)]


@settings(max_examples=300)
@given(st.data())
def test_damage_raises_no_error_but_ours(real, data):
    whole = data.draw(st.sampled_from(real))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.one_of(st.integers(0, len(whole) - 1), st.integers(len(whole) - 4096, len(whole) - 3900)))
        damaged[at] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])))
    with contextlib.suppress(CorruptData, Unsupported):
        everything(bytes(damaged))


@given(st.data())
def test_a_cut_file_is_corrupt(real, data):
    whole = data.draw(st.sampled_from(real))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(CorruptData):
        everything(cut)
    with pytest.raises(CorruptData):  # what is read ends before the size that was listed
        open_hfile(lambda offset, length: cut[offset : offset + length], len(whole)).read()


def packed(data: bytes) -> list[int]:
    """Return where the blocks of a file begin."""
    at, found = 0, []
    while at < len(data) - 4096:
        found.append(at)
        at += HEADER.size + HEADER.unpack_from(data, at)[1]
    return found


def with_header(data: bytes, at: int, **changes) -> bytes:
    names = ["magic", "stored", "unpacked", "previous", "checksum", "chunk", "content"]
    values = dict(zip(names, HEADER.unpack_from(data, at), strict=True)) | changes
    return data[:at] + HEADER.pack(*values.values()) + data[at + HEADER.size :]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"magic": b"DATABLKE"}, Unsupported),
        ({"magic": b"METABLKc"}, CorruptData),
        ({"stored": 1 << 30}, CorruptData),
        ({"stored": -1}, CorruptData),
        ({"content": 0}, CorruptData),
        ({"unpacked": -1}, CorruptData),
        ({"unpacked": 1 << 30}, LimitExceeded),
        ({"unpacked": 1 << 28}, CorruptData),
        ({"unpacked": 1}, CorruptData),
    ],
)
def test_sizes_of_a_block_are_checked_before_it_is_unpacked(changes, error):
    with pytest.raises(error):
        opened(with_header(written([b"a", b"b"]), 0, **changes)).read()


def test_a_block_that_unpacks_to_more_than_it_says_is_not_unpacked():
    data = written([b"a"])
    bomb = zlib.compress(bytes(20 << 20), 9, 31)
    content = HEADER.size + len(bomb)
    block = HEADER.pack(b"METABLKc", len(bomb), 100, -1, 0, 16384, content) + bomb
    from pyhudi.formats.hfile.block import HFileBlockKind, decode_block

    with pytest.raises(CorruptData):
        decode_block(block, 0, HFileBlockKind.META, HFileCodec.GZ)
    assert data


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (struct.pack(">ii", 0x7FFFFFFF, 0x7FFFFFFF) + b"\0" * 20, CorruptData),
        (struct.pack(">ii", -1, -1) + b"\0" * 20, CorruptData),
        (struct.pack(">iih", 13, 0, 2) + b"ab" + b"\0" * 9, CorruptData),
        (struct.pack(">iih", 14, 0, 2) + b"ab\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x08\x00", Unsupported),
        (struct.pack(">iih", 14, 0, 2) + b"ab\x00\x7f\xff\xff\xff\xff\xff\xff\xff\x04\x01", CorruptData),
        (b"\0", CorruptData),
    ],
)
@pytest.mark.parametrize("count", [1, 100])
def test_entries_that_do_not_fill_their_block_are_corrupt(payload, error, count):
    with pytest.raises(error):
        decode_entries([payload] * count)


PARTS = st.sampled_from([b"\xff" * 7, b"\xff" * 4, b"\x7f" + b"\xff" * 7 + b"\x04", b"\x00", b"k"])
VALUES = st.lists(PARTS, max_size=4).map(b"".join)


@settings(max_examples=200)
@given(
    keys=st.sets(st.lists(PARTS, min_size=2, max_size=2).map(b"".join), min_size=1)
    | st.sets(st.binary(min_size=3, max_size=3), min_size=1, max_size=30)
    | st.sets(st.sampled_from([b"aa", b"bb", b"c", b"ccc", b"dd"]), min_size=1),
    data=st.data(),
)
def test_entries_of_keys_of_one_length_begin_where_the_lengths_say(keys, data):
    keys = sorted(keys)
    values = [data.draw(VALUES) for _ in keys]
    entries = encode_entries(pa.array(keys, pa.binary()), pa.array(values, pa.binary())).to_pylist()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(keys)))) | {len(keys)})
    payloads = [b"".join(entries[first:end]) for first, end in pairwise([0, *cuts])]
    found = decode_entries(payloads)
    assert list(map(tuple, found.all().to_pydict().values())) == [tuple(keys), tuple(values)]
    assert found.bounds.tolist() == [0, *cuts]


def test_an_entry_that_reaches_into_the_next_block_is_refused():
    whole = b"".join(
        encode_entries(pa.array([b"a", b"b", b"c"], pa.binary()), pa.array([b"v"] * 3, pa.binary())).to_pylist()
    )
    for cut in range(1, len(whole)):
        if cut * 3 % len(whole):
            with pytest.raises(CorruptData, match="do not add up"):
                decode_entries([whole[:cut], whole[cut:]])
        else:
            assert len(decode_entries([whole[:cut], whole[cut:]]).keys) == 3


def test_keys_that_do_not_rise_are_corrupt():
    low, high = (next(blocks(written([key])))[1] for key in (b"a", b"b"))
    assert len(decode_entries([low, high, high]).keys) == 3
    with pytest.raises(CorruptData):
        decode_entries([high, low])


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ([(12, 3)], Unsupported),
        ([(13, b"key")], Unsupported),
        ([(8, 0)], CorruptData),
        ([(8, 1 << 40)], CorruptData),
        ([(8, 2)], CorruptData),
        ([(2, 1 << 63)], CorruptData),
        ([(1, 0), (2, 1)], CorruptData),
        ([(5, 1 << 31)], CorruptData),
        ([(6, 5)], CorruptData),
        ([(7, 3)], CorruptData),
        ([(5, b"one")], CorruptData),
    ],
)
def test_a_trailer_that_does_not_fit_the_file_is_refused(fields, error):
    data = written([b"a", b"b"])
    length, begin = data[-4096 + 8], len(data) - 4096 + 9
    assert length < 128
    message = data[begin : begin + length] + encode_message(fields)
    trailer = b'TRABLK"$' + encode_varint(len(message)) + message
    with pytest.raises(error):
        everything(data[:-4096] + trailer.ljust(4092, b"\0") + data[-4:])


def test_other_versions_are_refused_by_number():
    data = written([b"a"])
    with pytest.raises(Unsupported, match="version=2"):
        opened(data[:-1] + b"\2")
    with pytest.raises(CorruptData, match="not an HFile"):
        opened(b"x" * 5000)


def test_what_read_at_raises_passes_through():
    def fails(offset: int, length: int) -> bytes:
        raise HudiError("storage is away")

    with pytest.raises(HudiError, match="storage is away"):
        open_hfile(fails, 10_000)
