"""Which decoder reads what a writer's schema wrote as what a reader's schema wants. Start at `resolve_records`."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.avro_rows.columns import Slots
from pyhudi.formats.avro_rows.defaults import encode_default
from pyhudi.formats.avro_rows.nested import Arrays, Chosen, Member, Records, Refused, Unions
from pyhudi.formats.avro_rows.shape import Shape, ShapeField
from pyhudi.formats.avro_rows.source import Source
from pyhudi.formats.avro_rows.values import (
    Booleans,
    Decimals,
    Decoder,
    Enums,
    FixedBytes,
    FixedDecimals,
    Floats,
    Integers,
    Nulls,
    Strings,
)
from pyhudi.formats.avro_rows.walk import Stride

__all__ = ["resolve_records", "select_fields"]

_PROMOTED = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "string": ("string", "bytes"),
    "bytes": ("bytes", "string"),
}
_DTYPES = {"int": "<i4", "long": "<i8", "float": "<f4", "double": "<f8"}
_PLAIN = {
    "int": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_KEYS = Shape(kind="string", type=pa.string())


def resolve_records(writer: Shape, reader: Shape) -> Records:
    """Return the decoder of records of the writer's schema into the reader's columns.

    Names of records, enums and fixed types count only where a union has several to choose from, as in Java.

    Raises: SchemaMismatch naming the field that cannot be read.
    Spec:   Avro 1.11, Schema Resolution.
    """
    return _Resolver().records(writer, reader, "")


def select_fields(shape: Shape, columns: tuple[str, ...]) -> Shape:
    """Return a record with only those of its fields, in that order.

    Raises: SchemaMismatch for a name that it has not.
    """
    known = {part.name: (part, arrow) for part, arrow in zip(shape.fields, shape.type, strict=True)}
    if unknown := [name for name in columns if name not in known]:
        raise SchemaMismatch("the Avro schema has no such field", field=unknown[0], fields=list(known))
    picked = [known[name] for name in dict.fromkeys(columns)]
    return replace(shape, fields=tuple(part for part, _ in picked), type=pa.struct([arrow for _, arrow in picked]))


class _Resolver:
    """Remembers the pairs of types that it has resolved: named types stand in many places."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], tuple[Decoder, Shape, Shape]] = {}

    def any(self, writer: Shape, reader: Shape, path: str) -> Decoder:
        known = self.known.get((id(writer), id(reader)))
        if known is None:
            known = self._decide(writer, reader, path), writer, reader
            self.known[id(writer), id(reader)] = known
        return known[0]

    def records(self, writer: Shape, reader: Shape, path: str) -> Records:
        places = _match_fields(writer, reader)
        members = []
        for part in writer.fields:
            place = places.get(part.name)
            target = part.shape if place is None else reader.fields[place].shape
            members.append(Member(part.name, self.any(part.shape, target, _join(path, part.name)), place))
        found = set(places.values())
        missing = [(place, part) for place, part in enumerate(reader.fields) if place not in found]
        return Records(reader.type, members, [(place, self._default(part, path)) for place, part in missing])

    def _decide(self, writer: Shape, reader: Shape, path: str) -> Decoder:
        if writer.kind == "union":
            return self._from_union(writer, reader, path)
        if reader.kind == "union":
            return self._into_union(writer, reader, path)
        if reader.kind not in _PROMOTED.get(writer.kind, (writer.kind,)):
            raise _mismatch(writer, reader, path)
        if writer.kind == "record":
            return self.records(writer, reader, path)
        if writer.kind in ("array", "map"):
            return self._items(writer, reader, path)
        return _leaf(writer, reader, path)

    def _items(self, writer: Shape, reader: Shape, path: str) -> Decoder:
        is_map = writer.kind == "map"
        inner = f"{path}.value" if is_map else f"{path}.element"
        item = self.any(writer.parts[0], reader.parts[0], inner)
        if not is_map:
            return Arrays(reader.type, item, writer.parts[0].stride)
        entries = pa.struct([reader.type.key_field, reader.type.item_field])
        members = [Member("key", Strings(pa.string()), 0), Member("value", item, 1)]
        return Arrays(reader.type, Records(entries, members, ()), Stride(None, None, writer.parts[0].stride.is_flat))

    def _from_union(self, writer: Shape, reader: Shape, path: str) -> Decoder:
        branches: list[Decoder] = []
        slots, failed = [], []
        for part in writer.parts:
            slot = 0
            try:
                slot, decoder = self._choose(part, reader, path)
            except SchemaMismatch as error:
                failed.append(error)
                decoder = Refused(self.any(part, part, path), error)
            branches.append(decoder)
            slots.append(slot)
        if len(failed) == len(branches):
            raise failed[-1]
        return Unions(reader.type, branches, slots, reader.is_wide)

    def _into_union(self, writer: Shape, reader: Shape, path: str) -> Decoder:
        slot, decoder = self._choose(writer, reader, path)
        return Chosen(reader.type, decoder, slot) if reader.is_wide and slot >= 0 else decoder

    def _choose(self, writer: Shape, reader: Shape, path: str) -> tuple[int, Decoder]:
        """Pick the reader's type for what is no union: (its slot, -1 for null; decoder)."""
        if reader.kind != "union":
            return -1 if reader.kind == "null" else 0, self.any(writer, reader, path)
        if writer.kind == "null" and any(part.kind == "null" for part in reader.parts):
            return -1, Nulls(reader.type)
        slots = [part for part in reader.parts if part.kind != "null"]
        for slot, part in sorted(enumerate(slots), key=lambda found: _distance(writer, found[1])):
            try:
                return slot, self.any(writer, part, path)
            except SchemaMismatch:
                continue
        raise _mismatch(writer, reader, path)

    def _default(self, part: ShapeField, path: str) -> pa.Array:
        if not part.has_default:
            raise SchemaMismatch("records lack a field that has no default", field=_join(path, part.name))
        data = encode_default(part.shape, part.default, _join(path, part.name))
        column, _ = self.any(part.shape, part.shape, path).read(
            Source(np.frombuffer(data, np.uint8)), np.zeros(1, np.int64)
        )
        return column.build(Slots(1))


def _match_fields(writer: Shape, reader: Shape) -> dict[str, int]:
    """Return the place in the reader's record of each of the writer's fields that it wants."""
    places = {part.name: place for place, part in enumerate(reader.fields)}
    names = {part.name for part in writer.fields}
    matched = {name: places[name] for name in names if name in places}
    for place, part in enumerate(reader.fields):
        aliased = [name for name in part.aliases if name in names and name not in matched]
        if aliased and part.name not in names:
            matched[aliased[0]] = place
    return matched


def _leaf(writer: Shape, reader: Shape, path: str) -> Decoder:
    """Return the decoder of a type without parts: kinds fit already."""
    _require_same_meaning(writer, reader, path)
    if writer.kind == "null":
        return Nulls(reader.type)
    if writer.kind == "boolean":
        return Booleans()
    if writer.kind in ("int", "long"):
        return Integers(reader.type, _DTYPES[reader.kind], 32 if writer.kind == "int" else 64)
    if writer.kind in ("float", "double"):
        return Floats(reader.type, _DTYPES[reader.kind], _DTYPES[writer.kind])
    if writer.kind in ("string", "bytes"):
        return Decimals(reader.type) if pa.types.is_decimal(reader.type) else Strings(reader.type)
    if writer.kind == "enum":
        return _enum(writer, reader)
    if writer.size != reader.size:
        raise _mismatch(writer, reader, path)
    return FixedDecimals(reader.type, writer.size) if pa.types.is_decimal(reader.type) else FixedBytes(reader.type)


def _enum(writer: Shape, reader: Shape) -> Enums:
    known = [symbol if symbol in reader.symbols else reader.default for symbol in writer.symbols]
    return Enums(writer.name, writer.symbols, known)


def _require_same_meaning(writer: Shape, reader: Shape, path: str) -> None:
    """Refuse logical types that differ: the same number would be read as another time or amount.

    Where only one side has a logical type, the stored value is read as the reader's; decimals may get more digits.
    """
    if writer.type == reader.type or not (_is_logical(writer) and _is_logical(reader)):
        if pa.types.is_decimal(reader.type) and writer.kind != reader.kind:
            raise _mismatch(writer, reader, path)
        return
    both = pa.types.is_decimal(writer.type) and pa.types.is_decimal(reader.type)
    if not both or writer.type.scale != reader.type.scale or writer.type.precision > reader.type.precision:
        raise _mismatch(writer, reader, path)


def _is_logical(shape: Shape) -> bool:
    if shape.kind == "fixed":
        return bool(pa.types.is_decimal(shape.type))
    return shape.kind in _PLAIN and shape.type != _PLAIN[shape.kind]


def _distance(writer: Shape, reader: Shape) -> int:
    """Order the reader's types by how well they fit: the same name, the same kind, then what can be promoted."""
    if writer.kind != reader.kind:
        return 4
    if not writer.name:
        return 0 if writer.type == reader.type else 3
    if writer.name == reader.name:
        return 0
    if writer.name in reader.aliases or writer.bare_name in reader.aliases:
        return 1
    return 2 if writer.bare_name == reader.bare_name else 3


def _mismatch(writer: Shape, reader: Shape, path: str) -> SchemaMismatch:
    return SchemaMismatch(
        "records cannot be read as the reader's type", field=path, stored=_show(writer), read=_show(reader)
    )


def _show(shape: Shape) -> str:
    if shape.kind == "union":
        return " or ".join(part.name or part.kind for part in shape.parts)
    return f"{shape.kind} {shape.name}" if shape.name else f"{shape.kind} ({shape.type})"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
