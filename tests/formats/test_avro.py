import io
import json
import zlib

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, HudiError, InvalidInput, LimitExceeded, Unsupported
from pyhudi.formats.avro import decode_container, encode_container

SYNC = b"0123456789abcdef"
SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": ["null", "int"], "default": None}],
}
# what Java's DataFileWriter makes of SCHEMA, SYNC and {"a": "x", "b": 7}
JAVA = bytes.fromhex(
    "4f626a0102166176726f2e736368656d61ec017b2274797065223a227265636f7264222c226e616d65223a2252222c226669656c6473223a5b7b"
    "226e616d65223a2261222c2274797065223a22737472696e67227d2c7b226e616d65223a2262222c2274797065223a5b226e756c6c222c22696e"
    "74225d2c2264656661756c74223a6e756c6c7d5d7d003031323334353637383961626364656602080278020e3031323334353637383961626364"
    "6566"
)
STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [{"name": "fileId", "type": ["null", {"type": "string", "avro.java.string": "String"}], "default": None}],
}
COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": STAT}, "avro.java.string": "String"}],
            "default": None,
        },
        {"name": "version", "type": ["int", "null"], "default": 1},
        {"name": "again", "type": ["null", "HoodieWriteStat"], "default": None},
    ],
}


def container(schema: object, body: bytes, codec: bytes | None = None, count: int = 1) -> bytes:
    def sized(data: bytes) -> bytes:
        return number(len(data)) + data

    entries = [(b"avro.schema", json.dumps(schema).encode())] + ([(b"avro.codec", codec)] if codec else [])
    header = number(len(entries)) + b"".join(sized(key) + sized(value) for key, value in entries) + number(0)
    return b"Obj\x01" + header + SYNC + number(count) + sized(body) + SYNC


def number(value: int) -> bytes:
    left, out = (value << 1) ^ (value >> 63), b""
    while left > 127:
        out += bytes([left & 127 | 128])
        left >>= 7
    return out + bytes([left])


def test_bytes_are_those_of_javas_writer() -> None:
    assert encode_container(SCHEMA, {"a": "x", "b": 7}, SYNC) == JAVA
    assert decode_container(JAVA) == ({"a": "x", "b": 7}, SCHEMA, SYNC)


def test_header_is_laid_out_by_hand() -> None:
    text = json.dumps(COMMIT, separators=(",", ":")).encode()
    data = encode_container(COMMIT, {"version": None}, SYNC)
    assert data[:4] == b"\x4f\x62\x6a\x01"
    assert data[4:17] == b"\x02\x16avro.schema"
    assert data[17 : 17 + len(number(len(text)))] == number(len(text))
    assert data.endswith(text + b"\x00" + SYNC + b"\x02\x06" + b"\x00\x02\x00" + SYNC)
    assert b"avro.codec" not in data


def test_metadata_survives_the_trip_and_fastavro_reads_it() -> None:
    record = {
        "partitionToWriteStats": {"p=1": [{"fileId": "f\u00e9"}, {"fileId": None}], "": []},
        "version": None,
        "again": {"fileId": "x"},
    }
    data = encode_container(COMMIT, record, SYNC)
    assert decode_container(data)[0] == record
    assert list(fastavro.reader(io.BytesIO(data))) == [record]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_files_of_other_writers_are_read(codec: str) -> None:
    sink = io.BytesIO()
    fastavro.writer(sink, COMMIT, [{"version": 3}], codec=codec, sync_marker=SYNC)
    record, schema, sync = decode_container(sink.getvalue())
    assert (record["version"], record["again"], schema["name"], sync) == (3, None, "HoodieCommitMetadata", SYNC)


def test_header_map_in_blocks_with_sizes_is_read() -> None:
    text = json.dumps(SCHEMA).encode()
    entry = number(11) + b"avro.schema" + number(len(text)) + text
    assert decode_container(b"Obj\x01" + number(-1) + number(len(entry)) + entry + b"\0" + JAVA[-38:])[0]["a"] == "x"


def test_records_that_do_not_fit_are_refused() -> None:
    for record in ({"a": 1}, {"a": None}, {}, {"a": "x", "b": 1 << 40}):
        with pytest.raises(InvalidInput, match="does not fit"):
            encode_container(SCHEMA, record, SYNC)
    with pytest.raises(InvalidInput, match="16 bytes"):
        encode_container(SCHEMA, {"a": "x"}, b"short")


def test_every_cut_is_corrupt_data() -> None:
    for size in range(len(JAVA)):
        with pytest.raises(CorruptData):
            decode_container(JAVA[:size])
    with pytest.raises(CorruptData, match="exactly one"):
        decode_container(JAVA + b"\0")


@pytest.mark.parametrize("count", [0, 2, -1])
def test_files_of_no_or_several_records_are_corrupt_data(count: int) -> None:
    with pytest.raises(CorruptData, match="exactly one"):
        decode_container(container(SCHEMA, b"\x02x\x00", count=count))


def test_every_flipped_byte_gives_a_record_or_a_typed_error() -> None:
    for position in range(len(JAVA)):
        for flip in (0x01, 0x80, 0xFF):
            data = bytearray(JAVA)
            data[position] ^= flip
            _decode_or_typed_error(bytes(data))


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_any_bytes_give_a_record_or_a_typed_error(data: bytes) -> None:
    _decode_or_typed_error(b"Obj\x01" + data)
    _decode_or_typed_error(container(COMMIT, data))
    _decode_or_typed_error(container(SCHEMA, data, b"deflate"))


def _decode_or_typed_error(data: bytes) -> None:
    try:
        decode_container(data)
    except HudiError:
        return


def nested(depth: int) -> object:
    schema: object = "int"
    for level in range(depth):
        schema = {"type": "record", "name": f"N{level}", "fields": [{"name": "x", "type": schema}]}
    return schema


def laughing(levels: int) -> dict[str, object]:
    fields: list[dict[str, object]] = [{"name": "l0", "type": {"type": "record", "name": "L0", "fields": []}}]
    for level in range(1, levels):
        inner = [{"name": name, "type": f"L{level - 1}"} for name in "ab"]
        fields.append({"name": f"l{level}", "type": {"type": "record", "name": f"L{level}", "fields": inner}})
    return {"type": "record", "name": "Top", "fields": fields}


RECURSIVE = {"type": "record", "name": "T", "fields": [{"name": "next", "type": ["null", "T"]}]}
NOTHINGS = {"type": "record", "name": "T", "fields": [{"name": "n", "type": {"type": "array", "items": "null"}}]}


@pytest.mark.parametrize(
    "schema",
    [
        nested(70),
        laughing(60),
        RECURSIVE,
        NOTHINGS,
        "int",
        ["null"],
        {"type": "recordd"},
        {"type": {"type": []}},
        {"type": []},
    ],
)
def test_schemas_that_would_exhaust_a_decoder_are_refused(schema: object) -> None:
    with pytest.raises(CorruptData):
        decode_container(container(schema, b"\x02" * 50 + number(1 << 60)))


def test_brackets_without_end_do_not_exhaust_the_stack() -> None:
    text = b"[" * 1_000_000
    data = b"Obj\x01\x02\x16avro.schema" + number(len(text)) + text + b"\0" + SYNC + number(1) + number(0) + SYNC
    with pytest.raises(LimitExceeded, match="deeply"):
        decode_container(data)


def test_declared_sizes_are_checked_before_anything_is_read() -> None:
    with pytest.raises(LimitExceeded, match="header entries"):
        decode_container(b"Obj\x01" + number(1 << 40))
    with pytest.raises(LimitExceeded, match="too large"):
        decode_container(b"Obj\x01\x02" + number(1 << 40))
    with pytest.raises(CorruptData, match="impossible size"):
        decode_container(b"Obj\x01\x02" + number(-5))


def test_bombs_and_other_codecs_are_refused() -> None:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = deflater.compress(b"\0" * (64 << 20)) + deflater.flush()
    with pytest.raises(LimitExceeded, match="inflates"):
        decode_container(container(SCHEMA, bomb, b"deflate"))
    with pytest.raises(Unsupported, match="codec"):
        decode_container(container(SCHEMA, b"", b"snappy"))
    with pytest.raises(CorruptData, match="sync"):
        decode_container(JAVA[:-1] + b"!")
