"""Schemas of files are read as JSON, and refused where decoding by them could not be bounded."""

import json

import pytest

from pyhudi.errors import CorruptData, LimitExceeded
from pyhudi.formats.avro_schema import parse_avro_schema


def record(kind: object, name: str = "R") -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "a", "type": kind}]}


def test_text_and_bytes_are_read_alike():
    schema = record("long")
    assert parse_avro_schema(json.dumps(schema)) == parse_avro_schema(json.dumps(schema).encode()) == schema


@pytest.mark.parametrize("text", ["", "{", '"\ud800"', "[1]", '{"type": "record", "name": "R"}'])
def test_what_is_no_schema_is_corrupt(text):
    with pytest.raises(CorruptData):
        parse_avro_schema(text)


def test_recursion_is_refused():
    with pytest.raises(CorruptData, match="recursive"):
        parse_avro_schema(json.dumps(record(["null", "R"])))


def test_lists_of_nothing_are_refused():
    with pytest.raises(CorruptData, match="without bytes"):
        parse_avro_schema(json.dumps(record({"type": "array", "items": "null"})))


def test_depth_is_bounded():
    deep: object = "long"
    for _ in range(100):
        deep = {"type": "array", "items": deep}
    with pytest.raises(LimitExceeded):
        parse_avro_schema(json.dumps(record(deep)))
    with pytest.raises(LimitExceeded):
        parse_avro_schema('{"type":' * 100_000)


def test_records_that_unfold_without_end_are_refused():
    kind: object = "long"
    for place in range(20):
        kind = {
            "type": "record",
            "name": f"R{place}",
            "fields": [{"name": "a", "type": kind}, {"name": "b", "type": f"R{place - 1}" if place else "long"}],
        }
    with pytest.raises(LimitExceeded, match="too many values"):
        parse_avro_schema(json.dumps(kind))
