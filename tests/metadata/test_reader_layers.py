"""Small HFiles that are decoded once, and asked as the file itself is."""

import pyarrow as pa
import pytest

from pyhudi.errors import CorruptData
from pyhudi.formats.hfile import open_hfile, write_hfile
from pyhudi.metadata import reader
from pyhudi.metadata.reader import small_layer

KEYS = ["a", "ab", "abc", "b", "é", "𐀀"]


def with_text_keys(entries):
    return entries.set_column(0, "key", entries.column("key").cast(pa.string()))


def content(values=b"v", keys=KEYS, info=None):
    key = pa.array([one.encode() for one in keys], pa.binary())
    value = pa.array([values] * len(keys), pa.binary())
    return write_hfile(key, value, file_info={"schema": b"{}"} if info is None else info)


@pytest.mark.parametrize("keys", [["ab"], ["b", "ab", "b"], ["x"], ["𐀀", "é"], []])
def test_keys_are_found_as_in_the_file(keys):
    data = content()
    hfile = open_hfile(lambda offset, length: data[offset : offset + length], len(data))
    expected = with_text_keys(hfile.lookup(pa.array(keys, pa.string())))
    assert small_layer(data, "f").entries_of(pa.array(keys, pa.string()), None).equals(expected)
    assert small_layer(data, "f").entries_of(tuple(keys), None).equals(expected)


@pytest.mark.parametrize("prefixes", [["a"], ["ab", "a"], ["é"], ["c"], [""], []])
def test_prefixes_are_found_as_in_the_file(prefixes):
    data = content()
    hfile = open_hfile(lambda offset, length: data[offset : offset + length], len(data))
    expected = with_text_keys(hfile.lookup(pa.array(prefixes, pa.string()).cast(pa.binary()), prefix=True))
    assert small_layer(data, "f").entries_of(None, prefixes).equals(expected)


def test_without_a_wish_all_entries_come():
    assert small_layer(content(), "f").entries_of(None, None).column("key").to_pylist() == KEYS


def test_the_same_bytes_are_decoded_once_wherever_they_lie(monkeypatch):
    data, opened = content(b"once"), []
    monkeypatch.setattr(reader, "open_hfile", lambda *given: opened.append(given) or open_hfile(*given))
    first = small_layer(data, "here")
    assert small_layer(bytes(bytearray(data)), "there") is first
    assert len(opened) == 1
    other = content(b"else")
    assert len(other) == len(data)
    assert small_layer(other, "here").entries.column("value").to_pylist() == [b"else"] * len(KEYS)


def test_a_file_without_a_schema_is_named():
    with pytest.raises(CorruptData, match="does not say its schema") as refused:
        small_layer(content(info={}), "files/x.hfile")
    assert refused.value.values["file"] == "files/x.hfile"
