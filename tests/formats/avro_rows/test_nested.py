"""Arrays, maps and unions in every form that a writer may choose."""

import json

import pyarrow as pa
import pytest
from tests.formats.avro_rows.reference import field, record, text, write
from tests.formats.avro_rows.test_source import number

from pyhudi.errors import CorruptData, LimitExceeded
from pyhudi.formats.avro_rows import decode_rows

WRAPPERS = ["null", *(record([field("value", kind)], f"{kind.title()}Wrapper") for kind in ("int", "long", "string"))]


def decoded(kind: object, *bodies: bytes) -> list[object]:
    batch = decode_rows(pa.array(bodies, pa.binary()), text(record([field("a", kind)])))
    batch.validate(full=True)
    return batch.column(0).to_pylist()


@pytest.mark.parametrize("kind", ["long", "string", ["null", "long"], "double"])
def test_blocks_with_their_bytes_in_front_are_read_as_those_without(kind):
    schema = record([field("a", {"type": "array", "items": kind})])
    value = {"long": 7, "string": "xy", "double": 1.5}.get(str(kind), 300)
    item = write(record([field("a", kind)]), [{"a": value}])[0].as_py()
    one = number(1) + item
    sized = number(-2) + number(2 * len(item)) + item * 2
    bodies = [one + sized + number(0), number(0), sized + number(0), one * 3 + number(0)]
    rows = decode_rows(pa.array(bodies, pa.binary()), text(schema)).column(0).to_pylist()
    assert rows == [[value] * 3, [], [value] * 2, [value] * 3]
    assert decode_rows(pa.array(bodies, pa.binary()), text(schema), columns=[]).num_rows == 4


def test_maps_of_records_are_lists_of_pairs():
    value = record([field("size", "long"), field("isDeleted", "boolean")], "V")
    schema = record([field("a", ["null", {"type": "map", "values": value}])])
    rows = [{"a": None}, {"a": {}}, {"a": {"x": {"size": 70_000, "isDeleted": False}}}]
    found = decode_rows(write(schema, rows), text(schema)).column(0).to_pylist()
    assert found == [None, [], [("x", {"size": 70_000, "isDeleted": False})]]


@pytest.mark.parametrize(
    "values",
    [
        [None, None],
        [("IntWrapper", {"value": 1})] * 3,
        [None, ("StringWrapper", {"value": "a"}), ("LongWrapper", {"value": -1}), None, ("IntWrapper", {"value": 2})],
    ],
)
def test_a_union_of_several_types_has_a_column_a_type(values):
    schema = record([field("a", WRAPPERS)])
    column = decode_rows(write(schema, [{"a": value} for value in values]), text(schema)).column(0)
    column.validate(full=True)
    names = ["IntWrapper", "LongWrapper", "StringWrapper"]
    assert [part.name for part in column.type] == names
    shown = [value and {name: value[1] if name == value[0] else None for name in names} for value in values]
    assert column.to_pylist() == shown
    flat = pa.compute.struct_field(column, ["IntWrapper", "value"]).to_pylist()
    assert flat == [value[1]["value"] if value and value[0] == "IntWrapper" else None for value in values]


def test_unions_in_unions_keep_their_nulls():
    inner = {"type": "array", "items": WRAPPERS[:3]}
    schema = record([field("a", ["null", record([field("b", ["null", inner])], "ArrayWrapper"), "string"])])
    rows = [
        {"a": None},
        {"a": "x"},
        {"a": ("ArrayWrapper", {"b": None})},
        {"a": ("ArrayWrapper", {"b": [None, ("IntWrapper", {"value": 5})]})},
    ]
    assert decode_rows(write(schema, rows), text(schema)).column(0).to_pylist() == [
        None,
        {"ArrayWrapper": None, "string": "x"},
        {"ArrayWrapper": {"b": None}, "string": None},
        {"ArrayWrapper": {"b": [None, {"IntWrapper": {"value": 5}, "LongWrapper": None}]}, "string": None},
    ]


def test_a_null_parent_makes_no_value_up():
    schema = record([field("a", ["null", record([field("n", "long"), field("s", ["null", "string"])], "S")])])
    batch = decode_rows(write(schema, [{"a": None}, {"a": {"n": 1, "s": None}}]), text(schema))
    assert batch.column(0).to_pylist() == [None, {"n": 1, "s": None}]
    assert pa.compute.struct_field(batch.column(0), ["n"]).to_pylist() == [None, 1]


@pytest.mark.parametrize("code", [b"\x04", b"\x01", b"\x80\x01"])
def test_a_number_beyond_the_types_of_a_union_is_refused(code):
    with pytest.raises(CorruptData, match="union"):
        decoded(["null", "long"], b"\x00", code + b"\x02")


@pytest.mark.parametrize("count", [10**9, 2**62, -(2**62), -(2**63)])
@pytest.mark.parametrize("items", ["long", "string", "double", ["null", "long"]])
def test_counts_beyond_the_bytes_are_refused_before_anything_is_made(items, count):
    with pytest.raises(CorruptData):
        decoded({"type": "array", "items": items}, number(count) + bytes(30))


def test_a_count_as_large_as_all_bytes_is_still_held_to_its_record():
    body = number(40) + bytes(10)
    with pytest.raises(CorruptData):
        decoded({"type": "array", "items": "double"}, body, bytes(1), bytes(1))
    with pytest.raises(LimitExceeded):
        decoded({"type": "array", "items": "long"}, number(41) + bytes(10))


def test_union_of_one_type_has_its_number():
    schema = json.dumps(record([field("a", ["long"])]))
    assert decode_rows(pa.array([b"\x00\x02"], pa.binary()), schema).column(0).to_pylist() == [1]
