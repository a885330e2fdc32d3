"""Single values at the edges of their types."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.formats.avro_rows.reference import field, record, text
from tests.formats.avro_rows.test_source import number

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows import decode_rows

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
SMALL = {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}
WIDE = {"type": "fixed", "name": "F", "size": 20, "logicalType": "decimal", "precision": 38, "scale": 0}


def decoded(kind: object, *bodies: bytes) -> list[object]:
    batch = decode_rows(pa.array(bodies, pa.binary()), text(record([field("a", kind)])))
    batch.validate(full=True)
    return batch.column(0).to_pylist()


def sized(data: bytes) -> bytes:
    return number(len(data)) + data


@pytest.mark.parametrize("body", [number(2**31), number(-(2**31) - 1), number(2**40)])
def test_an_int_of_more_than_32_bits_is_refused(body):
    with pytest.raises(CorruptData, match="32 bits"):
        decoded("int", b"\x00", body)


def test_a_boolean_is_0_or_1():
    assert decoded("boolean", b"\x00", b"\x01") == [False, True]
    with pytest.raises(CorruptData, match="boolean"):
        decoded("boolean", b"\x02")


@pytest.mark.parametrize("body", [b"\xff\xfe", b"\xed\xa0\x80"])
def test_a_string_that_is_no_unicode_is_refused(body):
    with pytest.raises(CorruptData, match="UTF-8"):
        decoded("string", sized(b"ok"), sized(body))


def test_decimals_are_of_any_length_as_long_as_the_type_has_their_digits():
    most = 10**38 - 1
    bodies = [b"\x00", b"\xff", b"\x00\x80", most.to_bytes(16, "big"), (-most).to_bytes(16, "big", signed=True)]
    bodies.append(b"\xff" * 30 + b"\x85")
    expected = [0, -1, 128, most, -most, -123]
    assert decoded(DECIMAL, *map(sized, bodies)) == [
        Decimal((value < 0, tuple(map(int, str(abs(value)))), -2)) for value in expected
    ]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (DECIMAL, b""),
        (DECIMAL, b"\x7f" * 16),
        (DECIMAL, b"\x00" * 10 + b"\x01" + bytes(16)),
        (DECIMAL, b"\x00" + b"\x80" + bytes(15)),
        (DECIMAL, bytes(100)),
        (SMALL, b"\x03\xe8"),
    ],
)
def test_decimals_beyond_their_type_are_refused(kind, body):
    with pytest.raises(CorruptData, match="decimal"):
        decoded(kind, sized(body))


def test_fixed_decimals_may_be_wider_than_arrows():
    assert decoded(WIDE, bytes(19) + b"\x07", b"\xff" * 20) == [Decimal(7), Decimal(-1)]
    with pytest.raises(CorruptData, match="decimal"):
        decoded(WIDE, b"\x01" + bytes(19))


def test_an_enum_has_only_its_symbols():
    kind = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert decoded(kind, b"\x02", b"\x00") == ["B", "A"]
    for body in (b"\x04", b"\x01"):
        with pytest.raises(CorruptData, match="enum"):
            decoded(kind, body)


def test_fixed_bytes_are_cut_out():
    kind = {"type": "fixed", "name": "F", "size": 3}
    assert decoded(kind, b"abc", b"def") == [b"abc", b"def"]
    with pytest.raises(CorruptData):
        decoded(kind, b"abc", b"de")


def test_a_uuid_is_text():
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    assert decoded({"type": "string", "logicalType": "uuid"}, sized(uuid.encode())) == [uuid]
