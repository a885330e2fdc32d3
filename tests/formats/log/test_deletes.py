import io
import struct
from contextlib import suppress

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.log.samples import Counted, golden_logs

from pyhudi.errors import CorruptData, HudiError, Unsupported
from pyhudi.formats.log import DELETES, BlockKind, decode_deletes, deletes, read_blocks

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
KINDS = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": {"type": "string", "avro.java.string": "String"},
    "DateWrapper": "int",
    "DecimalWrapper": DECIMAL,
    "TimeMicrosWrapper": {"type": "long", "logicalType": "time-micros"},
    "TimestampMicrosWrapper": "long",
}


def record(name, *fields):
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


WRAPPERS = [record(name, ("value", kind)) for name, kind in KINDS.items()]
ITEMS = ["null", *KINDS, record("LocalDateWrapper", ("value", "int"))]
ARRAY = record("ArrayWrapper", ("wrappedValues", ["null", {"type": "array", "items": ITEMS}]))
DELETE = record(
    "HoodieDeleteRecord",
    ("recordKey", ["null", "string"]),
    ("partitionPath", ["null", "string"]),
    ("orderingVal", ["null", *WRAPPERS, ARRAY]),
)
SCHEMA = fastavro.parse_schema(
    record("HoodieDeleteRecordList", ("deleteRecordList", {"type": "array", "items": DELETE}))
)
"""What Apache Hudi 1.2.0 writes; earlier releases have no ArrayWrapper."""

ORDERINGS = {
    "BooleanWrapper": st.booleans(),
    "IntWrapper": st.integers(-(2**31), 2**31 - 1),
    "LongWrapper": st.integers(-(2**63), 2**63 - 1),
    "FloatWrapper": st.floats(width=32, allow_nan=False),
    "DoubleWrapper": st.floats(allow_nan=False),
    "BytesWrapper": st.binary(),
    "StringWrapper": st.text(),
    "DateWrapper": st.integers(-(2**31), 2**31 - 1),
    "DecimalWrapper": st.decimals(-(10**14), 10**14, places=15),
    "TimeMicrosWrapper": st.times(),
    "TimestampMicrosWrapper": st.integers(-(2**63), 2**63 - 1),
}
WRAPPED = st.one_of(st.tuples(st.just(name), values) for name, values in ORDERINGS.items())
MANY = st.lists(st.none() | WRAPPED | st.tuples(st.just("LocalDateWrapper"), st.integers(-9, 9)), max_size=4)
ROWS = st.tuples(
    st.none() | st.text(), st.none() | st.text(), st.none() | WRAPPED | st.tuples(st.just("ArrayWrapper"), MANY)
)


def content(rows):
    """Write rows of (key, path, None or (wrapper, value)) as fastavro does by the schema of Apache Hudi."""

    def wrapped(value):
        if value is None:
            return None
        name, inner = value
        if name == "ArrayWrapper":
            return (name, {"wrappedValues": [wrapped(one) for one in inner]})
        return (name, {"value": inner})

    deletes = [{"recordKey": key, "partitionPath": path, "orderingVal": wrapped(value)} for key, path, value in rows]
    body = io.BytesIO()
    fastavro.schemaless_writer(body, SCHEMA, {"deleteRecordList": deletes})
    return struct.pack(">ii", 3, len(body.getvalue())) + body.getvalue()


def one_delete(ordering):
    """Write the delete of `a` with any bytes for its ordering value."""
    body = b"\2\2\2a\2\0" + ordering + b"\0"
    return struct.pack(">ii", 3, len(body)) + body


def row(found):
    """Return (key, path, None or (wrapper, value)) of a row as `decode_deletes` gives it."""

    def unwrapped(value):
        if value is None:
            return None
        ((name, inner),) = [(name, one) for name, one in value.items() if one is not None]
        if name == "ArrayWrapper":
            return (name, [unwrapped(one) for one in inner["wrappedValues"]])
        return (name, inner["value"])

    return (found["record_key"], found["partition_path"], unwrapped(found["ordering"]))


def test_deletes_of_golden_tables_are_those_of_their_scripts():
    found = {}
    for name in ("mor_logs-v6", "mor_logs-v8", "mor_logs-v9", "mor_late-v9", "cow_secondary_index-v9"):
        for data in golden_logs(name).values():
            for block in read_blocks(Counted(data), len(data)):
                if block.kind is BlockKind.DELETE:
                    rows = decode_deletes(block.read_content())
                    assert rows.schema == DELETES
                    found.setdefault(name, []).extend(row(one) for one in rows.to_pylist())
    zero = ("IntWrapper", 0)
    assert found["mor_logs-v6"] == found["mor_logs-v8"] == found["mor_logs-v9"] == [("b", "city=rio", zero)]
    assert found["mor_late-v9"] == [("c", "", zero)]
    secondary = "secondary_index_by_note"
    assert sorted(found["cow_secondary_index-v9"]) == [
        ("\0$b", secondary, zero),
        ("b", "record_index", zero),
        ("later$a", secondary, zero),
    ]


def test_an_empty_list_is_what_begins_a_file_group_of_a_metadata_table():
    assert decode_deletes(bytes.fromhex("000000030000000100")).num_rows == 0
    assert content([]) == bytes.fromhex("000000030000000100")


@pytest.fixture(params=[False, True], ids=["few", "many"], scope="module", autouse=True)
def is_many(request):
    """Read as few deletes are read, and as many are."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param:
            patched.setattr(deletes, "_LARGE_BYTES", -1)
        yield


@given(st.lists(ROWS, max_size=5))
def test_what_apache_hudi_writes_is_read(rows):
    found = decode_deletes(content(rows))
    found.validate(full=True)
    assert found.schema == DELETES
    assert [row(one) for one in found.to_pylist()] == rows


def test_many_deletes_are_read_as_few_are():
    kinds = [None, ("IntWrapper", 0), ("LongWrapper", 1 << 40), ("StringWrapper", "x" * 70), ("BooleanWrapper", True)]
    rows = [(f"key {at}", f"city={at % 3}", kinds[at % 5]) for at in range(20_000)]
    assert len(content(rows)) > 256 << 10
    found = decode_deletes(content(rows))
    assert found.schema == DELETES
    assert [row(one) for one in found.to_pylist()] == rows


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (b"", CorruptData, "cut off"),
        (b"\0\0\0\3\0\0\0", CorruptData, "cut off"),
        (struct.pack(">ii", 1, 0), Unsupported, "Kryo.*content_version=1"),
        (struct.pack(">ii", 2, 0), Unsupported, "Kryo.*content_version=2"),
        (struct.pack(">ii", 4, 0), Unsupported, "not known.*content_version=4"),
        (struct.pack(">ii", 3, 2) + b"\0", CorruptData, "another size"),
        (struct.pack(">ii", 3, -1) + b"\0", CorruptData, "another size"),
        (struct.pack(">ii", 3, 2) + b"\0\0", CorruptData, "bytes are left"),
        (struct.pack(">ii", 3, 5) + b"\2\2\xff\xff\x7f", CorruptData, "does not decode"),
        (one_delete(b"\x12\x28" + b"\x7f" * 20), CorruptData, "beyond its type|does not decode"),
        (one_delete(b"\x14\xff\xff\xff\xff\xff\xff\x7f"), CorruptData, "beyond its type|does not decode"),
        (one_delete(b"\x1a"), CorruptData, "does not decode"),
    ],
)
def test_what_is_no_list_of_deletes_is_refused(data, error, said):
    with pytest.raises(error, match=said):
        decode_deletes(data)


@settings(max_examples=300)
@given(st.lists(ROWS, max_size=5), st.data())
def test_damaged_deletes_are_read_or_refused(rows, data):
    damaged = bytearray(content(rows))
    for at in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[at] = data.draw(st.integers(0, 255))
    with suppress(HudiError):
        assert decode_deletes(bytes(damaged)).schema == DELETES
