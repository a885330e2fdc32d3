"""Actors, and what is known of them, so that nothing is run twice.

What an actor does next follows from what it was told so far and from nothing else; so it is written down, and all that
comes to the same point in another run need not run the code again. Where an actor is told something new, its code
runs, in a greenlet that is first told everything again. If it then does something else than it did before, it depends
on something that is not simulated, and that is an error. Start at `Actor`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from greenlet import getcurrent, greenlet
from tests.faulty import SimulatedCrash
from tests.simulation.explorer.operations import Operation

if TYPE_CHECKING:
    from tests.simulation.explorer.kernel import Run

T = TypeVar("T")
Work = Callable[["Actor"], object]
"""An actor's code."""

POINTS_AT_MOST = 300_000
"""How much is kept in mind; beyond it everything is forgotten and learned again."""


def copy_of(one: T) -> T:
    """Copy an object, not what it holds; `copy.copy` asks too many questions for what is done so often."""
    copied = object.__new__(type(one))
    copied.__dict__.update(one.__dict__)
    return copied


class TaskLostError(Exception):
    """The executor that ran a task is gone; the engine runs the task again."""


@dataclass(frozen=True)
class Step:
    """What an actor is about to do. Its functions are given the run and the actor, for they outlive both."""

    operation: Operation
    apply: Callable[["Run", "Actor"], Any]
    content: bytes = b""
    """What it writes."""
    is_ready: Callable[["Run", "Actor"], bool] | None = None
    look: Callable[["Run"], object] | None = None
    """What the actor has in view while it waits."""
    failure: Callable[[], Exception] | None = None
    """What it is told when the store does not answer; None if this cannot be."""
    torn: Callable[["Run"], None] | None = None
    told: Callable[[Any], object] | None = None
    """As much of the result as the code can tell apart."""


class Answer(NamedTuple):
    """What an actor was told, and when."""

    key: object
    value: object
    error: BaseException | None
    now_s: float

    @staticmethod
    def of(value: object, now_s: float) -> "Answer":
        return Answer((now_s, tuple(value) if isinstance(value, list) else value), value, None, now_s)

    @staticmethod
    def raising(error: BaseException, now_s: float) -> "Answer":
        return Answer((now_s, type(error), str(error)), None, error, now_s)


@dataclass(eq=False, slots=True)
class Point:
    """One point of an actor's life, and what follows from each answer."""

    step: Step | None
    """None: it has nothing more to do."""
    said: tuple[object, ...]
    """What it reported since the point before."""
    broke: str = ""
    history: int = 0
    """A digest of everything that was told until here, as far as the code can tell it apart."""
    then: dict[object, "Point"] = field(default_factory=dict)


class Memory:
    """What is known of the actors of one scenario."""

    def __init__(self) -> None:
        self.first: dict[str, Any] = {}
        """Of each actor the first point; of the watcher, which has no name, what it saw first."""
        self._count = 0

    def add(self, points: dict[Any, Any], key: object, point: object) -> None:
        """Keep a point where it belongs."""
        self._count += 1
        if self._count > POINTS_AT_MOST:
            self.first, self._count = {}, 0
        points[key] = point


class Actor:
    """One process of the simulated world."""

    def __init__(self, name: str, number: int, work: Work, memory: Memory, now_s: float) -> None:
        self.name = name
        self.number = number
        self.order = ""
        """What befalls the pending operation instead of just happening."""
        self.is_dead = False
        self.is_stuck = False
        """It waited for a lock that will never be released; the wait is over."""
        self.beats: list[Callable[[], None]] = []
        self.offset_ms = 0
        self.deaf = 0
        """How many operations more are refused, because the store is out."""
        self.said: list[Any] = []
        """What it reports; taken when it stops for the next time."""
        self.heard_s = now_s
        """The monotonic clock, as it was when it was last told something."""
        self.seen: Any = None
        self._work = work
        self._memory = memory
        self._answers: list[Answer] = []
        self._code: _Code | None = None
        self.is_apart = False
        """What befell it since is not written down."""
        if name not in memory.first:
            memory.add(memory.first, name, self._live().point)
        self.point = memory.first[name]

    @property
    def is_done(self) -> bool:
        """Return whether it has nothing more to do."""
        return self.point.step is None

    @property
    def pending(self) -> Operation | None:
        """Return the operation that it is about to do."""
        return None if self.point.step is None else self.point.step.operation

    def is_about_to(self, name: str, ending: str = "") -> bool:
        """Check whether its next operation has this name, at a path that ends so."""
        pending = self.pending
        return pending is not None and pending.name == name and pending.path.endswith(ending)

    def is_ready(self, run: "Run") -> bool:
        """Return whether it could do it now."""
        ready = self.point.step.is_ready
        return ready is None or ready(run, self)

    def tell(self, answer: Answer) -> None:
        """Let it go on to its next operation."""
        point = None if self.is_apart else self.point.then.get(answer.key)
        if point is None:
            code = self._live()
            self._answers.append(answer)
            point = code.go_on(answer)
            point.history = hash((self.point.history, _learned(self.point.step, answer)))
            if not self.is_apart:
                self._memory.add(self.point.then, answer.key, point)
                code.remember(point)
        else:
            self._answers.append(answer)
        self.is_dead = isinstance(answer.error, SimulatedCrash)
        self.point = point
        if point.step is None:
            self._leave()

    def fork(self, work: Work) -> "Actor":
        """Copy the actor as it stands; its code is run again where something new is told."""
        copied = copy_of(self)
        copied.beats, copied.said, copied._answers = [], [], [*self._answers]
        copied._work, copied._code = work, None
        return copied

    def end(self) -> None:
        """Stop here for ever."""
        self._leave()
        self.point = Point(None, ())

    def set_apart(self) -> None:
        """Run its code from here on: what happens to it now is no answer, and cannot be written down."""
        self._live()
        self.is_apart = True

    def ask(self, step: Step) -> Any:
        """Stop before a step until the run goes on, and give what came of it; called by the actor's own code."""
        assert self._code is not None
        return self._code.ask(step)

    def _live(self) -> "_Code":
        """Return the code that has come as far as this: what it was not told yet, it is told now."""
        if self._code is None:
            self._code = _Code(self, self._memory.first.get(self.name))
            self._code.switch(self._work)
        self._code.catch_up(self._answers)
        return self._code

    def _leave(self) -> None:
        if self._code is not None:
            self._code.end()
            self._code = None


def who_moves() -> str:
    """Name the actor whose code asks; outside a run there is none."""
    return getattr(getcurrent(), "name", "")


class _Code(greenlet):
    """An actor's code beside the run, of which only it or the run moves; each goes on where it stopped."""

    def __init__(self, actor: Actor, known: Point | None) -> None:
        super().__init__()
        self.name = actor.name
        self.point: Point
        """Where it stops; it is there as soon as it was begun."""
        self._actor = actor
        self._known = known
        """What is remembered of where it stands, if that is known."""
        self._answer: Answer | None = None
        self._told = 0
        self._is_dead = False

    def go_on(self, answer: Answer) -> Point:
        """Hand the answer over, and give the point to which the code then comes."""
        self._answer, self._told, self._known = answer, self._told + 1, None
        self._actor.heard_s = answer.now_s
        self._is_dead = isinstance(answer.error, SimulatedCrash)
        self.switch()
        return self.point

    def catch_up(self, answers: list[Answer]) -> None:
        """Hand over what was answered since; where it is known to what that leads, it has to lead there."""
        for answer in answers[self._told :]:
            known = None if self._known is None else self._known.then.get(answer.key)
            self.go_on(answer)
            if known is not None and _shown(known) != _shown(self.point):
                raise AssertionError(f"told the same, {self.name} did not do the same: {_shown(known)}")
            self._known = known

    def remember(self, point: Point) -> None:
        """Know that it stands at this point."""
        self._known = point

    def end(self) -> None:
        """Unwind the code where it stands."""
        if self.point.step is not None:
            self.go_on(Answer.raising(SimulatedCrash(), self._actor.heard_s))

    def ask(self, step: Step) -> Any:
        if self._is_dead:
            raise SimulatedCrash
        if getcurrent() is not self:
            raise AssertionError(f"{step.operation} comes from a thread that no run drives")
        self._note(step)
        self.parent.switch()
        assert self._answer is not None
        if self._answer.error is not None:
            raise copy.copy(self._answer.error)
        return self._answer.value

    def run(self, work: Work) -> None:
        """Do the work to its end; begin it with `switch`."""
        broke = ""
        try:
            work(self._actor)
        except SimulatedCrash:
            pass
        except BaseException as error:
            broke = f"{self.name} broke: {error!r}"
        self._actor.beats = []
        self._note(None, broke)

    def _note(self, step: Step | None, broke: str = "") -> None:
        """Write down where it stops."""
        said, self._actor.said[:] = tuple(self._actor.said), []
        self.point = Point(step, said, broke)


def _learned(step: Step, answer: Answer) -> object:
    told = step.told(answer.value) if step.told and answer.error is None else answer.key
    return step.operation.name, step.operation.path, told


def _shown(point: Point) -> object:
    return None if point.step is None else (point.step.operation, point.step.content)
