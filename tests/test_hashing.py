import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput
from pyhudi.hashing import SHARD_HASH, java_hash, java_list_hash, murmur_blocks, path_hash, places_among
from pyhudi.kernels.bucket import BucketHash

BUCKETS = BucketHash(hash_fields=("id",), key_fields=("id",))
# what Hadoop's MurmurHash (chained four times) and Java's String.hashCode give
JAVA = [
    ("", [0, 0, 0, 0], 0),
    ("a", [-1838653602, 1529584742, 507861454, -98486213], 97),
    ("ab", [1525573013, -1464330887, -1096641660, 1786673970], 3105),
    ("abc", [1775488903, 1492699528, -1540251996, -1289704357], 96354),
    ("abcd", [646393889, -524664927, 797144740, 2144966913], 2987074),
    ("id-1", [995120774, 2042199835, 486303729, 1429799802], 3225599),
    ("\u00e9", [-384040333, 1849032984, 249031250, -1698894949], 233),
    ("\u043a\u043b\u044e\u0447", [1599728837, -1004219217, -251136098, 593481270], 33309882),
    ("\u65e5\u672c\u8a9e", [-343686998, 1463879953, 1926485923, 2061012812], 25921943),
    ("k\U0001f600", [1410698879, -1518073229, 166436345, 719304222], 1875726),
    ("334e26e9-8355-45cc-97c6-c31daf0df330", [821709926, -613095598, 1630513889, 1270336226], 1880221124),
    ("uuid:1,ts:2\u00e9", [1343060517, -431948301, -540817052, -1847044761], -1470917672),
    ("\u00ff\u00ff\u00ff", [-971267017, -1014426265, -812782658, -1438201858], 253215),
]

strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=60)


def murmur(data: bytes, seed: int) -> int:
    """Hash one key, byte by byte."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    state = (seed ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        state = (state * m & mask) ^ k
    left = len(data) - whole
    for back in range(1, left + 1):
        byte = data[len(data) - back]
        state ^= ((byte - 256 if byte > 127 else byte) << (8 * (back - 1))) & mask
    if left:
        state = state * m & mask
    state = (state ^ (state >> 13)) * m & mask
    return state ^ (state >> 15)


def signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def chain(text: str, count: int) -> list[int]:
    state, hashes = 0, []
    for _ in range(count):
        state = murmur(text.encode(), state)
        hashes.append(signed(state))
    return hashes


def string_hash(text: str) -> int:
    units, state = np.frombuffer(text.encode("utf-16-le"), "<u2"), 0
    for unit in units.tolist():
        state = (31 * state + unit) & 0xFFFFFFFF
    return signed(state)


def hash_chain(keys: pa.Array | pa.ChunkedArray, count: int) -> np.ndarray:
    """Hash every key `count` times, each time seeded with the previous hash, as a bloom filter does."""
    chained = np.empty((len(keys), count), np.uint32)
    for block in murmur_blocks(keys):
        hashes = np.zeros(len(block.rows), np.uint32)
        for step in range(count):
            hashes = block.hash(hashes)
            chained[block.rows, step] = hashes
    return chained.view(np.int32)


def test_murmur_chain_equals_hadoop() -> None:
    keys = pa.array([text for text, _, _ in JAVA])
    assert hash_chain(keys, 4).tolist() == [hashes for _, hashes, _ in JAVA]


@pytest.mark.parametrize("count", [1, 12, 13])
def test_a_chain_of_few_keys_is_that_of_many(count: int) -> None:
    keys = pa.array(["" if at == 3 else f"é{'x' * at}" for at in range(count)])
    [block] = murmur_blocks(keys)
    assert np.array(list(block.chain(5))).T.view(np.int32).tolist() == hash_chain(keys, 5)[block.rows].tolist()


def test_string_hash_equals_java() -> None:
    assert java_hash(pa.array([text for text, _, _ in JAVA])).tolist() == [value for _, _, value in JAVA]


def test_list_hash_equals_java() -> None:
    assert java_list_hash(
        [pa.array([text]) for text in ("\u00e9", "k\U0001f600")] + [pa.array([None], pa.string())]
    ).tolist() == [58401210]
    assert java_list_hash([pa.array(["1"])]).tolist() == [80]
    assert java_list_hash([pa.array(["a"]), pa.array(["b"])]).tolist() == [4066]


@given(strings)
@settings(deadline=None)
def test_murmur_chain_equals_the_scalar_reference(texts: list[str]) -> None:
    assert hash_chain(pa.array(texts, pa.string()), 3).tolist() == [chain(text, 3) for text in texts]


@given(strings, st.integers(0, 5))
@settings(deadline=None)
def test_string_hash_equals_the_scalar_reference_also_on_slices(texts: list[str], start: int) -> None:
    assert java_hash(pa.array(texts, pa.string())[start:]).tolist() == [string_hash(text) for text in texts[start:]]


@given(strings, st.integers(0, 5))
@settings(deadline=None)
def test_a_key_has_one_hash_whatever_surrounds_it(texts: list[str], start: int) -> None:
    together = hash_chain(pa.array(texts, pa.string())[start:], 1).tolist()
    assert together == [hash_chain(pa.array([text]), 1)[0].tolist() for text in texts[start:]]


@pytest.mark.parametrize(
    "shaped",
    [
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pa.chunked_array([texts[:2], texts[2:], []], pa.string()),
        lambda texts: pa.chunked_array(
            [pa.array(texts[:2]).dictionary_encode(), pa.array(texts[2:]).dictionary_encode()]
        ),
        lambda texts: pa.array([text.encode() for text in texts]),
    ],
)
def test_the_form_of_the_array_does_not_matter(shaped) -> None:
    texts = ["a", "bcd", "", "key-\u00e9", "0123456789" * 5]
    assert hash_chain(shaped(texts), 2).tolist() == hash_chain(pa.array(texts), 2).tolist()


def test_many_blocks_of_mixed_lengths_keep_their_rows() -> None:
    texts = ["k" * (n % 37) + str(n) for n in range(20_000)]
    hashes = hash_chain(pa.array(texts), 1)[:, 0]
    assert [hashes[n] for n in range(0, 20_000, 997)] == [chain(texts[n], 1)[0] for n in range(0, 20_000, 997)]


def test_one_huge_key_does_not_blow_up_the_others() -> None:
    texts = ["x" * 2_000_000, *("y" * (n % 5) for n in range(5000))]
    assert hash_chain(pa.array(texts), 1)[1:4, 0].tolist() == [chain(text, 1)[0] for text in texts[1:4]]


def test_a_block_can_be_narrowed() -> None:
    [block] = murmur_blocks(pa.array(["abcdefghi", "abcde", "ab", "", "abc"]))
    index = np.array([1, 3])
    seeds = np.array([7, 9], np.uint32)
    narrowed = block.take(index)
    whole = block.hash(np.array([0, 7, 0, 9, 0], np.uint32))
    assert narrowed.hash(seeds).tolist() == whole[index].tolist()
    assert narrowed.rows.tolist() == block.rows[index].tolist()


def test_null_and_numeric_keys_are_refused() -> None:
    with pytest.raises(InvalidInput, match="null key"):
        hash_chain(pa.array(["a", None]), 1)
    with pytest.raises(InvalidInput, match="only strings"):
        hash_chain(pa.array([1, 2]), 1)
    with pytest.raises(InvalidInput, match="at least one column"):
        java_list_hash([])


def test_nothing_gives_nothing() -> None:
    assert hash_chain(pa.array([], pa.string()), 3).shape == (0, 3)
    assert java_hash(pa.array([], pa.string())).tolist() == []
    assert java_hash(pa.array([None, None], pa.string())).tolist() == [0, 0]


def test_a_base_path_is_hashed_as_apache_hudi_names_its_locks():
    """The value is what `HashID.generateXXHashAsString` of release 1.2.0 gave."""
    assert path_hash("s3://bucket/trips") == "FB397AE476BFCA30"


def test_keys_are_in_the_shards_where_apache_hudi_looks_for_them():
    keys = ["TXN-001", "TXN-009", "334e26e9-8355-45cc-97c6-c31daf0df330", "Uber$", "\0$", ""]
    assert SHARD_HASH.place_of(pa.array(keys), 10).tolist() == [8, 0, 4, 4, 6, 0]


def test_a_hash_of_the_least_integer_has_a_shard():
    assert SHARD_HASH.place_of(pa.array(["polygenelubricants"]), 10).tolist() == [8]


@pytest.mark.parametrize("key_hash", [SHARD_HASH, BUCKETS])
def test_each_key_has_its_place_among_as_many_as_stand_beside_it(key_hash):
    keys, counts = pa.array(list("abcabc")), np.array([3, 3, 3, 7, 7, 1])
    alone = [key_hash.place_of(keys.slice(at, 1), int(count))[0] for at, count in enumerate(counts)]
    assert places_among(key_hash, keys, counts).tolist() == alone
    assert places_among(key_hash, keys.slice(0, 3), counts[:3]).tolist() == alone[:3]
    assert places_among(key_hash, keys.slice(0, 0), counts[:0]).tolist() == []


@pytest.mark.parametrize("key_hash", [SHARD_HASH, BUCKETS])
def test_a_hash_travels_to_tasks(key_hash):
    assert pickle.loads(pickle.dumps(key_hash)) == key_hash
