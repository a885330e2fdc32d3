"""What callers hand over, checked before it is used: texts, lists of texts, mappings, switches, numbers.

Each check returns the value as the type it asks for, or raises InvalidInput that names the argument and says what it
takes. Pure. Start at `as_text`.
"""

import operator
import sys
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import PurePath
from typing import Any

from pyhudi.errors import InvalidInput, OptionError

__all__ = [
    "as_choice",
    "as_count",
    "as_items",
    "as_mapping",
    "as_option_text",
    "as_switch",
    "as_text",
    "as_texts",
    "is_unicode",
]


def as_text(argument: str, given: object) -> str:
    """Check a text; half of a surrogate pair cannot be written anywhere."""
    if not isinstance(given, str):
        raise InvalidInput(f"{argument} is a text", **{argument: given})
    if not is_unicode(given):
        raise InvalidInput(f"{argument} has a character that is none, half of a surrogate pair", **{argument: given})
    return given


def as_texts(argument: str, given: object) -> list[str]:
    """Check a list of texts; a text alone would be taken letter by letter."""
    return [as_text(argument, one) for one in as_items(argument, given, "texts")]


def as_items(argument: str, given: object, kind: str) -> list[Any]:
    """Check a list of things of some kind, and take them out of whatever holds them; a text or a mapping is none."""
    if isinstance(given, str):
        raise InvalidInput(f"{argument} is a list of {kind}; put brackets around it: [{given!r}]", **{argument: given})
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise InvalidInput(f"{argument} is a list of {kind}", **{argument: given})
    try:
        return list(given)
    except Exception as error:  # an iterator of the caller's own
        raise InvalidInput(f"{argument} cannot be read: {type(error).__name__}: {error}") from error


def as_mapping(argument: str, given: object) -> dict[str, Any]:
    """Check a mapping with texts as keys; None is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{argument} is a mapping, such as {{'name': value}}", **{argument: given})
    try:
        items = list(given.items())
    except Exception as error:  # a mapping of the caller's own
        raise InvalidInput(f"{argument} cannot be read: {type(error).__name__}: {error}") from error
    return {as_text(f"a key of {argument}", key): value for key, value in items}


def as_option_text(key: str, value: object) -> str:
    """Return an option's value as text; it may be a secret, so an error does not repeat it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, PurePath) or (isinstance(value, str) and is_unicode(value)):
        return str(value)
    if not isinstance(value, Real):
        raise OptionError("an option is a text, a number, or True or False", key=key, type=type(value).__name__)
    try:
        return str(value)
    except ValueError as error:  # Python does not spell numbers of thousands of digits
        raise OptionError("option is out of range", key=key) from error


def as_switch(argument: str, given: object) -> bool:
    """Check that a value is True or False: what only counts as true may be another argument's."""
    if not isinstance(given, bool):
        raise InvalidInput(f"{argument} is True or False", **{argument: given})
    return given


def as_count(argument: str, given: object) -> int:
    """Check a number of things; one that no machine can count is the largest that it can."""
    try:
        count = -1 if isinstance(given, bool) else operator.index(given)  # type: ignore[arg-type]  # what raises
    except TypeError:
        count = -1
    if count < 0:
        raise InvalidInput(f"{argument} is a whole number, 0 or more", **{argument: given})
    return min(count, sys.maxsize)


def as_choice(argument: str, given: object, choices: Iterable[str]) -> str:
    """Check one of a few words."""
    allowed = tuple(choices)
    if not isinstance(given, str) or given not in allowed:
        raise InvalidInput(f"{argument} is {' or '.join(allowed)}", **{argument: given})
    return given


def is_unicode(text: str) -> bool:
    """Check that a text can be written as UTF-8: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
