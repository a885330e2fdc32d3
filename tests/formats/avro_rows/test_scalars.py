"""Single values are written as their Avro types are."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.formats.avro_rows.reference import field, record, text

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows import decode_rows, encode_rows

BYTES = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
FIXED = {"type": "fixed", "name": "F", "size": 3, "logicalType": "decimal", "precision": 7, "scale": 0}


def encoded(kind: object, array: pa.Array) -> list[bytes]:
    return encode_rows(pa.record_batch({"a": array}), text(record([field("a", kind)]))).to_pylist()


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("0.00", b"\x02\x00"),
        ("89.99", b"\x04\x23\x27"),
        ("5000.00", b"\x06\x07\xa1\x20"),
        ("1.28", b"\x04\x00\x80"),
        ("-1.28", b"\x02\x80"),
        ("-1.29", b"\x04\xff\x7f"),
        ("-0.01", b"\x02\xff"),
    ],
)
def test_decimals_take_the_fewest_bytes_as_javas_do(value, data):
    array = pa.array([Decimal(value)], pa.decimal128(38, 2))
    assert encoded(BYTES, array) == [data]
    assert encoded(["null", BYTES], pa.concat_arrays([array, pa.nulls(1, array.type)])) == [b"\x02" + data, b"\x00"]


def test_decimals_of_all_digits_come_back():
    most = Decimal((0, (9,) * 38, -2))
    array = pa.array([most, most.copy_negate()], pa.decimal128(38, 2))
    schema = text(record([field("a", BYTES)]))
    assert decode_rows(encode_rows(pa.record_batch({"a": array}), schema), schema).column(0).equals(array)


def test_fixed_decimals_are_filled_with_their_sign():
    array = pa.array([Decimal(1), Decimal(-2)], pa.decimal128(7, 0))
    assert encoded(FIXED, array) == [b"\x00\x00\x01", b"\xff\xff\xfe"]
    assert encoded({**FIXED, "size": 20}, array) == [bytes(19) + b"\x01", b"\xff" * 19 + b"\xfe"]
    with pytest.raises(SchemaMismatch, match="more bytes"):
        encoded(FIXED, pa.array([Decimal(9_000_000)], pa.decimal128(7, 0)))


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "bc"], pa.large_string()),
        pa.array(["a", None, "bc"], pa.string_view()),
        pa.array(["a", None, "bc"]).dictionary_encode(),
        pa.array([b"a", None, b"bc"]),
        pa.array(["zz", "a", None, "bc"]).slice(1),
    ],
)
def test_strings_of_all_forms_are_written_alike(array):
    assert encoded(["null", "string"], array) == [b"\x02\x02a", b"\x00", b"\x02\x04bc"]


def test_an_enum_is_the_number_of_its_symbol():
    kind = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert encoded(kind, pa.array(["B", "A"])) == [b"\x02", b"\x00"]
    assert encoded(["null", kind], pa.array(["B", None]).dictionary_encode()) == [b"\x02\x02", b"\x00"]


def test_booleans_and_numbers_skip_nulls():
    assert encoded(["boolean", "null"], pa.array([True, None, False])) == [b"\x00\x01", b"\x02", b"\x00\x00"]
    assert encoded(["null", "double"], pa.array([1.0, None])) == [b"\x02" + b"\x00" * 6 + b"\xf0\x3f", b"\x00"]
    assert encoded(["null", "long"], pa.array([2**62, None, 0])) == [
        b"\x02" + b"\x80" * 9 + b"\x01",
        b"\x00",
        b"\x02\x00",
    ]


def test_narrow_types_widen():
    assert encoded("long", pa.array([1], pa.int8())) == [b"\x02"]
    assert encoded({"type": "long", "logicalType": "timestamp-micros"}, pa.array([1], pa.timestamp("ms", "UTC"))) == [
        b"\xd0\x0f"
    ]
