"""Instant times: spelled in the timeline's zone, issued so that order on the timeline is order in time.

The digits are wall time, so arithmetic is done on the date and never on the digits. An instant is issued by the holder
of the table lock, later than everything on the timeline and not ahead of the clock. Start at `next_instant_time`.
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import ClockBehindTimeline, InvalidInput
from pyhudi.timeline.instant import InstantTime, is_instant_time

__all__ = [
    "format_instant",
    "instant_ms",
    "next_instant_time",
    "parse_query_time",
    "parse_time",
    "wait_until_past",
    "zone_of",
]

_LONGEST_WAIT_S: Final = 1.0
_ISO: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)


def zone_of(name: str, env: Env) -> tzinfo:
    """Return the zone that a table's `hoodie.table.timeline.timezone` means: UTC, or LOCAL to this process."""
    if name == "UTC":
        return UTC
    return env.zone()


def format_instant(at_ms: int, zone: tzinfo) -> InstantTime:
    """Format a time as 17 digits. Units: ms since 1970 UTC.   Spec: format/timeline 2.3."""
    return _spell(datetime.fromtimestamp(at_ms // 1000, UTC) + timedelta(milliseconds=at_ms % 1000), zone)


def instant_ms(time: InstantTime | str, zone: tzinfo) -> int:
    """Read an instant time as ms since 1970 UTC.

    14 digits stand for their last millisecond, longer ones are cut to 17.

    Raises: InvalidInput where the digits are no date (the `000...` instants of a metadata table).
    """
    return _epoch_ms(_date_of(time).replace(tzinfo=zone))


def parse_time(given: str | datetime | date, zone: tzinfo) -> InstantTime:
    """Read a wall-clock time as the 17 digits it has in the timeline's zone.

    Text is 17 or 14 digits, `yyyy-MM-dd`, or ISO date and time; a datetime or text with an offset is converted, one
    without is wall time in `zone`. Text means what the same datetime means: whole seconds are the begin of the second,
    and a date is its midnight.

    Raises: InvalidInput for anything else.   Spec: format/timeline 6.3.
    """
    return _parsed(given, zone, "000")


def parse_query_time(given: str, zone: tzinfo) -> InstantTime:
    """Read a time as the options of Apache Hudi's data source do; only good for comparing.

    As `parse_time`, but 14 digits stay as they are and so come before every instant of their second, a date and time
    in words without milliseconds is the last one of its second, and a number of 10 or 13 digits is seconds or
    milliseconds since 1970.

    Raises: InvalidInput.   Spec: format/timeline 6.3.
    """
    if given.isascii() and given.isdigit() and len(given) in {10, 13}:
        return format_instant(int(given) * (1000 if len(given) == 10 else 1), zone)
    time = _parsed(given, zone, "999")
    return InstantTime(given) if given.isdigit() else time


def next_instant_time(env: Env, newest: InstantTime | None, zone: tzinfo) -> InstantTime:
    """Issue a time later than `newest` and not ahead of the clock; waits for the clock up to a second.

    Call it while holding the table lock, with the newest requested or completion time on the timeline, and call
    `wait_until_past` before the lock is released.

    Raises: ClockBehindTimeline.
    """
    waited_s = 0.0
    while True:
        now = env.now_ms()
        issued = format_instant(now, zone)
        if newest is None or issued > newest:
            return issued
        behind_s = max(instant_ms(newest, zone) + 1 - now, 1) / 1000
        if waited_s + behind_s > _LONGEST_WAIT_S:
            raise ClockBehindTimeline(
                "this clock is behind the newest instant; check the clock, and the time zone if the timeline is LOCAL",
                now=issued,
                newest=newest,
            )
        env.sleep(behind_s)
        waited_s += behind_s


def wait_until_past(env: Env, issued: InstantTime, zone: tzinfo) -> None:
    """Wait until the clock shows a later time than the one issued, so that it cannot be issued again.

    Raises: ClockBehindTimeline where that would take more than a second.
    """
    next_instant_time(env, issued, zone)


def _spell(at: datetime, zone: tzinfo) -> InstantTime:
    local = at if at.tzinfo is None else at.astimezone(zone)
    return InstantTime(f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03d}".rjust(17, "0"))


def _parsed(given: str | datetime | date, zone: tzinfo, missing_ms: str) -> InstantTime:
    """Read a time; `missing_ms` stands for the milliseconds of a text that ends with its seconds or minutes."""
    if isinstance(given, date) and given != given:
        raise InvalidInput("a time is a text, a datetime or a date", given=given)
    if isinstance(given, datetime):
        return _spell(given, zone)
    if isinstance(given, date):
        return _spell(datetime(given.year, given.month, given.day), zone)
    if not isinstance(given, str):
        raise InvalidInput("a time is a text, a datetime or a date", given=given)
    if is_instant_time(given):
        return _spell(_date_of(given.ljust(17, "0")), zone)
    match = _ISO.fullmatch(given.strip())
    if match is None:
        raise InvalidInput("a time is 17 or 14 digits, a date, or an ISO date and time", given=given)
    return _spell(_from_iso(match, given, missing_ms), zone)


def _epoch_ms(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _date_of(time: str) -> datetime:
    digits = time[:17] if len(time) > 14 else time + "999"
    if len(digits) != 17 or not digits.isascii() or not digits.isdigit():
        raise InvalidInput("an instant time has 17 or 14 digits", given=time)
    try:
        return datetime(
            int(digits[:4]), int(digits[4:6]), int(digits[6:8]), int(digits[8:10]), int(digits[10:12]),
            int(digits[12:14]), int(digits[14:]) * 1000,
        )  # fmt: skip
    except ValueError as error:
        raise InvalidInput("these digits are not a date and time", given=time) from error


def _from_iso(match: re.Match[str], given: str, missing_ms: str) -> datetime:
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if hour is None:
        fraction = "0"
    micros = int((fraction or missing_ms).ljust(3, "0")[:3]) * 1000
    zone = _offset(offset)
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), micros)
        return at.replace(tzinfo=zone)
    except ValueError as error:
        raise InvalidInput("this is not a date and time", given=given) from error


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text == "Z":
        return UTC
    parsed: tzinfo | None = datetime.strptime(text, "%z").tzinfo
    return parsed
