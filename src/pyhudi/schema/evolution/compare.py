"""Which type may become which, and how a difference is said.

Types only, no values. Start at `differences`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

import pyarrow as pa
import pyarrow.types as t

from pyhudi.errors import SchemaMismatch

__all__ = [
    "FitRules",
    "MayBecome",
    "alike_names",
    "differences",
    "fits_values",
    "hint_at",
    "is_text",
    "mismatch",
    "plain_type",
    "promotes",
    "widens",
    "widens_exactly",
]

MayBecome: TypeAlias = Callable[[pa.DataType, pa.DataType], bool]

_SHOWN = 20
_ORDER = (pa.int32(), pa.int64(), pa.float32(), pa.float64())
_EXACT = ((pa.int32(), pa.int64()), (pa.int32(), pa.float64()), (pa.float32(), pa.float64()))


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRules:
    """What a comparison lets pass."""

    may_become: MayBecome
    """For types that are not nested."""
    fills_missing: bool
    """Nullable fields the source has not become null."""
    drops_unknown: bool
    """Fields only the source has are left out."""


def mismatch(message: str, problems: Sequence[str]) -> SchemaMismatch:
    """Make the error that shows every problem."""
    more = f" and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return SchemaMismatch(f"{message}: {'; '.join(problems[:_SHOWN])}{more}", problems=len(problems))


def hint_at(name: str, names: Iterable[str]) -> str:
    """Hint at the name that was meant, if there is one like it."""
    known = list(names)
    same = [other for other in known if other.lower() == name.lower()]
    close = same or get_close_matches(name, known, n=1, cutoff=0.6)
    return f", did you mean {close[0]}?" if close else ""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, without dictionary, run-end or extension around them."""
    while t.is_dictionary(kind) or t.is_run_end_encoded(kind):
        kind = kind.value_type
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name != "arrow.uuid":
        return plain_type(kind.storage_type)
    return kind


def differences(source: Sequence[pa.Field], target: Sequence[pa.Field], rules: FitRules, path: str = "") -> list[str]:
    """Return what keeps fields from becoming the target's, one text a problem."""
    problems: list[str] = []
    given: dict[str, pa.Field] = {}
    for field in source:
        if field.name in given:
            problems.append(f"{path}{field.name}: given twice")
        given[field.name] = field
    wanted = {field.name for field in target}
    for field in target:
        if field.name in given:
            problems += _difference(given[field.name].type, field.type, rules, f"{path}{field.name}")
        elif not rules.fills_missing or not field.nullable:
            problems.append(f"{path}{field.name}: missing, {'' if field.nullable else 'not null '}{field.type}")
    if not rules.drops_unknown:
        unknown = [name for name in given if name not in wanted]
        problems += [f"{path}{name}: unknown column{hint_at(name, wanted)}" for name in unknown]
    return problems


def _difference(source: pa.DataType, target: pa.DataType, rules: FitRules, path: str) -> list[str]:
    source = plain_type(source)
    if source == target or t.is_null(source):
        return []
    if t.is_struct(source) and t.is_struct(target):
        return differences(list(source), list(target), rules, f"{path}.")
    if t.is_map(source) and t.is_map(target):
        problems = _difference(source.key_type, target.key_type, rules, f"{path}.key")
        return problems + _difference(source.item_type, target.item_type, rules, f"{path}.value")
    if _is_list(source) and t.is_list(target):
        return _difference(source.value_type, target.value_type, rules, f"{path}.element")
    is_plain = not t.is_nested(source) and not t.is_nested(target)
    if is_plain and rules.may_become(source, target):
        return []
    return [f"{path}: table has {target}, rows have {source}"]


def alike_names(fields: Iterable[pa.Field], path: str = "") -> list[str]:
    """Name the columns, and fields of structs, that differ from another beside them by case only, a text each."""
    problems, known = [], dict[str, str]()
    for field in fields:
        first = known.setdefault(field.name.lower(), field.name)
        if first != field.name:
            problems.append(f"{path}{field.name}: differs from {first} by case only")
        problems += _alike_inside(field.type, f"{path}{field.name}.")
    return problems


def _alike_inside(kind: pa.DataType, path: str) -> list[str]:
    if t.is_struct(kind):
        return alike_names(kind, path)
    if _is_list(kind) or t.is_map(kind):
        inner = kind.item_type if t.is_map(kind) else kind.value_type
        return _alike_inside(inner, f"{path}value." if t.is_map(kind) else f"{path}element.")
    return []


def fits_values(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a user's values of one type may be stored as another, each value permitting."""
    if t.is_integer(target) and (t.is_floating(source) or t.is_decimal(source)):
        return True
    return _is_read_as(source, target)


def promotes(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a file's values of one type can be read as another, each value permitting where that is narrower.

    A file is wider than its moment where a compaction that was planned before a column was widened ran after that.
    """
    if _is_read_as(source, target) or widens(source, target) or (source in _ORDER and target in _ORDER):
        return True
    return (is_text(source) or _is_bytes(source)) and (is_text(target) or _is_bytes(target))


def _is_read_as(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether two types hold the same kind of value, in any width."""
    if t.is_integer(source):
        return any(is_kind(target) for is_kind in (t.is_integer, t.is_floating, t.is_decimal))
    if t.is_timestamp(source) and t.is_timestamp(target):
        return bool((source.tz is None) == (target.tz is None))
    return _is_same_kind(source, target)


def widens_exactly(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a column may change from one type to another that holds each of its values as it is."""
    is_exact = (source, target) in _EXACT or bool(t.is_decimal(source) and t.is_decimal(target))
    return is_exact and widens(source, target)


def widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a column may change from one type to another: wider numbers, wider decimals, text."""
    if source in _ORDER and target in _ORDER:
        return _ORDER.index(source) < _ORDER.index(target)
    if t.is_decimal(source) and t.is_decimal(target):
        more_digits = target.precision - target.scale >= source.precision - source.scale
        return bool(more_digits and target.scale >= source.scale)
    if target == pa.string():
        return source in (*_ORDER, pa.binary(), pa.date32()) or bool(t.is_decimal(source))
    return bool(source == pa.string() and target == pa.binary())


def is_text(kind: pa.DataType) -> bool:
    """Return whether values are strings, in any form."""
    return any(is_kind(kind) for is_kind in (t.is_string, t.is_large_string, t.is_string_view))


def _is_bytes(kind: pa.DataType) -> bool:
    kinds = (t.is_binary, t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in kinds)


def _is_list(kind: pa.DataType) -> bool:
    kinds = (t.is_list, t.is_large_list, t.is_fixed_size_list, t.is_list_view, t.is_large_list_view)
    return any(is_kind(kind) for is_kind in kinds)


def _is_same_kind(source: pa.DataType, target: pa.DataType) -> bool:
    kinds: tuple[Callable[[pa.DataType], bool], ...] = (
        is_text,
        _is_bytes,
        t.is_floating,
        t.is_decimal,
        t.is_date,
        t.is_time,
    )
    return any(is_kind(source) and is_kind(target) for is_kind in kinds)
