"""Defaults are written as a writer would have written them."""

import io

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.avro_rows.reference import field, record, schemas, text, values

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows.defaults import encode_default
from pyhudi.formats.avro_rows.shape import read_shape


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_values_are_written_as_fastavro_writes_them(data):
    schema = _without_logical(data.draw(schemas(depth=1)))
    value = data.draw(values(schema))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), value)
    assert encode_default(read_shape(text(schema)), _json(value, schema), "") == body.getvalue()


def _without_logical(schema: dict) -> dict:
    kinds = ("boolean", "long", "double", "string", "bytes")
    fields = [part for part in schema["fields"] if part["type"] in kinds]
    return record([*fields, field("last", {"type": "map", "values": {"type": "array", "items": ["null", "string"]}})])


def _json(value: dict, schema: dict) -> dict:
    return {key: one.decode("latin-1") if isinstance(one, bytes) else one for key, one in value.items()}


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("int", 2**31),
        ("int", "1"),
        ("int", True),
        ("long", 1.5),
        ("string", 1),
        ("bytes", "\u0100"),
        (["null", "int"], "x"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"),
        ({"type": "array", "items": "int"}, {}),
        (record([field("x", "int")], "I"), {}),
        ("float", 1e300),
    ],
)
def test_a_default_of_another_type_is_refused_by_name(kind, default):
    shape = read_shape(text(record([field("a", kind)]))).fields[0].shape
    with pytest.raises(SchemaMismatch, match="field='a"):
        encode_default(shape, default, "a")
