"""Records read into columns are those that fastavro reads one at a time."""

import contextlib

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.avro_rows.reference import field, read, record, rows_of, schemas, text, values, write

from pyhudi.errors import CorruptData, InvalidInput, SchemaMismatch
from pyhudi.formats.avro_rows import decode, decode_rows


@st.composite
def written(draw: st.DrawFn) -> tuple[object, pa.Array]:
    schema = draw(schemas())
    return schema, write(schema, draw(st.lists(values(schema), max_size=12)))


@given(written())
@settings(max_examples=300, deadline=None)
def test_columns_hold_what_fastavro_reads(case):
    schema, data = case
    batch = decode_rows(data, text(schema))
    batch.validate(full=True)
    assert rows_of(batch) == read(data, schema)


@given(written(), st.randoms())
@settings(max_examples=100, deadline=None)
def test_a_projection_is_a_selection_of_all_columns(case, random):
    schema, data = case
    names = [part["name"] for part in schema["fields"]]
    wanted = random.sample(names, random.randint(0, len(names)))
    assert decode_rows(data, text(schema), columns=wanted).equals(decode_rows(data, text(schema)).select(wanted))


@given(written(), st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_bytes_are_refused_or_read_and_nothing_else(case, data):
    schema, records = case
    spoiled = [_spoil(one, data) for one in records.to_pylist()]
    with contextlib.suppress(CorruptData):
        decode_rows(pa.array(spoiled, pa.binary()), text(schema)).validate(full=True)


def _spoil(one: bytes, data: st.DataObject) -> bytes:
    if not one or not data.draw(st.booleans()):
        return one
    at = data.draw(st.integers(0, len(one) - 1))
    how = data.draw(st.sampled_from(["cut", "flip", "insert", "high"]))
    byte = b"\xff" * 10 if how == "high" else bytes([data.draw(st.integers(0, 255))])
    return one[:at] + (b"" if how == "cut" else byte + one[at + (how == "flip") :])


@given(written(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_record_that_is_cut_off_is_refused(case, data):
    schema, records = case
    rows = [one for one in records.to_pylist() if one]
    if rows:
        at = data.draw(st.integers(0, len(rows) - 1))
        rows[at] = rows[at][:-1]
        with pytest.raises(CorruptData):
            decode_rows(pa.array(rows, pa.binary()), text(schema))


@given(st.binary(max_size=200), schemas())
@settings(max_examples=200, deadline=None)
def test_bytes_of_anything_are_refused_or_read(noise, schema):
    with contextlib.suppress(CorruptData):
        decode_rows(pa.array([noise], pa.binary()), text(schema)).validate(full=True)


def test_large_binary_and_slices_are_read_alike():
    schema = record([field("a", ["null", "string"]), field("b", "long")])
    data = write(schema, [{"a": None if i % 3 else str(i), "b": i} for i in range(50)])
    whole = decode_rows(data, text(schema))
    assert decode_rows(data.cast(pa.large_binary()), text(schema)).equals(whole)
    assert decode_rows(data.slice(7, 20), text(schema)).equals(whole.slice(7, 20))
    assert decode_rows(pa.chunked_array([data[:9], data[9:]]), text(schema)).equals(whole)
    assert decode_rows(data.slice(7, 0), text(schema)).num_rows == 0


def test_records_of_many_parts_come_back_as_one_batch(monkeypatch):
    schema = record([field("a", ["null", "string"]), field("b", {"type": "array", "items": "long"})])
    data = write(schema, [{"a": None if i % 3 else "x" * i, "b": [i, -i]} for i in range(200)])
    whole = decode_rows(data, text(schema))
    monkeypatch.setattr(decode, "_PART_BYTES", 100)
    assert decode_rows(data, text(schema)).equals(whole)
    assert decode_rows(data.slice(3, 90), text(schema)).equals(whole.slice(3, 90))


def test_nulls_and_other_types_are_refused_as_input():
    schema = text(record([field("a", "long")]))
    with pytest.raises(InvalidInput, match="null"):
        decode_rows(pa.array([b"\x02", None], pa.binary()), schema)
    with pytest.raises(InvalidInput, match="binary"):
        decode_rows(pa.array(["a"]), schema)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(SchemaMismatch, match="nope"):
        decode_rows(pa.array([b"\x02"], pa.binary()), text(record([field("a", "long")])), columns=["nope"])


def test_an_error_names_the_field():
    schema = record([field("a", "long"), field("s", "string")])
    with pytest.raises(CorruptData, match="field='s'"):
        decode_rows(pa.array([b"\x02\x08ab"], pa.binary()), text(schema))


def test_bytes_left_behind_a_record_are_refused():
    with pytest.raises(CorruptData, match="record=1"):
        decode_rows(pa.array([b"\x02", b"\x02\x02"], pa.binary()), text(record([field("a", "long")])))


def test_columns_of_the_same_batch_do_not_share_what_one_may_change():
    schema = record([field("a", "double"), field("b", "double")])
    batch = decode_rows(write(schema, [{"a": 1.0, "b": 2.0}] * 3), text(schema))
    assert batch.to_pydict() == {"a": [1.0] * 3, "b": [2.0] * 3}
