"""Make what a life has found small: fewer steps, fewer rows, fewer options, as long as it goes wrong.

Start at `shrunk`.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from tests.lives.life import Found, Life, play
from tests.lives.setting import Setting
from tests.lives.verbs.meeting import Beside, ByOldHandle, Dying
from tests.lives.verbs.step import Step

from pyhudi.errors import HudiError

_VALUES = re.compile(r"\(.*\)|\[.*?\]|\{.*\}|'.*?'|\d+")
"""What differs between two reports of one fault."""
Player = Callable[[Life], Found | None]


def shrunk(found: Found, *, seconds: float = 60, player: Player | None = None) -> Found:
    """Return the smallest life that still goes wrong in the same way, as far as the time goes."""
    deadline = time.monotonic() + seconds
    play_it = player or play
    again = play_it(found.life)
    if again is None or kind_of(again) != kind_of(found):
        play_it = player or (lambda life: play(life, is_whole=True))
        again = play_it(found.life) or found
    best, wanted = again, kind_of(again)
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for candidate in smaller(best.life):
            if time.monotonic() > deadline:
                break
            tried = None
            with suppress(HudiError):  # of a table that cannot be made
                tried = play_it(candidate)
            if tried is not None and kind_of(tried) == wanted:
                best, is_smaller = tried, True
                break
    return best


def kind_of(found: Found) -> tuple[str, str]:
    """Return what counts as the same fault: the kind of error, and the beginning of what it says."""
    return type(found.error).__name__, _VALUES.sub("", str(found.error))[:60]


def smaller(life: Life) -> Iterator[Life]:
    """Yield lives that are a little less than this one, the smallest first."""
    count = len(life.steps)
    size = count // 2
    while size:
        for first in range(0, count, size):
            yield replace(life, steps=life.steps[:first] + life.steps[first + size :])
        size //= 2
    for number, step in enumerate(life.steps):
        for fewer in simpler(step):
            yield replace(life, steps=(*life.steps[:number], *fewer, *life.steps[number + 1 :]))
    for setting in plainer(life.setting):
        yield replace(life, setting=setting)


def simpler(step: Step) -> Iterator[tuple[Step, ...]]:
    """Yield what may stand for a step: what is inside it, or the same with less."""
    if isinstance(step, ByOldHandle | Dying):
        yield (step.step,)
    if isinstance(step, Beside):
        yield (step.other, step.step)
        yield (step.step,)
    for name in (field.name for field in fields(step)):
        value = getattr(step, name)
        if isinstance(value, Step):
            for inner in simpler(value):
                if len(inner) == 1 and type(inner[0]) is type(value):
                    yield (replace(step, **{name: inner[0]}),)
        elif isinstance(value, tuple):
            for index in range(len(value)):
                yield (replace(step, **{name: value[:index] + value[index + 1 :]}),)
        elif value is True:
            yield (replace(step, **{name: False}),)


def plainer(setting: Setting) -> Iterator[Setting]:
    """Yield settings with less in them."""
    for name in ("writes", "creation"):
        value = getattr(setting, name)
        for index in range(len(value)):
            if not value[index][0].startswith(("hoodie.index.type", "hoodie.bucket.index")):
                yield replace(setting, **{name: value[:index] + value[index + 1 :]})
    changes: dict[str, Any] = {"partition": (), "key": ("k",), "version": 9, "has_null_partitions": False}
    for name, value in changes.items():
        if getattr(setting, name) != value:
            yield replace(setting, **{name: value})
    if len(setting.partition) > 1:
        yield replace(setting, partition=setting.partition[:1])
