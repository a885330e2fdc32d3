import base64
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.log.samples import golden_logs

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.formats.bitmap import decode_positions, encode_positions
from pyhudi.formats.log import HeaderKey, read_blocks

NUMBERS = st.integers(0, 2**63 - 1) | st.integers(0, 200_000) | st.integers(2**32 - 9, 2**32 + 9)
SETS = st.sets(NUMBERS, max_size=60)
RANGES = st.builds(
    lambda start, size: set(range(start, start + size)), NUMBERS.map(lambda n: n // 2), st.integers(0, 9000)
)


def reference(data):
    """Read a bitmap of 64 bits by its specification."""
    found, (maps,), at = [], struct.unpack_from("<Q", data), 8
    for _ in range(maps):
        high, cookie = struct.unpack_from("<II", data, at)
        has_runs, at = cookie & 0xFFFF == 0x303B, at + 8
        size = (cookie >> 16) + 1 if has_runs else struct.unpack_from("<I", data, at)[0]
        flags, at = (data[at:], at + (size + 7) // 8) if has_runs else (bytes(size), at + 4)
        heads = [struct.unpack_from("<HH", data, at + 4 * place) for place in range(size)]
        at += 4 * size + (4 * size if not has_runs or size >= 4 else 0)
        for place, (key, count) in enumerate(heads):
            if has_runs and flags[place // 8] >> place % 8 & 1:
                runs = struct.unpack_from("<H", data, at)[0]
                pairs = [struct.unpack_from("<HH", data, at + 2 + 4 * run) for run in range(runs)]
                low, at = [one for start, more in pairs for one in range(start, start + more + 1)], at + 2 + 4 * runs
            elif count < 4096:
                low, at = list(struct.unpack_from(f"<{count + 1}H", data, at)), at + 2 * (count + 1)
            else:
                low, at = [one for one in range(1 << 16) if data[at + one // 8] >> one % 8 & 1], at + 8192
            found += [high << 32 | key << 16 | one for one in low]
    assert at == len(data)
    return found


def one_map(*parts):
    return base64.b64encode(struct.pack("<QI", 1, 0) + b"".join(parts)).decode()


@given(st.lists(SETS | RANGES, max_size=3).map(lambda sets: set().union(*sets)))
def test_positions_come_back_sorted_and_as_the_specification_says(numbers):
    text = encode_positions(np.array(list(numbers), np.int64))
    assert decode_positions(text, len(numbers)).tolist() == sorted(numbers)
    assert reference(base64.b64decode(text)) == sorted(numbers)


def test_a_run_is_written_as_a_run():
    assert len(encode_positions(np.arange(1_000_000))) < 1000


@pytest.mark.parametrize("name", ["mor_late-v8", "mor_late-v9", "mor_partial_payload-v9", "mor_virtual_keys-v8"])
def test_positions_of_golden_blocks_are_written_to_the_same_text(name):
    texts = []
    for data in golden_logs(name).values():
        for block in read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data)):
            texts += [block.headers[key] for key in block.headers if key is HeaderKey.RECORD_POSITIONS]
    assert texts
    for text in texts:
        positions = reference(base64.b64decode(text))
        assert decode_positions(text, len(positions)).tolist() == positions
        assert encode_positions(np.array(positions, np.int64)) == text


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "é",
        "",
        "AAAA",
        base64.b64encode(b"\xff" * 8).decode(),
        one_map(struct.pack("<IIHHI", 0x303A, 1, 0, 4999, 16), b"\xff" * 8192),
        one_map(struct.pack("<IIHHIHHH", 0x303A, 1, 0, 2, 16, 9, 3, 3)),
        one_map(struct.pack("<IBHHHHHHH", 0x303B, 1, 0, 9, 2, 0, 65535, 0, 65535)),
    ],
)
def test_damaged_positions_are_corrupt(text):
    for count in (0, 3, 5000, 65536):
        with pytest.raises(CorruptData):
            decode_positions(text, count)


def test_more_or_fewer_positions_than_records_are_corrupt():
    runs = 60_000
    flags, heads = b"\xff" * ((runs + 7) // 8), b"".join(struct.pack("<HH", key, 65535) for key in range(runs))
    text = one_map(
        struct.pack("<I", 0x303B | runs - 1 << 16),
        flags,
        heads,
        bytes(4 * runs),
        struct.pack("<HHH", 1, 0, 65535) * runs,
    )
    with pytest.raises(CorruptData, match="another number"):  # 4 thousand million of them
        decode_positions(text, 5)
    with pytest.raises(CorruptData, match="another number"):
        decode_positions(encode_positions(np.array([1, 2])), 3)


def test_positions_beyond_java_s_numbers_are_corrupt():
    high = struct.pack("<QI", 1, 2**32 - 1) + struct.pack("<IIHHIH", 0x303A, 1, 0, 0, 16, 7)
    with pytest.raises(CorruptData, match="impossible"):
        decode_positions(base64.b64encode(high).decode(), 1)


@given(st.binary(max_size=80), SETS, st.integers(0, 100))
def test_any_bytes_give_positions_or_are_corrupt(tail, numbers, cut):
    data = base64.b64decode(encode_positions(np.array(list(numbers), np.int64)))[:cut] + tail
    with suppress(CorruptData):
        found = decode_positions(base64.b64encode(data).decode(), len(numbers))
        assert (np.diff(found) > 0).all()


def test_negative_positions_are_not_written():
    with pytest.raises(InvalidInput, match="negative"):
        encode_positions(np.array([3, -1]))
