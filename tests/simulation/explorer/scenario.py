"""What a scenario says, and what happens when one is run: which actors do what to which table, and what befalls them.

A verb knows how to be done to a table and what it means for rows, so that a committed history can be done again, one
verb after the other, on a dictionary. Start at `Scenario` and `play`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import MappingProxyType
from typing import Any, Self

from tests.simulation.explorer.actors import Actor, Memory, Work, copy_of
from tests.simulation.explorer.disk import Disk, SimEnv, SimStorage, _File, as_begun
from tests.simulation.explorer.kernel import Run
from tests.simulation.world import OPTIONS, World

from pyhudi.errors import HudiError
from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import Storage
from pyhudi.storage.probe import WriterCapability, _known
from pyhudi.table import Table

TOKEN = "simulation"
QUIET_MS = 1_000
ONE_ATTEMPT = {"hoodie.write.num.retries.on.conflict.failures": 0}
SHORT_WAIT = {"hoodie.write.lock.wait_time_ms": 3_000}
TIMELINES = frozenset({".hoodie", ".hoodie/timeline"})
BYSTANDERS = {"notes.txt": b"not of Hudi", "b/readme.txt": b"nor this"}
"""Files that are in the table's directory and are none of its business."""

Rows = Mapping[tuple[str, str], float]
"""(key, partition) to fare."""


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One call, and its meaning."""

    about: str
    do: Callable[["Seat"], object]
    means: Callable[[Rows], Rows] | None = None
    """None for a call that changes no rows."""
    is_read: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Which actors do what at once, to which table."""

    about: str
    actors: Mapping[str, tuple[Verb, ...]]
    events: tuple[str, ...] = ()
    budget: int = 1
    """How many of the events may take effect in one run."""
    version: int = 9
    is_object_store: bool = False
    honours_create: bool = True
    """Whether the store refuses to create what is there; else it overwrites."""
    before: tuple[Verb, ...] = ()
    """Done by one writer before the run, which dies in the middle of the last if `dies` says so."""
    dies_at: str = ""
    """Name and end of path of the operation that the writer before does not live to do: `create .commit`."""
    quiet_ms: int = QUIET_MS
    """How long nothing is done after that."""
    options: Mapping[str, object] = field(default_factory=dict)
    index: Mapping[str, object] = field(default_factory=dict)
    """Options of the index with which the table is made and every writer writes."""
    table_type: str = "cow"
    breaks: str = ""
    """Why this may go wrong, where nothing at all can be promised."""
    is_serializable: bool = True
    """Committed verbs, done again one by one, give the table; not so for verbs that add rows without a look-up."""
    patience_ms: int = 0
    """After how long the next writer has to be able to put the table right; 0: as soon as locks and heartbeats end."""


@dataclass(frozen=True)
class Seat:
    """Where an actor sits: its own view of the table, and its settings."""

    table: Callable[[], Table]
    options: Mapping[str, object]
    token: str
    log: list[Any]

    def call(self, verb: str, *args: Any, options: Mapping[str, object] = MappingProxyType({}), **kwargs: Any) -> Any:
        """Call a write verb of the table under this call's token."""
        options = {**self.options, **options}
        return getattr(self.table(), verb)(*args, options=options, commit_metadata={TOKEN: self.token}, **kwargs)


@dataclass(frozen=True)
class Outcome:
    """How one call ended: `ok`, the error's name, or `died`."""

    token: str
    verb: Verb
    result: str
    instant: str = ""


class Play:
    """One run of a scenario, with its memory of what each was told."""

    def __init__(self, scenario: Scenario, memory: Memory | None = None) -> None:
        self.scenario = scenario
        self.world = prepared(scenario)
        self.outcomes: list[Outcome] = []
        self.seed: object = None
        """With which it is drawn, if it is."""
        self.seen: list[Any] = []
        """What readers saw."""
        disk = Disk(
            self.world.files,
            self.world.now_ms,
            is_object_store=scenario.is_object_store,
            honours_create=scenario.honours_create,
        )
        self.run = Run(disk, scenario.events, scenario.budget, memory)
        self.run.heard = self.hear

    @property
    def published(self) -> list[str]:
        """Name what is on the timeline, in the order in which it came there: the disk keeps it."""
        return [path.rsplit("/", 1)[-1] for path in self.run.disk.files if path.rpartition("/")[0] in TIMELINES]

    def hear(self, said: object) -> None:
        """Note what an actor reports: how a call ended, or what a reader saw."""
        if isinstance(said, Outcome):
            self.outcomes.append(said)
        else:
            self.seen.append(said)

    def start(self) -> Self:
        """Let every actor run to its first operation."""
        for name, work in self._works().items():
            self.run.add(name, work)
        return self

    def fork(self) -> "Play":
        """Return the same play once more as it stands, if its run is portable; each goes on without the other."""
        copied = copy_of(self)
        copied.outcomes, copied.seen = [*self.outcomes], [*self.seen]
        copied.run = self.run.fork(copied._works())
        copied.run.heard = copied.hear
        return copied

    def _works(self) -> dict[str, Work]:
        return {name: partial(self._work, verbs=verbs) for name, verbs in self.scenario.actors.items()}

    def _work(self, actor: Actor, verbs: Sequence[Verb]) -> None:
        storage = SimStorage(self.run, actor)
        env = SimEnv(self.run, actor, storage, seed=actor.name)
        trust(storage)
        options = {**OPTIONS, **ONE_ATTEMPT, **SHORT_WAIT, **self.scenario.index, **self.scenario.options}
        for number, verb in enumerate(verbs):
            token = f"{actor.name}/{number}"
            seat = Seat(lambda: Table(open_state(storage, env)), options, token, actor.said)
            self._call(actor, seat, verb)

    def _call(self, actor: Actor, seat: Seat, verb: Verb) -> None:
        result, instant = "died", ""
        try:
            done = verb.do(seat)
            result, instant = "ok", getattr(done, "instant", "")
        except HudiError as error:
            result = type(error).__name__
        finally:
            seat.log.append(Outcome(seat.token, verb, result, instant))


@dataclass(frozen=True)
class Start:
    """A stored table to begin from; copied for every run."""

    world: World
    now_ms: int

    @cached_property
    def files(self) -> dict[str, _File]:
        """Return the files, for a disk of its own."""
        return as_begun(self.world.storage._content.files)

    def rows(self) -> Rows:
        return _rows_of(self)


@cache
def _rows_of(start: Start) -> Rows:
    return start.world.rows()


@cache
def _first(version: int, index: tuple[tuple[str, object], ...], table_type: str) -> Start:
    """Make the table that all begin with; the clock, which each look moves, is looked at once."""
    world = World.new(version, index, table_type)
    for path, data in BYSTANDERS.items():
        world.storage.put(path, data)
    return Start(world, world.env.now_ms())


def prepared(scenario: Scenario) -> Start:
    """Return the table a scenario begins with."""
    options, index = (tuple(sorted(given.items())) for given in (scenario.options, scenario.index))
    return _prepared(
        _first(scenario.version, index, scenario.table_type),
        scenario.before,
        scenario.dies_at,
        scenario.quiet_ms,
        scenario.is_object_store,
        options,
        index,
    )


@cache
def _prepared(
    first: Start,
    before: tuple[Verb, ...],
    dies_at: str,
    quiet_ms: int,
    is_object_store: bool,
    options: tuple[tuple[str, object], ...],
    index: tuple[tuple[str, object], ...],
) -> Start:
    start = Start(first.world, first.now_ms + quiet_ms)
    if not before:
        return start
    disk = Disk(start.files, start.now_ms, is_object_store=is_object_store)
    run, play = Run(disk), Play(Scenario(about="", actors={}, options=dict(options), index=dict(index)))
    play.run = run
    actor = run.add("before", lambda actor: play._work(actor, before))
    while not actor.is_done:
        name, _, ending = dies_at.partition(" ")
        if dies_at and actor.is_about_to(name, ending):
            run.abandon()
            break
        run.step("before")
    copy = World(disk.storage, disk.clock)
    return Start(copy, disk.clock.now_ms() + quiet_ms)


def trust(storage: Storage) -> None:
    """Spare every run the question whether this store keeps its conditions."""
    _known[storage] = WriterCapability(has_many_writers=True, has_cas=True)
