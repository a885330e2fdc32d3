"""An Avro schema as a tree of types, names resolved, each with the Arrow type of its column. Start at `read_shape`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows.walk import Stride
from pyhudi.formats.avro_schema import parse_avro_schema
from pyhudi.schema.types import avro_to_arrow, is_avro_null

__all__ = ["Shape", "ShapeField", "read_shape"]

_STRIDES = {
    "null": Stride(0, 0),
    "boolean": Stride(1, 1),
    "int": Stride(None, 1),
    "long": Stride(None, 1),
    "enum": Stride(None, 1),
    "float": Stride(4, None),
    "double": Stride(8, None),
}
_UNKNOWN = Stride(None, None)
_NESTED = Stride(None, None, is_flat=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeField:
    """A field of a record; `default` is only of meaning with `has_default`."""

    name: str
    shape: "Shape"
    aliases: tuple[str, ...] = ()
    has_default: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A type. `parts` are a union's branches, or the one type of an array's items or a map's values."""

    kind: str
    type: pa.DataType
    name: str = ""
    aliases: tuple[str, ...] = ()
    parts: tuple["Shape", ...] = ()
    fields: tuple[ShapeField, ...] = ()
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    stride: Stride = field(default=_UNKNOWN)

    @property
    def is_wide(self) -> bool:
        """Return whether it is a union of several types."""
        return self.kind == "union" and sum(part.kind != "null" for part in self.parts) > 1

    @property
    def bare_name(self) -> str:
        """Return the name without its namespace."""
        return self.name.rpartition(".")[2]


def read_shape(text: str) -> Shape:
    """Read the text of a record's schema.

    Raises: CorruptData for what is no schema, LimitExceeded for one that cannot be bounded, SchemaMismatch for types
            that have no column.
    """
    schema = parse_avro_schema(text)
    if not isinstance(schema, dict):
        raise CorruptData("Avro records have the schema of a record", schema=str(schema)[:80])
    arrow = avro_to_arrow(schema, wide_unions=True)
    return _ShapeReader().read(schema, pa.struct(list(arrow)), "")


class _ShapeReader:
    """Reads types beside their Arrow types, which say already that the schema is sound."""

    def __init__(self) -> None:
        self.named: dict[str, Shape] = {}

    def read(self, avro: Any, arrow: pa.DataType, space: str) -> Shape:  # noqa: ANN401 - JSON
        if isinstance(avro, list):
            return self._read_union(avro, arrow, space)
        if isinstance(avro, str):
            full = avro if "." in avro or not space else f"{space}.{avro}"
            known = self.named.get(full, self.named.get(avro))
            return known or Shape(kind=avro, type=arrow, stride=_STRIDES.get(avro, _UNKNOWN))
        kind = avro.get("type")
        if kind in ("record", "enum", "fixed"):
            return self._read_named(avro, arrow, space)
        if kind == "array":
            items = self.read(avro.get("items"), arrow.value_type, space)
            return Shape(kind=kind, type=arrow, parts=(items,), stride=_NESTED)
        if kind == "map":
            values = self.read(avro.get("values"), arrow.item_type, space)
            return Shape(kind=kind, type=arrow, parts=(values,), stride=_NESTED)
        return self.read(kind, arrow, space)

    def _read_union(self, parts: list[Any], arrow: pa.DataType, space: str) -> Shape:
        is_null = [is_avro_null(part) for part in parts]
        wide = iter(arrow) if is_null.count(False) > 1 else iter(())
        shapes = [
            Shape(kind="null", type=pa.null(), stride=_STRIDES["null"])
            if null
            else self.read(part, next(wide).type if is_null.count(False) > 1 else arrow, space)
            for part, null in zip(parts, is_null, strict=True)
        ]
        if is_null.count(True) > 1:
            raise CorruptData("Avro union has a type twice", type="null")
        is_flat = all(shape.stride.is_flat for shape in shapes)
        return Shape(kind="union", type=arrow, parts=tuple(shapes), stride=Stride(None, None, is_flat))

    def _read_named(self, avro: Mapping[str, Any], arrow: pa.DataType, space: str) -> Shape:
        name = str(avro.get("name", ""))
        inner = str(avro.get("namespace") or (name.rpartition(".")[0] if "." in name else space))
        full = name if "." in name or not inner else f"{inner}.{name}"
        aliases = _texts(avro.get("aliases"))
        if avro["type"] == "record":
            fields = tuple(
                self._read_field(part, arrow.field(place).type, inner) for place, part in enumerate(avro["fields"])
            )
            shape = Shape(
                kind="record", type=arrow, name=full, aliases=aliases, fields=fields, stride=_stride_of(fields)
            )
        elif avro["type"] == "enum":
            shape = _read_enum(avro, full, aliases)
        else:
            size = avro.get("size")
            if not isinstance(size, int) or not 0 < size <= 1 << 24:
                raise CorruptData("Avro fixed has no size", name=full)
            stride = Stride(size, None)
            shape = Shape(kind="fixed", type=arrow, name=full, aliases=aliases, size=size, stride=stride)
        self.named[full] = shape
        return shape

    def _read_field(self, part: Mapping[str, Any], arrow: pa.DataType, space: str) -> ShapeField:
        return ShapeField(
            name=part["name"],
            shape=self.read(part.get("type"), arrow, space),
            aliases=_texts(part.get("aliases")),
            has_default="default" in part,
            default=part.get("default"),
        )


def _read_enum(avro: Mapping[str, Any], name: str, aliases: tuple[str, ...]) -> Shape:
    symbols, default = _texts(avro.get("symbols")), avro.get("default")
    if not symbols or (default is not None and default not in symbols):
        raise CorruptData("Avro enum has no symbols, or a default that is none of them", name=name)
    return Shape(
        kind="enum",
        type=pa.string(),
        name=name,
        aliases=aliases,
        symbols=symbols,
        default=default,
        stride=_STRIDES["enum"],
    )


def _texts(found: object) -> tuple[str, ...]:
    return tuple(str(text) for text in found) if isinstance(found, list) else ()


def _stride_of(fields: tuple[ShapeField, ...]) -> Stride:
    """Add up what is known of the fields."""
    sizes = [part.shape.stride.size for part in fields]
    numbers = [part.shape.stride.numbers for part in fields]
    return Stride(_sum(sizes), _sum(numbers), all(part.shape.stride.is_flat for part in fields))


def _sum(known: list[int | None]) -> int | None:
    found = [value for value in known if value is not None]
    return sum(found) if len(found) == len(known) else None
