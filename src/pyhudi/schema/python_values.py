"""Python values as a column: what rows given as dicts hold.

Arrow's own conversion cuts what does not fit: 2.9 as an integer, a time as a date, nanoseconds. Here values become what
they look like first, those of one Python type at a time, and are then fitted as Arrow rows are. Start at `to_array`.
"""

import reprlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.types as t

from pyhudi.arguments import is_unicode
from pyhudi.errors import SchemaMismatch
from pyhudi.schema.evolution import conform

__all__ = ["to_array"]

_FAILURES = (pa.ArrowException, OverflowError, ValueError, TypeError)
"""What Arrow raises for a value; text that is no Unicode is a ValueError."""
_MAX_DEPTH = 64
_NULLS = ("NoneType", "NaTType", "NAType")
"""Types of nulls, by name: pandas may not be installed."""
_REPR = reprlib.Repr()
_REPR.maxother = _REPR.maxstring = _REPR.maxlong = 80
_EXACT: dict[type, Callable[[pa.DataType], bool]] = {
    int: t.is_integer,
    float: t.is_float64,
    bool: t.is_boolean,
    str: t.is_string,
    bytes: t.is_binary,
    Decimal: t.is_decimal,
    date: t.is_date32,
}
"""Arrow puts values of these very types into such a column as they are, or refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """Values, the row that each is in, and where in the rows they are."""

    values: Sequence[Any]
    rows: Sequence[int]
    path: str
    depth: int = 0

    def inner(self, name: str, values: Sequence[Any], rows: Sequence[int]) -> "_Given":
        """Return what is inside these values."""
        return _Given(values=values, rows=rows, path=f"{self.path}.{name}", depth=self.depth + 1)


def to_array(values: Sequence[object], kind: pa.DataType | None, name: str) -> pa.Array:
    """Make a column of Python values: of a type, or if it is None of the type they look like.

    A dict is a struct, or where the type says so a map. Fields of a struct that the type lacks come after its own.

    Shape:  n values -> n values.
    Nulls:  None, and the nulls of pandas.
    Raises: SchemaMismatch that names row, column and value, where a value would change, or values without a type given
            are of several.
    """
    return _array(_Given(values=values, rows=range(len(values)), path=name), kind)


def _array(given: _Given, kind: pa.DataType | None) -> pa.Array:
    if given.depth > _MAX_DEPTH:
        raise SchemaMismatch("values are nested too deeply", column=given.path[:80], limit=_MAX_DEPTH)
    types = set(map(type, given.values))
    present = {one for one in types if one.__name__ not in _NULLS}
    if not present:
        return pa.nulls(len(given.values), pa.null() if kind is None else kind)
    if len(types - present) > 1 or (types != present and type(None) not in types):
        values = [None if type(one).__name__ in _NULLS else one for one in given.values]
        given = replace(given, values=values)
    has_pairs = kind is not None and t.is_map(kind)
    is_listed = all(issubclass(one, list | tuple | np.ndarray) for one in present)
    if has_pairs and all(issubclass(one, Mapping | list | tuple) for one in present):
        return _maps(given, kind)
    if all(issubclass(one, Mapping) for one in present) and (kind is None or t.is_struct(kind)):
        return _structs(given, kind)
    if is_listed and (kind is None or t.is_list(kind)):
        return _lists(given, kind)
    return _scalars(given, kind, present)


def _structs(given: _Given, kind: pa.DataType | None) -> pa.Array:
    known = {} if kind is None else {field.name: field.type for field in kind}
    held = [value or {} for value in given.values]
    names = list(dict.fromkeys([*known, *(name for value in held for name in value)]))
    for place, value in enumerate(held):
        if not all(isinstance(name, str) and is_unicode(name) for name in value):
            _refuse(given, place, kind)
    children = [
        _array(given.inner(name, [value.get(name) for value in held], given.rows), known.get(name)) for name in names
    ]
    fields = [pa.field(name, child.type) for name, child in zip(names, children, strict=True)]
    if not fields:
        return pa.array(given.values, pa.struct([]))
    return pa.StructArray.from_arrays(children, fields=fields, mask=_mask(given.values))


def _lists(given: _Given, kind: pa.DataType | None) -> pa.Array:
    held = [() if value is None else value for value in given.values]
    inner = given.inner("element", _flat(held), _rows_of(given, held))
    elements = _array(inner, None if kind is None else kind.value_type)
    made = pa.list_(pa.field("element", elements.type))
    return pa.ListArray.from_arrays(_offsets(held), elements, type=made, mask=_mask(given.values))


def _maps(given: _Given, kind: pa.DataType) -> pa.Array:
    held = []
    for place, value in enumerate(given.values):
        pairs = list(value.items()) if isinstance(value, Mapping) else list(value or ())
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            _refuse(given, place, kind)
        held.append(pairs)
    rows, pairs = _rows_of(given, held), _flat(held)
    keys = _array(given.inner("key", [key for key, _ in pairs], rows), kind.key_type)
    items = _array(given.inner("value", [value for _, value in pairs], rows), kind.item_type)
    if keys.null_count:
        _refuse(given, given.rows.index(rows[keys.is_valid().index(False).as_py()]), kind)
    made = pa.map_(kind.key_type, pa.field("value", items.type))
    return pa.MapArray.from_arrays(_offsets(held), keys, items, type=made, mask=_mask(given.values))


def _scalars(given: _Given, kind: pa.DataType | None, present: set[type]) -> pa.Array:
    """Convert the values of each Python type by themselves, and put them back in their order."""
    if len(present) == 1:
        return _of_one_type(given, kind, *present)
    if kind is None:
        first = next(iter(present))
        if bool in present or not all(issubclass(one, Number) for one in present):
            names = sorted(one.__name__ for one in present)
            raise SchemaMismatch("values of a new column are of several types", column=given.path, types=names)
        return _of_one_type(given, None, first)
    parts, places = [], []
    for one in present:
        at = [place for place, value in enumerate(given.values) if type(value) is one]
        some = replace(given, values=[given.values[place] for place in at], rows=[given.rows[place] for place in at])
        parts.append(_of_one_type(some, kind, one))
        places.append(np.array(at))
    order = np.full(len(given.values), -1)
    order[np.concatenate(places)] = np.arange(sum(map(len, places)))
    return pa.concat_arrays(parts).take(pa.array(order, mask=order < 0))


def _of_one_type(given: _Given, kind: pa.DataType | None, one: type) -> pa.Array:
    is_exact = kind is not None and one in _EXACT and _EXACT[one](kind)
    looks_like = kind if is_exact else _moments(given, one) if issubclass(one, datetime) else None
    made = _converted(given, looks_like, kind)
    if kind is None or made.type == kind:
        return made
    try:
        column = conform(pa.table([made], names=[given.path]), pa.schema([pa.field(given.path, kind)])).column(0)
    except SchemaMismatch as error:
        at = error.values.get("row", next(place for place, value in enumerate(given.values) if value is not None))
        _refuse(given, int(str(at)), kind, error)
    return column.combine_chunks()


def _moments(given: _Given, one: type) -> pa.DataType | None:
    """Choose the unit that datetimes need; those with and without a zone do not mix.

    pandas has a subclass with nanoseconds, which Arrow would cut.
    """
    zones = [None if value is None else value.tzinfo is not None for value in given.values]
    for place, has_zone in enumerate(zones):
        if has_zone is not None and has_zone is not next(zone for zone in zones if zone is not None):
            _refuse(given, place, None)
    if not hasattr(one, "nanosecond") or not any(getattr(value, "nanosecond", 0) for value in given.values):
        return None
    return pa.timestamp("ns", "UTC" if True in zones else None)


def _converted(given: _Given, looks_like: pa.DataType | None, kind: pa.DataType | None) -> pa.Array:
    try:
        return pa.array(given.values, looks_like)
    except _FAILURES as error:
        # The shortest beginning that fails ends in the first wrong value.
        count = len(given.values)
        place = bisect_left(range(count), True, key=lambda at: not _converts(given.values[: at + 1], looks_like))
        _refuse(given, place, kind, error)


def _converts(values: Sequence[Any], kind: pa.DataType | None) -> bool:
    try:
        pa.array(values, kind)
    except _FAILURES:
        return False
    return True


def _refuse(given: _Given, place: int, kind: pa.DataType | None, error: Exception | None = None) -> NoReturn:
    fits = "does not fit its column" if kind is not None else "does not fit the others of its column"
    said = {} if kind is None else {"type": str(kind)}
    message = error.message if isinstance(error, SchemaMismatch) else f"a value {fits}"
    raise SchemaMismatch(
        message, row=given.rows[place], column=given.path, value=_REPR.repr(given.values[place]), **said
    ) from error


def _mask(values: Sequence[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values], pa.bool_()) if None in values else None


def _offsets(held: Sequence[Sequence[Any]]) -> pa.Array:
    lengths = np.fromiter(map(len, held), np.int64, len(held))
    return pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), pa.int32())


def _rows_of(given: _Given, held: Sequence[Sequence[Any]]) -> list[int]:
    return [row for row, value in zip(given.rows, held, strict=True) for _ in value]


def _flat(held: Iterable[Iterable[Any]]) -> list[Any]:
    return [one for value in held for one in value]
