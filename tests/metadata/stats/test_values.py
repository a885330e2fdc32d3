import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.metadata.stats.values import (
    VALUE_TYPE,
    can_encode,
    decode_bounds,
    encode_values,
    stats_type,
    value_type,
    widest,
    widest_kind,
)

VERSIONS = [6, 8, 9]
_moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32).filter(lambda one: one != 0),
    pa.float64(): st.floats().filter(lambda one: one != 0) | st.just(-0.0),
    pa.string(): st.text("ab é", max_size=3),
    pa.date32(): st.dates(),
    pa.decimal128(15, 2): st.decimals(-(10**12), 10**12, places=2),
    pa.decimal128(5, 5): st.decimals(Decimal("-0.99999"), Decimal("0.99999"), places=5),
    pa.timestamp("us", "UTC"): _moments.map(lambda one: one.replace(tzinfo=datetime.UTC)),
    pa.timestamp("us"): _moments,
}


def types_of(kind: pa.DataType, version: int, count: int) -> pa.Array | None:
    ordinal, info = value_type(kind)
    said = {"typeOrdinal": ordinal, "additionalInfo": info}
    return pa.array([said] * count, VALUE_TYPE) if version > 8 else None


@given(st.sampled_from(VERSIONS), st.sampled_from(list(VALUES)), st.data())
def test_values_come_out_of_their_wrappers(version, kind, data):
    given_values = data.draw(st.lists(st.none() | VALUES[kind], max_size=5))
    values = pa.array(given_values, kind)
    wrapped = encode_values(values, version)
    assert wrapped.type == stats_type(version).field("minValue").type
    low, high = decode_bounds(wrapped, wrapped, types_of(kind, version, len(values)), kind)
    assert repr(low.to_pylist()) == repr(high.to_pylist()) == repr(values.to_pylist())


@pytest.mark.parametrize(
    ("version", "value", "kind", "branch", "stored"),
    [
        (8, datetime.date(1970, 1, 2), pa.date32(), "DateWrapper", 1),
        (9, datetime.date(1970, 1, 2), pa.date32(), "IntWrapper", 1),
        (8, Decimal("89.99"), pa.decimal128(15, 2), "DecimalWrapper", Decimal("89.990000000000000")),
        (9, Decimal("89.99"), pa.decimal128(15, 2), "BytesWrapper", bytes.fromhex("2327")),
        (9, Decimal(0), pa.decimal128(15, 2), "BytesWrapper", b"\0"),
        (9, Decimal("5000.00"), pa.decimal128(15, 2), "BytesWrapper", bytes.fromhex("07a120")),
        (9, Decimal("-1.28"), pa.decimal128(15, 2), "BytesWrapper", b"\x80"),
        (9, Decimal("1.28"), pa.decimal128(15, 2), "BytesWrapper", b"\0\x80"),
        (9, Decimal("1.27"), pa.decimal128(15, 2), "BytesWrapper", b"\x7f"),
        (9, Decimal("-1.29"), pa.decimal128(15, 2), "BytesWrapper", b"\xff\x7f"),
        (6, datetime.datetime(1970, 1, 1, 0, 0, 1), pa.timestamp("us"), "LongWrapper", 1_000_000),
        (9, datetime.datetime(1970, 1, 1, 0, 0, 1), pa.timestamp("ms"), "LongWrapper", 1000),
        (9, 7, pa.int8(), "IntWrapper", 7),
    ],
)
def test_values_are_stored_as_apache_hudi_does(version, value, kind, branch, stored):
    wrapped = encode_values(pa.array([value], kind), version)[0].as_py()
    assert {name: one["value"] for name, one in wrapped.items() if one is not None} == {branch: stored}


@pytest.mark.parametrize(
    ("source", "value", "kind", "expected"),
    [
        (pa.int32(), 3, pa.int64(), 3),
        (pa.int32(), 3, pa.float64(), 3.0),
        (pa.int64(), 2**53 + 1, pa.float64(), 2.0**53),
        (pa.float32(), 0.5, pa.float64(), 0.5),
        (pa.int32(), 3, pa.decimal128(12, 2), Decimal("3.00")),
        (pa.decimal128(5, 2), Decimal("1.50"), pa.decimal128(10, 3), Decimal("1.500")),
        (pa.int32(), 3, pa.string(), None),
        (pa.string(), "3", pa.int32(), None),
        (pa.date32(), datetime.date(2024, 1, 1), pa.string(), None),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_bounds_of_a_column_that_changed_its_type_keep_their_order_or_are_unknown(
    version, source, value, kind, expected
):
    wrapped = encode_values(pa.array([value], source), version)
    low, _ = decode_bounds(wrapped, wrapped, types_of(source, version, 1), kind)
    assert low.to_pylist() == [expected]


def test_bounds_that_do_not_enclose_are_unknown():
    floats = encode_values(pa.array([0.0, -0.0, 1.0, math.nan]), 8)
    assert repr(decode_bounds(floats, floats, None, pa.float64())[1].to_pylist()) == "[None, -0.0, 1.0, nan]"
    texts = encode_values(pa.array(["a", "\uffff", "😀", "é"]), 8)
    assert decode_bounds(texts, texts, None, pa.string())[1].to_pylist() == ["a", None, None, "é"]
    low, high = decode_bounds(texts, encode_values(pa.array(["b", "b", "b", None]), 8), None, pa.string())
    assert (low.to_pylist(), high.to_pylist()) == (["a", None, None, None], ["b", None, None, None])


@pytest.mark.parametrize("version", [8, 9])
def test_a_zero_that_was_an_integer_is_known_where_the_column_became_a_float(version):
    bounds, said = encode_values(pa.array([0, -3], pa.int32()), version), types_of(pa.int32(), 2, version)
    assert decode_bounds(bounds, bounds, said, pa.float64())[0].to_pylist() == [0.0, -3.0]


def test_rows_of_several_types_are_read_each_by_its_own():
    one, other = encode_values(pa.array([1], pa.int32()), 9), encode_values(pa.array([2**40], pa.int64()), 9)
    said = pa.concat_arrays([types_of(kind, 9, 1) for kind in (pa.int32(), pa.int64())])
    low, _ = decode_bounds(pa.concat_arrays([one, other]), pa.concat_arrays([one, other]), said, pa.int64())
    assert low.to_pylist() == [1, 2**40]


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((pa.int32(), pa.int64()), pa.int64()),
        ((pa.int64(), pa.int32()), pa.int64()),
        ((pa.float64(), pa.int32(), pa.float32(), pa.int64()), pa.float64()),
        ((pa.string(), pa.int32()), pa.string()),
        ((pa.bool_(), pa.int32()), pa.int32()),
        ((pa.int32(), pa.bool_()), pa.bool_()),
    ],
    ids=str,
)
def test_the_type_of_bounds_of_several_is_the_widest(version, kinds, expected):
    values = {pa.bool_(): True, pa.string(): "a"}
    bounds = [encode_values(pa.array([values.get(kind, 1)], kind), version) for kind in kinds]
    said = [types_of(kind, version, 1) for kind in kinds]
    nothing = pa.nulls(1, bounds[0].type), pa.nulls(1, types_of(pa.int32(), 9, 1).type)
    whole = pa.concat_arrays([*bounds, nothing[0]])
    types = None if version == 8 else pa.concat_arrays([*said, nothing[1]])
    assert widest_kind(whole, types) == expected
    assert widest_kind(nothing[0], None if version == 8 else nothing[1]) is None


@pytest.mark.parametrize("kind", [*VALUES, pa.decimal128(38, 10), pa.decimal128(30, 15)])
def test_the_widest_bounds_enclose_all_values(kind):
    low, high = widest(kind)
    assert (low.type, high.type) == (kind, kind)
    wrapped = [encode_values(pa.array([end.as_py()], kind), 9) for end in (low, high)]
    assert widest_kind(wrapped[0], types_of(kind, 9, 1)) == kind


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        (pa.decimal128(30, 15), 8, True),
        (pa.decimal128(31, 15), 8, False),
        (pa.decimal128(20, 16), 8, False),
        (pa.decimal128(38, 18), 9, True),
        (pa.binary(), 9, False),
        (pa.list_(pa.int32()), 9, False),
        (pa.timestamp("ns"), 9, False),
    ],
)
def test_some_types_have_no_statistics(kind, version, expected):
    assert can_encode(kind, version) is expected
