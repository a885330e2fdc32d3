"""What a delete block holds: keys, and the ordering values with which they were deleted.

The ordering value is a union of wrappers, one a type, so that `5` may be an int or a long: a column each, of which a
row has at most one. Start at `decode_deletes`.
"""

import json
import struct
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.avro import decode_record
from pyhudi.formats.avro_rows import decode_rows

__all__ = ["CONTENT_VERSION", "DELETES", "decode_deletes"]

CONTENT_VERSION: Final = 3
_KRYO_VERSIONS: Final = (1, 2)
_FRONT: Final = struct.Struct(">ii")
_LARGE_BYTES: Final = 256 << 10
"""From some ten thousand deletes on, reading by columns is sooner."""
_DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
_WRAPPERS: Final[dict[str, tuple[Any, pa.DataType]]] = {
    "BooleanWrapper": ("boolean", pa.bool_()),
    "IntWrapper": ("int", pa.int32()),
    "LongWrapper": ("long", pa.int64()),
    "FloatWrapper": ("float", pa.float32()),
    "DoubleWrapper": ("double", pa.float64()),
    "BytesWrapper": ("bytes", pa.binary()),
    "StringWrapper": ("string", pa.string()),
    "DateWrapper": ("int", pa.int32()),
    "DecimalWrapper": (_DECIMAL, pa.decimal128(30, 15)),
    "TimeMicrosWrapper": ({"type": "long", "logicalType": "time-micros"}, pa.time64("us")),
    "TimestampMicrosWrapper": ("long", pa.int64()),
}
"""In the order of the union; days since 1970 and microseconds are numbers, as in Avro."""
_ITEMS: Final = {**_WRAPPERS, "LocalDateWrapper": ("int", pa.int32())}
"""What an array of ordering values is made of, where a table has several ordering fields."""


def _struct_of(wrappers: dict[str, tuple[Any, pa.DataType]]) -> pa.StructType:
    return pa.struct([(name, pa.struct([("value", kind)])) for name, (_, kind) in wrappers.items()])


_ARRAY_TYPE: Final = pa.struct([("wrappedValues", pa.list_(_struct_of(_ITEMS)))])
DELETES: Final = pa.schema(
    [
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
        ("ordering", pa.struct([*_struct_of(_WRAPPERS), ("ArrayWrapper", _ARRAY_TYPE)])),
    ]
)
"""Deleted records, one a row. `ordering` is null or has one field that is not, named as the wrapper: `IntWrapper` 0
stands for no ordering value."""


def decode_deletes(content: bytes) -> pa.Table:
    """Read the content of a delete block.

    Bytes:  int(3) int(size), and an Avro HoodieDeleteRecordList of that size.
    Shape:  `DELETES`, in the order of the block.
    Cost:   20 us a delete; 2 us from some ten thousand on, where a table has one ordering column or none.
    Raises: CorruptData; Unsupported for contents of versions 1 and 2, which are Java objects in Kryo.
    Spec:   format/files 2.4.
    """
    if len(content) < _FRONT.size:
        raise CorruptData("delete block is cut off", size_bytes=len(content))
    version, size = _FRONT.unpack_from(content)
    if version in _KRYO_VERSIONS:
        raise Unsupported(
            "deletes that an old release wrote in Kryo cannot be read by this pyhudi; compact the table with it",
            content_version=version,
        )
    if version != CONTENT_VERSION:
        raise Unsupported("content version of a delete block is not known to this pyhudi", content_version=version)
    if size != len(content) - _FRONT.size:
        raise CorruptData("delete block names another size than it has", size_bytes=size, found=len(content))
    body = content[_FRONT.size :]
    if size > _LARGE_BYTES:
        with suppress(CorruptData):  # has several ordering fields, or is damaged: then the other way says where
            return _decode_columns(body)
    found = decode_record(body, _SCHEMA)["deletes"]
    try:
        rows = pa.array(found, pa.struct(DELETES))
    except (pa.ArrowException, OverflowError) as error:
        raise CorruptData("delete block has a value beyond its type") from error
    return pa.Table.from_struct_array(rows)


def _decode_columns(body: bytes) -> pa.Table:
    """Read many deletes a column at a time: a tenth of the time, but not for few, nor for arrays of ordering values."""
    rows = decode_rows(pa.array([body], pa.binary()), _FLAT_SCHEMA).column(0).values
    ordering = rows.field("ordering")
    children = [_wrapped(ordering, field) for field in DELETES.field("ordering").type]
    union = pa.StructArray.from_arrays(children, fields=list(DELETES.field("ordering").type), mask=ordering.is_null())
    return pa.table([rows.field("record_key"), rows.field("partition_path"), union], schema=DELETES)


def _wrapped(ordering: pa.StructArray, field: pa.Field) -> pa.Array:
    if ordering.type.get_field_index(field.name) < 0:
        return pa.nulls(len(ordering), field.type)
    wrapper = pc.struct_field(ordering, field.name)
    return pa.StructArray.from_arrays([wrapper.field(0)], fields=list(field.type), mask=wrapper.is_null())


def _named(wrapper: str, kind: object) -> dict[str, Any]:
    """Return a branch of the union that decodes to its name: a record of one field has its field's bytes."""
    return {"type": "record", "name": f"Named{wrapper}", "fields": [{"name": wrapper, "type": _wrapper(wrapper, kind)}]}


def _wrapper(name: str, kind: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "value", "type": kind}]}


def _array() -> dict[str, Any]:
    local_date = _named("LocalDateWrapper", "int")
    items = ["null", *(f"Named{name}" for name in _WRAPPERS), local_date]
    values = ["null", {"type": "array", "items": items}]
    inner = {"type": "record", "name": "ArrayWrapper", "fields": [{"name": "wrappedValues", "type": values}]}
    return {"type": "record", "name": "NamedArrayWrapper", "fields": [{"name": "ArrayWrapper", "type": inner}]}


def _optional(name: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", "string"]}


def _list_of(ordering: list[Any]) -> dict[str, Any]:
    fields = [_optional("record_key"), _optional("partition_path"), {"name": "ordering", "type": ordering}]
    delete = {"type": "record", "name": "HoodieDeleteRecord", "fields": fields}
    deletes = {"name": "deletes", "type": {"type": "array", "items": delete}}
    return {"type": "record", "name": "HoodieDeleteRecordList", "fields": [deletes]}


_SCHEMA: Final = _list_of(["null", *(_named(name, kind) for name, (kind, _) in _WRAPPERS.items()), _array()])
"""What Apache Hudi writes, with names of ours: names are not in the bytes."""
_FLAT_SCHEMA: Final = json.dumps(_list_of(["null", *(_wrapper(name, kind) for name, (kind, _) in _WRAPPERS.items())]))
"""The same but for arrays."""
