"""Declare, resolve and check one `hoodie.*` option.

An option is declared once, beside the code that reads it: `SORT_MODE = option("hoodie.bulkinsert.sort.mode", ...)`.
`Settings` layers what a call, a session and a table say and returns parsed values. The committed `known_keys.json`
is made from the declarations and from the keys of Apache Hudi that are not read here (`make keys`), so that a typo's
nearest known key can be named from anywhere without importing everything. Start at `option`, then `Settings.of`.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any, Final, Generic, TypeVar

from pyhudi.arguments import as_mapping, as_option_text
from pyhudi.errors import InternalError, NotBuilt, OptionError

__all__ = [
    "DECLARED",
    "MOST",
    "Option",
    "Settings",
    "as_spelled",
    "between",
    "boolean",
    "current_key",
    "obeyed_options",
    "one_of",
    "option",
    "regular_expression",
]

T = TypeVar("T")
N = TypeVar("N", int, float)
MOST: Final = 2**31 - 1
"""The largest number that an option of Apache Hudi has where it is no count of bytes: a Java int."""
_log = logging.getLogger("pyhudi.options")

DECLARED: dict[str, "Option[object]"] = {}
"""Every option declared by the modules imported so far, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Generic[T]):
    """One key: how its text is read, what holds when it is not set, what it means."""

    key: str
    parse: Callable[[str], T]
    default: T
    meaning: str
    old_keys: tuple[str, ...] = ()
    is_kept: bool = True
    """A table may keep it for its writes and services: it is no matter of one call, of one machine, or of reading."""


def option(
    key: str,
    default: T,
    meaning: str,
    *,
    parse: Callable[[str], T] | None = None,
    old_keys: tuple[str, ...] = (),
    is_kept: bool = True,
) -> Option[T]:
    """Declare a key; a second declaration of the same key is our bug."""
    if key in DECLARED:
        raise InternalError("option declared twice", key=key)
    declared = Option(
        key=key,
        parse=parse or _parser_like(default),
        default=default,
        meaning=meaning,
        old_keys=old_keys,
        is_kept=is_kept,
    )
    DECLARED[key] = declared  # type: ignore[assignment]  # Option is read-only, so Option[T] is an Option[object]
    return declared


def boolean(text: str) -> bool:
    """Parse `true` or `false`, any case."""
    lowered = text.strip().lower()
    if lowered not in {"true", "false"}:
        raise ValueError("expected true or false")
    return lowered == "true"


def between(least: N, most: N) -> Callable[[str], N]:
    """Make a parser of numbers of the bounds' type that lie between them, bounds included."""

    def parse(text: str) -> N:
        try:
            number = type(least)(text.strip())
        except (ValueError, OverflowError):
            number = None
        if number is None or not least <= number <= most:
            kind = "whole number" if isinstance(least, int) else "number"
            raise ValueError(f"expected a {kind} from {least} to {most}")
        return number

    return parse


def one_of(*values: str) -> Callable[[str], str]:
    """Make a parser that accepts these words in any case and gives the spelling declared here."""
    spelling = {value.lower(): value for value in values}

    def parse(text: str) -> str:
        if text.strip().lower() not in spelling:
            raise ValueError(f"expected one of {', '.join(values)}")
        return spelling[text.strip().lower()]

    return parse


def regular_expression(text: str) -> str:
    """Check a regular expression of Python; the empty one is taken."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


@dataclass(frozen=True, slots=True)
class Settings:
    """The options in force for one call, by current key; precedence call > session > table > default."""

    values: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(call: Mapping[str, object] | None, session: Mapping[str, str] | None = None) -> "Settings":
        """Layer a call's options over a session's, translate renamed keys, refuse unknown ones.

        Raises: OptionError for an unknown key (the nearest known one is named); NotBuilt for a key that asks for what
        pyhudi does not have yet.
        """
        merged: dict[str, str] = {}
        for layer in (session or {}, as_mapping("options", call)):
            merged.update(_current_keys(layer))
        return Settings(merged)

    def get(self, wanted: Option[T]) -> T:
        """Read one option.

        Raises: OptionError if its text does not parse.
        """
        text = self.values.get(wanted.key)
        return wanted.default if text is None else _parsed(wanted, text)

    def has(self, wanted: Option[T]) -> bool:
        """Return whether anyone set it."""
        return wanted.key in self.values

    def over(self, lower: "Settings") -> "Settings":
        """Return these settings laid over lower ones."""
        return Settings({**lower.values, **self.values})


def as_spelled(options: Mapping[str, object]) -> dict[str, object]:
    """Return options by their keys' own spelling: Spark gives a Python data source its options in lower case."""
    spelling = {key.lower(): key for key in (*_known_keys(), *DECLARED)}
    return {spelling.get(key.lower(), key): value for key, value in options.items()}


def current_key(key: str) -> str:
    """Return the present name of a key.   Raises: OptionError for an unknown one, naming the nearest."""
    return str(_entry_of(key).get("renamed_to", key))


def obeyed_options() -> dict[str, dict[str, Any]]:
    """Return what is known of each option that is obeyed, by its present key: its default as text, what it means."""
    known = {**{key: _entry_of(key) for key in DECLARED}, **_known_keys()}
    return {key: one for key, one in known.items() if one["effect"] == "obeyed" and "renamed_to" not in one}


def _parsed(wanted: Option[T], text: str) -> T:
    try:
        return wanted.parse(text)
    except ValueError as error:
        raise OptionError(f"option cannot be read: {error}", key=wanted.key, value=text) from error


def _current_keys(layer: Mapping[str, object]) -> dict[str, str]:
    current: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for key, value in layer.items():
        entry = _entry_of(key)
        text = as_option_text(key, value)
        if not _is_obeyed(key, text, entry):
            continue
        if key in DECLARED:
            _parsed(DECLARED[key], text)
        new_key = entry.get("renamed_to")
        if new_key is None:
            current[key] = text
        else:
            _say_once(f"{key} is now called {new_key}")
            renamed[new_key] = text
    return {**renamed, **current}  # where both are given, the current name is meant


def _entry_of(key: str) -> dict[str, Any]:
    known = _known_keys()
    entry = known.get(key) or known.get(_prefix_of(key, known))
    if entry is None and key in DECLARED:
        return {"effect": "obeyed", "default": str(DECLARED[key].default)}
    if entry is None:
        nearest = get_close_matches(key, [*known, *DECLARED], n=1, cutoff=0.6)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        raise OptionError(f"unknown option{hint}", key=key)
    return entry


def _is_obeyed(key: str, text: str, entry: Mapping[str, Any]) -> bool:
    if entry["effect"] == "obeyed":
        return True
    if entry["effect"] == "none":
        _say_once(f"{key} has no effect in pyhudi: {entry['meaning']}")
        return False
    if text.strip().lower() not in {one.lower() for one in entry["harmless"]}:
        raise NotBuilt(f"this option asks for what pyhudi does not do yet: {entry['meaning']}", key=key, value=text)
    return False


def _prefix_of(key: str, known: Mapping[str, object]) -> str:
    """Find the longest `prefix.*` that covers a key, for families such as `hoodie.record.merge.property.*`."""
    covers = [name for name in known if name.endswith(".*") and key.startswith(name[:-1])]
    return max(covers, key=len, default="")


@cache
def _say_once(text: str) -> None:
    _log.warning(text)


@cache
def _known_keys() -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = json.loads(resources.files("pyhudi").joinpath("known_keys.json").read_text())
    return known


def _parser_like(default: object) -> Callable[[str], Any]:
    if isinstance(default, bool):
        return boolean
    if isinstance(default, int):
        return between(0, MOST)
    return str
