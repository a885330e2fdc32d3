"""Format times as a timestamp-based key generator does.

Numbers are brought to the output zone and cut to the smallest unit the output shows before Python sees the distinct
ones. Start at `timestamp_texts`.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.distinct import over_distinct, over_distinct_texts
from pyhudi.kernels.joda import JodaPattern, format_time, joda_pattern, parse_text_time, zone_named
from pyhudi.kernels.keys.spec import TimestampSpec

__all__ = ["timestamp_texts"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPE_UNITS = {"UNIX_TIMESTAMP": "SECONDS", "EPOCHMILLISECONDS": "MILLISECONDS", "EPOCHMICROSECONDS": "MICROSECONDS"}
_TEXT_TYPES = {"DATE_STRING", "MIXED"}
_PER_MS = {"NANOSECONDS": 1_000_000, "MICROSECONDS": 1_000}
_MS = {"MILLISECONDS": 1, "SECONDS": 1_000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": 86_400_000}
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999
_RULES_MS = 2_114_380_800_000  # 2037: from here on zones have rules, no longer a list of changes
_QUARTER_MS = 900_000

_FAR = 2.0**62

Int64s = npt.NDArray[np.int64]


def timestamp_texts(
    spec: TimestampSpec, column: pa.ChunkedArray, *, has_consistent_timestamps: bool = False
) -> pa.ChunkedArray:
    """Read every value as a time and spell it by the output format.

    Strings are read by the input formats, for the types DATE_STRING and MIXED; all else is a number of the type's unit:
    floats and decimals without their fraction, dates as days since 1970, timestamps as their raw number (as the
    instants they are, if timestamps are to be consistent).

    Shape:  n values -> n strings.
    Nulls:  one unit after 1970 for numbers, a millisecond after it for strings.
    Raises: InvalidInput for a value that is no time or lies outside the years 1 to 9999; OptionError for a type, unit,
            zone or format that is not known.
    Cost:   Python once per distinct time, cut to the output's smallest unit.
    Spec:   format/files 8.4.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return _from_texts(spec, column.cast(pa.string()))
    if pa.types.is_null(kind) and spec.type in _TEXT_TYPES:
        return _from_texts(spec, column.cast(pa.string()))
    if pa.types.is_timestamp(kind) and kind.tz is not None and has_consistent_timestamps:
        missing = int(_to_ms(spec, np.ones(1, np.int64))[0]) if spec.type not in _TEXT_TYPES else 1
        millis = pc.fill_null(column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()), missing)
        return _from_millis(spec, millis.to_numpy())
    return _from_millis(spec, _to_ms(spec, pc.fill_null(_whole_numbers(column), 1).to_numpy()))


def _from_texts(spec: TimestampSpec, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if spec.type not in _TEXT_TYPES or not spec.input_formats:
        raise InvalidInput(
            "a timestamp partition of strings needs the type DATE_STRING and an input format", type=spec.type
        )
    inputs = [joda_pattern(text.strip()) for text in spec.input_formats]
    output = joda_pattern(spec.output_format)
    source, target = zone_named(spec.input_zone), zone_named(spec.output_zone)
    missing = format_time(inputs[0], _moment(1).astimezone(source or target or UTC))

    def respell(text: str) -> str:
        moment = parse_text_time(inputs, text, source)
        return format_time(output, moment.astimezone(target) if target else moment)

    return over_distinct_texts(pc.fill_null(column, missing), respell)


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers as Java's `longValue` does."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        whole = pc.trunc(column.cast(pa.float64()))
        near = pc.min_element_wise(pc.max_element_wise(whole, -_FAR, skip_nulls=False), _FAR, skip_nulls=False)
        return pc.if_else(pc.is_nan(whole), 0.0, near).cast(pa.int64())
    if pa.types.is_decimal(kind):
        return column.cast(pa.int64(), safe=False)
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if pa.types.is_timestamp(kind):
        unit = kind.unit if kind.unit in {"ms", "us"} else "us"
        return column.cast(pa.timestamp(unit, kind.tz), safe=False).cast(pa.int64())
    raise InvalidInput("a timestamp partition takes numbers, dates, timestamps or strings", type=str(kind))


def _to_ms(spec: TimestampSpec, numbers: Int64s) -> Int64s:
    unit = (spec.scalar_unit or "SECONDS").upper() if spec.type == "SCALAR" else _TYPE_UNITS.get(spec.type, "")
    if spec.type in _TEXT_TYPES:
        raise InvalidInput("a timestamp partition of this type takes strings; use SCALAR for numbers", type=spec.type)
    if unit in _PER_MS:
        per = _PER_MS[unit]
        return np.where(numbers < 0, -(-numbers // per), numbers // per)
    if unit not in _MS:
        raise OptionError("type or unit of a timestamp partition is not known", type=spec.type, unit=spec.scalar_unit)
    # Stay inside 64 bits; what is that far away is refused below.
    return np.clip(numbers, -(2**53) // _MS[unit], 2**53 // _MS[unit]) * _MS[unit]


def _from_millis(spec: TimestampSpec, millis: Int64s) -> pa.ChunkedArray:
    output = joda_pattern(spec.output_format)
    zone = zone_named(spec.output_zone) or UTC
    day = 86_400_000  # a zone may move a time by less than that
    outside = (millis < _FIRST_MS + day) | (millis > _LAST_MS - day)
    if outside.any():
        raise InvalidInput(
            "time of a partition lies outside the years 1 to 9999; check the unit", ms=int(millis[outside][0])
        )
    if output.has_zone:
        return _once_each(millis, lambda value: format_time(output, _moment(value).astimezone(zone)))
    local = _local_millis(millis, zone)
    return _once_each(local - local % output.finest_ms, lambda value: _spell_local(output, value))


def _once_each(millis: Int64s, spell: Callable[[int], str]) -> pa.ChunkedArray:
    def spell_all(distinct: pa.Array) -> pa.Array:
        return pa.array([spell(value) for value in distinct.to_numpy().tolist()], pa.string())

    return over_distinct(pa.chunked_array([pa.array(millis)]), spell_all)


def _local_millis(millis: Int64s, zone: tzinfo) -> Int64s:
    if isinstance(zone, ZoneInfo):
        moments = pa.array(millis).cast(pa.timestamp("ms", zone.key))
        local: Int64s = pc.local_timestamp(moments).cast(pa.int64()).to_numpy()
        far = millis >= _RULES_MS
        return np.where(far, _by_rules(millis, zone), local) if far.any() else local
    offset = zone.utcoffset(None) if isinstance(zone, timezone) else timedelta()
    return millis + (offset or timedelta()) // timedelta(milliseconds=1)


def _by_rules(millis: Int64s, zone: ZoneInfo) -> Int64s:
    """Return local times by the zone's rules, which Arrow does not follow to their end: a look-up a quarter hour."""
    quarters, place = np.unique(np.maximum(millis, _RULES_MS) // _QUARTER_MS, return_inverse=True)
    offsets = [zone.utcoffset(_moment(quarter * _QUARTER_MS).astimezone(zone)) for quarter in quarters.tolist()]
    shifts = np.array([(offset or timedelta()) // timedelta(milliseconds=1) for offset in offsets], dtype=np.int64)
    local: Int64s = millis + shifts[place]
    return local


def _moment(millis: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis)


def _spell_local(output: JodaPattern, millis: int) -> str:
    return format_time(output, _moment(millis))
