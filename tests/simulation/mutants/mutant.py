"""A mutant, and the changes that many of them need: check nothing, or give one answer to every question.

A change is a function from what is there to what is put there instead. Start at `Mutant`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest.mock import patch

from tests.simulation.explorer.hunting import scenarios
from tests.simulation.explorer.process import simulated
from tests.simulation.explorer.scenario import prepared

RUNS = 300
"""How many runs a way of searching has to show it."""
COMMIT = "pyhudi.txn.commit"
BEGIN = "pyhudi.commit.begin"
CHECKS = "pyhudi.txn.checks"
COMPLETION = "pyhudi.txn.completion"
ROLLBACK = "pyhudi.txn.recovery.rollback"
BY_NAME = "pyhudi.actions.rollback"

Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Mutant:
    """One protection less."""

    name: str
    scenario: str
    changes: tuple[tuple[str, Change], ...]
    """(dotted name, what is done to it)."""
    ways: tuple[str, ...] = ("pct3", "uniform")
    seed: int = 1
    """With which it shows soon."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Run with the change in force; the table to begin with is made before."""
        with simulated():
            prepared(scenarios()[self.scenario])
        with ExitStack() as stack:
            for target, make in self.changes:
                stack.enter_context(patch(target, make(found_at(target))))
            yield


def found_at(target: str) -> Any:
    """Return what a dotted name stands for."""
    owner, _, name = target.rpartition(".")
    try:
        return getattr(sys.modules[owner], name)
    except KeyError:
        module, _, holder = owner.rpartition(".")
        return getattr(getattr(sys.modules[module], holder), name)


def off(_: object) -> Callable[..., None]:
    """Check nothing, do nothing."""
    return lambda *_, **__: None


def unchecked(_: object) -> Callable[..., Any]:
    """Return what was given to be checked."""
    return lambda given, *_, **__: given


def always(value: object) -> Change:
    """Answer the same whatever is asked."""
    return lambda _: lambda *_, **__: value


def off_in(*callers: str) -> Change:
    """Check nothing where these functions ask."""

    def make(check: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(*given: Any, **more: Any) -> Any:
            return None if sys._getframe(1).f_code.co_name in callers else check(*given, **more)

        return chosen

    return make


def off_under(*callers: str) -> Change:
    """Check nothing while one of these functions is at work."""

    def make(check: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(*given: Any, **more: Any) -> Any:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_name not in callers:
                frame = frame.f_back
            return check(*given, **more) if frame is None else None

        return chosen

    return make
