"""Columns are written as the bytes that fastavro, and Java, write for each row."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.avro_rows.reference import field, record, schemas, text, values, write

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows import decode_rows, encode_rows


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_bytes_are_those_of_fastavro(data):
    schema = data.draw(schemas())
    written = write(schema, data.draw(st.lists(values(schema), max_size=12)))
    batch = decode_rows(written, text(schema))
    encoded = encode_rows(batch, text(schema))
    again = encoded.cast(pa.binary())
    assert decode_rows(encoded, text(schema)).equals(batch)
    if not _has_long_decimals(schema):  # a writer may spend more bytes than the number needs
        assert again.equals(written)


def _has_long_decimals(schema: object) -> bool:
    return "'bytes', 'logicalType': 'decimal'" in str(schema)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_slices_are_written_as_the_rows_they_show(data):
    schema = data.draw(schemas())
    batch = decode_rows(write(schema, data.draw(st.lists(values(schema), min_size=3, max_size=9))), text(schema))
    whole, part = encode_rows(batch, text(schema)), encode_rows(batch.slice(1, 2), text(schema))
    part.validate(full=True)
    assert part.to_pylist() == whole.slice(1, 2).to_pylist()


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_columns_that_were_taken_apart_are_written_alike(data):
    schema = data.draw(schemas())
    batch = decode_rows(write(schema, data.draw(st.lists(values(schema), min_size=3, max_size=9))), text(schema))
    order = pa.array([2, 0, 1])
    assert encode_rows(batch.take(order), text(schema)).equals(encode_rows(batch, text(schema)).take(order))


def test_a_list_of_lists_is_a_block_of_blocks():
    schema = record([field("a", {"type": "array", "items": {"type": "array", "items": "int"}})])
    batch = pa.record_batch({"a": pa.array([[], [[]], [[1], [2, 3]]], pa.list_(pa.list_(pa.int32())))})
    assert encode_rows(batch, text(schema)).to_pylist() == [
        b"\x00",
        b"\x02\x00\x00",
        b"\x04" + b"\x02\x02\x00" + b"\x04\x04\x06\x00" + b"\x00",
    ]


def test_nulls_may_hide_values_in_arrows_buffers():
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3], pa.int64()), mask=pa.array([True, False])
    )
    texts = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), *pa.array(["hid", "x"]).buffers()[1:]])
    schema = record([field("l", ["null", {"type": "array", "items": "long"}]), field("s", ["null", "string"])])
    encoded = encode_rows(pa.record_batch({"l": lists, "s": texts}), text(schema))
    assert encoded.to_pylist() == [b"\x00\x00", b"\x02\x02\x06\x00\x02\x02x"]


def test_fields_without_a_column_have_their_default_or_null():
    schema = record(
        [
            field("a", "int"),
            field("b", "string", default="x"),
            field("c", ["null", "long"]),
            field("d", ["null", "long"], default=None),
            field("e", ["long", "null"], default=3),
        ]
    )
    encoded = encode_rows(pa.record_batch({"a": pa.array([1, 2], pa.int32())}), text(schema))
    assert encoded.to_pylist() == [b"\x02\x02x\x00\x00\x00\x06", b"\x04\x02x\x00\x00\x00\x06"]


WIDE = ["null", "int", record([field("value", "string")], "W")]
INT, TEXT = pa.int32(), pa.struct([("value", pa.string())])


def test_a_union_may_lack_the_columns_of_types_that_no_row_has():
    schema = record([field("a", WIDE)])
    array = pa.array([None, {"W": {"value": "x"}}, {"W": None}], pa.struct([("W", TEXT)]))
    assert encode_rows(pa.record_batch({"a": array}), text(schema)).to_pylist() == [b"\x00", b"\x04\x02x", b"\x00"]


@pytest.mark.parametrize(
    ("kind", "array", "message"),
    [
        ("long", pa.array([1, None]), "null stands"),
        (["long"], pa.array([1, None]), "null stands"),
        ({"type": "array", "items": "long"}, pa.array([[1, None]]), r"a\.element.*nulls"),
        ("int", pa.array([2**40]), "does not fit"),
        ("long", pa.array(["x"]), "does not fit"),
        ({"type": "array", "items": "long"}, pa.array([1]), "does not fit"),
        (record([field("x", "long")], "I"), pa.array([1]), "does not fit"),
        (record([field("x", "long")], "I"), pa.array([{"x": 1, "y": 2}]), r"no such field.*a\.y"),
        (record([field("x", "long")], "I"), pa.array([{}], pa.struct([])), r"neither column nor default.*a\.x"),
        (WIDE, pa.array([{"int": 1, "W": {"value": "x"}}], pa.struct([("int", INT), ("W", TEXT)])), "several values"),
        (WIDE, pa.array([{"V": 1}]), r"no such type.*a\.V"),
        (WIDE[1:], pa.array([{"int": None}], pa.struct([("int", INT)])), "several values of a union, or none"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.array(["A", "B"]), "no such symbol.*B"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(kind, array, message):
    with pytest.raises(SchemaMismatch, match=message) as refused:
        encode_rows(pa.record_batch({"a": array}), text(record([field("a", kind)])))
    assert str(refused.value.values.get("field", "")).startswith("a")


def test_a_column_that_the_schema_lacks_is_refused():
    with pytest.raises(SchemaMismatch, match="field='b'"):
        encode_rows(pa.record_batch({"a": pa.array([1]), "b": pa.array([1])}), text(record([field("a", "long")])))


def test_a_table_is_written_as_its_batches_are():
    schema = text(record([field("a", "long")]))
    batch = pa.record_batch({"a": pa.array([1, 2, 3])})
    table = pa.Table.from_batches([batch.slice(0, 2), batch.slice(2)])
    assert encode_rows(table, schema).equals(encode_rows(batch, schema))


def test_no_rows_are_no_values():
    schema = record([field("a", ["null", "string"]), field("b", {"type": "array", "items": WIDE})])
    empty = decode_rows(pa.array([], pa.binary()), text(schema))
    assert encode_rows(empty, text(schema)).to_pylist() == []
    nothing = text(record([]))
    assert encode_rows(decode_rows(pa.array([b"", b""], pa.binary()), nothing), nothing).to_pylist() == [b"", b""]
