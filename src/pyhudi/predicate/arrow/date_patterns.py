"""Moments as text and back, by the patterns of Java's `DateTimeFormatter` as far as tables use them.

Pure, a column at a time. Letters that are not in `_WRITTEN`, or for reading in `_READ`, are refused by name. Start at
`write_moments` and `read_moments`.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import ExpressionError

__all__ = ["read_moments", "write_moments"]

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_READ: Final = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "fraction"}
_DIGITS: Final = {"year": 4, "fraction": 6}
"""Of a moment as Arrow reads it; of other fields two."""
_DEFAULT: Final = {"year": "1970", "month": "01", "day": "01"}
_Writer = Callable[[pa.Array, int], pa.Array]


def write_moments(moments: pa.Array, pattern: str) -> pa.Array:
    """Write moments by a pattern.

    Shape:  n timestamps in microseconds without a zone -> n texts.
    Nulls:  stay null.
    Raises: ExpressionError for a pattern with letters that are not known, and for years beyond 0 to 9999.
    """
    years = pc.min_max(pc.year(moments))
    if moments.null_count < len(moments) and not 0 <= years["min"].as_py() <= years["max"].as_py() <= 9999:
        raise ExpressionError("only the years 0 to 9999 are written by a pattern", pattern=pattern)
    parts = [_part(moments, letters, text) for letters, text in _pieces(pattern)]
    return pc.binary_join_element_wise(*parts, "") if parts else _constant(moments, "")


def read_moments(texts: pa.Array, pattern: str) -> pa.Array:
    """Read moments by a pattern, whose fields have the widths that it says; what it lacks is of 1970-01-01 00:00.

    Shape:  n texts -> n timestamps in microseconds without a zone.
    Nulls:  stay null.
    Raises: ExpressionError for a pattern with letters that are not known, and for a text that does not fit it.
    """
    expression, fields = _reader(pattern)
    found = pc.extract_regex(texts, expression)
    if pc.any(pc.and_(pc.is_valid(texts), pc.is_null(found)), min_count=0).as_py():
        raise ExpressionError("a text does not fit the pattern of dates", pattern=pattern)
    parts = {field: pc.struct_field(found, [field]) for field in fields}
    if "year" in parts and dict(_pieces(pattern)).get("yy") is not None:
        parts["year"] = pc.binary_join_element_wise(_constant(texts, "20"), parts["year"], "")
    year, month, day, hour, minute, second = (
        _padded(parts.get(field), field, texts) for field in ("year", "month", "day", "hour", "minute", "second")
    )
    fraction = pc.utf8_slice_codeunits(
        pc.utf8_rpad(parts.get("fraction", _constant(texts, "")), width=6, padding="0"), 0, 6
    )
    date = pc.binary_join_element_wise(year, month, day, "-")
    clock = pc.binary_join_element_wise(hour, minute, second, ":")
    whole = pc.binary_join_element_wise(pc.binary_join_element_wise(date, clock, " "), fraction, ".")
    try:
        return whole.cast(pa.timestamp("us"))
    except pa.ArrowException as error:
        raise ExpressionError("a text is no date that there is", pattern=pattern, why=str(error)) from error


@lru_cache(maxsize=64)
def _pieces(pattern: str) -> tuple[tuple[str, str], ...]:
    """Part a pattern into (letters, plain text), of which one is empty."""
    pieces, at = [], 0
    while at < len(pattern):
        match = _PIECE.match(pattern, at)
        if match is None:
            raise ExpressionError("this pattern of dates has a quote without an end", pattern=pattern)
        quoted, letters, _, plain = match.groups()
        text = plain if quoted is None else quoted.replace("''", "'") or "'"
        pieces.append((letters or "", "" if letters else text or ""))
        at = match.end()
    return tuple(pieces)


@lru_cache(maxsize=64)
def _reader(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return a regular expression with a named group for each field, and the fields."""
    fields = []
    expression = ""
    for letters, text in _pieces(pattern):
        field = _READ.get(letters[:1], "")
        if letters and (not field or field in fields or len(letters) > _DIGITS.get(field, 2)):
            raise ExpressionError("dates are not read by these letters of a pattern", pattern=pattern, letters=letters)
        if letters:
            fields.append(field)
            expression += f"(?P<{field}>{_width(field, len(letters))})"
        expression += re.escape(text)
    return f"^{expression}$", tuple(fields)


def _width(field: str, count: int) -> str:
    if field == "year":
        return rf"\d{{{4 if count in {1, 4} else count}}}"
    return rf"\d{{{count}}}" if count > 1 or field == "fraction" else r"\d{1,2}"


def _padded(values: pa.Array | None, field: str, texts: pa.Array) -> pa.Array:
    if values is None:
        return _constant(texts, _DEFAULT.get(field, "00"))
    return pc.utf8_lpad(values, width=_DIGITS.get(field, 2), padding="0")


def _constant(beside: pa.Array, text: str) -> pa.Array:
    return pc.if_else(beside.is_valid(), text, pa.scalar(None, pa.string()))


def _part(moments: pa.Array, letters: str, text: str) -> pa.Array:
    if not letters:
        return _constant(moments, text)
    writer = _WRITTEN.get(letters[0])
    if writer is None:
        raise ExpressionError("dates are not written by these letters of a pattern", letters=letters)
    return writer(moments, len(letters))


def _number(field: Callable[[pa.Array], pa.Array], most: int = 2) -> _Writer:
    def write(moments: pa.Array, count: int) -> pa.Array:
        if count > most:
            raise ExpressionError("a field of a date has fewer letters", most=most, letters=count)
        return pc.utf8_lpad(field(moments).cast(pa.string()), width=count, padding="0")

    return write


def _named(names: Sequence[str], places: pa.Array, *, is_short: bool) -> pa.Array:
    return pa.array([name[:3] if is_short else name for name in names], pa.string()).take(places)


def _year(moments: pa.Array, count: int) -> pa.Array:
    text = pc.utf8_lpad(pc.year(moments).cast(pa.string()), width=max(count, 1), padding="0")
    return pc.utf8_slice_codeunits(pc.utf8_lpad(text, width=2, padding="0"), -2) if count == 2 else text


def _month(moments: pa.Array, count: int) -> pa.Array:
    if count <= 2:
        return _number(pc.month)(moments, count)
    if count > 4:
        raise ExpressionError("a month has four letters at most", letters=count)
    return _named(_MONTHS, pc.subtract(pc.month(moments), 1), is_short=count == 3)


def _weekday(moments: pa.Array, count: int) -> pa.Array:
    if count > 4:
        raise ExpressionError("a day of the week has four letters at most", letters=count)
    return _named(_DAYS, pc.day_of_week(moments), is_short=count <= 3)


def _fraction(moments: pa.Array, count: int) -> pa.Array:
    micros = pc.add(pc.multiply(pc.millisecond(moments), 1000), pc.microsecond(moments))
    digits = pc.utf8_rpad(pc.utf8_lpad(micros.cast(pa.string()), width=6, padding="0"), width=count, padding="0")
    return pc.utf8_slice_codeunits(digits, 0, count)


def _half(moments: pa.Array, count: int) -> pa.Array:
    return pc.if_else(pc.less(pc.hour(moments), 12), "AM", "PM")


def _hour_of_half(moments: pa.Array) -> pa.Array:
    hour = pc.hour(moments)
    hour = pc.if_else(pc.greater_equal(hour, 12), pc.subtract(hour, 12), hour)
    return pc.if_else(pc.equal(hour, 0), pa.scalar(12, pa.int64()), hour)


_WRITTEN: Final[dict[str, _Writer]] = {
    "y": _year,
    "M": _month,
    "d": _number(pc.day),
    "D": _number(pc.day_of_year, 3),
    "H": _number(pc.hour),
    "h": _number(_hour_of_half),
    "m": _number(pc.minute),
    "s": _number(pc.second),
    "S": _fraction,
    "E": _weekday,
    "a": _half,
}
