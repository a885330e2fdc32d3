"""The Avro schema of the metadata table's records, by table version.

One record schema for all kinds of records; each kind fills one nested record. Strings carry `avro.java.string` as
Java's do, docs of fields are left out (readers resolve by name). Start at `record_schema`.

Spec: format/metadata-table 2.1.
"""

import json
from functools import lru_cache
from typing import Any, Final

from pyhudi.schema.meta_fields import META_FIELDS

__all__ = ["WRAPPERS", "record_schema"]

Schema = Any
"""Avro schema JSON."""

_TEXT: Final = {"type": "string", "avro.java.string": "String"}
_DECIMAL: Final = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
_WRAPPED: Final = {
    "BooleanWrapper": "boolean",
    "IntWrapper": "int",
    "LongWrapper": "long",
    "FloatWrapper": "float",
    "DoubleWrapper": "double",
    "BytesWrapper": "bytes",
    "StringWrapper": _TEXT,
    "DateWrapper": "int",
    "DecimalWrapper": _DECIMAL,
    "TimeMicrosWrapper": {"type": "long", "logicalType": "time-micros"},
    "TimestampMicrosWrapper": "long",
    "LocalDateWrapper": "int",
}
WRAPPERS: Final = (*_WRAPPED, "ArrayWrapper")
"""The branches of minValue and maxValue after null, in order; version 6 has no LocalDateWrapper, only 9 the last."""


@lru_cache(maxsize=8)
def record_schema(table_version: int, *, has_meta_fields: bool) -> str:
    """Format the record schema as JSON: files carry it with the five meta fields, commit metadata without."""
    meta = [_maybe(name, "string") for name in META_FIELDS] if has_meta_fields else []
    fields = [
        *meta,
        _field("key", _TEXT),
        _field("type", "int"),
        _field("filesystemMetadata", ["null", _files()]),
        _maybe("BloomFilterMetadata", _bloom_filter()),
        _maybe("ColumnStatsMetadata", _column_stats(table_version)),
        _maybe("recordIndexMetadata", _record_index(table_version)),
    ]
    if table_version > 6:
        is_deleted = _record("HoodieSecondaryIndexInfo", _field("isDeleted", "boolean"))
        fields.append(_maybe("SecondaryIndexMetadata", is_deleted))
    root = {"type": "record", "name": "HoodieMetadataRecord", "namespace": "org.apache.hudi.avro.model"}
    return json.dumps({**root, "fields": fields}, separators=(",", ":"))


def _files() -> Schema:
    info = _record("HoodieMetadataFileInfo", _field("size", "long"), _field("isDeleted", "boolean"))
    return {"type": "map", "values": info, "avro.java.string": "String"}


def _bloom_filter() -> Schema:
    return _record(
        "HoodieMetadataBloomFilter",
        _field("type", _TEXT),
        _field("timestamp", _TEXT),
        _field("bloomFilter", "bytes"),
        _field("isDeleted", "boolean"),
    )


def _column_stats(table_version: int) -> Schema:
    scalars = {name: kind for name, kind in _WRAPPED.items() if table_version > 6 or name != "LocalDateWrapper"}
    wrappers = [_record(name, _field("value", kind)) for name, kind in scalars.items()]
    names = list(scalars)
    if table_version > 8:
        items = {"type": "array", "items": ["null", *scalars]}
        wrappers.append(_record("ArrayWrapper", _maybe("wrappedValues", items)))
        names.append("ArrayWrapper")
    fields = [
        _maybe("fileName", _TEXT),
        _maybe("columnName", _TEXT),
        {"name": "minValue", "type": ["null", *wrappers], "default": None},
        {"name": "maxValue", "type": ["null", *names], "default": None},
        *(_maybe(name, "long") for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")),
        _field("isDeleted", "boolean"),
    ]
    if table_version > 6:
        fields.append(_field("isTightBound", "boolean", default=False))
    if table_version > 8:
        info = _record("HoodieValueTypeInfo", _field("typeOrdinal", "int"), _maybe("additionalInfo", _TEXT))
        fields.append(_maybe("valueType", info))
    return _record("HoodieMetadataColumnStats", *fields)


def _record_index(table_version: int) -> Schema:
    fields = [
        _maybe("partitionName", _TEXT),
        _maybe("fileIdHighBits", "long"),
        _maybe("fileIdLowBits", "long"),
        _maybe("fileIndex", "int"),
        _maybe("fileId", _TEXT),
        _maybe("instantTime", "long"),
        _field("fileIdEncoding", "int", default=0),
    ]
    position = [_maybe("position", "long")] if table_version > 6 else []
    return _record("HoodieRecordIndexInfo", *fields, *position)


def _record(name: str, *fields: Schema) -> Schema:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, kind: Schema, **more: Schema) -> Schema:
    return {"name": name, "type": kind, **more}


def _maybe(name: str, kind: Schema) -> Schema:
    return {"name": name, "type": ["null", kind], "default": None}
