"""Going back: rollback, savepoints, restore. Start at `Rollback`."""

from dataclasses import dataclass
from random import Random
from typing import Any, Self

from tests.lives.model import Model, Moment
from tests.lives.verbs.step import Step
from tests.lives.world import Pin, World, Wrong

from pyhudi.errors import Conflict, HudiError, InvalidInput, SnapshotExpired
from pyhudi.table import Table
from pyhudi.timeline.instant import InstantTime


@dataclass(frozen=True, slots=True)
class Rollback(Step):
    """Take the newest completed commit back."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls() if world.model.moments and chance.random() < 0.6 else None

    def fits(self, world: World) -> bool:
        """What was never seen is no moment to go back to."""
        moments = world.model.moments
        return bool(moments) and not any(one.is_unknown for one in moments[-2:-1])

    def apply(self, table: Table, world: World) -> Any:
        return roll_back(table, world.model.moments[-1].instant, world)

    def expect(self, model: Model, result: Any) -> None:
        model.go_back(model.moments[-2] if len(model.moments) > 1 else None)

    def do(self, world: World, table: Table | None = None) -> Any:
        """What it takes back may be a service, whose plan is left."""
        result = Step.do(self, world, table)
        world.has_plans = True
        return result

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """A savepoint or a plan that builds upon it keeps a commit, and what is gone cannot be gone back to."""
        before = world.moment(1)
        has_expired = before is None or before.may_be_expired
        is_kept = world.model.moments[-1].instant in world.model.savepoints or world.may_have_plans
        return ((SnapshotExpired,) if has_expired else ()) + ((InvalidInput,) if is_kept else ())

    def call(self) -> str:
        return "table.rollback(table.latest_instant, completed=True)"


@dataclass(frozen=True, slots=True)
class RollbackLate(Step):
    """Take back what was pending when it was looked at, and is committed now: that is refused."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls() if world.model.moments else None

    def fits(self, world: World) -> bool:
        return bool(world.model.moments)

    def apply(self, table: Table, world: World) -> Any:
        return table.rollback(world.model.moments[-1].instant, options=world.setting.options)

    def expect(self, model: Model, result: Any) -> None:
        raise Wrong("a commit was taken back by the call that takes back what is pending")

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        return (InvalidInput,)

    def call(self) -> str:
        return "table.rollback(table.latest_instant)"


@dataclass(frozen=True, slots=True)
class RollbackPending(Step):
    """Take back what died and is still pending, by its name."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls() if world.has_dead_writer else None

    def apply(self, table: Table, world: World) -> Any:
        writes = [name for name, action in pending_of(table) if action in {"commit", "deltacommit"}]
        for instant in writes[:1]:
            table.rollback(instant, options=world.setting.options)

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """Its process may live, for all that is known; or it was a plan."""
        return (InvalidInput, Conflict)

    def call(self) -> str:
        return "table.rollback(table.inspect.pending()['instant'][0].as_py())"


@dataclass(frozen=True, slots=True)
class PinMoment(Step):
    """Pin a moment, and go on reading it; or let the oldest pin go."""

    back: int = 0
    seconds: int = 3_600
    lets_go: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        back, seconds = chance.choice((0, 0, 1, 2)), chance.choice((60, 3_600, 100_000))
        return cls(back, seconds, chance.random() < 0.2) if world.model.moments else None

    def fits(self, world: World) -> bool:
        return bool(world.pins) if self.lets_go else world.moment(self.back) is not None

    def apply(self, table: Table, world: World) -> Any:
        if self.lets_go:
            world.pins.pop(0).held.__exit__(None, None, None)
            return
        until_ms = world.env.now_ms() + self.seconds * 1000
        moment = None if self.back == 0 else instant_of(world, self.back)
        held = table.pin(moment, expires_in_s=self.seconds, options=world.setting.options)
        pinned = held.__enter__()
        done = {one.instant: one.completion for one in world.model.moments}
        world.pins.append(Pin(pinned, done.get(pinned.instant, ""), until_ms, held))

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        moment = world.moment(self.back)
        return gone_errors() if moment and moment.may_be_expired else ()

    def call(self) -> str:
        return f"pinned = table.pin(<the commit {self.back} back>, expires_in_s={self.seconds}).__enter__()"


@dataclass(frozen=True, slots=True)
class Savepoint(Step):
    """Keep a moment."""

    back: int = 0

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls(chance.choice((0, 0, 1, 2))) if world.model.moments else None

    def fits(self, world: World) -> bool:
        moment = world.moment(self.back)
        return moment is not None and moment.instant not in world.model.savepoints

    def apply(self, table: Table, world: World) -> Any:
        return table.savepoint(instant_of(world, self.back), options=world.setting.options).instant

    def expect(self, model: Model, result: Any) -> None:
        model.savepoints.add(str(result))

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        moment = world.moment(self.back)
        return gone_errors() if moment and moment.may_be_expired else ()

    def call(self) -> str:
        return f"table.savepoint(<the commit {self.back} back>)"


@dataclass(frozen=True, slots=True)
class DeleteSavepoint(Step):
    """Keep a moment no longer."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls() if world.model.savepoints else None

    def fits(self, world: World) -> bool:
        return bool(world.model.savepoints)

    def apply(self, table: Table, world: World) -> Any:
        table.delete_savepoint(min(world.model.savepoints), options=world.setting.options)
        return True

    def expect(self, model: Model, result: Any) -> None:
        gone = min(model.savepoints)
        model.savepoints.remove(gone)
        for moment in model.moments:
            moment.may_be_expired |= moment.instant == gone and moment is not model.moments[-1]

    def call(self) -> str:
        return "table.delete_savepoint(<the oldest>)"


@dataclass(frozen=True, slots=True)
class Restore(Step):
    """Go back to a moment."""

    back: int = 1

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return cls(chance.choice((0, 1, 1, 2, 3))) if len(world.model.moments) > 1 and chance.random() < 0.6 else None

    def fits(self, world: World) -> bool:
        return world.moment(self.back) is not None

    def apply(self, table: Table, world: World) -> Any:
        return table.restore(instant_of(world, self.back), options=world.setting.options).target

    def expect(self, model: Model, result: Any) -> None:
        model.go_back(next(one for one in model.moments if one.instant == result))

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """A savepoint of a later commit is in the way, and what is gone cannot be gone back to.

        A compaction that was planned early and run late is archived early, too, and is behind the moment all the same.
        """
        moment = world.moment(self.back)
        assert moment is not None
        behind = world.open().timeline.archive.completed_after(InstantTime(moment.completion or moment.instant))
        later = {one.instant for one in later_than(moment, world.model)}
        dying = (Conflict,) if world.has_dead_writer else ()
        return (
            dying
            + (gone_errors() if moment.may_be_expired or behind else ())
            + ((InvalidInput,) if later & world.model.savepoints else ())
        )

    def call(self) -> str:
        return f"table.restore(<the commit {self.back} back>)"


def pending_of(table: Table) -> list[tuple[str, str]]:
    """Return what is pending: instants, and what each does."""
    pending = table.inspect.pending()
    return list(zip(pending["instant"].to_pylist(), pending["action"].to_pylist(), strict=True))


def roll_back(table: Table, instant: str, world: World) -> Any:
    """Roll a completed commit back, by the call there is for it."""
    return table.rollback(instant, completed=True, options=world.setting.options)


def instant_of(world: World, back: int) -> str:
    """Return the instant of a moment."""
    moment = world.moment(back)
    assert moment is not None
    return moment.instant


def later_than(moment: Moment, model: Model) -> list[Moment]:
    """Return the moments after one."""
    return model.moments[model.moments.index(moment) + 1 :]


def gone_errors() -> tuple[type[HudiError], ...]:
    """Return how a moment that is gone is refused: its files were cleaned, or its commit was archived."""
    return (SnapshotExpired, InvalidInput)
