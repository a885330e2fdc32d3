"""Bounds of columns, decoded from the footer's bytes.

pyarrow ends the process where a statistic is not as long as its type, so it is asked for those of files alone that
this process has written. Start at `StoredStatistics`.
"""

import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptData
from pyhudi.formats.parquet.thrift import Only, Struct, Value, decode

__all__ = ["ColumnStats", "StoredStatistics", "WrittenStatistics", "bound_value", "has_column_order"]

# Numbers of fields, as in parquet.thrift.
_GROUPS, _ORDERS = 4, 7
_CHUNKS, _META, _TYPE, _STATISTICS = 1, 3, 1, 12
_OLD_GREATEST, _OLD_LEAST, _NULLS, _GREATEST, _LEAST = 1, 2, 3, 5, 6
_TYPE_DEFINED = 1
_WANTED: Final[Only] = {_GROUPS: {_CHUNKS: {_META: {_TYPE: None, _STATISTICS: None}}}, _ORDERS: None}

_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE, _BYTE_ARRAY, _FIXED = 0, 1, 2, 4, 5, 6, 7
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS: Final = {"us": 1, "ms": 1000}
_PHYSICAL: Final = {
    "BOOLEAN": _BOOLEAN,
    "INT32": _INT32,
    "INT64": _INT64,
    "FLOAT": _FLOAT,
    "DOUBLE": _DOUBLE,
    "BYTE_ARRAY": _BYTE_ARRAY,
    "FIXED_LEN_BYTE_ARRAY": _FIXED,
}
"""What pyarrow calls them."""
_PLAIN: Final = {_BOOLEAN: "<?", _INT32: "<i", _INT64: "<q", _FLOAT: "<f", _DOUBLE: "<d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """Bounds of a column in one row group; None: not known."""

    least: Any | None
    greatest: Any | None
    nulls_count: int | None
    rows_count: int


class StoredStatistics:
    """The statistics of a footer, decoded when the first is asked for."""

    def __init__(self, data: bytes) -> None:
        """Take the footer's bytes, without its length and the magic bytes."""
        self.data = data
        self._footer: Struct | None = None

    def of(self, group: int, leaf: int, kind: pa.DataType, rows_count: int) -> ColumnStats:
        """Read the bounds of one leaf column in one row group, as Python values of its Arrow type.

        Raises: CorruptData for a bound that is not of the column's type.
        """
        try:
            nulls_count, bounds = self._stored(group, leaf, kind)
        except (KeyError, IndexError, TypeError, AttributeError) as error:  # a field is missing, or is another thing
            raise CorruptData("the statistics of the parquet file cannot be read") from error
        least, greatest = bounds if None not in bounds else (None, None)
        return ColumnStats(least=least, greatest=greatest, nulls_count=nulls_count, rows_count=rows_count)

    def _stored(self, group: int, leaf: int, kind: pa.DataType) -> tuple[int | None, list[Any]]:
        """Return how many nulls there are, and the two bounds."""
        if self._footer is None:
            self._footer = decode(self.data, only=_WANTED)
        about = self._footer[_GROUPS].content[group][_CHUNKS].content[leaf][_META].content
        stored: Struct = about[_STATISTICS].content if _STATISTICS in about else {}
        physical: int = about[_TYPE].content
        orders = self._footer.get(_ORDERS)
        names: tuple[int, ...] = ()  # older writers did not agree on the order of bytes
        if orders is not None and _TYPE_DEFINED in orders.content[leaf]:
            names = _LEAST, _GREATEST
        elif physical in _PLAIN:
            names = _OLD_LEAST, _OLD_GREATEST
        bounds = [bound_value(stored.get(name), physical, kind) for name in names]
        return stored[_NULLS].content if _NULLS in stored else None, bounds or [None, None]


class WrittenStatistics(StoredStatistics):
    """The statistics of a file that this process has just written, as pyarrow has them: several times cheaper."""

    def __init__(self, data: bytes, metadata: pq.FileMetaData) -> None:
        """Take the footer, as `StoredStatistics`, and as pyarrow has read it."""
        super().__init__(data)
        self._groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]

    def _stored(self, group: int, leaf: int, kind: pa.DataType) -> tuple[int | None, list[Any]]:
        stored = self._groups[group].column(leaf)
        found, physical = stored.statistics, _PHYSICAL.get(stored.physical_type)
        if found is None:
            return None, [None, None]
        nulls_count = found.null_count if found.has_null_count else None
        if physical is None or not found.has_min_max:
            return nulls_count, [None, None]
        return nulls_count, [_as_kind(one, physical, kind) for one in (found.min_raw, found.max_raw)]


def has_column_order(footer: Struct, leaf: int, physical: int) -> bool:
    """Return whether the order of a leaf column's bounds is known: by its type, or as a footer's orders say.

    Spec: parquet's ColumnOrder; older writers did not agree on the order of bytes.
    """
    orders = footer.get(_ORDERS)
    return physical in _PLAIN or (orders is not None and _TYPE_DEFINED in orders.content[leaf])


def bound_value(bound: Value | None, physical: int, kind: pa.DataType) -> Any | None:  # noqa: ANN401 - any column's value
    """Decode a bound; None where it is not there, or its type has no order that is known here.

    Raises: CorruptData for one that is not as long as its type.
    """
    if bound is None:
        return None
    plain: Any = bound.content
    if physical in _PLAIN:
        form = _PLAIN[physical]
        if len(plain) != struct.calcsize(form):
            raise CorruptData("a statistic of the parquet file is not of its column's type", size_bytes=len(plain))
        [plain] = struct.unpack(form, plain)
    elif physical not in {_BYTE_ARRAY, _FIXED}:
        return None
    return _as_kind(plain, physical, kind)


def _decimal(unscaled: int, kind: pa.DataType) -> Decimal | None:
    """Return a decimal with all of its digits; None for one that has more than its type."""
    if abs(unscaled) >= 10**kind.precision:
        return None
    return Decimal(unscaled).scaleb(-kind.scale, Context(prec=kind.precision))  # the default rounds to 28 digits


def _as_kind(plain: Any, physical: int, kind: pa.DataType) -> Any | None:  # noqa: ANN401 - any column's value
    types = pa.types
    if types.is_decimal(kind):
        unscaled = plain if isinstance(plain, int) else int.from_bytes(plain, "big", signed=True)
        return _decimal(unscaled, kind)
    if types.is_boolean(kind) or types.is_signed_integer(kind):
        return plain if physical in {_BOOLEAN, _INT32, _INT64} else None
    if types.is_floating(kind):
        return plain if physical in {_FLOAT, _DOUBLE} and plain == plain else None
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return plain if isinstance(plain, bytes) else None
    try:
        if types.is_string(kind):
            return plain.decode() if isinstance(plain, bytes) else None
        if types.is_date32(kind) and physical == _INT32:
            return _EPOCH.date() + timedelta(days=plain)
        if types.is_timestamp(kind) and kind.unit in _MICROS and physical == _INT64:
            epoch = _EPOCH if kind.tz else _EPOCH.replace(tzinfo=None)
            return epoch + timedelta(microseconds=plain * _MICROS[kind.unit])
    except (UnicodeDecodeError, OverflowError):
        return None  # a bound that Python has no value for
    return None
