"""Dates and times in the calendar that Spark had before 3.0, and that later releases still write where they are asked.

Such a file counts days in the Julian calendar up to 4 October 1582, and says so in its footer. Readers show what the
writer meant: the same year, month and day in today's calendar, extended to all times. Start at `find_old_calendar`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi.errors import Unsupported

__all__ = ["OldCalendar", "find_old_calendar", "in_new_calendar"]

_VERSION: Final = b"org.apache.spark.version"
_ZONE: Final = b"org.apache.spark.timeZone"
_DATES: Final = (b"org.apache.spark.legacyDateTime", b"3.0.0")
_INT96: Final = (b"org.apache.spark.legacyINT96", b"3.1.0")
"""The key that says it, and the first release that had to be asked."""
_UTC: Final = frozenset({"UTC", "GMT", "UCT", "Z", "Zulu", "Universal", "Etc/UTC", "Etc/GMT", "Etc/UCT", "+00:00"})
_FIRST_DAY: Final = -141_427
"""15 October 1582: from here on both calendars are one."""
_FIRST_YEAR_DAY: Final = -25_567
"""1 January 1900: from here on the old and the new rules of all time zones are one."""
_EPOCH: Final = 2_440_588
"""The Julian day number of 1 January 1970."""
_PER_DAY: Final = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class OldCalendar:
    """What of a file is in the old calendar."""

    has_dates: bool
    """Dates, and instants that are no INT96."""
    has_int96: bool
    zone: str

    def holds(self, kind: pa.DataType, *, is_int96: bool = False) -> bool:
        """Return whether values of a type, at the top of a row, are in it; times without a zone never are."""
        if pa.types.is_date32(kind):
            return self.has_dates
        return pa.types.is_timestamp(kind) and kind.tz is not None and (self.has_int96 if is_int96 else self.has_dates)


def find_old_calendar(metadata: pq.FileMetaData) -> OldCalendar | None:
    """Read from a footer what is in the old calendar; None if nothing is.

    Cost: nothing: a look at entries that are read already.
    """
    pairs: Mapping[bytes, bytes] = metadata.metadata or {}
    version = pairs.get(_VERSION)
    if version is None:
        return None
    has_dates, has_int96 = (key in pairs or version < first for key, first in (_DATES, _INT96))
    if not (has_dates or has_int96):
        return None
    return OldCalendar(has_dates=has_dates, has_int96=has_int96, zone=pairs.get(_ZONE, b"").decode("utf-8", "replace"))


def in_new_calendar(batch: pa.RecordBatch, old: OldCalendar, int96: tuple[str, ...]) -> pa.RecordBatch:
    """Return rows with their dates and times in today's calendar; `int96` names the columns of that type.

    Shape:  n rows -> n rows, same schema.
    Nulls:  stay.
    Raises: Unsupported for old times of another zone than UTC, whose old rules are not known here, and for old values
            in structs, lists and maps.
    """
    for at, field in enumerate(batch.schema):
        column = batch.column(at)
        if old.holds(field.type, is_int96=field.name in int96):
            batch = batch.set_column(at, field, _shown(column, old, field.name))
        elif pa.types.is_nested(field.type):
            is_int96 = any(path.startswith(f"{field.name}.") for path in int96)
            if any(_is_old(leaf, old, is_int96=is_int96) for leaf in _leaves(column)):
                raise _refusal(field.name, old, "in a struct, list or map")
    return batch


def _is_old(leaf: pa.Array, old: OldCalendar, *, is_int96: bool) -> bool:
    """Return whether a nested column has a value that would have to be changed; INT96 comes without a zone there."""
    kind = pa.timestamp("us", "UTC") if is_int96 and pa.types.is_timestamp(leaf.type) else leaf.type
    return old.holds(kind, is_int96=is_int96) and _least_day(leaf) < _limit(kind, old)


def _shown(column: pa.Array, old: OldCalendar, name: str) -> pa.Array:
    if _least_day(column) >= _limit(column.type, old):
        return column
    if not pa.types.is_date32(column.type) and old.zone not in _UTC:
        raise _refusal(name, old, "of another zone than UTC")
    per_day, stored = _per_day(column.type), _numbers(column)
    days = stored // per_day
    shown = np.where(days < _FIRST_DAY, _new_days(days) * per_day + stored % per_day, stored)
    numbers = pa.array(shown.astype(stored.dtype), mask=column.is_null().to_numpy(zero_copy_only=False))
    return numbers.cast(_number_type(column.type)).cast(column.type)


def _new_days(days: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the days from 1970 to the same date in today's calendar; a 29 February that it has not is 1 March.

    Years are counted from March, so that a leap day ends one.
    """
    since = days + _EPOCH + 32_082
    year = (4 * since + 3) // 1_461
    day = since - 1_461 * year // 4
    return day + 365 * year + year // 4 - year // 100 + year // 400 - 32_044 - _EPOCH


def _least_day(column: pa.Array) -> int:
    numbers = pc.drop_null(_as_numbers(column)).to_numpy(zero_copy_only=False)
    return int(numbers.min() // _per_day(column.type)) if len(numbers) else _FIRST_YEAR_DAY


def _limit(kind: pa.DataType, old: OldCalendar) -> int:
    return _FIRST_DAY if pa.types.is_date32(kind) or old.zone in _UTC else _FIRST_YEAR_DAY


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    filled = pc.fill_null(_as_numbers(column), 0)
    numbers: npt.NDArray[np.int64] = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _as_numbers(column: pa.Array) -> pa.Array:
    return column.cast(_number_type(column.type))


def _number_type(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def _per_day(kind: pa.DataType) -> int:
    return _PER_DAY[kind.unit] if pa.types.is_timestamp(kind) else 1


def _leaves(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the values in structs, lists and maps, at any depth."""
    kind = column.type
    if pa.types.is_struct(kind):
        children = column.flatten()
    elif pa.types.is_map(kind):
        children = [column.keys, column.items]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        children = [column.flatten()]
    else:
        yield column
        return
    for child in children:
        yield from _leaves(child)


def _refusal(name: str, old: OldCalendar, where: str) -> Unsupported:
    return Unsupported(
        f"dates or times of the calendar that Spark had before 3.0, {where}; read them with Spark",
        column=name,
        zone=old.zone,
    )
