import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.kernels.bucket import are_buckets, bucket_file_id, bucket_number, bucket_of, common_divisor, may_be_bucket

UUID = "334e26e9-8355-45cc-97c6-c31daf0df330"


def buckets(keys, fields=("id",), *, hashed=(), count=8):
    return bucket_of(pa.array(keys, pa.string()), hashed, fields, count).to_pylist()


def test_simple_keys_have_their_known_buckets():
    assert buckets(["1", UUID]) == [80 % 8, 1880221155 % 8]
    assert buckets(["1", UUID], count=1_000_000) == [80, 1880221155 % 1_000_000]


def test_a_single_key_is_hashed_whole_where_it_looks_like_a_composite_one():
    assert buckets(["a:b7", "x:y", "c,d32"]) == [5, 6, 1]  # as Apache Hudi 1.0.2 and 1.2.0; 0.15.0 has 1, 1, 1
    assert buckets(["a,b:c", "id:v"]) == [7, 6]


def test_composite_keys_hash_their_values():
    assert buckets(["x:a,y:b"], ["x", "y"], count=1_000_000) == [4066]
    assert buckets(["x:a,y:b"], ["x", "y"], hashed=["x"], count=1_000_000) == [31 + ord("a")]


def test_keys_of_both_kinds_may_be_mixed():
    assert buckets(["1", "x:a,y:b", "1"], ["x", "y"], count=10_000) == [80, 4066, 80]


def test_no_keys_have_no_buckets():
    assert buckets([]) == []


@pytest.mark.parametrize(("keys", "hashed", "count"), [([None], (), 8), (["a"], ("other",), 8), (["a"], (), 0)])
def test_bad_calls_are_refused(keys, hashed, count):
    with pytest.raises(InvalidInput):
        buckets(keys, hashed=hashed, count=count)


def test_a_file_id_begins_with_its_bucket():
    file_id = bucket_file_id(42, UUID)
    assert file_id == "00000042-8355-45cc-97c6-c31daf0df330-0"
    assert bucket_number(file_id) == 42


@pytest.mark.parametrize("number", [-1, 10**8])
def test_a_bucket_has_eight_digits(number):
    with pytest.raises(InvalidInput):
        bucket_file_id(number, UUID)


@pytest.mark.parametrize("file_id", ["", "123", UUID, "+0000001-x", "\u0660" * 8 + "-x"])
def test_other_file_ids_have_no_bucket(file_id):
    with pytest.raises(CorruptData):
        bucket_number(file_id)


def java_hash_of(elements):
    total = 1
    for element in elements:
        inner = 0
        for unit in memoryview(element.encode("utf-16-le")).cast("H") if element else ():
            inner = inner * 31 + unit
        total = total * 31 + inner
    return total & 0x7FFFFFFF


VALUES = st.text(st.characters(exclude_characters=":,", exclude_categories=["Cs"]), min_size=1, max_size=5)


@given(st.lists(st.tuples(VALUES, VALUES)), st.integers(1, 100))
def test_buckets_equal_the_reference(rows, count):
    keys = [f"a:{a},b:{b}" for a, b in rows]
    assert buckets(keys, ["a", "b"], count=count) == [java_hash_of(row) % count for row in rows]


def test_a_value_with_a_comma_changes_the_way_but_not_the_bucket():
    plain, odd = ["a:1,b:2", "a:3,b:__null__"], ["a:1,b:2", "a:3,b:__null__", "a:4,5,b:6"]
    assert buckets(plain, ["a", "b"], count=10**6) == buckets(odd, ["a", "b"], count=10**6)[:2]
    assert (
        buckets(plain, ["a", "b"], hashed=["b"], count=10**6) == buckets(odd, ["a", "b"], hashed=["b"], count=10**6)[:2]
    )


@pytest.mark.parametrize("count", [1, 2, 7, 256])
def test_many_keys_of_a_bucket_tell_how_many_buckets_there_are(count):
    keys = [f"k{number}" for number in range(40_000)]
    numbers = buckets(keys, count=count)
    for bucket in {0, count // 2, count - 1}:
        mine = [key for key, number in zip(keys, numbers, strict=True) if number == bucket]
        assert common_divisor(pa.array(mine), bucket, (), ("id",)) == count


def test_keys_of_other_buckets_have_little_in_common():
    assert common_divisor(pa.array([f"k{number}" for number in range(100)]), 3, (), ("id",)) == 1
    assert common_divisor(pa.array([], pa.string()), 3, (), ("id",)) == 0


@pytest.mark.parametrize(
    ("file_ids", "are"),
    [
        ([], False),
        (["00000003-2842-4410-8ab2-6785cd0f6a93-0", "00012000-2842-4410-8ab2-6785cd0f6a93-0"], True),
        (["00000003-2842-4410-8ab2-6785cd0f6a93-0", "0a000003-2842-4410-8ab2-6785cd0f6a93-0"], False),
        (["12345678-2842-4410-8ab2-6785cd0f6a93-0"], False),
        (["\u0663\u06630000000-2842"], False),
    ],
)
def test_file_groups_are_buckets_if_all_begin_with_a_number_and_one_with_a_small_one(file_ids, are):
    assert are_buckets(file_ids) is are


@pytest.mark.parametrize(
    ("file_id", "may_be"),
    [("00012345-69dd-5ef2-9652-8c20eb7ea5a9-0", True), ("0001234a-69dd-5ef2-9652-8c20eb7ea5a9-0", False), ("", False)],
)
def test_a_file_id_that_begins_with_a_number_may_be_a_bucket_however_great_it_is(file_id, may_be):
    assert may_be_bucket(file_id) is may_be
