import base64
import struct

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, HudiError, InvalidInput, Unsupported
from pyhudi.formats import bloom

# what Hadoop's BloomFilter(432, 30) and DynamicBloomFilter(144, 10, 5 a row) hold after these keys
KEYS = [
    "a", "ab", "abc", "abcd", "id-1", "\u00e9", "\u043a\u043b\u044e\u0447", "\u65e5\u672c\u8a9e", "k\U0001f600",
    "334e26e9-8355-45cc-97c6-c31daf0df330", "uuid:1,ts:2\u00e9", "\u00ff\u00ff\u00ff",
]  # fmt: skip
SIMPLE = "/////wAAAB4BAAABsL7iqEEPgDzwXh9yVdQ462vmNq1XPvf67Fr2iq1XMs7vlPiautz8Q3h/dDHP9UusoVOrSHdOkw=="
DYNAMIC = (
    "/////wAAAAoBAAAAkAAAAAUAAAACAAAAA/////8AAAAKAQAAAJCsGQQEYgwS2IJMOmAAQhQBwAv/////AAAACgEAAACQKsYDY2hABQscACYARCDG"
    "AUCS/////wAAAAoBAAAAkAQAIAAAAAkAUAAQEBACAAoEMg=="
)


def murmur(data: bytes, seed: int) -> int:
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    state = (seed ^ len(data)) & mask
    for at in range(0, len(data) // 4 * 4, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        state = (state * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    left = len(data) % 4
    for back in range(1, left + 1):
        state ^= (struct.unpack("b", data[-back : len(data) - back + 1])[0] << (8 * (back - 1))) & mask
    state = state * m & mask if left else state
    state = (state ^ (state >> 13)) * m & mask
    return state ^ (state >> 15)


class ScalarFilter:
    """Hudi's filters, key by key and bit by bit."""

    def __init__(self, bits: int, hashes: int, entries: int, max_entries: int, dynamic: bool) -> None:
        self.bits, self.hashes, self.entries, self.max_entries, self.dynamic = (
            bits,
            hashes,
            entries,
            max_entries,
            dynamic,
        )
        self.rows, self.active, self.turn, self.is_saturated = [bytearray((bits + 7) // 8)], 0, 0, False

    def add(self, key: str) -> None:
        row, state = self.row(), 0
        for _ in range(self.hashes):
            state = murmur(key.encode(), state)
            position = abs(state - (1 << 32) if state >> 31 else state) % self.bits
            row[position >> 3] |= 1 << (position & 7)
        self.active += 1

    def row(self) -> bytearray:
        if not self.dynamic:
            return self.rows[0]
        if self.is_saturated:
            self.turn += 1
            return self.rows[(self.turn - 1) % len(self.rows)]
        if self.active >= self.entries and len(self.rows) * self.entries < self.max_entries:
            self.rows.append(bytearray(len(self.rows[0])))
            self.active = 0
        elif self.active >= self.entries:
            self.is_saturated = True
            return self.rows[0]
        return self.rows[-1]

    def text(self) -> str:
        header = struct.pack(">iibi", -1, self.hashes, 1, self.bits)
        if not self.dynamic:
            return base64.b64encode(header + self.rows[0]).decode()
        growth = struct.pack(">iii", self.entries, self.active, len(self.rows))
        return base64.b64encode(header + growth + b"".join(header + row for row in self.rows)).decode()


def texts(keys: list[str]) -> pa.Array:
    return pa.array(keys, pa.string())


def test_sizes_are_those_hudi_computes() -> None:
    built = bloom.build(texts([]), "DYNAMIC_V0")
    assert (built.bits_count, built.hash_count, built.entries) == (2587966, 30, 60000)
    metadata = bloom.build(texts([]), "SIMPLE", entries=10_000)
    assert (metadata.bits_count, metadata.hash_count) == (431328, 30)


def test_simple_filter_has_hadoops_bytes() -> None:
    built = bloom.build(texts(KEYS), "SIMPLE", entries=10)
    assert (built.bits_count, built.hash_count) == (432, 30)
    assert bloom.encode_bloom(built) == SIMPLE


def test_growing_filter_has_hadoops_bytes() -> None:
    built = bloom.build(texts(KEYS), "DYNAMIC_V0", entries=10, fpp=0.001, max_entries=1000)
    assert (built.bits_count, built.hash_count) == (144, 10)
    shaped = bloom.decode_bloom(
        _with_entries(bloom.encode_bloom(bloom.build(texts([]), "DYNAMIC_V0", 10, 0.001)), 5), "DYNAMIC_V0"
    )
    assert bloom.encode_bloom(bloom.add(shaped, texts(KEYS))) == DYNAMIC


def _with_entries(text: str, entries: int) -> str:
    data = bytearray(base64.b64decode(text))
    data[13:17] = struct.pack(">i", entries)
    return base64.b64encode(data).decode()


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=60),
    st.sampled_from(["SIMPLE", "DYNAMIC_V0"]),
    st.integers(1, 9),
    st.integers(0, 30),
    st.integers(0, 60),
)
@settings(deadline=None)
def test_bytes_equal_the_scalar_filter_however_keys_arrive(
    keys: list[str], kind: str, entries: int, max_entries: int, cut: int
) -> None:
    first = bloom.build(texts(keys[:cut]), kind, entries, 0.01, max_entries)
    expected = ScalarFilter(first.bits_count, first.hash_count, entries, max_entries, kind == "DYNAMIC_V0")
    for key in keys:
        expected.add(key)
    stored = bloom.decode_bloom(bloom.encode_bloom(first), kind, max_entries)
    assert bloom.encode_bloom(bloom.add(stored, texts(keys[cut:]))) == expected.text()


@given(
    st.lists(st.text(st.characters(codec="ascii"), max_size=12), max_size=50), st.sampled_from(list(bloom.BloomType))
)
@settings(deadline=None)
def test_no_key_that_was_added_is_denied(keys: list[str], kind: bloom.BloomType) -> None:
    built = bloom.build(texts(keys), kind, entries=7, fpp=1e-4, max_entries=20)
    assert bloom.might_contain(built, texts(keys)).to_pylist() == [True] * len(keys)


def test_absent_keys_are_denied_and_order_is_kept() -> None:
    built = bloom.build(texts([f"in-{n}" for n in range(1000)]), "DYNAMIC_V0", entries=400, max_entries=1000)
    probes = [f"{'in' if n % 3 == 0 else 'out'}-{n}" for n in range(999)]
    assert bloom.might_contain(built, texts(probes)).to_pylist() == [n % 3 == 0 for n in range(999)]


def test_null_keys_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="null key"):
        bloom.build(pa.array(["a", None]), "SIMPLE")
    with pytest.raises(InvalidInput, match="null key"):
        bloom.might_contain(bloom.build(texts(["a"]), "SIMPLE"), pa.array([None], pa.string()))


@pytest.mark.parametrize(("entries", "fpp"), [(0, 0.1), (10, 0.0), (10, 1.0), (1_000_000_000, 1e-9)])
def test_parameters_that_make_no_filter_are_refused(entries: int, fpp: float) -> None:
    with pytest.raises(InvalidInput):
        bloom.build(texts([]), "SIMPLE", entries, fpp)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:20],
        lambda data: data[:3],
        lambda data: b"",
        lambda data: struct.pack(">i", -2) + data[4:],
        lambda data: data[:9] + struct.pack(">i", 0x7FFFFFFF) + data[13:],
        lambda data: data[:4] + struct.pack(">i", 1 << 30) + data[8:],
        lambda data: data[:13] + struct.pack(">i", 0) + data[17:],
        lambda data: data[:21] + struct.pack(">i", -1) + data[25:],
        lambda data: data[:21] + struct.pack(">i", 1 << 30) + data[25:],
        lambda data: data[:29] + struct.pack(">i", 7) + data[33:],
    ],
)
def test_damaged_filters_are_corrupt_data(change) -> None:
    with pytest.raises(CorruptData):
        bloom.decode_bloom(base64.b64encode(change(base64.b64decode(DYNAMIC))).decode(), "DYNAMIC_V0")


def test_other_filters_are_unsupported() -> None:
    jenkins = bytearray(base64.b64decode(SIMPLE))
    jenkins[8] = 0
    with pytest.raises(Unsupported, match="murmur"):
        bloom.decode_bloom(base64.b64encode(jenkins), "SIMPLE")
    with pytest.raises(Unsupported, match="type"):
        bloom.decode_bloom(SIMPLE, "RIBBON")
    with pytest.raises(CorruptData, match="base64"):
        bloom.decode_bloom("not base64!", "SIMPLE")


@given(st.binary(max_size=80), st.sampled_from(list(bloom.BloomType)))
def test_any_bytes_give_a_filter_or_a_typed_error(data: bytes, kind: bloom.BloomType) -> None:
    for text in (base64.b64encode(data), base64.b64encode(struct.pack(">iib", -1, 3, 1) + data)):
        try:
            bloom.decode_bloom(text, kind)
        except HudiError:
            continue


def test_the_union_of_filters_has_all_their_keys():
    parts = [pa.array([f"{part}-{at}" for at in range(40)]) for part in range(7)]
    for kind in bloom.BloomType:
        built = [bloom.build(keys, kind, 50, 1e-9, 200) for keys in parts]
        whole = bloom.union(built)
        assert all(pc.all(bloom.might_contain(whole, keys)).as_py() for keys in parts)
        assert len(whole.rows) == (1 if kind is bloom.BloomType.SIMPLE else 4)
        again = bloom.decode_bloom(bloom.encode_bloom(whole), kind)
        assert pc.all(bloom.might_contain(again, parts[-1])).as_py()
        grown = bloom.add(whole, pa.array(["one more"]))
        assert pc.all(bloom.might_contain(grown, pa.array(["one more", "0-0"]))).as_py()


def test_filters_of_other_shapes_have_no_union():
    keys = pa.array(["a", "b"])
    assert bloom.union([bloom.build(keys, "DYNAMIC_V0", 50), bloom.build(keys, "DYNAMIC_V0", 60)]) is None
    assert bloom.union([bloom.build(keys, "DYNAMIC_V0", 50), bloom.build(keys, "SIMPLE", 50)]) is None


def test_the_union_of_small_filters_tells_absent_keys_apart():
    built = [
        bloom.build(pa.array([f"{part}-{at}" for at in range(50)]), "DYNAMIC_V0", 64, 1e-9, 1000) for part in range(3)
    ]
    absent = pa.array([f"absent {at}" for at in range(2000)])
    assert not pc.any(bloom.might_contain(bloom.union(built), absent)).as_py()
