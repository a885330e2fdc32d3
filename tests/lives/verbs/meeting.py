"""What other processes do to a step: another writer in between, a death, an old handle. Start at `Beside`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Self

from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.lives.comparing import shows
from tests.lives.model import Key, Model
from tests.lives.verbs.indexing import CreateIndex, DropIndex, RepairIndex, RunIndexing
from tests.lives.verbs.recovery import Restore, Rollback, Savepoint, instant_of
from tests.lives.verbs.rewriting import Merge, Update
from tests.lives.verbs.services import Archive, Clean, Cluster, Compact, LogCompact, RunDueServices, Service
from tests.lives.verbs.statements import SqlDelete, SqlInsert, SqlMerge, SqlUpdate
from tests.lives.verbs.step import Step, Write
from tests.lives.verbs.writing import (
    AddColumn,
    BulkInsert,
    DeclareColumn,
    DeleteKeys,
    DeletePartitions,
    DeleteWhere,
    Insert,
    Overwrite,
    Upsert,
    WidenColumn,
)
from tests.lives.world import DEAD_S, World, Wrong

from pyhudi.errors import Conflict, HudiError, InstantNotFound, InvalidInput, SchemaMismatch, SnapshotExpired
from pyhudi.storage.api import Storage
from pyhudi.table import Table
from pyhudi.timeline.instant import Action, InstantTime

MEET: tuple[type[Write], ...] = (
    Upsert,
    Upsert,
    Insert,
    DeleteKeys,
    DeleteWhere,
    Update,
    Merge,
    Overwrite,
    DeletePartitions,
    AddColumn,
    DeclareColumn,
    WidenColumn,
    SqlInsert,
    SqlUpdate,
    SqlMerge,
)
SERVE: tuple[type[Step], ...] = (Compact, LogCompact, Cluster, Clean, Archive, RunDueServices)
DIE: tuple[type[Step], ...] = (
    Upsert,
    Upsert,
    Insert,
    BulkInsert,
    DeleteKeys,
    DeleteWhere,
    DeclareColumn,
    Update,
    Merge,
    Overwrite,
    DeletePartitions,
    AddColumn,
    WidenColumn,
    SqlInsert,
    SqlUpdate,
    SqlDelete,
    SqlMerge,
    *SERVE,
    Savepoint,
    Restore,
    Rollback,
)
BACK: tuple[type[Step], ...] = (Restore, Rollback, Savepoint)
STATEMENTS = (SqlInsert, SqlUpdate, SqlDelete, SqlMerge)
"""What these read they read as any query does: a file that is gone is said to be, and nothing is written."""
INDEX: tuple[type[Step], ...] = (CreateIndex, CreateIndex, DropIndex, RunIndexing, RepairIndex)
"""Of tables that may have indexes, beside the others."""
BY_CONDITION = (DeleteWhere, Update, Merge, DeletePartitions, Overwrite, DeleteKeys, Insert)
"""What these do depends on what they found: they may come before the other writer, though they end later."""


@dataclass(frozen=True, slots=True)
class ByOldHandle(Step):
    """A step by a handle that was opened long ago."""

    step: Step

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        step = chance.choice(MEET).draw(chance, world)
        return None if step is None else cls(step)

    def fits(self, world: World) -> bool:
        return self.step.fits(world)

    def do(self, world: World, table: Table | None = None) -> Any:
        stale, world.stale = world.stale, world.open()
        return self.step.do(world, stale)

    def call(self) -> str:
        return f"{self.step.call().replace('table.', 'old.', 1)}"


@dataclass(frozen=True, slots=True)
class Dying(Step):
    """A step whose process dies at a call of storage, if it makes so many."""

    step: Step
    at: int
    is_after: bool
    """The call is done, and nothing behind it."""
    waits: bool
    """Until the process is known to be dead."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        step = chance.choice(DIE + INDEX * 2 if world.setting.is_indexed else DIE).draw(chance, world)
        at = chance.randrange(1, chance.choice((20, 60, 150)))
        return None if step is None else cls(step, at, chance.random() < 0.5, chance.random() < 0.6)

    def fits(self, world: World) -> bool:
        return self.step.fits(world)

    def do(self, world: World, table: Table | None = None) -> Any:
        kind = FaultKind.CRASH_AFTER if self.is_after else FaultKind.CRASH_BEFORE
        storage = FaultyStorage(world.storage, plan=[Fault(kind=kind, at=self.at)], env=world.env)
        before = world.model.copied()
        completed = set(world.open().timeline.completed)
        after = world.model
        try:
            return self.step.do(world, world.open(storage))
        except SimulatedCrash:
            world.has_dead_writer = world.has_plans = True
        if self.waits:
            world.env.sleep(DEAD_S)
        world.table = world.open()
        self._find_out(world, before, after, completed)
        return None

    def _find_out(self, world: World, before: Model, after: Model, completed: set[InstantTime]) -> None:
        """A write is there wholly, or not at all, as the timeline says; a rollback likewise."""
        if isinstance(self.step, Restore):
            world.model = before
            self._find_out_restore(world, before, self.step)
            return
        new = set(world.table.timeline.completed) - completed
        world.model = before
        if new and isinstance(self.step, Write):
            follow(world, self.step)
        if isinstance(self.step, Rollback):
            self._find_out_rollback(world, before)
        if isinstance(self.step, Savepoint) and (kept := instant_of(world, self.step.back)) in saved(world.table):
            world.model.savepoints.add(kept)
        world.remember()
        expire(world, self.step)

    def _find_out_rollback(self, world: World, before: Model) -> None:
        """The commit is gone, or its rollback goes on when it is called again; any writer would go on with it, too."""
        if before.moments[-1].instant not in world.table.timeline.completed:
            self.step.expect(before, None)
            return
        world.env.sleep(DEAD_S)
        self.step.do(world)

    def _find_out_restore(self, world: World, before: Model, step: Restore) -> None:
        """Readers see what was or what is to be; called again, a restore goes on."""
        moment = world.moment(step.back)
        is_begun = not shows(world.table, before)
        if is_begun:
            restored = before.copied()
            restored.go_back(restored.moments[before.moments.index(moment)] if moment else None)
            if not shows(world.table, restored):
                raise Wrong("a restore that died shows neither what was before nor what is to be")
        world.env.sleep(DEAD_S)
        world.table = world.open()
        if step.do(world) is None and is_begun:
            raise Wrong("a restore that died and had begun is refused when it is called again")

    def call(self) -> str:
        when = "after" if self.is_after else "before"
        waits = f"; {DEAD_S} s later" if self.waits else ""
        return f"{self.step.call()}  # dies {when} storage call {self.at}{waits}"


@dataclass(frozen=True, slots=True)
class Beside(Step):
    """A write or a service during which another writer or service begins and commits."""

    step: Step
    other: Step
    at: int
    """The call of storage before which the other writes, or the next one without a lock."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        pairs: tuple[tuple[tuple[type[Step], ...], tuple[type[Step], ...]], ...]
        pairs = ((MEET, MEET), (MEET, MEET), (MEET, SERVE), (SERVE, MEET), (SERVE, SERVE))
        pairs += ((MEET, BACK), (SERVE, BACK), (BACK, MEET), (BACK, SERVE))
        if world.setting.is_indexed and chance.random() < 0.5:
            pairs = ((INDEX, MEET), (INDEX, MEET), (MEET, INDEX), (INDEX, SERVE), (SERVE, INDEX))
        kinds = chance.choice(pairs)
        step, other = (chance.choice(kind).draw(chance, world) for kind in kinds)
        at = chance.randrange(1, chance.choice((30, 60, 100)))
        if isinstance(step, Service | Archive):
            step = replace(step, is_tried=False)  # the other may come between the dry run and what it said
        return None if step is None or other is None else cls(step, other, at)

    def fits(self, world: World) -> bool:
        """An insert that looks no key up gives a second row to one that is stored meanwhile, or is back (301087)."""
        meets_key = isinstance(self.step, BulkInsert | Insert) and getattr(self.step, "duplicates", "none") == "none"
        is_free = not (meets_key and _keys_in(self.step, world) & _keys_in(self.other, world))
        return is_free and self.step.fits(world) and self.other.fits(world)

    def do(self, world: World, table: Table | None = None) -> Any:
        before, completed = world.model.copied(), set(world.table.timeline.completed)
        way_back: WayBack | None = None
        storage = Interrupted(world.storage, self.at, lambda: self._between(world, completed, way_back))
        opened = world.open(storage)
        if storage.is_done and not self.step.fits(world):
            return None
        way_back = WayBack.of(self.step, world)
        try:
            result = self.step.apply(opened, world)
        except Conflict as error:
            if not storage.is_done and not isinstance(error, self.step.refusals(world)):
                raise
            return None
        except HudiError as error:
            if not self._may_refuse(world, before, error, is_met=storage.is_done):
                raise
            return None
        if way_back is not None:
            way_back.finish(world)
        elif storage.was_over:
            world.remember()  # services may have run since
        else:
            self._follow(world, before, result, is_met=storage.is_done)
        return result

    def _between(self, world: World, completed: set[InstantTime], way_back: "WayBack | None") -> bool:
        """The other writer's whole life; return whether the first had committed before it."""
        new = set(world.table.timeline.completed) - completed
        if way_back is not None:
            way_back.look(world)
        if new and isinstance(self.step, Write):
            follow(world, self.step)
            if not shows(world.open(), world.model):
                raise Wrong("the first writer's rows are not there, though it has committed")
        world.remember()
        if not shows(world.open(), world.model):  # what a service has done so far is settled before the other writes
            raise Wrong("the rows are not there before the other writer")
        if self.other.fits(world):
            self.other.do(world, world.open())
            if not shows(world.open(), world.model):
                raise Wrong("the other writer's rows are not there")
        return bool(new) and isinstance(self.step, Write)

    def _may_refuse(self, world: World, before: Model, error: HudiError, *, is_met: bool) -> bool:
        if isinstance(error, SchemaMismatch) and world.model.schema != before.schema:
            return True  # what was given has the columns of before
        now, world.model = world.model, before
        found = isinstance(error, self.step.refusals(world))
        world.model = now
        if is_met and isinstance(self.other, BACK) and isinstance(self.step, STATEMENTS):
            found |= isinstance(error, SnapshotExpired)  # what the statement reads was taken back
        if is_met and isinstance(self.step, BACK):  # a later commit is there, its savepoint, or what it names is gone
            found |= isinstance(error, InvalidInput | SnapshotExpired | InstantNotFound)
        return found or isinstance(error, self.step.refusals(world)) or not self.step.fits(world)

    def _follow(self, world: World, before: Model, result: Any, *, is_met: bool) -> None:
        """Both are done: one after the other, or as if what depends on what it found had come first."""
        if not isinstance(self.step, Write):
            self._served(world, self.step)
            return
        behind = world.model.copied()
        behind.begin()
        self.step.change(behind)
        answers = [behind]
        if is_met and isinstance(self.step, BY_CONDITION) and not isinstance(self.other, BACK):
            answers.append(self._first(world.model, before))
        world.model = next((one for one in answers if shows(world.table, one)), behind)
        world.model.is_compact = False
        world.remember(overtaken=result.instant)

    def _served(self, world: World, step: Step) -> None:
        """A service is done: rows stay as they are, and what is old may be gone."""
        world.has_plans = True
        world.model.is_compact = False
        world.remember()
        expire(world, step)

    def _first(self, now: Model, before: Model) -> Model:
        first = before.copied()
        first.number = now.number + 1
        assert isinstance(self.step, Write)
        self.step.change(first)
        first.number = now.number
        if isinstance(self.other, Write):
            self.other.change(first)
        first.number = now.number + 1
        first.moments = [*now.moments]
        first.savepoints = set(now.savepoints)
        return first

    def call(self) -> str:
        return f"{self.step.call()}  # before its storage call {self.at} another process does {self.other.call()}"


@dataclass(slots=True)
class WayBack:
    """A rollback, a restore or a savepoint that another process meets: where the model goes, and when."""

    step: Rollback | Restore | Savepoint
    instant: str
    """The commit that is taken back, gone back to, or kept."""
    taken: frozenset[str]
    """Commits that go."""
    is_done: bool = False

    @classmethod
    def of(cls, step: Step, world: World) -> Self | None:
        """Return that of a step; None where it is another."""
        if not isinstance(step, Rollback | Restore | Savepoint):
            return None
        instant = world.model.moments[-1].instant if isinstance(step, Rollback) else instant_of(world, step.back)
        first = -1 if isinstance(step, Rollback) else len(world.model.moments) - step.back
        taken = () if isinstance(step, Savepoint) else (one.instant for one in world.model.moments[first:])
        return cls(step, instant, frozenset(taken))

    def look(self, world: World) -> None:
        """Let the model go where readers see the table go already."""
        if self.taken - {*world.open().timeline.completed}:
            self._go(world)

    def finish(self, world: World) -> None:
        """It is done, before the other writer or behind it; a restore to where the table was may have done nothing."""
        world.has_plans = True
        may_be_idle = isinstance(self.step, Restore) and not self.taken
        if not self.is_done and not (may_be_idle and self._has_none_gone(world)):
            self._go(world)
        world.model.is_compact = False
        world.remember()

    def _has_none_gone(self, world: World) -> bool:
        """Return whether all commits are there that came behind the one which is gone back to."""
        names = [one.instant for one in world.model.moments]
        return set(names[names.index(self.instant) :]) <= world.open().timeline.completed.keys()

    def _go(self, world: World) -> None:
        self.is_done = True
        model = world.model
        if isinstance(self.step, Rollback) and model.moments[-1].instant != self.instant:
            raise Wrong("a commit was taken back that was not the newest one")
        self.step.expect(model, self.instant)


def saved(table: Table) -> set[InstantTime]:
    """Return the commits that have a savepoint."""
    return {one.requested_time for one in table.timeline.completed.values() if one.action is Action.SAVEPOINT}


def expire(world: World, step: Step) -> None:
    """Let go what a service may have cleaned or archived."""
    world.expire(is_cleaned=isinstance(step, Clean | RunDueServices), is_archived=isinstance(step, Archive))


def follow(world: World, step: Write) -> None:
    """Let the model do what a write did whose process never said so."""
    world.model.begin()
    step.change(world.model)
    world.model.is_compact = False
    world.remember()


def _keys_in(step: Step, world: World) -> set[Key]:
    """Return the keys of the rows that a step is given, or brings back."""
    moment = world.moment(step.back) if isinstance(step, Restore) else None
    rows = getattr(step, "rows", ()) if moment is None else (one.row for one in moment.rows.values())
    return {tuple(row[name] for name in world.setting.key) for row in rows}


class Interrupted:
    """A store that lets another process act before one of the calls, but not under a lock of this host."""

    def __init__(self, inner: Storage, at: int, act: Callable[[], bool]) -> None:
        """Act before the call `at`, or the first behind it that holds no lock."""
        self._inner, self._at, self._act = inner, at, act
        self._count = self._guards = 0
        self.is_done = False
        self.was_over = False
        """What `act` said: that it came too late to be in between."""

    def __getattr__(self, name: str) -> Any:
        """Pass every call on, and act when it is time."""
        found = getattr(self._inner, name)
        return self._counted(found) if callable(found) else found

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            self._count += 1
            if self._count >= self._at and not self._guards and not self.is_done:
                self.is_done = True
                self.was_over = self._act()
            return function(*given, **more)

        return call

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        """Keep the lock, and remember it."""
        return self._guarded(path, timeout_s)

    @contextmanager
    def _guarded(self, path: str, timeout_s: float) -> Iterator[None]:
        with self._inner.guard(path, timeout_s):
            self._guards += 1
            try:
                yield
            finally:
                self._guards -= 1
