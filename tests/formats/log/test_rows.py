import io
import json
import struct
import time
from contextlib import suppress

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.log.samples import Counted, golden_logs

from pyhudi.errors import CorruptData, HudiError, InvalidInput, Unsupported
from pyhudi.formats.log import BlockKind, join_rows, read_blocks, read_rows, split_rows
from pyhudi.formats.log.rows import bytes_of


@pytest.mark.parametrize("name", ["mor_logs-v9", "mor_late-v8", "mor_types-v9", "mor_cdc_data_before_after-v6"])
def test_rows_of_golden_tables_are_split_and_joined_to_the_byte(name):
    rows = 0
    for data in golden_logs(name).values():
        for block in read_blocks(Counted(data), len(data)):
            if block.kind in (BlockKind.AVRO, BlockKind.CDC):
                content = block.read_content()
                values = split_rows(content)
                assert join_rows(values) == content
                schema = fastavro.parse_schema(json.loads(block.schema))
                for value in values.to_pylist():
                    source = io.BytesIO(value)
                    fastavro.schemaless_reader(source, schema, None)
                    assert source.tell() == len(value)
                rows += len(values)
    assert rows


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(0, 3))
def test_what_is_joined_is_split(values, begin):
    array = pa.array(values, pa.binary()).slice(begin)
    content = join_rows(array)
    assert content == struct.pack(">ii", 3, len(array)) + b"".join(
        struct.pack(">i", len(value)) + value for value in array.to_pylist()
    )
    found = split_rows(content)
    found.validate(full=True)
    assert found.equals(array)


def test_nulls_are_no_rows():
    with pytest.raises(InvalidInput):
        join_rows(pa.array([b"a", None]))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"\0\0\0\3\0\0\0", CorruptData),
        (struct.pack(">ii", 0, 0), Unsupported),
        (struct.pack(">ii", 4, 0), Unsupported),
        (struct.pack(">ii", 3, -1), CorruptData),
        (struct.pack(">ii", 3, 2**31 - 1), CorruptData),
        (struct.pack(">ii", 3, 0) + b"x", CorruptData),
        (struct.pack(">iii", 3, 1, 2) + b"x", CorruptData),
        (struct.pack(">iii", 3, 1, 0) + b"x", CorruptData),
        (struct.pack(">iii", 3, 1, -1) + b"x", CorruptData),
        (struct.pack(">iiiii", 3, 3, 2**31 - 1, 0, 0), CorruptData),
        (struct.pack(">iii", 3, 2, 0) + b"\0\0\0\1", CorruptData),
    ],
)
def test_what_does_not_add_up_is_refused(content, error):
    with pytest.raises(error):
        split_rows(content)


@given(st.lists(st.binary(max_size=9), max_size=9), st.data())
def test_damaged_rows_are_split_or_refused(values, data):
    content = bytearray(join_rows(pa.array(values, pa.binary())))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
    with suppress(HudiError):
        split_rows(bytes(content)).validate(full=True)


def test_a_million_rows_are_split_in_less_than_a_microsecond_each():
    content = join_rows(pa.array([b"x" * 40] * 1_000_000))
    begin = time.process_time()
    split_rows(content)
    assert time.process_time() - begin < 1


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 200))
def test_rows_are_read_in_parts_as_they_are_at_once(values, part_bytes):
    content = join_rows(pa.array(values, pa.binary()))
    count, parts = read_rows(lambda at, size: content[at : at + size], len(content), part_bytes)
    found = list(parts)
    assert count == len(values)
    assert [one for part in found for one in part.to_pylist()] == values
    assert all(len(part) for part in found) or not values


@given(st.binary(max_size=60), st.integers(1, 40))
def test_damaged_rows_raise_the_same_in_parts_as_at_once(tail, part_bytes):
    content = struct.pack(">ii", 3, 3) + tail

    def outcome(read):
        try:
            return [one for part in read() for one in part.to_pylist()]
        except CorruptData:
            return None

    parts = outcome(lambda: read_rows(lambda at, size: content[at : at + size], len(content), part_bytes)[1])
    assert parts == outcome(lambda: [split_rows(content)])


def test_values_behind_one_another_are_the_bytes_of_their_buffer():
    values = pa.array([b"ab", b"", b"c", b"def"])
    assert bytes(bytes_of(values)) == b"abcdef"
    assert bytes(bytes_of(values.slice(1, 2))) == b"c"
    assert bytes(bytes_of(values.slice(4))) == bytes(bytes_of(pa.array([], pa.binary()))) == b""
