"""The text format of java.util.Properties: `hoodie.properties` and partition metadata.

Bytes in, a dict out, and back; no paths and no knowledge of which keys exist. Start at `parse_properties`.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from pyhudi.errors import CorruptData, LimitExceeded

__all__ = ["format_properties", "java_date", "parse_properties", "properties_checksum"]

_MAX_BYTES = 16 << 20
_MAX_ENTRIES = 1 << 16
_LINE_END = re.compile(r"\r\n|[\n\r]")
_BLANK = " \t\f"
_KEY = re.compile(r"(?:\\.|[^\\:= \t\f])*\\?", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[:=]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.?)", re.DOTALL)
_PLAIN_ESCAPES = re.compile(r"(?:[^\\]++|\\[^utnrf])*+", re.DOTALL)
_PLAIN_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", **{char: "\\" + char for char in "\\:=#!"}}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_properties(data: bytes) -> dict[str, str]:
    r"""Read a properties file; a key given twice has its last value.

    Bytes:  ISO-8859-1 lines `key=value`; `:` and blanks separate too, `\` escapes and continues a line, `\uXXXX` is a
            UTF-16 unit, `#` and `!` begin comments.
    Raises: CorruptData for a malformed `\u`, half a surrogate pair or NUL bytes; LimitExceeded beyond 16 MiB or 65536
            entries.
    Spec:   format/timeline 1.1.
    """
    if len(data) > _MAX_BYTES:
        raise LimitExceeded("properties are too large", size_bytes=len(data), limit_bytes=_MAX_BYTES)
    if b"\0" in data:  # what a file holds that was sized but not written
        raise CorruptData("properties hold NUL bytes", offset=data.index(0))
    entries: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        key = _KEY.match(line)
        separator = _SEPARATOR.match(line, key.end() if key else 0)
        value = line[separator.end() :] if separator else ""
        entries[_unescape(key.group() if key else "")] = _unescape(value)
        if len(entries) > _MAX_ENTRIES:
            raise LimitExceeded("properties have too many entries", limit=_MAX_ENTRIES)
    return entries


def format_properties(entries: Mapping[str, str], comments: Sequence[str]) -> bytes:
    """Write a properties file as Java does: one `#` line a comment, then the entries in the order given.

    Bytes: ISO-8859-1, lines end in LF; everything that is not printable ASCII is written as UTF-16 units.
    Spec:  format/timeline 1.1.
    """
    lines = ["#" + _comment(part) for comment in comments for part in _LINE_END.split(comment)]
    lines += [f"{_escape(key, is_key=True)}={_escape(value, is_key=False)}" for key, value in entries.items()]
    return "".join(line + "\n" for line in lines).encode("ascii")


def properties_checksum(database: str, table: str) -> int:
    """Return the value of `hoodie.table.checksum`: CRC-32 of the two names.

    Spec: format/timeline 1.2.
    """
    return zlib.crc32(f"{database}.{table}".encode())


def java_date(ms: int, zone: tzinfo) -> str:
    """Return the text of java.util.Date, such as `Sun Sep 28 20:54:36 CST 2025`.

    Units: ms since 1970 UTC.
    """
    when = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(zone)
    clock = f"{when.hour:02}:{when.minute:02}:{when.second:02}"
    return f"{_DAYS[when.weekday()]} {_MONTHS[when.month - 1]} {when.day:02} {clock} {_zone_name(when)} {when.year}"


def _logical_lines(text: str) -> Iterator[str]:
    """Return the lines that hold entries, continuations joined, leading blanks dropped."""
    parts: list[str] = []
    for natural in _LINE_END.split(text):
        line = natural.lstrip(_BLANK)
        if not parts and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        if joined := "".join([*parts, line]):
            yield joined
        parts = []
    if joined := "".join(parts):
        yield joined


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    if _PLAIN_ESCAPES.fullmatch(text):  # most often, and a schema of many columns has thousands
        return _PLAIN_ESCAPE.sub(r"\1", text)
    plain = _ESCAPE.sub(_unescape_one, text)
    try:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as error:
        raise CorruptData("properties hold half a surrogate pair") from error


def _unescape_one(found: re.Match[str]) -> str:
    escaped = found.group(1)
    if escaped[:1] != "u":
        return _LETTERS.get(escaped, escaped)
    if len(escaped) == 1:
        raise CorruptData("properties hold a malformed \\u escape", offset=found.start())
    return chr(int(escaped[1:], 16))


def _escape(text: str, *, is_key: bool) -> str:
    written = "".join(_WRITTEN.get(char) or (char if " " <= char <= "~" else _units(char)) for char in text)
    if is_key:
        return written.replace(" ", "\\ ")
    return "\\" + written if written.startswith(" ") else written


def _comment(text: str) -> str:
    return "".join(char if " " <= char <= "~" or char == "\t" else _units(char) for char in text)


def _units(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def _zone_name(when: datetime) -> str:
    """Name the zone without blanks; where it has no letters, or Python names it `UTC+08:00`, as Java's GMT offset."""
    name = when.tzname() or "UTC"
    if name.isalpha():
        return name
    minutes = round((when.utcoffset() or timedelta()).total_seconds() / 60)
    return f"GMT{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
