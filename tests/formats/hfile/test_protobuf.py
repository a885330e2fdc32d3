import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData
from pyhudi.formats.hfile.file_info import decode_file_info, encode_file_info, has_mvcc
from pyhudi.formats.hfile.protobuf import (
    decode_message,
    decode_varint,
    encode_message,
    encode_varint,
    split_delimited,
)

NUMBERS = st.integers(0, (1 << 64) - 1)


@given(st.lists(st.tuples(st.integers(1, 1 << 20), NUMBERS | st.binary())))
def test_messages_come_back(fields):
    message = encode_message(fields)
    assert decode_message(message) == fields
    assert split_delimited(encode_varint(len(message)) + message + b"more") == message


def test_fields_of_fixed_length_are_bytes():
    assert decode_message(b"\x09" + bytes(range(8)) + b"\x15" + bytes(4)) == [(1, bytes(range(8))), (2, bytes(4))]


@pytest.mark.parametrize("data", [b"\x80", b"\x80" * 10 + b"\1", b"\xff" * 9 + b"\x02", b""])
def test_damaged_integers_are_corrupt(data):
    with pytest.raises(CorruptData):
        decode_varint(data, 0)


@pytest.mark.parametrize("data", [b"\x0a\x05abc", b"\x0b", b"\x09\0", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"])
def test_damaged_messages_are_corrupt(data):
    with pytest.raises(CorruptData):
        decode_message(data)


def test_a_message_longer_than_the_bytes_is_corrupt():
    with pytest.raises(CorruptData):
        split_delimited(b"\x05abc")


@given(st.dictionaries(st.text(), st.binary()))
def test_file_infos_come_back(values):
    assert decode_file_info(encode_file_info(values) + b"more") == values


@pytest.mark.parametrize("payload", [b"", b"PBUG\0", b"PBUF\x02\x08\1", b"PBUF\x02\x12\0", b"PBUF\x04\x0a\x02\x08\1"])
def test_damaged_file_infos_are_corrupt(payload):
    with pytest.raises(CorruptData):
        decode_file_info(payload)


def test_a_name_that_is_no_text_is_corrupt():
    with pytest.raises(CorruptData):
        decode_file_info(b"PBUF" + b"\x05" + b"\x0a\x03\x0a\x01\xff")


def test_only_files_that_say_so_have_versions():
    assert has_mvcc({"KEY_VALUE_VERSION": b"\0\0\0\1"})
    assert not has_mvcc({"KEY_VALUE_VERSION": b"\0\0\0\0"})
    assert not has_mvcc({})
