"""Time zones by the names that Java gives them.

Start at `zone_named`.
"""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pyhudi.errors import OptionError

__all__ = ["zone_named", "zone_text"]

_OFFSET = re.compile(r"(?:GMT)([+-])(\d{1,2})(?::?(\d{2}))?")
_GREENWICH = frozenset({"UTC", "GMT", "UT", "Z", "Zulu", "Etc/UTC", "Etc/GMT"})
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "CET",
    "EST": "America/New_York",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "America/Denver",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


def zone_named(name: str) -> tzinfo | None:
    """Find a zone: a place, an old three-letter name as Joda reads it, `GMT+8`; empty: none.

    Raises: OptionError for a name Java does not know either. (Java itself would silently take GMT.)
    """
    name = name.strip()
    if not name:
        return None
    if name in _GREENWICH:
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(size if offset[1] == "+" else -size)
    try:
        return ZoneInfo(_SHORT.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise OptionError(
            "time zone is not known; write a place like 'Asia/Tokyo', or 'GMT+09:00'", zone=name
        ) from error


def zone_text(zone: tzinfo, size: timedelta) -> str:
    """Return the id that Joda prints for a zone whose offset is `size` just now.

    Bytes: id = place | "UTC" | sign, hours:2, ":", minutes:2
    """
    if isinstance(zone, ZoneInfo):
        return zone.key
    if not size:
        return "UTC"
    minutes = int(abs(size).total_seconds()) // 60
    return f"{'-' if size < timedelta() else '+'}{minutes // 60:02}:{minutes % 60:02}"
