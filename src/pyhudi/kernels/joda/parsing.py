"""Times read by a Joda pattern, in English, as leniently as Joda reads them.

A number may have fewer digits than its pattern has letters; a month may be spelled short or long. Start at
`parse_text_time`.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.joda.output import DAYS, MONTHS
from pyhudi.kernels.joda.pattern import JodaPattern, PatternToken
from pyhudi.kernels.joda.zones import zone_named

__all__ = ["parse_text_time"]

_ZONE_HOURS = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_FIRST_YEAR = 1946
"""Two digits of a year mean this year or one of the 99 after it. Joda's window moves with the clock, ours must not."""


def parse_text_time(patterns: Sequence[JodaPattern], text: str, zone: tzinfo | None) -> datetime:
    """Read a time by the first pattern that fits all of the text.

    A text without an offset is in `zone`, or UTC. The answer is in `zone`, or in the offset the text gives.

    Raises: InvalidInput if no pattern fits, or the fields make no time; OptionError for a pattern that cannot be read.
    Spec:   format/files 8.4.
    """
    for pattern in patterns:
        match = _regex(pattern).fullmatch(text)
        if match:
            return _moment(_fields(pattern, match), text, zone)
    raise InvalidInput(
        "time does not fit the input format", value=text, formats=", ".join(pattern.text for pattern in patterns)
    )


@lru_cache(maxsize=256)
def _regex(pattern: JodaPattern) -> re.Pattern[str]:
    """Make the expression of a pattern; the i-th token is group `t<i>`."""
    tokens = pattern.tokens
    letters = {token.letter for token in tokens}
    if ("w" in letters and "x" not in letters) or (letters & {"e", "E"} and not letters & {"w", "d", "D"}):
        raise OptionError("a week or a weekday alone names no day; add 'x' and 'w', or 'd'", pattern=pattern.text)
    parts = []
    for i, token in enumerate(tokens):
        tight = i + 1 < len(tokens) and tokens[i + 1].is_number
        part = _expression(token, is_tight=tight) if token.letter else re.escape(token.text)
        parts.append(f"(?P<t{i}>{part})")
    return re.compile("".join(parts), re.DOTALL | re.ASCII)


def _expression(token: PatternToken, *, is_tight: bool) -> str:
    """Make the expression of one field; a number right before another takes no more digits than it has letters."""
    match token.letter:
        case "y" | "Y" | "x" if token.count == 2:
            return r"\d{2}" if is_tight else r"[+-]?\d{1,9}+"
        case "y" | "Y" | "x":
            return rf"[+-]?\d{{1,{token.count if is_tight else 9}}}+"
        case "M" if token.count >= 3:
            return _names(MONTHS)
        case "E":
            return _names(DAYS)
        case "a":
            return "(?i:AM|PM)"
        case "G":
            return "(?i:AD)"
        case "S":
            return rf"\d{{1,{token.count}}}+"
        case "D":
            return rf"\d{{1,{max(token.count, 3)}}}+"
        case "e":
            return rf"\d{{1,{token.count}}}+"
        case "Z" if token.count < 3:
            return r"[zZ]|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?"
        case "Z":
            return r"[+-]\d{2}:\d{2}|[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*"
        case "z":
            return "|".join(["UTC", "UT", "GMT", *_ZONE_HOURS])
        case "C":
            raise OptionError("a century cannot be read; use 'yyyy' in the input format", letter=token.letter)
        case _:
            return rf"\d{{1,{max(token.count, 2)}}}+"


def _names(names: Sequence[str]) -> str:
    return f"(?i:{'|'.join([*names, *(name[:3] for name in names)])})"


def _fields(pattern: JodaPattern, match: re.Match[str]) -> dict[str, str]:
    """Return the text of every field by letter, years of two digits made whole and months made numbers."""
    made: dict[str, str] = {}
    for i, token in enumerate(pattern.tokens):
        text = match[f"t{i}"]
        if token.letter in {"y", "Y", "x"}:
            made["x" if token.letter == "x" else "y"] = _whole_year(text) if token.count == 2 else text
        elif token.letter == "M" and token.count >= 3:
            made["M"] = str(_place(MONTHS, text))
        elif token.letter == "E":
            made["e"] = str(_place(DAYS, text))
        elif token.letter:
            made[token.letter] = text
    return made


def _place(names: Sequence[str], text: str) -> int:
    return next(n for n, name in enumerate(names, 1) if name[:3].lower() == text[:3].lower())


def _whole_year(text: str) -> str:
    if len(text) != 2 or not text.isdigit():
        return text
    return str(_FIRST_YEAR + (int(text) - _FIRST_YEAR) % 100)


def _moment(fields: Mapping[str, str], text: str, zone: tzinfo | None) -> datetime:
    try:
        local = datetime.combine(_day(fields), datetime.min.time()) + _time(fields)
        own = _own_zone(fields)
        made = local.replace(tzinfo=own or zone or UTC)
        gap = made.astimezone(UTC).astimezone(made.tzinfo).replace(tzinfo=None) != local
        answer = made.astimezone(zone) if zone else made
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"time has a field out of range: {error}", value=text) from error
    if gap:
        raise InvalidInput(
            "time does not exist in its zone: clocks were put forward over it", value=text, zone=str(zone)
        )
    return answer


def _day(fields: Mapping[str, str]) -> date:
    day = _calendar_day(fields)
    # A weekday that contradicts the date wins, in the same week, as in Joda.
    return day + timedelta(days=int(fields["e"]) - day.isoweekday()) if "e" in fields else day


def _calendar_day(fields: Mapping[str, str]) -> date:
    if "x" in fields and "w" in fields:
        return date.fromisocalendar(int(fields["x"]), int(fields["w"]), int(fields.get("e", "1")))
    # Joda fills in 1970, but a leap year where the text starts at the month or the day.
    year = int(fields.get("y", fields.get("x", "2000" if {"M", "d", "D", "e", "w"} & fields.keys() else "1970")))
    if "D" in fields:
        made = date(year, 1, 1) + timedelta(days=int(fields["D"]) - 1)
        if int(fields["D"]) < 1 or made.year != year:
            raise ValueError("day of year")
        return made
    return date(year, int(fields.get("M", "1")), int(fields.get("d", "1")))


def _time(fields: Mapping[str, str]) -> timedelta:
    minute, second = int(fields.get("m", "0")), int(fields.get("s", "0"))
    if minute > 59 or second > 59:
        raise ValueError("minute or second")
    fraction = fields.get("S", "")[:3].ljust(3, "0")
    return timedelta(hours=_hour(fields), minutes=minute, seconds=second, milliseconds=int(fraction))


def _hour(fields: Mapping[str, str]) -> int:
    afternoon = 12 if fields.get("a", "").upper() == "PM" else 0
    for letter, lowest, highest in (("H", 0, 23), ("k", 1, 24), ("K", 0, 11), ("h", 1, 12)):
        if letter not in fields:
            continue
        hour = int(fields[letter])
        if not lowest <= hour <= highest:
            raise ValueError("hour")
        hour %= 24 if letter in "Hk" else 12
        return hour if letter in "Hk" else hour + afternoon
    return afternoon


def _own_zone(fields: Mapping[str, str]) -> tzinfo | None:
    """Return the zone that the text itself names."""
    if "z" in fields:
        return timezone(timedelta(hours=_ZONE_HOURS[fields["z"]])) if fields["z"] in _ZONE_HOURS else UTC
    text = fields.get("Z", "")
    if text[:1] not in {"+", "-"}:
        return zone_named(text.upper() if len(text) == 1 else text)
    digits = text[1:].replace(":", "").ljust(6, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return timezone(size if text[0] == "+" else -size)
