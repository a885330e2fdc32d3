"""Schemas become trees of types with Arrow types, or are refused."""

import json

import pyarrow as pa
import pytest

from pyhudi.errors import CorruptData, HudiError
from pyhudi.formats.avro_rows.shape import read_shape
from pyhudi.formats.avro_rows.walk import Stride


def shape_of(kind: object, **more: object) -> object:
    return read_shape(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind, **more}]}))


def test_named_types_are_known_by_name_and_namespace():
    inner = {"type": "record", "name": "I", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    schema = {
        "type": "record",
        "name": "R",
        "namespace": "n",
        "fields": [{"name": "a", "type": inner}, {"name": "b", "type": "I"}, {"name": "c", "type": ["null", "n.I"]}],
    }
    shape = read_shape(json.dumps(schema))
    assert shape.fields[1].shape == shape.fields[0].shape == shape.fields[2].shape.parts[1]
    assert (shape.name, shape.fields[1].shape.name, shape.fields[1].shape.bare_name) == ("n.R", "n.I", "I")


@pytest.mark.parametrize(
    ("kind", "stride"),
    [
        ("boolean", Stride(1, 1)),
        ({"type": "fixed", "name": "F", "size": 3}, Stride(3, None)),
        ({"type": "long", "logicalType": "timestamp-micros"}, Stride(None, 1)),
        ("string", Stride(None, None)),
    ],
)
def test_what_is_known_of_a_types_bytes(kind, stride):
    assert shape_of(kind).fields[0].shape.stride == stride == shape_of(kind).stride


def test_records_add_their_fields_up():
    fields = [{"name": "x", "type": "int"}, {"name": "y", "type": "boolean"}, {"name": "z", "type": "long"}]
    assert read_shape(json.dumps({"type": "record", "name": "R", "fields": fields})).stride == Stride(None, 3)


def test_branches_are_named_without_namespaces_unless_two_are_alike():
    def wrapper(name: str) -> dict[str, object]:
        return {"type": "record", "name": name, "fields": [{"name": "value", "type": "int"}]}

    union = ["null", wrapper("n.W"), wrapper("m.V"), "string", {"type": "array", "items": "int"}]
    assert [part.name for part in shape_of(union).type.field(0).type] == ["W", "V", "string", "array"]
    alike = ["null", wrapper("n.W"), wrapper("m.W")]
    assert [part.name for part in shape_of(alike).type.field(0).type] == ["n.W", "m.W"]


def test_a_union_of_null_only_has_no_values():
    assert shape_of(["null"]).type.field(0).type == pa.null()
    assert shape_of({"type": "null"}).type.field(0).type == pa.null()


@pytest.mark.parametrize(
    "kind",
    [
        ["null", "null"],
        ["int", "int"],
        ["null", "R"],
        ["int", ["string"]],
        {"type": "enum", "name": "E", "symbols": []},
        {"type": "enum", "name": "E", "symbols": ["A"], "default": "B"},
        {"type": "fixed", "name": "F", "size": -1},
        {"type": "fixed", "name": "F"},
        {"type": "array", "items": "null"},
        {"type": "array"},
        {"type": "bytes", "logicalType": "decimal", "precision": 99},
        "Unknown",
        7,
        None,
        {},
        [],
    ],
)
def test_what_has_no_column_is_refused(kind):
    with pytest.raises(HudiError):
        shape_of(kind)


def test_a_record_is_wanted():
    with pytest.raises(CorruptData, match="record"):
        read_shape('"long"')
