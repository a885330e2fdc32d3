"""Times spelled by a Joda pattern, in English, as Joda does.

Start at `format_time`.
"""

from datetime import UTC, datetime, timedelta

from pyhudi.kernels.joda.pattern import JodaPattern, PatternToken
from pyhudi.kernels.joda.zones import zone_text

__all__ = ["DAYS", "MONTHS", "format_time"]

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def format_time(pattern: JodaPattern, moment: datetime) -> str:
    """Format a moment; one without a zone counts as UTC.

    Spec: format/files 8.4.
    """
    return "".join(_spell(token, moment) if token.letter else token.text for token in pattern.tokens)


def _spell(token: PatternToken, moment: datetime) -> str:
    if token.letter in "GEazZ" or (token.letter == "M" and token.count >= 3):
        return _word(token, moment)
    if token.letter == "S":
        return f"{moment.microsecond // 1000:03}"[: token.count].ljust(token.count, "0")
    number = _number(token.letter, moment)
    if token.letter in "yYx" and token.count == 2:
        number %= 100
    return str(number).zfill(token.count)


def _number(letter: str, moment: datetime) -> int:
    week_year, week, week_day = moment.isocalendar()
    numbers = {
        "C": moment.year // 100,
        "Y": moment.year,
        "y": moment.year,
        "x": week_year,
        "w": week,
        "e": week_day,
        "D": moment.timetuple().tm_yday,
        "M": moment.month,
        "d": moment.day,
        "K": moment.hour % 12,
        "h": moment.hour % 12 or 12,
        "H": moment.hour,
        "k": moment.hour or 24,
        "m": moment.minute,
        "s": moment.second,
    }
    return numbers[letter]


def _word(token: PatternToken, moment: datetime) -> str:
    match token.letter:
        case "G":
            return "AD"
        case "a":
            return "AM" if moment.hour < 12 else "PM"
        case "M":
            name = MONTHS[moment.month - 1]
            return name if token.count >= 4 else name[:3]
        case "E":
            name = DAYS[moment.weekday()]
            return name if token.count >= 4 else name[:3]
        case "z":
            return moment.tzname() or "UTC"
        case _:
            return _offset(token.count, moment)


def _offset(count: int, moment: datetime) -> str:
    size = moment.utcoffset() or timedelta()
    if count >= 3:
        return zone_text(moment.tzinfo or UTC, size)
    minutes = int(abs(size).total_seconds()) // 60
    colon = ":" if count == 2 else ""
    return f"{'-' if size < timedelta() else '+'}{minutes // 60:02}{colon}{minutes % 60:02}"
