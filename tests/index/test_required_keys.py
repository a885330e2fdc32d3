"""Record keys that a filter requires."""

import pyarrow as pa
import pytest

from pyhudi.index.required_keys import keys_required, may_require_keys
from pyhudi.kernels.keys import KeyGenerator, KeySpec

SIMPLE = KeySpec(generator=KeyGenerator.SIMPLE, record_key=("id",))
PAIR = KeySpec(generator=KeyGenerator.COMPLEX, record_key=("id", "no"))
TEXTS, NUMBERS = pa.array(["a", "b"]), pa.array([1, 2])


def keys(required, spec):
    found = keys_required(required, spec)
    return None if found is None else found.to_pylist()


def test_a_key_that_is_named_is_taken_as_it_is():
    assert keys({"_hoodie_record_key": TEXTS, "id": NUMBERS}, SIMPLE) == ["a", "b"]


@pytest.mark.parametrize("prefixed", [True, False])
def test_one_field_is_spelled_as_the_generator_spells_it(prefixed):
    assert keys({"id": NUMBERS}, SIMPLE) == ["1", "2"]
    spec = KeySpec(generator=KeyGenerator.COMPLEX, record_key=("id",), has_prefixed_single_key=prefixed)
    assert keys({"id": TEXTS}, spec) == (["id:a", "id:b"] if prefixed else ["a", "b"])


def test_fields_of_a_composite_key_are_paired():
    wanted = ["id:a,no:1", "id:a,no:2", "id:b,no:1", "id:b,no:2"]
    assert sorted(keys({"id": TEXTS, "no": NUMBERS}, PAIR)) == wanted


@pytest.mark.parametrize(
    ("required", "spec"),
    [
        ({"id": TEXTS}, PAIR),
        ({"other": TEXTS}, SIMPLE),
        ({"id": pa.array([], pa.string())}, SIMPLE),
        ({"id": pa.array([""])}, SIMPLE),
        ({"id": pa.array([1], pa.date32())}, SIMPLE),
        ({"id": pa.array([str(at) for at in range(1000)]), "no": pa.array(range(1000))}, PAIR),
        ({"id": TEXTS}, KeySpec(generator=KeyGenerator.SIMPLE, record_key=())),
        ({"id": TEXTS}, KeySpec(generator=KeyGenerator.USER_PROVIDED, record_key=("id",), function="f")),
    ],
)
def test_what_does_not_say_a_key_asks_for_none(required, spec):
    assert keys(required, spec) is None


def test_fields_of_the_key_may_require_keys():
    assert may_require_keys({"_hoodie_record_key": TEXTS}, ())
    assert may_require_keys({"id": TEXTS}, ("id",))
    assert not may_require_keys({"id": TEXTS}, ("id", "no"))
    assert not may_require_keys({"id": TEXTS}, ())
