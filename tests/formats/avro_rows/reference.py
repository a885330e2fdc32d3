"""Random Avro schemas and records, written and read by fastavro one at a time, shown as Arrow shows them."""

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

Schema = Any
Value = Any

PRIMITIVES = ("boolean", "int", "long", "float", "double", "string", "bytes")
LOGICAL = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
)
DAY_US = 86_400_000_000
RANGES = {
    "date": (-700_000, 2_900_000),
    "time-millis": (0, DAY_US // 1000 - 1),
    "time-micros": (0, DAY_US - 1),
    "timestamp-millis": (-62_000_000_000_000, 250_000_000_000_000),
    "timestamp-micros": (-62_000_000_000_000_000, 250_000_000_000_000_000),
    "local-timestamp-millis": (-62_000_000_000_000, 250_000_000_000_000),
    "local-timestamp-micros": (-62_000_000_000_000_000, 250_000_000_000_000_000),
}
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70),
    "long": st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70) | st.integers(-(2**40), 2**40),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=6) | st.text("ab", min_size=60, max_size=70),
    "bytes": st.binary(max_size=6),
}


def field(name: str, kind: Schema, **more: Any) -> Schema:
    return {"name": name, "type": kind, **more}


def record(fields: Sequence[Schema], name: str = "R") -> Schema:
    return {"type": "record", "name": name, "fields": list(fields)}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """Draw a record of up to five fields; every named type has a name of its own."""
    names = iter(range(10_000))
    kinds = [draw(_kinds(depth, names)) for _ in range(draw(st.integers(1, 5)))]
    return record([field(f"f{place}", kind) for place, kind in enumerate(kinds)])


@st.composite
def _kinds(draw: st.DrawFn, depth: int, names: Any) -> Schema:
    choices = ["primitive", "logical", "fixed", "enum", "decimal"]
    choices += ["optional", "optional", "array", "map", "record", "wide"] if depth else []
    inner = _kinds(depth - 1, names)
    match draw(st.sampled_from(choices)):
        case "primitive":
            return draw(st.sampled_from(PRIMITIVES))
        case "logical":
            return dict(draw(st.sampled_from(LOGICAL)))
        case "fixed":
            return {"type": "fixed", "name": f"F{next(names)}", "size": draw(st.integers(1, 5))}
        case "decimal":
            return {
                "type": "fixed",
                "name": f"D{next(names)}",
                "size": 9,
                "logicalType": "decimal",
                "precision": 20,
                "scale": 2,
            }
        case "enum":
            return {"type": "enum", "name": f"E{next(names)}", "symbols": ["A", "B", "C"]}
        case "optional":
            kind = draw(inner.filter(lambda found: not isinstance(found, list)))
            return draw(st.sampled_from([["null", kind], [kind, "null"], [kind]]))
        case "array":
            return {"type": "array", "items": draw(inner)}
        case "map":
            return {"type": "map", "values": draw(inner)}
        case "record":
            kinds = [draw(inner) for _ in range(draw(st.integers(1, 3)))]
            return record([field(f"g{place}", kind) for place, kind in enumerate(kinds)], f"R{next(names)}")
    parts = draw(st.lists(st.sampled_from(["boolean", "int", "double", "string"]), min_size=2, max_size=4, unique=True))
    wrapped = [record([field("value", draw(inner))], f"W{next(names)}") for _ in range(draw(st.integers(0, 2)))]
    nulls = ["null"] if draw(st.booleans()) else []
    return [*nulls, *parts, *wrapped]


def values(schema: Schema) -> st.SearchStrategy[Value]:
    """Draw what fastavro writes: raw numbers for logical types, pairs of name and dict for records of unions."""
    if isinstance(schema, list):
        return st.one_of([_branch(part) for part in schema])
    if isinstance(schema, str):
        return VALUES[schema]
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal":
        digits = schema["precision"]
        return st.integers(-(10**digits) + 1, 10**digits - 1).map(lambda number: _big(number, schema))
    if logical:
        return st.integers(*RANGES[logical])
    if kind == "fixed":
        return st.binary(min_size=schema["size"], max_size=schema["size"])
    if kind == "enum":
        return st.sampled_from(schema["symbols"])
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=4)
    if kind == "map":
        return st.dictionaries(st.text(max_size=3), values(schema["values"]), max_size=4)
    return st.fixed_dictionaries({part["name"]: values(part["type"]) for part in schema["fields"]})


def _branch(part: Schema) -> st.SearchStrategy[Value]:
    if isinstance(part, dict) and part["type"] == "record":
        return values(part).map(lambda value: (part["name"], value))
    return values(part)


def _big(number: int, schema: Schema) -> bytes:
    size = schema.get("size") or (number.bit_length() + 8) // 8
    return number.to_bytes(size, "big", signed=True)


def plain(schema: Schema) -> Schema:
    """Leave logical types out, so that fastavro writes and reads stored values."""
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale")}
    for key in ("type", "items", "values"):
        if key in bare:
            bare[key] = plain(bare[key])
    if "fields" in bare:
        bare["fields"] = [{**part, "type": plain(part["type"])} for part in bare["fields"]]
    return bare


def write(schema: Schema, rows: Sequence[Value]) -> pa.Array:
    parsed = fastavro.parse_schema(plain(schema))
    return pa.array([_write_one(parsed, row) for row in rows], pa.binary())


def _write_one(parsed: Schema, row: Value) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, parsed, row)
    return body.getvalue()


def read(data: pa.Array, writer: Schema, reader: Schema | None = None) -> list[Value]:
    """Read with fastavro, as Arrow shows the columns of the reader's schema."""
    old, new = fastavro.parse_schema(plain(writer)), None if reader is None else fastavro.parse_schema(plain(reader))
    wanted = writer if reader is None else reader
    rows = [fastavro.schemaless_reader(io.BytesIO(one), old, new, return_record_name=True) for one in data.to_pylist()]
    return [shown(row, wanted) for row in rows]


def shown(value: Value, schema: Schema) -> Value:
    """Show a value of fastavro's as `to_pylist` shows ours before logical types: see `stored`."""
    if isinstance(schema, list):
        return _shown_union(value, schema)
    if isinstance(schema, str):
        return float(np.float32(value)) if schema == "float" else value
    if "logicalType" in schema and schema["logicalType"] == "decimal":
        return int.from_bytes(value, "big", signed=True)
    match schema["type"]:
        case "array":
            return [shown(item, schema["items"]) for item in value]
        case "map":
            return [(key, shown(item, schema["values"])) for key, item in value.items()]
        case "record":
            return {part["name"]: shown(value[part["name"]], part["type"]) for part in schema["fields"]}
    return value


def inlined(schema: Schema, known: dict[str, Schema] | None = None) -> Schema:
    """Put named types where they are named; for `shown`, as a schema defines each only once."""
    known = {} if known is None else known
    if isinstance(schema, list):
        return [inlined(part, known) for part in schema]
    if isinstance(schema, str):
        return known.get(schema.rpartition(".")[2], schema)
    inner = {**schema}
    for key in ("items", "values"):
        if key in inner:
            inner[key] = inlined(inner[key], known)
    if "fields" in inner:
        inner["fields"] = [{**part, "type": inlined(part["type"], known)} for part in inner["fields"]]
    if "name" in inner:
        known[inner["name"].rpartition(".")[2]] = inner
    return inner["type"] if inner["type"] in PRIMITIVES and "logicalType" not in inner else inner


def _shown_union(value: Value, schema: list[Schema]) -> Value:
    parts = [part for part in schema if part != "null"]
    if value is None:
        return None
    bare = value[1] if isinstance(value, tuple) else value
    if len(parts) == 1:
        return shown(bare, parts[0])
    name = value[0].rpartition(".")[2] if isinstance(value, tuple) else None
    names = [part if isinstance(part, str) else part["name"] for part in parts]
    if name is None:
        name = {bool: "boolean", int: "int", float: "double", str: "string"}.get(type(bare), "")
        if isinstance(bare, dict):  # fastavro names a record only where a union has several
            name = next(part["name"] for part in parts if isinstance(part, dict))
    return {one: shown(bare, part) if one == name else None for one, part in zip(names, parts, strict=True)}


def stored(array: pa.Array) -> pa.Array:
    """Show the stored numbers of logical types, so that NaN-free Python values compare."""
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return array.view(pa.int32())
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        return array.view(pa.int64())
    return array


def rows_of(batch: pa.RecordBatch) -> list[Value]:
    """Return a batch as rows of stored values."""
    columns = [_stored_values(batch.column(place)) for place in range(batch.num_columns)]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _stored_values(array: pa.Array) -> list[Value]:
    kind = array.type
    if pa.types.is_struct(kind):
        names = [part.name for part in kind]
        inner = [_stored_values(array.field(place)) for place in range(kind.num_fields)]
        found = zip(*inner, strict=True) if inner else [()] * len(array)
        return [
            dict(zip(names, row, strict=True)) if valid else None
            for row, valid in zip(found, array.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_map(kind):
        keys, items = _stored_values(array.keys), _stored_values(array.items)
        return _cut(array, list(zip(keys, items, strict=True)))
    if pa.types.is_list(kind):
        return _cut(array, _stored_values(array.values))
    if pa.types.is_decimal(kind):
        return [None if one is None else int(f"{one:f}".replace(".", "")) for one in array.to_pylist()]
    return stored(array).to_pylist()


def _cut(array: pa.Array, items: list[Value]) -> list[Value]:
    edges, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [items[begin:end] if one else None for begin, end, one in zip(edges[:-1], edges[1:], valid, strict=True)]


def text(schema: Schema) -> str:
    return json.dumps(schema)
