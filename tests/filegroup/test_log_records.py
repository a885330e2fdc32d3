import json
import random
import struct
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptData, InternalError, SchemaMismatch, Unsupported
from pyhudi.filegroup.log_records import ReadSpec, read_changes, read_parts
from pyhudi.filegroup.rows import RowLayout
from pyhudi.formats.avro_rows import encode_rows
from pyhudi.formats.bitmap import encode_positions
from pyhudi.formats.hfile import write_hfile
from pyhudi.formats.log import (
    DELETES,
    BlockKind,
    HeaderKey,
    NewBlock,
    encode_blocks,
    encode_deletes,
    join_rows,
    read_blocks,
)
from pyhudi.kernels.keys import KeyGenerator, KeySpec
from pyhudi.kernels.merge import MergeSpec
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.schema.types import arrow_to_avro

OWN = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("note", pa.string()),
        ("place", pa.struct([("city", pa.string())])),
    ]
)
SCHEMA = with_meta_fields(OWN)
KEYS = KeySpec(generator=KeyGenerator.NON_PARTITION, record_key=("id",))
LAYOUT = RowLayout(schema=OWN, key_spec=KEYS)
VIRTUAL = replace(LAYOUT, has_meta_values=False)
SPEC = ReadSpec(schema=SCHEMA, layout=LAYOUT, merge=MergeSpec(ordering=("ts",), is_event_time=True))
ROWS = pa.table(
    {
        "_hoodie_commit_time": ["1", "1"],
        "_hoodie_commit_seqno": ["1_0_0", "1_0_1"],
        "_hoodie_record_key": ["b", "a"],
        "_hoodie_partition_path": ["", ""],
        "_hoodie_file_name": ["f", "f"],
        "id": ["b", "a"],
        "ts": [2, None],
        "note": ["later", None],
        "place": [{"city": "rio"}, None],
    },
    SCHEMA,
)
KINDS = (BlockKind.AVRO, BlockKind.PARQUET, BlockKind.HFILE)


def content_of(rows, kind, avro, hfile_keys=None):
    if kind is BlockKind.PARQUET:
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, row_group_size=1000)
        return sink.getvalue().to_pybytes()
    values = encode_rows(rows, avro).cast(pa.binary())
    if kind is BlockKind.HFILE:
        return write_hfile(pa.array(hfile_keys, pa.binary()), values, file_info={"schema": avro.encode()})
    return join_rows(values)


class Source:
    """A log file in memory that counts the bytes read of it."""

    def __init__(self, data):
        self.data, self.bytes_read = data, 0

    def __call__(self, offset, length):
        self.bytes_read += length
        return self.data[offset : offset + length]


def block_of(kind, content, **headers):
    every = {HeaderKey.INSTANT_TIME: "1", **{HeaderKey[name]: value for name, value in headers.items()}}
    source = Source(encode_blocks([NewBlock(kind=kind, headers=every, content=content)]))
    [block] = read_blocks(source, len(source.data))
    return replace(block, source=source)


def rows_block(rows, kind=BlockKind.AVRO, hfile_keys=None, **headers):
    avro = json.dumps(arrow_to_avro(rows.schema, "r", ""))
    return block_of(kind, content_of(rows, kind, avro, hfile_keys), SCHEMA=avro, **headers)


def deletes_block(*rows, **headers):
    """Return a block of (key, None or (wrapper, value))."""
    table = pa.table(
        {
            "record_key": [key for key, _ in rows],
            "partition_path": [""] * len(rows),
            "ordering": [None if value is None else {value[0]: {"value": value[1]}} for _, value in rows],
        },
        DELETES,
    )
    return block_of(BlockKind.DELETE, encode_deletes(table), **headers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_of_rows_is_read_in_its_order(kind):
    changes = read_changes(rows_block(ROWS, kind, [b"a", b"b"]), SPEC)
    assert changes.rows.equals(ROWS)
    assert changes.keys.to_pylist() == ["b", "a"]
    assert not changes.is_delete.any()
    assert not changes.is_unordered.any()
    assert changes.columns is None
    assert changes.positions is None


@pytest.mark.parametrize("kind", KINDS)
def test_only_columns_that_are_asked_for_come(kind):
    narrow = pa.schema([SCHEMA.field("note"), SCHEMA.field("ts")])
    changes = read_changes(rows_block(ROWS, kind, [b"a", b"b"]), replace(SPEC, schema=narrow))
    assert changes.rows.equals(ROWS.select(["note", "ts"]))
    assert changes.keys.to_pylist() == ["b", "a"]


def test_of_a_large_parquet_block_only_wanted_columns_are_read():
    many = ROWS.take(pa.array([0] * 2000))
    wide = many.append_column("big", pa.array([random.Random(place).randbytes(4000) for place in range(2000)]))
    block = rows_block(wide, BlockKind.PARQUET)
    assert block.content_bytes > 1 << 20
    block.source.bytes_read = 0
    changes = read_changes(block, SPEC)
    assert changes.rows.equals(many)
    assert block.source.bytes_read < block.content_bytes // 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_can_be_read_in_parts(kind):
    count = 20_000
    keys = [f"{place:0500}" for place in range(count)]
    names = pa.array(keys)
    many = ROWS.slice(1, 1).take(pa.array([0] * count)).set_column(2, "_hoodie_record_key", names)
    many = many.append_column("big", names).combine_chunks()
    positions = {} if kind is BlockKind.HFILE else {"RECORD_POSITIONS": encode_positions(np.arange(count) * 2)}
    block = rows_block(many, kind, keys, BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS="7", **positions)
    spec = replace(SPEC, base_instant="7")
    whole, parts = read_changes(block, spec), list(read_parts(block, spec, 1))
    assert len(parts) > 1
    assert pa.concat_tables([part.rows for part in parts]).equals(whole.rows)
    assert [key for part in parts for key in part.keys.to_pylist()] == keys == whole.keys.to_pylist()
    if positions:
        found = np.concatenate([part.positions for part in parts])
        assert found.tolist() == whole.positions.tolist() == list(range(0, 2 * count, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_without_rows_is_one_empty_part(kind):
    [part] = read_parts(rows_block(ROWS.slice(0, 0), kind, []), SPEC, 1)
    assert part.rows.equals(SCHEMA.empty_table())
    assert len(part.keys) == len(part.is_delete) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_an_older_schema_are_read_as_today(kind):
    today = pa.schema(
        [
            ("id", pa.string()),
            ("ts", pa.string()),
            ("place", pa.struct([("city", pa.string()), ("zip", pa.int64())])),
            ("new", pa.int32()),
        ]
    )
    spec = replace(SPEC, schema=today)
    rows = read_changes(rows_block(ROWS, kind, [b"a", b"b"]), spec).rows
    assert rows.schema.equals(today)
    assert rows.to_pylist() == [
        {"id": "b", "ts": "2", "place": {"city": "rio", "zip": None}, "new": None},
        {"id": "a", "ts": None, "place": None, "new": None},
    ]


def test_types_that_cannot_become_today_s_are_refused():
    spec = replace(SPEC, schema=pa.schema([("ts", pa.int64()), ("note", pa.int64())]))
    with pytest.raises(SchemaMismatch, match="note"):
        read_changes(rows_block(ROWS), spec)


def test_keys_of_an_hfile_are_put_back_where_they_are_blank():
    blank = ROWS.set_column(2, "_hoodie_record_key", pa.array(["", "a"]))
    changes = read_changes(rows_block(blank, BlockKind.HFILE, [b"k", b"n"]), SPEC)
    assert changes.keys.to_pylist() == ["k", "a"]
    assert changes.rows["_hoodie_record_key"].to_pylist() == ["k", "a"]


@pytest.mark.parametrize("kind", KINDS)
def test_virtual_keys_are_computed(kind):
    nulls = pa.nulls(2, pa.string())
    rows = pa.table([nulls] * 5 + [ROWS.column(name) for name in OWN.names], SCHEMA)
    spec = replace(SPEC, schema=pa.schema([SCHEMA.field("ts")]), layout=VIRTUAL)
    assert read_changes(rows_block(rows, kind, [b"a", b"b"]), spec).keys.to_pylist() == ["b", "a"]


def test_the_virtual_key_of_an_hfile_is_put_back():
    nulls = pa.nulls(1, pa.string())
    rows = pa.table([nulls] * 5 + [pa.array([""]), *(ROWS.column(name).slice(0, 1) for name in OWN.names[1:])], SCHEMA)
    changes = read_changes(rows_block(rows, BlockKind.HFILE, [b"k"]), replace(SPEC, layout=VIRTUAL))
    assert changes.keys.to_pylist() == changes.rows["id"].to_pylist() == ["k"]


def test_virtual_keys_are_those_of_today_s_types():
    rows = ROWS.set_column(5, "id", pa.array([1.5, 2.5], pa.float32()))
    spec = replace(SPEC, schema=pa.schema([("id", pa.float64()), ("ts", pa.int64())]), layout=VIRTUAL)
    assert read_changes(rows_block(rows), spec).keys.to_pylist() == ["1.5", "2.5"]


def test_rows_say_that_they_are_deletes():
    rows = ROWS.append_column("_hoodie_is_deleted", pa.array([True, True]))
    changes = read_changes(rows_block(rows), SPEC)
    assert changes.is_delete.tolist() == [True, True]
    assert changes.is_unordered.tolist() == [False, True]  # the second has no ordering value
    assert changes.rows.equals(ROWS)


def test_a_partial_block_says_which_columns_it_has():
    part = ROWS.select([*SCHEMA.names[:5], "id", "ts"])
    must = pa.schema([*SCHEMA, pa.field("must", pa.string(), nullable=False)])
    changes = read_changes(rows_block(part, IS_PARTIAL="true"), replace(SPEC, schema=must))
    assert changes.columns == (*SCHEMA.names[:5], "id", "ts")
    assert changes.rows.schema.equals(must)
    assert changes.rows["note"].null_count == changes.rows["must"].null_count == 2
    with pytest.raises(SchemaMismatch, match="must"):
        read_changes(rows_block(part), replace(SPEC, schema=must))


def test_deletes_have_their_ordering_value_and_nothing_else():
    changes = read_changes(deletes_block(("x", ("LongWrapper", 5)), ("y", ("IntWrapper", 0)), ("z", None)), SPEC)
    assert changes.keys.to_pylist() == ["x", "y", "z"]
    assert changes.rows.schema.equals(SCHEMA)
    assert changes.rows["ts"].to_pylist() == [5, None, None]
    assert all(changes.rows[name].null_count == 3 for name in SCHEMA.names if name != "ts")
    assert changes.is_delete.all()
    assert changes.is_unordered.tolist() == [False, True, True]


def test_by_order_of_commits_every_delete_wins():
    spec = replace(SPEC, schema=pa.schema([SCHEMA.field("note")]), merge=MergeSpec(ordering=("ts",)))
    changes = read_changes(deletes_block(("x", ("LongWrapper", 5))), spec)
    assert changes.is_unordered.tolist() == [True]


def test_an_empty_delete_block_has_no_changes():
    assert len(read_changes(deletes_block(), SPEC).keys) == 0


def test_positions_count_only_where_they_are_of_the_same_base_file():
    block = {"RECORD_POSITIONS": encode_positions(np.array([7, 70_000])), "IS_PARTIAL": "false"}
    base = "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS"
    for make in (lambda more: rows_block(ROWS, **more), lambda more: deletes_block(("x", None), ("y", None), **more)):
        known = make({**block, base: "20260101"})
        assert read_changes(known, replace(SPEC, base_instant="20260101")).positions.tolist() == [7, 70_000]
        assert read_changes(known, replace(SPEC, base_instant="20260102")).positions is None
        assert read_changes(known, SPEC).positions is None
        assert read_changes(make(block), replace(SPEC, base_instant="20260101")).positions is None


def test_more_positions_than_records_are_corrupt():
    text = encode_positions(np.array([7, 8, 9]))
    block = rows_block(ROWS, RECORD_POSITIONS=text, BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS="20260101")
    with pytest.raises(CorruptData, match="positions"):
        read_changes(block, replace(SPEC, base_instant="20260101"))


def test_a_record_without_a_key_is_corrupt():
    with pytest.raises(CorruptData, match="no key"):
        read_changes(deletes_block((None, None)), SPEC)
    keyless = ROWS.set_column(2, "_hoodie_record_key", pa.array(["b", None]))
    with pytest.raises(CorruptData, match="no key"):
        read_changes(rows_block(keyless), SPEC)
    with pytest.raises(CorruptData, match="no record keys"):
        read_changes(rows_block(ROWS.drop_columns(["_hoodie_record_key"])), SPEC)


def test_change_logs_and_deletes_in_kryo_are_refused_by_name():
    with pytest.raises(Unsupported, match="change log"):
        read_changes(rows_block(ROWS, BlockKind.CDC), SPEC)
    for version in (1, 2):
        with pytest.raises(Unsupported, match="Kryo"):
            read_changes(block_of(BlockKind.DELETE, struct.pack(">ii", version, 0)), SPEC)


def test_ordering_columns_must_be_among_those_that_are_read():
    with pytest.raises(InternalError, match="ordering columns"):
        read_changes(rows_block(ROWS), replace(SPEC, schema=pa.schema([SCHEMA.field("note")])))
