"""One run: actors of which only one moves at a time, and the events that befall them.

An actor announces every operation and waits; its driver names the actor that moves next. Events (a crash, a lost
reply, a stalled clock) are actors of one step, so a search needs to know nothing about them. Start at `Run`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.faulty import SimulatedCrash
from tests.simulation.explorer.actors import Actor, Answer, Memory, Step, TaskLostError, Work, copy_of
from tests.simulation.explorer.operations import EVERYTHING, Operation

from pyhudi.errors import PreconditionFailed
from pyhudi.timeline.instant import parse_name

if TYPE_CHECKING:
    from tests.simulation.explorer.disk import Disk

LONG_MS = 130_000
"""Longer than a heartbeat is believed; shorter than a storage lock holds."""
EXPIRED_MS = 3_600_000
AFTER_THE_LAST_LOOK = frozenset({"now", "sleep", "create"})
"""What comes between a writer's last look at its lease and the put that counts."""
LATE = frozenset({"late", "outlived"})
DECIDES = re.compile(r"\.hoodie/(\.fence/\d+|(timeline/\d+_)?\d+\.(commit|replacecommit))")
"""Paths of what decides a commit: its completed instant, and its slot in the fence."""
JUMP_MS = 400
"""As far as clocks may differ before a writer refuses to work."""
MOVES_AT_MOST = 2_000


class Move(NamedTuple):
    """One step of a run, as it happened."""

    actor: str
    operation: Operation


class Run:
    """Drives actors over one shared disk; `enabled` says which could move, `step` moves one."""

    def __init__(self, disk: "Disk", events: Iterable[str] = (), budget: int = 1, memory: Memory | None = None) -> None:
        """Take a fresh disk; `events` are spelled `crash:w1`, `budget` is how many of them may take effect.

        `memory` is what runs of the same scenario have in common.
        """
        self.disk = disk
        self.actors: dict[str, Actor] = {}
        self.events = list(events)
        self.budget = budget
        self.held: dict[tuple[str, str], Actor] = {}
        self.late: dict[str, tuple[str, Step]] = {}
        """By the event of its landing, what was not done yet, and of what kind it is."""
        self.trace: list[Move] = []
        self.heard: Callable[[object], None] = lambda said: None
        """Called with everything that an actor reports."""
        self.watchers: list[Callable[[Run, Actor, Operation], None]] = []
        self.violations: list[str] = []
        self._beating: Actor | None = None
        self._going = 0
        """How many actors are not done."""
        self._memory = memory or Memory()

    # --- the driver's side

    def add(self, name: str, work: Work) -> Actor:
        """Add an actor at its first operation; `work` is its code, called with the actor."""
        actor = self.actors[name] = Actor(name, len(self.actors), work, self._memory, self.disk.clock.monotonic_s())
        self._going += 1
        self._arrive(actor)
        return actor

    def enabled(self) -> list[str]:
        """Name what can move: actors in order, then events."""
        ready = self._ready()
        if not ready:
            ready = self._wake()
        return [*ready, *(name for name in self.events if self._may_happen(name))]

    def pending(self, name: str) -> Operation:
        """Return what would happen if this one moved."""
        actor = self.actors.get(name)
        if actor is None:
            return self._event_operation(name)
        assert actor.pending is not None, f"{name} has nothing more to do"
        return actor.pending

    @property
    def is_over(self) -> bool:
        """Return whether none is left to move, events included."""
        return not self._going and not any(self._may_happen(name) for name in self.events)

    @property
    def is_portable(self) -> bool:
        """Return whether all that happened to the actors is written down."""
        return all(actor.is_done or not actor.is_apart for actor in self.actors.values())

    def fork(self, works: Mapping[str, Work]) -> "Run":
        """Return the same run once more as it stands, if it is portable; `works` is the actors' code, by name."""
        copied = copy_of(self)
        copied.disk = self.disk.fork()
        copied.actors = {name: actor.fork(works[name]) for name, actor in self.actors.items()}
        copied.held = {key: copied.actors[actor.name] for key, actor in self.held.items()}
        copied.events, copied.trace, copied.violations = [*self.events], [*self.trace], [*self.violations]
        copied.late = {**self.late}
        copied.watchers = [copy_of(watcher) for watcher in self.watchers]
        return copied

    def step(self, name: str) -> None:
        """Let one actor do its pending operation and run on to its next, or let an event happen."""
        self.trace.append(Move(name, self.pending(name)))
        if len(self.trace) > MOVES_AT_MOST:
            self.violations.append("L1: this run does not end")
            self.abandon()
            self.events.clear()
            return
        if name in self.actors:
            self._move(self.actors[name])
        else:
            self.events.remove(name)
            self._happen(name)

    def abandon(self) -> None:
        """End all actors; nothing more is stored."""
        for actor in self.actors.values():
            if not actor.is_done:
                actor.end()
        self._going = 0

    def state(self) -> tuple[object, ...]:
        """Return a value that is equal for states from which the same can follow."""
        actors = tuple((one.point.history, one.is_done, one.is_dead, one.deaf) for one in self.actors.values())
        held = frozenset((path, actor.name) for (path, _), actor in self.held.items())
        return (self.disk.digest(), held, self.disk.clock.monotonic_s(), actors, tuple(self.events), self.budget)

    # --- the actors' side

    def perform(self, actor: Actor, step: Step) -> Any:
        """Wait until chosen, and give what came of it; while its heart beats an actor does not wait."""
        if self._beating is actor:
            return step.apply(self, actor)
        return actor.ask(step)

    def now_s(self, actor: Actor) -> float:
        """Return the monotonic clock as an actor has it: read together with what it was last told."""
        return self.disk.clock.monotonic_s() if self._beating is actor else actor.heard_s

    def is_free(self, path: str) -> bool:
        """Return whether no actor holds the file that is there now."""
        inode = self.disk.inode(path)
        return inode is None or (path, inode) not in self.held

    def take(self, actor: Actor, path: str) -> None:
        """Keep a file that is there open, or make it first."""
        self.held[path, self.disk.made(path)] = actor

    def let_go(self, actor: Actor, path: str) -> None:
        """Release what this actor holds under a path."""
        for key in [key for key, holder in self.held.items() if holder is actor and key[0] == path]:
            del self.held[key]

    # --- inside

    def _arrive(self, actor: Actor) -> None:
        """Take what an actor reports when it stops, and what it then has in view."""
        point, actor.is_stuck = actor.point, False
        for said in point.said:
            self.heard(said)
        if point.step is not None:
            actor.seen = None if point.step.look is None else point.step.look(self)
            return
        self._going -= 1
        if point.broke:
            self.violations.append(point.broke)
        for key in [key for key, holder in self.held.items() if holder is actor]:
            del self.held[key]

    def _move(self, actor: Actor) -> None:
        """Let an actor do what is pending, or what an event made of it, and go on to its next operation."""
        error: BaseException | None = None
        value = None
        try:
            value = self._done(actor, actor.point.step)
        except Exception as raised:
            error = raised
        except SimulatedCrash as raised:
            error = raised
        now_s = self.disk.clock.monotonic_s()
        actor.tell(Answer.of(value, now_s) if error is None else Answer.raising(error, now_s))
        self._arrive(actor)

    def _done(self, actor: Actor, step: Step) -> Any:
        order, actor.order = actor.order, ""
        if actor.deaf and not order:
            order, actor.deaf = "refused", actor.deaf - 1
        if order in {"crash", "torn"}:
            if order == "torn" and step.torn is not None:
                step.torn(self)
            raise SimulatedCrash
        operation = step.operation
        if order in {"refused", *LATE} and step.failure is not None:
            if order in LATE:
                self.late[f"lands:{actor.name}"] = order, step
                self.events.append(f"lands:{actor.name}")
            raise step.failure()
        result = step.apply(self, actor)
        if operation.writes:
            for watcher in self.watchers:
                watcher(self, actor, operation)
        if order == "lost" and step.failure is not None:
            raise step.failure()
        if order == "task" and operation.name == "publish":
            raise TaskLostError
        return result

    def _kill(self, actor: Actor, order: str = "crash") -> None:
        actor.order = order
        self._move(actor)

    def _wake(self) -> list[str]:
        """No actor can move: let time pass for those that sleep, else end the waits for locks."""
        waiting = [actor for actor in self.actors.values() if not actor.is_done]
        for actor in [actor for actor in waiting if actor.is_about_to("wait")] or waiting:
            actor.is_stuck = True
        return self._ready()

    def _ready(self) -> list[str]:
        return [name for name, actor in self.actors.items() if not actor.is_done and actor.is_ready(self)]

    def _may_happen(self, event: str) -> bool:
        """Return whether an event can be chosen: what is outlived lands when nothing of its instant is left."""
        if event not in self.late or self.late[event][0] != "outlived":
            return True
        step = self.late[event][1]
        directory, _, name = step.operation.path.rpartition("/")
        instant = parse_name(name)
        assert instant is not None, name
        begun = f"{directory}/{instant.requested_time}."
        return not any(path.startswith(begun) for path in self.disk.files)

    def _event_operation(self, name: str) -> Operation:
        kind, _, target = name.partition(":")
        actor = self.actors[target]
        if kind in {"stall", "expire", "doze", "lands"}:
            return Operation(name, writes=(EVERYTHING,))
        released = [path for (path, _), holder in self.held.items() if holder is actor]
        pending = actor.pending or Operation("nothing")
        applied = pending.writes if kind in {"torn", "lost", "task", "outage"} else ()
        writes = ("budget", *(f"unlock {path}" for path in released), *applied)
        return Operation(name, reads=pending.reads, writes=writes)

    def _happen(self, name: str) -> None:
        kind, _, target = name.partition(":")
        actor = self.actors[target]
        if kind == "lands":
            self._land(actor, self.late.pop(name)[1])
            return
        pending = actor.pending
        if pending is None or not self.budget:
            return
        if kind in LATE and not (pending.name == "create" and DECIDES.fullmatch(pending.path)):
            return
        self.budget -= 1
        if kind in {"crash", "torn"}:
            self._kill(actor, kind)
        elif kind in {"lost", "refused", "task", "outage", *LATE}:
            if actor.is_ready(self):
                actor.order, actor.deaf = kind.replace("outage", "lost"), int(kind == "outage")
                self._move(actor)
        elif kind == "stall":
            self._pass(LONG_MS, actor)
        elif kind == "expire" or (kind == "doze" and pending.name not in AFTER_THE_LAST_LOOK):
            self._pass(EXPIRED_MS, actor)
        elif kind == "doze":
            self.budget += 1
        elif kind == "back":
            actor.offset_ms -= JUMP_MS
        elif kind == "ahead":
            actor.offset_ms += JUMP_MS
        else:
            raise AssertionError(f"no such event: {name}")

    def _land(self, actor: Actor, step: Step) -> None:
        """Let what an actor has long given up take effect, if it can; no actor is told."""
        with suppress(PreconditionFailed):
            step.apply(self, actor)
            for watcher in self.watchers:
                watcher(self, actor, step.operation)

    def _pass(self, ms: int, stalled: Actor) -> None:
        """Let time go by; all beat in time but the one that stands still."""
        self.disk.clock.sleep(ms / 1000)
        for actor in self.actors.values():
            if actor is stalled or actor.is_done:
                continue
            actor.set_apart()
            self._beating = actor
            for beat in actor.beats:
                beat()
        self._beating = None
