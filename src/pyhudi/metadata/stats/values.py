"""The least and greatest values of columns as the metadata table wraps them: a union with one branch a kind of value.

In Arrow a union is a struct with one nullable field a branch, of which at most one is set. Up to table version 8 (V1)
the branch alone says what a value is; from 9 on (V2) branches are primitive and a value type says it. Pure, no loop
over values. Start at `encode_values` and `decode_bounds`.

Spec: format/metadata-table 2.1, 5.2.
"""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.metadata.schema import record_schema
from pyhudi.schema.evolution import widens
from pyhudi.schema.types import avro_to_arrow

__all__ = [
    "NO_VALUE_TYPE",
    "VALUE_TYPE",
    "can_encode",
    "decode_bounds",
    "encode_values",
    "kind_of_value_type",
    "stats_type",
    "stored_bounds",
    "value_type",
    "widest",
    "widest_kind",
]

VALUE_TYPE: Final = pa.struct([pa.field("typeOrdinal", pa.int32(), nullable=False), ("additionalInfo", pa.string())])
NO_VALUE_TYPE: Final = 1
"""The ordinal of the value type of logs that have deletes only."""
_V1_DECIMAL: Final = pa.decimal128(30, 15)
_WITH_VALUE_TYPES: Final = 9
"""The table version from which on values say their type."""
_DECIMAL: Final = 10
_PLAIN: Final = {
    2: pa.bool_(),
    3: pa.int32(),
    4: pa.int64(),
    5: pa.float32(),
    6: pa.float64(),
    7: pa.string(),
    8: pa.binary(),
    12: pa.date32(),
    13: pa.time32("ms"),
    14: pa.time64("us"),
    15: pa.timestamp("ms", "UTC"),
    16: pa.timestamp("us", "UTC"),
    18: pa.timestamp("ms"),
    19: pa.timestamp("us"),
}
"""The type of a value by the ordinal of its value type; nanoseconds are no type of a table's."""
_ORDINALS: Final = {kind: ordinal for ordinal, kind in _PLAIN.items()}
_ODD: Final = r"[\x{E000}-\x{10FFFF}]"
"""Characters whose order differs: Java compares texts by units of UTF-16."""


@lru_cache(maxsize=8)
def stats_type(table_version: int) -> pa.DataType:
    """Return the type of a record of statistics: a struct, whose bounds are structs of a field for each branch."""
    schema = avro_to_arrow(record_schema(table_version, has_meta_fields=False), wide_unions=True)
    return schema.field("ColumnStatsMetadata").type


def can_encode(kind: pa.DataType, table_version: int) -> bool:
    """Return whether bounds of a type can be stored, in a table whose records are not Avro's.   Spec: 6."""
    if pt.is_decimal(kind):
        if table_version >= _WITH_VALUE_TYPES:
            return bool(kind.precision <= 38)
        return bool(kind.scale <= 15 and kind.precision - kind.scale <= 15)
    return not pt.is_binary(kind) and _ordinal(kind) is not None


def value_type(kind: pa.DataType) -> tuple[int, str | None]:
    """Return the ordinal and the additional information that say a type from table version 9 on."""
    if pt.is_decimal(kind):
        return _DECIMAL, f"{kind.precision},{kind.scale}"
    ordinal = _ordinal(kind)
    assert ordinal is not None, "columns of other types are not indexed"
    return ordinal, None


def encode_values(values: pa.Array, table_version: int, *, is_v1: bool = False) -> pa.StructArray:
    """Wrap values of one type; from table version 9 on as V1 where that is asked for.

    Shape: n values of a type that `can_encode` takes -> n of `stats_type`'s bounds.
    Nulls: stay null.
    """
    target = stats_type(table_version).field("minValue").type
    name, plain = _branch_of(values, has_value_type=table_version >= _WITH_VALUE_TYPES and not is_v1)
    is_null = values.is_null()
    wrapped = pa.StructArray.from_arrays([plain], fields=list(target.field(name).type), mask=is_null)
    columns = [wrapped if field.name == name else pa.nulls(len(values), field.type) for field in target]
    return pa.StructArray.from_arrays(columns, fields=list(target), mask=is_null)


def decode_bounds(
    least: pa.Array, greatest: pa.Array, value_types: pa.Array | None, kind: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    """Take the bounds of a column, of whatever type it was when they were stored, out of their wrappers.

    Shape: n and n of `stats_type`'s bounds, n of VALUE_TYPE or none -> n and n values of `kind`.
    Nulls: both are null where one is, and where they do not enclose the values or cannot be told: of a type that does
           not keep its order as `kind`, of bytes, of texts that Java orders otherwise than UTF-8 does, and of what was
           stored as floats from 0.0 on: Apache Hudi writes that for a file with NaN, and -0.0 where the least value is
           zero.
    """
    low, high = (_decoded(wrapped, value_types, kind) for wrapped in (least, greatest))
    is_told = pc.and_(low.is_valid(), high.is_valid())
    if pt.is_string(kind):
        for bound in (low, high):
            if not pc.all(pc.string_is_ascii(bound), min_count=0).as_py():
                is_told = pc.and_(is_told, pc.invert(pc.match_substring_regex(bound, _ODD)))
    if pt.is_floating(kind):
        zeros = low.fill_null(1).to_numpy()
        were_floats = pc.or_(*(pc.struct_field(least, [name]).is_valid() for name in ("FloatWrapper", "DoubleWrapper")))
        is_told = pc.and_(is_told, pc.or_(pa.array((zeros != 0) | np.signbit(zeros)), pc.invert(were_floats)))
    nothing = pa.scalar(None, kind)
    return pc.if_else(is_told, low, nothing), pc.if_else(is_told, high, nothing)


def kind_of_value_type(ordinal: int, info: str) -> pa.DataType | None:
    """Return the type that a value type says; None for one that has no order."""
    return _decimal(info) if ordinal == _DECIMAL else _PLAIN.get(ordinal)


def stored_bounds(wrapped: pa.Array, value_types: pa.Array, kind: pa.DataType) -> pa.Array:
    """Take bounds of one type out of their wrappers, as they are stored.

    Shape: n of `stats_type`'s bounds, n of VALUE_TYPE -> n of `kind`; null what is of a type with another order.
    """
    return _decoded(wrapped, value_types, kind)


def widest_kind(bounds: pa.Array, value_types: pa.Array | None) -> pa.DataType | None:
    """Return the type of the bounds that are there; where a column has become wider, it is the type that it has now.

    Files are in no order of time, so that the last of them may be of the narrower type, which bounds of the wider one
    do not fit. Where neither type is the wider one, it is that of the last bound.

    Nulls: None where all bounds are, and where the last is of no type that has an order.

    Of V1 a long may be a timestamp; its numbers have the same order.
    """
    is_there = bounds.is_valid()
    if not is_there.true_count:
        return None
    last: dict[pa.DataType | None, int] = {}
    for branch, values in zip(bounds.type, bounds.flatten(), strict=True):
        if branch.name == "ArrayWrapper" or values.null_count == len(values):
            continue
        plain = pc.struct_field(bounds, [branch.name, "value"])
        for is_one, kind in _sources(branch.name, plain.type, value_types, pa.int64()):
            is_here = values.is_valid() if is_one is None else pc.and_(values.is_valid(), is_one)
            if is_here.true_count:
                last[kind] = max(last.get(kind, 0), int(pc.indices_nonzero(is_here)[-1].as_py()))
    if not last:
        return None
    newest, *older = sorted(last, key=lambda kind: -last[kind])
    if newest is None:
        return None
    for kind in older:
        newest = kind if kind is not None and widens(newest, kind) else newest
    return newest


def widest(kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar]:
    """Return bounds that enclose every value of a type that Java and Spark have."""
    ends: tuple[object, object]
    if pt.is_boolean(kind):
        ends = False, True
    elif pt.is_floating(kind):
        ends = -np.inf, np.nan
    elif pt.is_string(kind):
        ends = "", "\U0010ffff" * 4
    elif pt.is_decimal(kind):
        most = Decimal(10**kind.precision - 1).scaleb(-kind.scale, Context(prec=kind.precision))
        ends = most.copy_negate(), most
    elif pt.is_integer(kind):
        ends = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    elif pt.is_time(kind):
        ends = time.min, time.max
    else:
        ends = (date.min, date.max) if pt.is_date32(kind) else (datetime.min, datetime.max)
        return tuple(pa.scalar(end).cast(kind, safe=False) for end in ends)
    return pa.scalar(ends[0], kind), pa.scalar(ends[1], kind)


def _decoded(wrapped: pa.Array, value_types: pa.Array | None, kind: pa.DataType) -> pa.Array:
    found = pa.nulls(len(wrapped), kind)
    for branch, values in zip(wrapped.type, wrapped.flatten(), strict=True):
        if branch.name == "ArrayWrapper" or values.null_count == len(values):
            continue
        plain = pc.struct_field(wrapped, [branch.name, "value"])
        for is_one, source in _sources(branch.name, plain.type, value_types, kind):
            chosen = plain if is_one is None else pc.if_else(is_one, plain, pa.scalar(None, plain.type))
            read = _read_as(chosen, source, kind)
            if read is not None:
                found = read if found.null_count == len(found) else pc.coalesce(found, read)
    return found


def _ordinal(kind: pa.DataType) -> int | None:
    if pt.is_integer(kind) and kind.bit_width < 32:
        return _ORDINALS[pa.int32()]
    if pt.is_large_string(kind):
        return _ORDINALS[pa.string()]
    if pt.is_timestamp(kind) and kind.tz is not None:
        kind = pa.timestamp(kind.unit, "UTC")
    return _ORDINALS.get(kind)


def _branch_of(values: pa.Array, *, has_value_type: bool) -> tuple[str, pa.Array]:
    """Choose the branch of a type, and give the values the form they have in it."""
    kind = values.type
    if pt.is_decimal(kind):
        return (
            ("BytesWrapper", _least_bytes(values)) if has_value_type else ("DecimalWrapper", values.cast(_V1_DECIMAL))
        )
    if pt.is_date32(kind):
        return ("IntWrapper" if has_value_type else "DateWrapper"), values.view(pa.int32())
    if pt.is_time32(kind):
        return "IntWrapper", values.view(pa.int32())
    if pt.is_timestamp(kind) or pt.is_time64(kind):
        return "LongWrapper", values.view(pa.int64())
    if pt.is_integer(kind) and kind.bit_width < 32:
        values = values.cast(pa.int32())
    if pt.is_large_string(kind):
        values = values.cast(pa.string())
    names = {
        pa.bool_(): "BooleanWrapper",
        pa.int32(): "IntWrapper",
        pa.int64(): "LongWrapper",
        pa.string(): "StringWrapper",
    }
    names |= {pa.float32(): "FloatWrapper", pa.float64(): "DoubleWrapper", pa.binary(): "BytesWrapper"}
    return names[values.type], values


def _sources(
    branch: str, plain: pa.DataType, value_types: pa.Array | None, kind: pa.DataType
) -> Iterator[tuple[pa.Array | None, pa.DataType | None]]:
    """Yield which values of a branch are of which type; None for all, and for a type that is not known."""
    first = _v1_kind(branch, plain, kind)
    if value_types is None or value_types.null_count == len(value_types):
        yield None, first
        return
    if value_types.null_count:
        yield value_types.is_null(), first
    ordinals, infos = (pc.struct_field(value_types, [name]) for name in VALUE_TYPE.names)
    for ordinal in pc.unique(ordinals.drop_null()).to_pylist():
        is_one = pc.fill_null(pc.equal(ordinals, ordinal), False)
        if ordinal != _DECIMAL:
            yield is_one, _PLAIN.get(ordinal)
            continue
        for info in pc.unique(infos.filter(is_one).drop_null()).to_pylist():
            yield pc.and_(is_one, pc.fill_null(pc.equal(infos, info), False)), _decimal(info)


def _v1_kind(branch: str, plain: pa.DataType, kind: pa.DataType) -> pa.DataType | None:
    """Return the type of V1's values: by the branch, and of a long by the column, whose unit it has."""
    if branch == "TimestampMicrosWrapper":
        return pa.timestamp("us", kind.tz) if pt.is_timestamp(kind) else None
    if branch == "LongWrapper" and pt.is_timestamp(kind):
        # Milliseconds may be micros in truth: files of old releases say so of either.
        return kind if kind.unit == "us" else None
    if branch == "LongWrapper" and pt.is_time64(kind):
        return kind
    return {"DateWrapper": pa.date32(), "LocalDateWrapper": pa.date32()}.get(branch, plain)


def _decimal(info: str) -> pa.DataType | None:
    precision, _, scale = info.partition(",")
    if not (precision.isdecimal() and scale.isdecimal() and 0 < int(precision) <= 38):
        return None
    return pa.decimal128(int(precision), int(scale))


def _read_as(values: pa.Array, source: pa.DataType | None, kind: pa.DataType) -> pa.Array | None:
    """Read primitive values as a column's type, as old files are read; None where that does not keep their order."""
    if source is None or pt.is_binary(source):
        return None
    is_number = all(pt.is_integer(one) or pt.is_floating(one) or pt.is_decimal(one) for one in (source, kind))
    is_moment = pt.is_timestamp(source) and pt.is_timestamp(kind) and (source.tz is None) == (kind.tz is None)
    if source != kind and not is_number and not is_moment:
        return None
    try:
        if pt.is_decimal(source):
            values = _from_least_bytes(values, source.scale) if pt.is_binary(values.type) else values
        else:
            values = values.view(source)
        # Large integers round on their way to floats.
        return values.cast(kind, safe=not (pt.is_integer(source) and pt.is_floating(kind)))
    except (pa.ArrowException, ValueError):
        return None


def _least_bytes(values: pa.Array) -> pa.Array:
    """Write unscaled decimals as big-endian two's complement, without bytes that only repeat the sign."""
    whole = pc.fill_null(values.cast(pa.decimal128(38, values.type.scale)), _zero(values.type.scale))
    raw = np.frombuffer(whole.buffers()[1], np.uint8)[16 * whole.offset :][: 16 * len(whole)].reshape(-1, 16)[:, ::-1]
    sign = np.where(raw[:, :1] > 127, 255, 0)
    repeats = (raw[:, :-1] == sign) & ((raw[:, 1:] > 127) == (sign > 127))
    lengths = 16 - np.cumprod(repeats, axis=1).sum(axis=1)
    data = raw[np.arange(16) >= 16 - lengths[:, None]]
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int32)
    plain = pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data.tobytes())])
    return pc.if_else(values.is_valid(), plain, pa.scalar(None, pa.binary()))


def _from_least_bytes(values: pa.Array, scale: int) -> pa.Array:
    """Read unscaled decimals; what is longer than they can be is null."""
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy()
    is_one = (lengths > 0) & (lengths <= 16)
    kept = pc.if_else(pa.array(is_one), values, pa.scalar(b"", pa.binary()))
    lengths = np.where(is_one, lengths, 0)
    is_byte = np.arange(16) >= 16 - lengths[:, None]
    raw = np.zeros((len(values), 16), np.uint8)
    raw[is_byte] = np.frombuffer(kept.buffers()[2] or b"", np.uint8)[: lengths.sum()]
    first = raw[np.arange(len(values)), np.minimum(16 - lengths, 15)]
    raw[~is_byte & (first[:, None] > 127)] = 255
    buffer = pa.py_buffer(raw[:, ::-1].tobytes())
    whole = pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [None, buffer])
    return pc.if_else(pa.array(is_one), whole, pa.scalar(None, whole.type))


def _zero(scale: int) -> pa.Scalar:
    return pa.scalar(0, pa.decimal128(1, 0)).cast(pa.decimal128(38, scale))
