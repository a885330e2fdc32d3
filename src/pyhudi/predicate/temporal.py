"""Dates and timestamps written as text in an expression.

Pure, for single values; columns are cast in `arrow`. Only whole ISO forms are taken: a date is `2024-01-31`, a
timestamp is a date, or a date and a time with up to six digits of a second, with or without a zone.
"""

import datetime
import re

from pyhudi.errors import ExpressionError

__all__ = ["date_of", "timestamp_of", "timestamp_text"]

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?\s?(Z|UTC|[+-]\d{2}:\d{2})?)?"
)


def date_of(text: str) -> datetime.date:
    """Read a date.

    Raises: ExpressionError if it is none.
    """
    found = _DATE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError(text)  # noqa: TRY301 - one message for both
        return datetime.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError as error:
        raise ExpressionError("write a date as '2024-01-31'", text=text) from error


def timestamp_of(text: str, *, zone: datetime.tzinfo | None) -> datetime.datetime:
    """Read a timestamp, in `zone` where the text names none; with no zone at all the result has none.

    Raises: ExpressionError if it is none, or names a zone where none is wanted.
    """
    found = _TIMESTAMP.fullmatch(text.strip())
    try:
        if found is None or (found[6] and zone is None):
            raise ValueError(text)  # noqa: TRY301 - one message for both
        day = date_of(found[1])
        fraction = int((found[5] or "0").ljust(6, "0"))
        clock = datetime.time(int(found[2] or 0), int(found[3] or 0), int(found[4] or 0), fraction)
        value = datetime.datetime.combine(day, clock, tzinfo=_zone(found[6]) or zone)
        return value if zone is None else value.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        wanted = "'2024-01-31 12:30:00'" if zone is None else "'2024-01-31 12:30:00' or with a zone '+01:00'"
        raise ExpressionError(f"write a timestamp as {wanted}", text=text) from error


def timestamp_text(value: datetime.datetime) -> str:
    """Write a timestamp with its zone, if it has one, and without a fraction that is zero."""
    text = value.replace(tzinfo=None).isoformat(sep=" ")
    return text if value.tzinfo is None else f"{text}+00:00"


def _zone(text: str | None) -> datetime.tzinfo | None:
    if not text:
        return None
    if text in ("Z", "UTC"):
        return datetime.UTC
    sign = -1 if text[0] == "-" else 1
    hours, minutes = int(text[1:3]), int(text[4:6])
    return datetime.timezone(sign * datetime.timedelta(hours=hours, minutes=minutes))
