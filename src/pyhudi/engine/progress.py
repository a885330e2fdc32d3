"""Show on a terminal or in a notebook how far long work is, and nothing anywhere else.

An engine tells its `Progress` which step it does and how many of the step's tasks are done; its maker chooses
what shows it. Nothing is shared: every engine has its own. Start at `progress_for`.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final, Protocol, TextIO

from pyhudi.env import Env

__all__ = ["PATIENCE_S", "NoProgress", "Progress", "ProgressLine", "printable", "progress_for"]

PATIENCE_S: Final = 1.0
"""How long a step lasts before it is shown."""
_BEAT_S: Final = 0.25
_WIDTH: Final = 79
_CLEAR: Final = "\r\x1b[K"
_CLEAR_IN_NOTEBOOK: Final = "\r" + " " * _WIDTH + "\r"
"""A notebook's output goes back to the begin of its line, and knows no way to clear it."""
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Progress(Protocol):
    """What shows how far an engine is."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Take the name of the work inside."""
        ...

    def begin(self, tasks_count: int) -> None:
        """Take the number of tasks that come now."""
        ...

    def advance(self) -> None:
        """Count one of them as done."""
        ...


class NoProgress:
    """Shows nothing."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def begin(self, tasks_count: int) -> None:
        """Do nothing."""

    def advance(self) -> None:
        """Do nothing."""


class ProgressLine:
    """One line of a terminal: drawn on a beat while a step lasts, taken away after it."""

    def __init__(self, env: Env, terminal: TextIO, clear: str = _CLEAR) -> None:
        """Measure by the clock of `env`; `clear` is what empties the line."""
        self._env = env
        self._clear = clear
        self._terminal = terminal
        self._name = ""
        self._started_s = self._begun_s = env.monotonic_s()
        self._done_count = self._tasks_count = 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show what the work inside is called and how far it is; a step around goes on after it."""
        around = self._name, self._started_s
        self._name, self._started_s = name, self._env.monotonic_s()
        self._tasks_count = 0
        try:
            with self._env.every(_BEAT_S, self._draw):
                yield
        finally:
            if self._is_due():
                self._write(self._clear)
            self._name, self._started_s = around
            self._tasks_count = 0

    def begin(self, tasks_count: int) -> None:
        """Count from here."""
        self._done_count, self._tasks_count, self._begun_s = 0, tasks_count, self._env.monotonic_s()

    def advance(self) -> None:
        """Count one more; the beat draws."""
        self._done_count += 1

    def _draw(self) -> None:
        if self._is_due():
            self._write(self._clear + printable(self._text())[:_WIDTH])

    def _is_due(self) -> bool:
        return self._env.monotonic_s() - self._started_s >= PATIENCE_S

    def _text(self) -> str:
        now_s = self._env.monotonic_s()
        done, count = self._done_count, self._tasks_count
        if not count:
            return f"{self._name}: {now_s - self._started_s:.0f} s"
        if not done or now_s <= self._begun_s:
            return f"{self._name}: {done} of {count} tasks, {now_s - self._started_s:.0f} s"
        rate = done / (now_s - self._begun_s)
        return f"{self._name}: {done} of {count} tasks, {rate:.1f} a second, {(count - done) / rate:.0f} s left"

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal may be gone, and the work goes on
            self._terminal.write(text)
            self._terminal.flush()


def printable(text: str) -> str:
    """Return text in which characters that control a terminal, or the direction of what follows, stand as escapes.

    Names and values come from tables, and a table may come from anywhere.
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def progress_for(env: Env) -> Progress:
    """Return a line on stderr if that is a terminal now, or in the output of a notebook's cell."""
    if sys.stderr is not None and sys.stderr.isatty():
        return ProgressLine(env, sys.stderr)
    if sys.stdout is not None and _is_notebook():
        return ProgressLine(env, sys.stdout, _CLEAR_IN_NOTEBOOK)
    return NoProgress()


def _is_notebook() -> bool:
    """Check whether a kernel of IPython, such as Jupyter's, runs this process: it shows what is printed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
