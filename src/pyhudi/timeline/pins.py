"""Pins: moments whose files a reader asks the cleaner to leave in place until it is done, or the pin expires.

A pin is a file `.hoodie/.pins/<point>_<expiry>_<id>`: all that a cleaner has to know is in its name, so that it needs
one listing; the content names the process, for people. Only pyhudi's cleaner looks at pins. Start at `pinned_points`.
"""

import re
from contextlib import suppress
from typing import Final

from pyhudi.errors import HudiError
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode
from pyhudi.storage.process import process_name
from pyhudi.timeline.instant import InstantTime

__all__ = ["PINS", "pinned_points", "put_pin", "remove_pin"]

PINS: Final = ".hoodie/.pins"
_NAME: Final = re.compile(r"(\d{14,17})_(\d{1,15})_[0-9a-f]{32}", re.ASCII)


def put_pin(state: TableState, point: InstantTime, expires_in_s: int) -> str:
    """Pin what was visible at a point; returns the pin's path."""
    expiry_ms = state.env.now_ms() + expires_in_s * 1000
    path = f"{PINS}/{point}_{expiry_ms}_{state.env.uuid().hex}"
    state.storage.put(path, process_name().encode(), PutMode.CREATE)
    return path


def remove_pin(state: TableState, path: str) -> None:
    """Let a moment go; one that cannot be removed now expires."""
    with suppress(HudiError):
        state.storage.delete(path)


def pinned_points(state: TableState) -> frozenset[InstantTime]:
    """Return the points that are pinned now, and remove pins that have expired.

    Cost: a listing of names; a delete for each pin that has expired.
    """
    now_ms, points = state.env.now_ms(), set()
    for name in state.storage.list_names(PINS):
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        if int(match[2]) > now_ms:
            points.add(InstantTime(match[1]))
        else:
            remove_pin(state, f"{PINS}/{name}")
    return frozenset(points)
