"""Avro schemas and Arrow schemas: one into the other, and what users pass into what tables store.

Pure. Tables store a small set of Arrow types; `to_table_schema` gives the nearest of them or says why there is none.
Start at `to_table_schema`, then `arrow_to_avro` and `avro_to_arrow`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as t

from pyhudi.errors import CorruptData, LimitExceeded, SchemaMismatch
from pyhudi.schema.json_text import parse_json

__all__ = [
    "arrow_to_avro",
    "avro_to_arrow",
    "is_avro_null",
    "read_table_schema",
    "record_name",
    "to_table_schema",
    "to_table_type",
]

_MAX_DEPTH = 64
_MAX_BYTES = 16 << 20
_MAX_PRECISION = 38
_MOST_REMEMBERED = 1 << 20
"""Characters."""
_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL: dict[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
    ("string", "uuid"): pa.string(),
}
_TO_AVRO: dict[pa.DataType, str | dict[str, str]] = {
    **{
        arrow: {"type": avro, "logicalType": logical}
        for (avro, logical), arrow in _LOGICAL.items()
        if logical != "uuid"
    },
    **{arrow: avro for avro, arrow in _PRIMITIVES.items()},
}
_STORED = frozenset({*_PRIMITIVES.values(), pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us")})
"""As they are, among those without parts."""
_WIDENED: dict[pa.DataType, pa.DataType] = {
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
_NOT_STORED = (
    (t.is_null, "has no type; cast it to the type its values will have"),
    (t.is_time, "is a time of day, which tables do not store; cast it to string or to an integer"),
    (t.is_duration, "is a duration, which tables do not store; cast it to an integer"),
    (t.is_interval, "is an interval, which tables do not store; cast it to an integer"),
    (t.is_union, "is a union, which tables do not store; split it into columns"),
)


def record_name(table: str) -> tuple[str, str]:
    """Return name and namespace of a table's Avro record: (`<table>_record`, `hoodie.<table>`).

    Spec: format/files 4.4; characters Avro does not allow become `__`.
    """
    clean = re.sub(r"[^A-Za-z0-9_]", "__", re.sub(r"^[^A-Za-z_]", "__", table))
    return f"{clean}_record", f"hoodie.{clean}"


def arrow_to_avro(schema: pa.Schema, name: str, namespace: str, *, null_first: bool = True) -> dict[str, Any]:
    """Write an Arrow schema as an Avro record.

    With `null_first`, nullable fields are `["null", T]` with default null, as commits store them; without, they are
    `[T, "null"]` and have no default, as `hoodie.table.create.schema` has them.

    Raises: SchemaMismatch for a type or a name that Avro has not.
    Spec:   format/files 4.4.
    """
    inner = f"{namespace}.{name}" if namespace else name
    fields = [_to_avro_field(field, inner, "", null_first=null_first) for field in schema]
    return {"type": "record", "name": name, **({"namespace": namespace} if namespace else {}), "fields": fields}


def avro_to_arrow(schema: str | Mapping[str, Any], *, wide_unions: bool = False) -> pa.Schema:
    """Read an Avro record as an Arrow schema; the order of unions and defaults do not matter.

    With `wide_unions`, a union of several types is a struct of one nullable field a type, of which one is set: named as
    the type is, with its namespace only where two would have one name. What has no values is `pa.null()`.

    Raises: CorruptData if the text is no Avro schema; LimitExceeded beyond 16 MiB or 64 levels; SchemaMismatch for what
            no table stores, such as unions of several types or records inside themselves.
    Spec:   format/files 4.4.
    """
    if isinstance(schema, str) and len(schema) <= _MOST_REMEMBERED:
        return _remembered(schema, wide_unions=wide_unions)
    return _schema_of(_parse(schema) if isinstance(schema, str) else schema, wide_unions=wide_unions)


@lru_cache(maxsize=16)
def _remembered(schema: str, *, wide_unions: bool) -> pa.Schema:
    """Read the text of a schema once: each log block has its own, and a call asks for the table's several times."""
    return _schema_of(_parse(schema), wide_unions=wide_unions)


def _schema_of(parsed: object, *, wide_unions: bool) -> pa.Schema:
    if not isinstance(parsed, Mapping) or parsed.get("type") != "record":
        raise CorruptData("a table's Avro schema must be a record", schema=str(parsed)[:80])
    return pa.schema(list(_AvroReader(wide_unions=wide_unions).read(parsed, "", "", 0)))


def is_avro_null(avro: object) -> bool:
    """Return whether a part of a schema is the type null."""
    return avro == "null" or (isinstance(avro, Mapping) and avro.get("type") == "null")


def read_table_schema(avro: str, file: str) -> pa.Schema:
    """Read the Avro schema that a file of the table says as an Arrow schema, meta columns included.

    Raises: CorruptData naming the file.
    """
    try:
        return avro_to_arrow(avro)
    except (CorruptData, SchemaMismatch) as error:
        raise CorruptData(f"the table's schema cannot be read: {error.message}", **error.values, file=file) from error


def to_table_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema that a table stores for rows of this schema.

    Strings and bytes lose their large, view and dictionary forms, small and unsigned integers widen to int32 or int64,
    timestamps become microseconds, in UTC if they had a zone, lists lose fixed sizes. Metadata is dropped.

    Raises: SchemaMismatch that names the field which cannot be stored, or a name given twice.
    """
    seen: set[str] = set()
    for name in schema.names:
        if name in seen:
            raise SchemaMismatch("column name given twice; rename one", column=name)
        seen.add(name)
    for field in schema:
        _require_shallow(field)
    return pa.schema([_to_table_field(field, "") for field in schema])


def _require_shallow(field: pa.Field) -> None:
    """Refuse what could be written and not be read again; level by level, as deep types exhaust the stack."""
    level, depth = [field.type], 0
    while level := [kind.field(at).type for kind in level if t.is_nested(kind) for at in range(kind.num_fields)]:
        depth += 1
        if depth >= _MAX_DEPTH:
            raise SchemaMismatch("column is nested too deeply", column=field.name, limit=_MAX_DEPTH - 1)


def to_table_type(kind: pa.DataType, name: str = "value") -> pa.DataType:
    """Return the type that a table stores for values of this type.

    Raises: SchemaMismatch if there is none.
    """
    if kind in _STORED:
        return kind
    for is_such, reason in _NOT_STORED:
        if is_such(kind):
            raise SchemaMismatch(f"column {reason}", column=name, type=str(kind))
    if t.is_dictionary(kind) or t.is_run_end_encoded(kind):
        return to_table_type(kind.value_type, name)
    if isinstance(kind, pa.BaseExtensionType):
        return _to_table_extension(kind, name)
    if t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    if t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind):
        return pa.binary()
    if t.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if t.is_decimal(kind):
        return _to_table_decimal(kind, name)
    return _to_table_nested(kind, name) if t.is_nested(kind) else _WIDENED.get(kind, kind)


def _to_table_extension(kind: Any, name: str) -> pa.DataType:  # noqa: ANN401 - pyarrow has no type for it
    if kind.extension_name == "arrow.uuid":
        raise SchemaMismatch("column holds binary uuids, which tables do not store; cast it to string", column=name)
    return to_table_type(kind.storage_type, name)


def _to_table_decimal(kind: pa.DataType, name: str) -> pa.DataType:
    if kind.precision > _MAX_PRECISION or not 0 <= kind.scale <= kind.precision:
        raise SchemaMismatch(
            "decimal must have at most 38 digits, and a scale within them", column=name, type=str(kind)
        )
    return pa.decimal128(kind.precision, kind.scale)


def _to_table_nested(kind: pa.DataType, name: str) -> pa.DataType:
    if t.is_struct(kind):
        if not kind.num_fields:
            raise SchemaMismatch("a struct without fields cannot be stored; drop the column", column=name)
        return pa.struct([_to_table_field(kind.field(at), name) for at in range(kind.num_fields)])
    if t.is_map(kind):
        key = to_table_type(kind.key_type, f"{name}.key")
        if key != pa.string():
            raise SchemaMismatch("map keys must be strings; cast them", column=name, type=str(kind))
        value = to_table_type(kind.item_type, f"{name}.value")
        return pa.map_(key, pa.field("value", value, kind.item_field.nullable))
    element = to_table_type(kind.value_type, f"{name}.element")
    return pa.list_(pa.field("element", element, kind.value_field.nullable))


def _to_table_field(field: pa.Field, parent: str) -> pa.Field:
    path = f"{parent}.{field.name}" if parent else field.name
    return pa.field(field.name, to_table_type(field.type, path), field.nullable)


def _to_avro_field(field: pa.Field, space: str, parent: str, *, null_first: bool) -> dict[str, Any]:
    path = f"{parent}.{field.name}" if parent else field.name
    if not _AVRO_NAME.fullmatch(field.name):
        raise SchemaMismatch("column name must be letters, digits and _, not beginning with a digit", column=path)
    avro = _to_avro(field.type, field.name, space, path, null_first=null_first)
    avro = _nullable(avro, null_first=null_first) if field.nullable else avro
    return {"name": field.name, "type": avro, **({"default": None} if field.nullable and null_first else {})}


def _to_avro(kind: pa.DataType, name: str, space: str, path: str, *, null_first: bool) -> Any:  # noqa: ANN401 - JSON
    """Write one type; named types take the field's name, inside the namespace of all records around it."""
    if kind in _TO_AVRO:
        known = _TO_AVRO[kind]
        return dict(known) if isinstance(known, dict) else known
    if t.is_decimal128(kind):
        fixed = {
            "type": "fixed",
            "name": "fixed",
            "namespace": f"{space}.{name}",
            "size": _decimal_bytes(kind.precision),
        }
        return {**fixed, "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if t.is_fixed_size_binary(kind):
        return {"type": "fixed", "name": "fixed", "namespace": f"{space}.{name}", "size": kind.byte_width}
    if t.is_struct(kind):
        inner = f"{space}.{name}"
        members = (kind.field(at) for at in range(kind.num_fields))
        fields = [_to_avro_field(member, inner, path, null_first=null_first) for member in members]
        return {"type": "record", "name": name, "namespace": space, "fields": fields}
    if t.is_list(kind) or (t.is_map(kind) and kind.key_type == pa.string()):
        inner_field, word = (kind.item_field, "values") if t.is_map(kind) else (kind.value_field, "items")
        inner_type = _to_avro(inner_field.type, name, space, path, null_first=null_first)
        inner_type = _nullable(inner_type, null_first=null_first) if inner_field.nullable else inner_type
        return {"type": "map" if t.is_map(kind) else "array", word: inner_type}
    stored = to_table_type(kind, path)  # says why, where there is nothing to store it as
    if stored == kind:
        raise SchemaMismatch("column has a type that tables do not store", column=path, type=str(kind))
    return _to_avro(stored, name, space, path, null_first=null_first)


def _nullable(avro: object, *, null_first: bool) -> list[object]:
    return ["null", avro] if null_first else [avro, "null"]


def _decimal_bytes(precision: int) -> int:
    """Count the bytes of the largest number of that many digits, with its sign."""
    largest = int(10**precision) - 1
    return (largest.bit_length() + 8) // 8


def _parse(text: str) -> Any:  # noqa: ANN401 - JSON
    if len(text) > _MAX_BYTES:
        raise LimitExceeded("Avro schema is too large", size_bytes=len(text), limit_bytes=_MAX_BYTES)
    try:
        return parse_json(text)
    except CorruptData as error:
        raise CorruptData("Avro schema is not JSON", schema=text[:80]) from error


class _AvroReader:
    """Reads one Avro schema; named types are known from where they first stand."""

    def __init__(self, *, wide_unions: bool) -> None:
        self.wide_unions = wide_unions
        self.named: dict[str, pa.DataType | None] = {}

    def read(self, avro: object, space: str, path: str, depth: int) -> pa.DataType:
        """Read a type that is not a union with null."""
        if depth > _MAX_DEPTH:
            raise LimitExceeded("Avro schema is nested too deeply", column=path, limit=_MAX_DEPTH)
        if isinstance(avro, str):
            return self._read_name(avro, space, path)
        if not isinstance(avro, Mapping):
            raise SchemaMismatch("a union of several types cannot be a column", column=path, type=str(avro)[:80])
        kind, logical = avro.get("type"), avro.get("logicalType")
        if kind in ("record", "fixed", "enum"):  # a tuple: what a file says may not be hashable
            return self._read_named(avro, space, path, depth)
        if kind == "array":
            element, nullable = self._read_nullable(avro.get("items"), space, f"{path}.element", depth + 1)
            return pa.list_(pa.field("element", element, nullable))
        if kind == "map":
            value, nullable = self._read_nullable(avro.get("values"), space, f"{path}.value", depth + 1)
            return pa.map_(pa.string(), pa.field("value", value, nullable))
        if kind == "bytes" and logical == "decimal":
            return _read_decimal(avro, path)
        if isinstance(kind, str) and isinstance(logical, str) and (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        return self.read(kind, space, path, depth + 1)

    def _read_nullable(self, avro: object, space: str, path: str, depth: int) -> tuple[pa.DataType, bool]:
        if isinstance(avro, list):
            others = [part for part in avro if not is_avro_null(part)]
            if len(others) == 1:
                return self.read(others[0], space, path, depth), len(others) < len(avro)
            if self.wide_unions and avro:
                return self._read_union(others, space, path, depth), len(others) < len(avro)
        kind = self.read(avro, space, path, depth)
        return kind, kind == pa.null()

    def _read_union(self, parts: list[object], space: str, path: str, depth: int) -> pa.DataType:
        if not parts:
            return pa.null()
        kinds = [self.read(part, space, path, depth + 1) for part in parts]
        full = [_branch_name(part, space) for part in parts]
        short = [name.rpartition(".")[2] for name in full]
        names = [brief if short.count(brief) == 1 else name for brief, name in zip(short, full, strict=True)]
        if len(set(names)) < len(names):
            raise CorruptData("Avro union has a type twice", column=path, types=names)
        return pa.struct([pa.field(name, kind) for name, kind in zip(names, kinds, strict=True)])

    def _read_name(self, name: str, space: str, path: str) -> pa.DataType:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        if name == "null" and self.wide_unions:
            return pa.null()
        full = name if "." in name or not space else f"{space}.{name}"
        known = self.named.get(full, self.named.get(name, pa.null()))
        if known is None:
            raise SchemaMismatch("a record inside itself cannot be stored", column=path, type=name)
        if known == pa.null():
            raise SchemaMismatch("unknown Avro type", column=path, type=name)
        return known

    def _read_named(self, avro: Mapping[str, Any], space: str, path: str, depth: int) -> pa.DataType:
        name = str(avro.get("name", ""))
        inner = str(avro.get("namespace") or (name.rpartition(".")[0] if "." in name else space))
        full = name if "." in name or not inner else f"{inner}.{name}"
        if avro["type"] == "record":
            self.named[full] = None
            self.named[full] = self._read_record(avro, inner, path, depth)
        elif avro["type"] == "enum":
            self.named[full] = pa.string()
        elif avro.get("logicalType") == "decimal":
            self.named[full] = _read_decimal(avro, path)
        else:
            self.named[full] = _read_fixed(avro, path)
        return self.named[full]

    def _read_record(self, avro: Mapping[str, Any], space: str, path: str, depth: int) -> pa.DataType:
        fields = avro.get("fields")
        if not isinstance(fields, list) or not all(isinstance(f, Mapping) and "name" in f for f in fields):
            raise CorruptData("Avro record has no fields", column=path, schema=str(avro)[:80])
        members: dict[str, pa.Field] = {}
        for field in fields:
            name = field["name"]
            if not isinstance(name, str) or name in members:
                raise CorruptData("Avro record has a field without a name of its own", column=path, name=str(name)[:80])
            inner = f"{path}.{name}" if path else name
            kind, nullable = self._read_nullable(field.get("type"), space, inner, depth + 1)
            members[name] = pa.field(name, kind, nullable)
        return pa.struct(list(members.values()))


def _branch_name(part: object, space: str) -> str:
    """Return what tells a union's branch from the others: the full name of a named type, else the type."""
    if isinstance(part, Mapping):
        if part.get("type") not in ("record", "fixed", "enum"):
            return _branch_name(part.get("type"), space)
        name, inner = str(part.get("name", "")), str(part.get("namespace") or space)
    else:
        name, inner = str(part), space
    is_bare = "." in name or not inner or name in _PRIMITIVES or name in ("array", "map")
    return name if is_bare else f"{inner}.{name}"


def _read_decimal(avro: Mapping[str, Any], path: str) -> pa.DataType:
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision <= _MAX_PRECISION:
        raise SchemaMismatch(
            "decimal must have at most 38 digits, and a scale within them", column=path, type=str(avro)
        )
    if not precision:
        raise SchemaMismatch("decimal must have at least one digit", column=path, type=str(avro))
    return pa.decimal128(precision, scale)


def _read_fixed(avro: Mapping[str, Any], path: str) -> pa.DataType:
    size = avro.get("size")
    if avro.get("logicalType") == "duration" or not isinstance(size, int) or not 0 < size <= _MAX_BYTES:
        raise SchemaMismatch("fixed bytes of this kind are not stored", column=path, type=str(avro)[:80])
    return pa.binary(size)
