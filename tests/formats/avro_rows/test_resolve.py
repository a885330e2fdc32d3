"""What one schema wrote is read as another wants it, as fastavro does and as Avro's specification says."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.avro_rows.reference import field, read, record, rows_of, schemas, text, values, write

from pyhudi.errors import CorruptData, SchemaMismatch
from pyhudi.formats.avro_rows import decode_rows

WIDER = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"], "string": ["bytes"]}
PAIR = record([field("x", "int"), field("y", ["null", "double"], default=None)], "N3")
ADDED = [
    field("n0", ["null", "string"], default=None),
    field("n1", "long", default=-7),
    field("n2", {"type": "array", "items": "string"}, default=["a", "b"]),
    field(
        "n3",
        record([field("x", "int"), field("y", ["null", "double"], default=None)], "N3"),
        default={"x": 5, "y": None},
    ),
    field("n4", {"type": "map", "values": "boolean"}, default={"k": True}),
]


@st.composite
def evolved(draw: st.DrawFn, kind: Any) -> Any:
    """Draw a type that reads what a type wrote."""
    if isinstance(kind, str):
        found: Any = draw(st.sampled_from([kind, *WIDER.get(kind, [])]))
        return draw(st.sampled_from([found, ["null", found]])) if kind != "null" else found
    if isinstance(kind, list):
        return kind if len(kind) > 2 or kind == ["null"] else ["null", *(one for one in kind if one != "null")]
    if kind["type"] == "array":
        return {**kind, "items": draw(evolved(kind["items"]))}
    if kind["type"] == "map":
        return {**kind, "values": draw(evolved(kind["values"]))}
    if kind["type"] == "record":
        return {**kind, "fields": draw(_evolved_fields(kind["fields"]))}
    return kind


@st.composite
def _evolved_fields(draw: st.DrawFn, fields: list[Any]) -> list[Any]:
    kept = [part for part in fields if draw(st.integers(0, 3))] or fields[:1]
    changed = [{**part, "type": draw(evolved(part["type"]))} for part in kept]
    renamed = [
        {**part, "name": f"{part['name']}x", "aliases": [part["name"]]} if draw(st.booleans()) else part
        for part in changed
    ]
    return draw(st.permutations(renamed))


@st.composite
def changed(draw: st.DrawFn) -> tuple[Any, Any, pa.Array]:
    writer = draw(schemas())
    reader = draw(evolved(writer))
    added = draw(st.lists(st.sampled_from(ADDED), unique_by=lambda part: part["name"]))
    reader = {**reader, "fields": [*reader["fields"], *added]}
    return writer, reader, write(writer, draw(st.lists(values(writer), max_size=8)))


@given(changed())
@settings(max_examples=300, deadline=None)
def test_columns_are_those_that_fastavro_resolves(case):
    writer, reader, data = case
    batch = decode_rows(data, text(writer), text(reader))
    batch.validate(full=True)
    expected = read(data, writer, reader)
    assert rows_of(batch) == expected


def resolved(writer: Any, reader: Any, values: list[Any], **more: Any) -> list[Any]:
    old, new = record([field("a", writer)]), record([field("a", reader, **more)])
    batch = decode_rows(write(old, [{"a": value} for value in values]), text(old), text(new))
    batch.validate(full=True)
    return batch.column(0).to_pylist()


def test_bytes_are_read_as_text_and_text_as_bytes():
    assert resolved("bytes", "string", [b"ab", b""]) == ["ab", ""]
    assert resolved("string", "bytes", ["\u00e9"]) == ["\u00e9".encode()]
    with pytest.raises(CorruptData, match="UTF-8"):
        resolved("bytes", "string", [b"\xff"])


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        ("long", "int"),
        ("string", "long"),
        ("double", "float"),
        (["null", "string"], "boolean"),
        ("boolean", ["null", "string"]),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}),
        ({"type": "array", "items": "string"}, {"type": "array", "items": "int"}),
        ({"type": "array", "items": "string"}, {"type": "map", "values": "string"}),
        ({"type": "long", "logicalType": "timestamp-micros"}, {"type": "long", "logicalType": "timestamp-millis"}),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
        ),
        ("string", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_fields_name(writer, reader):
    old, new = (record([field("r", record([field("a", kind)], "I"))]) for kind in (writer, reader))
    with pytest.raises(SchemaMismatch, match=r"field='r\.a"):
        decode_rows(pa.array([], pa.binary()), text(old), text(new))


def test_a_missing_field_without_default_is_refused_by_name():
    old, new = record([field("a", "long")]), record([field("a", "long"), field("b", "long")])
    with pytest.raises(SchemaMismatch, match="field='b'"):
        decode_rows(pa.array([b"\x02"], pa.binary()), text(old), text(new))


def test_a_null_that_the_reader_cannot_hold_is_refused_where_it_stands():
    assert resolved(["null", "long"], "long", [1, 2]) == [1, 2]
    with pytest.raises(SchemaMismatch, match="field='a'"):
        resolved(["null", "long"], "long", [1, None])


def test_branches_that_the_reader_knows_as_one_type_are_one_column():
    assert resolved(["null", "int", "long"], ["null", "long"], [1, None, 2**40, 3]) == [1, None, 2**40, 3]
    assert resolved(["int", "float"], "double", [1, 2.5]) == [1.0, 2.5]


def test_a_union_may_gain_and_lose_types():
    wrappers = [record([field("value", kind)], f"{kind.title()}W") for kind in ("int", "string", "double")]
    old, new = ["null", *wrappers[:2]], ["null", *wrappers[::-1]]
    found = resolved(old, new, [None, ("IntW", {"value": 1}), ("StringW", {"value": "x"})])
    assert found[0] is None
    assert found[1] == {"DoubleW": None, "StringW": None, "IntW": {"value": 1}}
    assert resolved(new, old, [None, ("IntW", {"value": 1})])[1] == {"IntW": {"value": 1}, "StringW": None}
    with pytest.raises(SchemaMismatch, match="field='a'"):
        resolved(["null", "int", "string"], ["null", "int", "boolean"], ["x"])


def test_one_type_is_read_as_one_of_several():
    assert resolved("int", ["null", "long", "string"], [1]) == [{"long": 1, "string": None}]
    assert resolved("int", ["string", "double", "int"], [1]) == [{"string": None, "double": None, "int": 1}]
    assert resolved(["null"], ["null", "long"], [None]) == [None]


def test_an_enum_is_read_as_the_readers_symbols():
    old = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert resolved(old, {**old, "symbols": ["B", "A", "C"]}, ["A", "B"]) == ["A", "B"]
    assert resolved(old, {**old, "symbols": ["A", "Z"], "default": "Z"}, ["A", "B"]) == ["A", "Z"]
    assert resolved(old, {**old, "symbols": ["A"]}, ["A"]) == ["A"]
    with pytest.raises(SchemaMismatch, match="symbol='B'"):
        resolved(old, {**old, "symbols": ["A"]}, ["A", "B"])


def test_numbers_get_and_lose_their_meaning():
    stamp = {"type": "long", "logicalType": "timestamp-micros"}
    assert resolved(stamp, "long", [5]) == [5]
    assert str(resolved("long", stamp, [0])[0]) == "1970-01-01 00:00:00+00:00"
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    assert resolved(decimal, {**decimal, "precision": 9}, [b"\x01"]) == [Decimal("0.01")]
    assert resolved(decimal, "bytes", [b"\x01"]) == [b"\x01"]


def test_named_types_are_read_under_another_name():
    old, new = (record([field("x", "int")], name) for name in ("A", "B"))
    assert resolved(old, new, [{"x": 1}]) == [{"x": 1}]
    assert resolved(old, ["null", new], [{"x": 1}]) == [{"x": 1}]


def test_defaults_are_those_of_the_specification():
    stamp = {"type": "long", "logicalType": "timestamp-micros"}
    added = [
        field("b", "bytes", default="\u00ff\u0001"),
        field("r", PAIR, default={"x": 5}),
        field("t", stamp, default=1),
    ]
    old, new = record([field("a", "long")]), record([*added, field("u", ["string", "null"], default="x")])
    batch = decode_rows(pa.array([b"\x02", b"\x04"], pa.binary()), text(old), text(new))
    batch.validate(full=True)
    assert rows_of(batch) == [{"b": b"\xff\x01", "r": {"x": 5, "y": None}, "t": 1, "u": "x"}] * 2


def test_columns_may_be_picked_of_the_readers():
    old, new = (
        record([field("a", "int"), field("b", "string")]),
        record([field("b", "string"), *ADDED, field("a", "long")]),
    )
    data = write(old, [{"a": 1, "b": "x"}])
    batch = decode_rows(data, text(old), text(new), columns=["a", "n1"])
    assert batch.to_pylist() == [{"a": 1, "n1": -7}]
