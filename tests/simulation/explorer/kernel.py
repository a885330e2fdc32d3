"""One run: actors in threads of which only one moves at a time, and the events that befall them.

An actor announces every operation and parks; whoever drives the run names who moves next. Events (a crash, a lost
reply, a stalled clock) are actors of one step, so a search needs to know nothing about them. Start at `Run`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.simulation.explorer.operations import EVERYTHING, Operation

from pyhudi.storage.faulty import SimulatedCrash

LONG_MS = 130_000
"""Longer than a heartbeat is believed; shorter than a storage lock holds."""
EXPIRED_MS = 3_600_000
JUMP_MS = 400
"""As far as clocks may differ before a writer refuses to work."""
MOVES_AT_MOST = 5_000


class TaskLostError(Exception):
    """The executor that ran a task is gone; the engine runs the task again."""


@dataclass(eq=False)
class Actor:
    """One process of the simulated world."""

    name: str
    number: int
    work: Callable[["Actor"], None]
    pending: Operation | None = None
    is_ready: Callable[[], bool] = bool
    order: str = ""
    """What befalls the pending operation instead of just happening."""
    is_done: bool = False
    is_dead: bool = False
    is_stuck: bool = False
    """It waited for a lock that nobody will ever release; the wait is over."""
    history: int = 0
    """A digest of everything it was told; what it does next depends on nothing else."""
    moves: int = 0
    beats: list[Callable[[], None]] = field(default_factory=list)
    offset_ms: int = 0
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: int = 0
    deaf: int = 0
    """How many operations more are refused, because the store is out."""


@dataclass(frozen=True)
class Move:
    """One step of a run, as it happened."""

    who: str
    operation: Operation


class Run:
    """Drives actors over one shared disk; `enabled` says who could move, `step` moves one."""

    def __init__(self, disk, events=(), budget=1):
        """Take a fresh disk; `events` are spelled `crash:w1`, `budget` is how many of them may take effect."""
        self.disk = disk
        self.actors: dict[str, Actor] = {}
        self.events = list(events)
        self.budget = budget
        self.held: dict[tuple[str, str], Actor] = {}
        self.trace: list[Move] = []
        self.writes_count = 0
        self.is_quiet = False
        self.watchers: list[Callable[[Run, Actor, Operation], None]] = []
        self.violations: list[str] = []
        self._beating: Actor | None = None
        self._back = threading.Semaphore(0)

    # --- the driver's side

    def add(self, name, work):
        """Start an actor and let it run to its first operation."""
        actor = self.actors[name] = Actor(name, len(self.actors), work)
        threading.Thread(target=self._live, args=(actor,), name=f"actor {name}", daemon=True).start()
        self._back.acquire()
        return actor

    def enabled(self):
        """Name who can move: actors in order, then events."""
        ready = self._ready()
        if not ready:
            ready = self._wake()
        return [*ready, *self.events]

    def pending(self, name):
        """Give what would happen if this one moved."""
        actor = self.actors.get(name)
        return actor.pending if actor is not None else self._event_operation(name)

    @property
    def is_over(self):
        """Tell whether nobody is left to move, events included."""
        return not self.events and all(actor.is_done for actor in self.actors.values())

    def step(self, name):
        """Let one actor do its pending operation and run on to its next, or let an event happen."""
        self.trace.append(Move(name, self.pending(name)))
        if len(self.trace) > MOVES_AT_MOST:
            self.violations.append("L1: this run does not end")
            self.abandon()
            self.events.clear()
            return
        if name in self.actors:
            self._resume(self.actors[name])
        else:
            self.events.remove(name)
            self._happen(name)

    def abandon(self):
        """End all threads; nothing more is stored."""
        for actor in self.actors.values():
            if not actor.is_done:
                self._kill(actor)

    def state(self):
        """Give a value that is equal for states from which the same can follow."""
        actors = tuple((one.history, one.is_done, one.is_dead, one.deaf) for one in self.actors.values())
        held = frozenset((path, actor.name) for (path, _), actor in self.held.items())
        return (self.disk.digest(), held, self.disk.clock.monotonic_s(), actors, tuple(self.events), self.budget)

    # --- the actors' side

    def perform(self, actor, operation, apply, *, is_ready=None, failure=None, torn=None):
        """Park until chosen, then do the operation, or what an event made of it."""
        if self.is_quiet or self._beating is actor:
            return apply()
        if actor.is_dead:
            raise SimulatedCrash
        if threading.get_ident() != actor.thread:
            raise AssertionError(f"{operation} comes from a thread that nobody drives")
        actor.pending, actor.is_ready, actor.is_stuck = operation, is_ready or _always, False
        self._back.release()
        actor.go.acquire()
        order, actor.order = actor.order, ""
        if actor.deaf and not order:
            order, actor.deaf = "refused", actor.deaf - 1
        actor.moves += 1
        if order in {"crash", "torn"}:
            if order == "torn" and torn is not None:
                torn()
            actor.is_dead = True
            raise SimulatedCrash
        if order == "refused" and failure is not None:
            actor.history = hash((actor.history, operation, "refused"))
            raise failure()
        result = apply()
        if operation.writes:
            self.writes_count += 1
            for watcher in self.watchers:
                watcher(self, actor, operation)
        if order == "lost" and failure is not None:
            actor.history = hash((actor.history, operation, "lost"))
            raise failure()
        if order == "task" and operation.name == "publish":
            raise TaskLostError
        return result

    def remember(self, actor, operation, told):
        """Add what an actor was told to its history."""
        actor.history = hash((actor.history, operation.name, operation.path, told))

    def is_free(self, path):
        """Tell whether nobody holds the file that is there now."""
        inode = self.disk.inode(path)
        return inode is None or (path, inode) not in self.held

    def take(self, actor, path):
        """Hold a file that is there, or make it first."""
        self.held[path, self.disk.made(path)] = actor

    def let_go(self, actor, path):
        """Release what this actor holds under a path."""
        for key in [key for key, holder in self.held.items() if holder is actor and key[0] == path]:
            del self.held[key]

    # --- inside

    def _live(self, actor):
        actor.thread = threading.get_ident()
        try:
            actor.work(actor)
        except SimulatedCrash:
            actor.is_dead = True
        except BaseException as error:
            self.violations.append(f"{actor.name} broke: {error!r}")
        for key in [key for key, holder in self.held.items() if holder is actor]:
            del self.held[key]
        actor.is_done, actor.pending, actor.beats = True, None, []
        self._back.release()

    def _resume(self, actor):
        actor.go.release()
        self._back.acquire()

    def _kill(self, actor, order="crash"):
        actor.order = order
        self._resume(actor)
        while not actor.is_done:
            self._resume(actor)

    def _wake(self):
        """Nobody can move: let time pass for those who sleep, else end the waits for locks."""
        waiting = [actor for actor in self.actors.values() if not actor.is_done]
        for actor in [actor for actor in waiting if actor.pending.name == "wait"] or waiting:
            actor.is_stuck = True
        return self._ready()

    def _ready(self):
        return [name for name, actor in self.actors.items() if not actor.is_done and actor.is_ready()]

    def _event_operation(self, name):
        kind, _, target = name.partition(":")
        actor = self.actors[target]
        if kind in {"stall", "expire"}:
            return Operation(name, writes=(EVERYTHING,))
        released = [path for (path, _), holder in self.held.items() if holder is actor]
        pending = actor.pending or Operation("nothing")
        applied = pending.writes if kind in {"torn", "lost", "task", "outage"} else ()
        writes = ("budget", *(f"unlock {path}" for path in released), *applied)
        return Operation(name, reads=pending.reads, writes=writes)

    def _happen(self, name):
        kind, _, target = name.partition(":")
        actor = self.actors[target]
        if actor.is_done or not self.budget:
            return
        self.budget -= 1
        if kind in {"crash", "torn"}:
            self._kill(actor, kind)
        elif kind in {"lost", "refused", "task", "outage"}:
            if actor.is_ready():
                actor.order, actor.deaf = kind.replace("outage", "lost"), int(kind == "outage")
                self._resume(actor)
        elif kind == "stall":
            self._pass(LONG_MS, actor)
        elif kind == "expire":
            self._pass(EXPIRED_MS, actor)
        elif kind == "back":
            actor.offset_ms -= JUMP_MS
        elif kind == "ahead":
            actor.offset_ms += JUMP_MS
        else:
            raise AssertionError(f"no such event: {name}")

    def _pass(self, ms, stalled):
        """Let time go by; everybody beats in time but the one that stands still."""
        self.disk.clock.sleep(ms / 1000)
        for actor in self.actors.values():
            if actor is stalled or actor.is_done:
                continue
            self._beating = actor
            for beat in actor.beats:
                beat()
        self._beating = None


def _always():
    return True
