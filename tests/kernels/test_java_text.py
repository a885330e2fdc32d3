import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.java_text_cases import CASES, CONSISTENT_TIMESTAMP_CASES, NEWER_JAVA_CASES

from pyhudi.errors import InvalidInput
from pyhudi.kernels.java_text import java_text


def texts(values, **more):
    return java_text(values, **more).to_pylist()


@pytest.mark.parametrize(("kind", "value", "text"), CASES + NEWER_JAVA_CASES)
def test_a_value_is_spelled_as_java_spells_it(kind, value, text):
    assert texts(pa.array([value, None], kind)) == [text, None]


@pytest.mark.parametrize(("value", "text"), CONSISTENT_TIMESTAMP_CASES)
def test_consistent_timestamps_are_sql_timestamps(value, text):
    assert texts(pa.array([value, None], pa.timestamp("us", "UTC")), has_consistent_timestamps=True) == [text, None]


def test_consistent_timestamps_are_spelled_in_the_zone_asked_for():
    instants = pa.array([0], pa.timestamp("us", "UTC"))
    assert texts(instants, has_consistent_timestamps=True, zone="Asia/Shanghai") == ["1970-01-01 08:00:00.0"]


def test_timestamps_without_zone_stay_numbers_even_if_consistent():
    assert texts(pa.array([5], pa.timestamp("us")), has_consistent_timestamps=True) == ["5"]


def test_days_after_the_year_9999_have_a_sign():
    assert texts(pa.array([2_932_896, 2_932_897, -719_529], pa.int32()).cast(pa.date32())) == [
        "9999-12-31",
        "+10000-01-01",
        "-0001-12-31",
    ]


def test_nanoseconds_are_cut_to_microseconds():
    assert texts(pa.array([1_999], pa.timestamp("ns"))) == ["1"]


def test_fixed_bytes_are_spelled_as_numbers():
    assert texts(pa.array([b"\x01\xff"], pa.binary(2))) == ["[1, -1]"]


def test_dictionaries_and_chunks_change_nothing():
    chunks = pa.chunked_array([["a"], [], ["b", None, "a"]])
    assert texts(chunks.dictionary_encode()) == ["a", "b", None, "a"]
    assert texts(pa.chunked_array([[1e10, 2.0], [], [1e10, None]])) == ["1.0E10", "2.0", "1.0E10", None]


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())])
def test_nested_values_have_no_text(kind):
    with pytest.raises(InvalidInput, match="cannot be a key"):
        java_text(pa.array([], kind))


@pytest.mark.parametrize("kind", [case[0] for case in CASES] + [pa.null()])
def test_no_rows_give_no_texts(kind):
    made = java_text(pa.array([], kind))
    assert (made.type, len(made)) == (pa.string(), 0)


def java_double(number):
    """Java's rule, row by row, for normal numbers."""
    if number != number or number in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(number)]
    sign, digits, _ = Decimal(repr(number)).normalize().as_tuple()
    exponent, digits = Decimal(repr(number)).adjusted(), "".join(map(str, digits))
    mark = "-" if sign else ""
    if number == 0:
        return mark + "0.0"
    if -3 <= exponent < 7:
        padded = digits.ljust(exponent + 2, "0") if exponent >= 0 else "0" * -exponent + digits
        point = max(exponent, 0) + 1
        return f"{mark}{padded[:point]}.{padded[point:]}"
    return f"{mark}{digits[0]}.{digits[1:] or '0'}E{exponent}"


@given(st.lists(st.floats(allow_subnormal=False)))
def test_doubles_follow_the_rule(numbers):
    assert texts(pa.array(numbers, pa.float64())) == [java_double(number) for number in numbers]


@given(st.lists(st.floats(width=32)))
def test_floats_read_back_as_themselves(numbers):
    for number, text in zip(numbers, texts(pa.array(numbers, pa.float32())), strict=True):
        back = float(text.replace("Infinity", "inf"))
        assert struct.pack("f", back) == struct.pack("f", number) or number != number


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**9), max_value=10**9)))
def test_decimals_follow_pythons_rule_which_is_javas(numbers):
    array = pa.array(numbers, pa.decimal128(20, 9))
    assert texts(array) == [str(Decimal(number).quantize(Decimal("1E-9"))).replace("E+0", "") for number in numbers]
