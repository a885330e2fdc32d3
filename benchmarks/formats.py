"""Workloads of codecs: Avro records beside fastavro. Start at `WORKLOADS`."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import load, store

_NULL = 0.1
"""Share of nulls in columns that can have them."""


def _field(name: str, kind: object) -> dict[str, Any]:
    return {"name": name, "type": kind}


def _record(name: str, **fields: object) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [_field(*one) for one in fields.items()]}


_NUMBERS = {"a": "int", "b": "long", "c": "double", "d": {"type": "long", "logicalType": "timestamp-micros"}}
_ENTRY = _record("Entry", size="long", isDeleted="boolean")
_WRAPPERS = [_record(f"{kind.title()}Wrapper", value=kind) for kind in ("int", "long", "double", "string")]
_TRIP = ["string"] * 7 + ["long", "string", "string", "double", "string"] + ["double"] * 4
_SCHEMAS = {
    "trips": _record(
        "T",
        **{f"c{at}": ["null", kind] for at, kind in enumerate([*_TRIP, "float", "int", "boolean", "string", "string"])},
    ),
    "nullable": _record("N", **{f"{name}{copy}": ["null", kind] for name, kind in _NUMBERS.items() for copy in "12"}),
    "string": _record("S", **{f"s{place}": ["null", "string"] if place < 6 else "string" for place in range(8)}),
    "nested": _record(
        "X",
        key="string",
        inner=["null", _record("I", x=["null", "double"], y="string", z=["null", _record("J", t="long")])],
        texts={"type": "array", "items": ["null", "string"]},
        files=["null", {"type": "map", "values": _ENTRY}],
    ),
    "union": _record(
        "U", file="string", low=["null", *_WRAPPERS], high=["null", *(f"{one['name']}" for one in _WRAPPERS)]
    ),
}


def _random(kind: pa.DataType, count: int, rng: np.random.Generator) -> pa.Array:
    """Make values of a type: strings of 32 characters, lists of up to six items, one value a union."""
    if pa.types.is_struct(kind):
        return _random_struct(kind, count, rng)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        edges = np.append(0, np.cumsum(rng.integers(0, 7, count))).astype(np.int32)
        if pa.types.is_map(kind):
            keys, items = (_random(one, int(edges[-1]), rng) for one in (pa.string(), kind.item_type))
            return pa.MapArray.from_arrays(edges, keys, items, type=kind)
        items = _with_nulls(_random(kind.value_type, int(edges[-1]), rng), rng)
        return pa.ListArray.from_arrays(edges, items, type=kind)
    if pa.types.is_string(kind):
        text = rng.integers(97, 103, (count, 32), np.uint8).tobytes()
        return (
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), count, [None, pa.py_buffer(text)])
            .cast(pa.binary())
            .cast(kind)
        )
    if pa.types.is_floating(kind):
        return pa.array(rng.random(count), kind)
    if pa.types.is_boolean(kind):
        return pa.array(rng.random(count) < _NULL)
    return (
        pa.array(rng.integers(0, 1 << 30, count), pa.int64())
        .cast(pa.int32() if kind == pa.int32() else pa.int64())
        .view(kind)
    )


def _random_struct(kind: pa.StructType, count: int, rng: np.random.Generator) -> pa.Array:
    is_union = all(field.name.endswith("Wrapper") for field in kind)
    chosen = rng.integers(0, kind.num_fields, count)
    children = []
    for place, field in enumerate(kind):
        child = _random(field.type, count, rng)
        missing = pa.array(chosen != place) if is_union else None
        child = pa.compute.if_else(missing, None, child) if is_union else child
        children.append(_with_nulls(child, rng) if field.nullable and not is_union else child)
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _with_nulls(array: pa.Array, rng: np.random.Generator) -> pa.Array:
    return pa.compute.if_else(pa.array(rng.random(len(array)) < _NULL), None, array)


def _prepare(root: Path, rows_count: int) -> None:
    from pyhudi.formats.avro_rows import decode_rows, encode_rows

    root.mkdir(parents=True, exist_ok=True)
    for name, schema in _SCHEMAS.items():
        text, rng = json.dumps(schema), np.random.default_rng(1)
        fields = decode_rows(pa.array([], pa.binary()), text).schema
        columns = [_random(field.type, rows_count, rng) for field in fields]
        columns = [
            _with_nulls(column, rng) if field.nullable else column
            for column, field in zip(columns, fields, strict=True)
        ]
        values = encode_rows(pa.RecordBatch.from_arrays(columns, fields.names), text).cast(pa.binary())
        store(root / f"avro_{name}.arrow", pa.table({"value": values}))


class _Decoding(Contender):
    """Records of one kind."""

    kind = ""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.text = json.dumps(_SCHEMAS[self.kind])
        self.values = load(place.shared(f"avro_{self.kind}.arrow"))["value"].combine_chunks()


class _Ours(_Decoding):
    def run(self) -> object:
        from pyhudi.formats.avro_rows import decode_rows

        return {"rows": decode_rows(self.values, self.text).num_rows}


class _Fastavro(_Decoding):
    """Dicts only: what it would take to make columns of them is left out."""

    def __init__(self, place: Place) -> None:
        import fastavro

        super().__init__(place)
        self.schema = fastavro.parse_schema(json.loads(self.text))
        self.records = self.values.to_pylist()

    def run(self) -> object:
        import fastavro

        read = fastavro.schemaless_reader
        return {"rows": len([read(io.BytesIO(one), self.schema, None) for one in self.records])}


class _OursBlock(_Ours):
    """The content of a log block, from bytes to columns."""

    def __init__(self, place: Place) -> None:
        from pyhudi.formats.log import join_rows

        super().__init__(place)
        self.content = join_rows(self.values)

    def run(self) -> object:
        from pyhudi.formats.avro_rows import decode_batches
        from pyhudi.formats.log import split_rows

        return {"rows": pa.Table.from_batches(decode_batches(split_rows(self.content), self.text)).num_rows}


class _FastavroBlock(_Fastavro):
    """Dicts, and columns of them."""

    def run(self) -> object:
        import fastavro

        from pyhudi.formats.avro_rows import decode_rows

        read, fields = fastavro.schemaless_reader, decode_rows(pa.array([], pa.binary()), self.text).schema
        rows = [read(io.BytesIO(one), self.schema, None) for one in self.records]
        return {"rows": pa.Table.from_pylist(rows, fields).num_rows}


def _workload(kind: str, times: float) -> Workload:
    ours, theirs = (type(f"{one.__name__}{kind}", (one,), {"kind": kind}) for one in (_Ours, _Fastavro))
    return Workload(
        title=f"Avro records to columns: {kind}",
        contenders={"pyhudi": ours, "fastavro": theirs},
        targets=(Target("fastavro", "cpu_s", 1 / times),),
        prepare=_prepare,
        rows=100_000,
        note="fastavro makes dicts, not columns.",
    )


def _block_workload(kind: str, times: float) -> Workload:
    ours, theirs = (type(f"{one.__name__}{kind}", (one,), {"kind": kind}) for one in (_OursBlock, _FastavroBlock))
    return Workload(
        title=f"Avro log block to columns: {kind}",
        contenders={"pyhudi": ours, "fastavro": theirs},
        targets=(Target("fastavro", "cpu_s", 1 / times),),
        prepare=_prepare,
        rows=100_000,
    )


WORKLOADS = {
    **{f"avro_{kind}": _workload(kind, 3 if kind == "nested" else 10) for kind in _SCHEMAS if kind != "trips"},
    "avro_block_trips": _block_workload("trips", 15),
    "avro_block_nested": _block_workload("nested", 5),
}
