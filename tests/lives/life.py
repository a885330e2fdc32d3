"""One life of a table: drawn by a seed, lived step by step, and lived again from its list of steps.

Start at `live`; `play` does it again.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from unittest import mock

from tests.fixed_env import FixedEnv
from tests.lives.comparing import require_as_promised, settle
from tests.lives.setting import Setting
from tests.lives.verbs import INDEXING, VERBS
from tests.lives.verbs.step import Step
from tests.lives.world import World, own_memory
from tests.simulation.explorer.process import simulated

from pyhudi.engine.api import RowsMemory
from pyhudi.storage.api import Storage

STEPS = 40
WHOLE = 0.03
"""How many of the steps are followed by all comparisons."""
STREAM_BYTES = 100
"""What a stream may hold in memory: one row."""


@dataclass(frozen=True, slots=True)
class Life:
    """A setting and what happened."""

    seed: int
    setting: Setting
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A life whose last step went wrong, and how."""

    life: Life
    error: BaseException

    @property
    def says(self) -> str:
        """Return what went wrong, in a line."""
        return f"{type(self.error).__name__}: {self.error}"


def live(
    seed: int,
    count: int = STEPS,
    setting: Setting | None = None,
    place: Callable[[FixedEnv], Storage] = own_memory,
) -> Found | None:
    """Draw a life of so many steps and live it; return what went wrong."""
    chance = Random(seed)
    chosen = setting or Setting.draw(chance)
    steps: list[Step] = []
    with quiet():
        world = World(chosen, seed, place)
        told = VERBS | INDEXING if chosen.is_indexed else VERBS
        verbs, weights = [*told], [*told.values()]
        while len(steps) < count:
            step = chance.choices(verbs, weights)[0].draw(chance, world)
            if step is None or not step.fits(world):
                continue
            steps.append(step)
            error = lived(world, step, is_whole=len(steps) == count)
            if error is not None:
                return Found(Life(seed, chosen, tuple(steps)), error)
    return None


def play(life: Life, *, is_whole: bool = False) -> Found | None:
    """Live a list of steps; what does not fit is left out.

    Rows are compared after each step, everything after the last one, or with `is_whole` after each.
    """
    with quiet():
        world = World(life.setting, life.seed)
        for number, step in enumerate(life.steps, 1):
            if not step.fits(world):
                continue
            error = lived(world, step, is_whole=is_whole or number == len(life.steps), is_brief=True)
            if error is not None:
                return Found(Life(life.seed, life.setting, life.steps[:number]), error)
    return None


def lived(world: World, step: Step, *, is_whole: bool, is_brief: bool = False) -> BaseException | None:
    """Do a step and compare; what is compared follows from the step, not from those before it."""
    chance = Random(zlib.crc32(repr(step).encode()))
    try:
        step.do(world)
        if is_whole or not is_brief:
            require_as_promised(world, chance, is_whole=is_whole or chance.random() < WHOLE)
        else:
            settle(world.table, world.model)
    except Exception as error:
        return error
    return None


@contextmanager
def quiet() -> Iterator[None]:
    """Make the process deterministic and quick, and keep the log of what is done still."""
    with simulated(), mock.patch.object(RowsMemory, "rows_bytes", STREAM_BYTES):
        yield
