"""Ways to choose what moves next: all schedules up to equivalence, all states, few preemptions, or by a seed.

Every search is given how to begin a play, drives it to its end, and yields it; a play that cannot show anything new is
abandoned and not yielded. Start at `exhaustive`.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count

from tests.simulation.explorer.kernel import Move, Run
from tests.simulation.explorer.operations import Operation, is_dependent
from tests.simulation.explorer.scenario import Play

Begin = Callable[[], Play]
"""Begins one more play of a scenario."""

WRITES = frozenset({"create", "put", "swap", "publish", "delete", "delete tree"})
WRITES_OF_A_CALL = 12
STEPS_OF_A_CALL = 60
KEPT_EVERY = 6
"""A play is kept before every so many steps."""


@dataclass
class Node:
    """One point of the schedule that is being explored."""

    pending: dict[str, Operation]
    """What could move, and what that would do."""
    sleeping: dict[str, Operation]
    """What need not be tried: what follows was seen from a sister."""
    wanted: set[str]
    chosen: str = ""
    kept: Play | None = None
    """The play as it stood here, at some nodes: what comes before them is not done again."""

    def next(self) -> str | None:
        return min((name for name in self.wanted if name not in self.sleeping), default=None)


@dataclass
class Tally:
    """What a search cost."""

    runs: int = 0
    """Also those that were left because nothing new could follow."""
    is_exhausted: bool = False
    states: set[object] = field(default_factory=set)


def exhaustive(begin: Begin, tally: Tally | None = None) -> Iterator[Play]:
    """Yield one play of every class of schedules that differ only in the order of independent operations.

    Depth-first; a race that was seen is reversed once, and sleep sets keep sisters from repeating each other. Events
    are actors of one step, so crashes are tried at every operation.
    """
    tally = tally or Tally()
    stack: list[Node] = []
    order = _Order()
    while True:
        play = next((node.kept.fork() for node in reversed(stack) if node.kept is not None), None) or begin()
        order.cut(len(stack) - 1)
        is_whole = _drive(play, stack)
        tally.runs += 1
        for move in play.run.trace[len(order.moves) :]:
            for before in order.add(move):
                _want_reversal(stack[before], order, before)
        if is_whole:
            yield play
        else:
            play.run.abandon()
        if not _turn(stack):
            tally.is_exhausted = True
            return


def _drive(play: Play, stack: list[Node]) -> bool:
    """Do what is left of the stack, then go on with the last mover if possible; False if all that could move sleep."""
    run = play.run
    for node in stack[len(run.trace) :]:
        run.enabled()  # an actor that waits in vain is told so when it is asked what can move
        run.step(node.chosen)
    last = run.trace[-1].actor if run.trace else ""
    while not run.is_over:
        pending = {name: run.pending(name) for name in run.enabled()}
        sleeping = _still_asleep(stack[-1]) if stack else {}
        awake = [name for name in pending if name not in sleeping]
        if not awake:
            return False
        last = last if last in awake else awake[0]
        asleep = {name: operation for name, operation in sleeping.items() if name in pending}
        kept = play.fork() if len(stack) % KEPT_EVERY == 0 and run.is_portable else None
        stack.append(Node(pending, asleep, {last}, last, kept))
        run.step(last)
    return True


def _still_asleep(node: Node) -> dict[str, Operation]:
    moved = node.pending[node.chosen]
    return {
        name: operation
        for name, operation in node.sleeping.items()
        if not are_dependent(name, operation, node.chosen, moved)
    }


def _turn(stack: list[Node]) -> bool:
    """Go to the deepest point where something wanted is left."""
    while stack:
        node = stack[-1]
        node.sleeping[node.chosen] = node.pending[node.chosen]
        name = node.next()
        if name is not None:
            node.chosen = name
            return True
        stack.pop()
    return False


def are_dependent(one: str, first: Operation, other: str, second: Operation) -> bool:
    """Return whether two moves may not change places."""
    if one == other or target_of(one) == other or target_of(other) == one:
        return True
    return is_dependent(first, second)


@cache
def target_of(name: str) -> str:
    """Return the actor that an event befalls."""
    return name.partition(":")[2]


class _Order:
    """Which moves of a run happened before which, whatever is exchanged that may be."""

    def __init__(self) -> None:
        self.moves: list[Move] = []
        self._clocks: list[dict[str, int]] = []
        """How many moves of each actor come before this one or are it."""
        self._numbers: list[int] = []
        """The how many-th move of its actor this is."""
        self._own: dict[str, list[int]] = {}
        """Where each actor's moves are."""

    def cut(self, length: int) -> None:
        """Forget all but the first moves."""
        for move in self.moves[max(length, 0) :]:
            self._own[move.actor].pop()
        for kept in (self.moves, self._clocks, self._numbers):
            del kept[max(length, 0) :]

    def add(self, move: Move) -> list[int]:
        """Add a move; give those before it with which it might have changed places."""
        actor, operation, races = move.actor, move.operation, []
        own = self._own.setdefault(actor, [])
        clock = dict(self._clocks[own[-1]]) if own else {}
        heads = {name: len(own) for name, own in self._own.items() if own and name != actor}
        while heads:
            name = max(heads, key=lambda each: self._own[each][heads[each] - 1])
            number = heads[name]
            if clock.get(name, 0) >= number:
                del heads[name]
                continue
            before = self._own[name][number - 1]
            if are_dependent(name, self.moves[before].operation, actor, operation):
                races.append(before)
                for other, seen in self._clocks[before].items():
                    if seen > clock.get(other, 0):
                        clock[other] = seen
            if number == 1:
                del heads[name]
            else:
                heads[name] = number - 1
        own.append(len(self.moves))
        clock[actor] = len(own)
        self.moves.append(move)
        self._clocks.append(clock)
        self._numbers.append(len(own))
        return races

    def is_before(self, one: int, other: int) -> bool:
        """Return whether a move comes before a later one in every order."""
        return self._clocks[other].get(self.moves[one].actor, 0) >= self._numbers[one]


def _want_reversal(node: Node, order: _Order, before: int) -> None:
    """Want, where a race with the last move began, an actor whose move can lead to the last without the earlier."""
    moves, last = order.moves, len(order.moves) - 1
    free = [at for at in range(before + 1, last) if not order.is_before(before, at)] + [last]
    first = []
    for index, at in enumerate(free):
        if moves[at].actor in first or any(order.is_before(earlier, at) for earlier in free[:index]):
            continue
        first.append(moves[at].actor)
    possible = [name for name in first if name in node.pending]
    if possible and not node.wanted.intersection(possible):
        node.wanted.add(moves[last].actor if moves[last].actor in possible else possible[0])


def every_state(begin: Begin, tally: Tally | None = None, *, preemptions: int | None = None) -> Iterator[Play]:
    """Yield plays until every state was seen with everything that can follow; events are branches like any other.

    With `preemptions`, an actor that could go on is interrupted at most so often in a run; events do not count.
    """
    tally = tally or Tally()
    todo: list[tuple[Callable[[], _Path], str]] = [(lambda: _Path(begin()), "")]
    while todo:
        again, name = todo.pop()
        path = again()
        if name:
            path.move(name)
        is_whole = _go_through(path, begin, todo, tally.states, preemptions)
        tally.runs += 1
        if is_whole:
            yield path.play
        else:
            path.play.run.abandon()
    tally.is_exhausted = True


@dataclass
class _Path:
    """A play on its way, and how often an actor was interrupted."""

    play: Play
    last: str = ""
    """Which actor moved last."""
    spent: int = 0

    def move(self, name: str) -> None:
        run = self.play.run
        self.spent += is_preemption(run, self.last, name)
        self.last = name if name in run.actors else self.last
        run.step(name)

    def again(self, begin: Begin) -> "Callable[[], _Path]":
        """Return what makes the same path once more as it is now: a copy of it, or else all of its moves."""
        if self.play.run.is_portable:
            kept = self._fork()
            return kept._fork
        names = [move.actor for move in self.play.run.trace]
        return lambda: _moved(begin, names)

    def _fork(self) -> "_Path":
        return replace(self, play=self.play.fork())


def _moved(begin: Begin, names: Sequence[str]) -> _Path:
    path = _Path(begin())
    for name in names:
        path.play.run.enabled()
        path.move(name)
    return path


def _go_through(
    path: _Path, begin: Begin, todo: list[tuple[Callable[[], _Path], str]], states: set[object], preemptions: int | None
) -> bool:
    """Go on as the last actor while nothing seen is met; put every other choice on the list."""
    run = path.play.run
    while not run.is_over:
        key = (run.state(), None if preemptions is None else (path.last, path.spent))
        if key in states:
            return False
        states.add(key)
        choices = run.enabled()
        if preemptions is not None and path.spent >= preemptions:
            choices = [name for name in choices if not is_preemption(run, path.last, name)]
        first = path.last if path.last in choices else choices[0]
        if others := [name for name in choices if name != first]:
            again = path.again(begin)
            todo.extend((again, name) for name in others)
        path.move(first)
    return True


def is_preemption(run: Run, last: str, name: str) -> bool:
    """Return whether choosing this one interrupts an actor that could go on."""
    return name != last and name in run.actors and last in run.actors and last in run.enabled()


def uniform(begin: Begin, seed: object, runs: int, tally: Tally | None = None) -> Iterator[Play]:
    """Yield plays in which each mover is drawn evenly; each is repeated by its own seed."""
    for number in range(runs):
        yield _at_random(begin, f"uniform/{seed}/{number}", tally, depth=0)


def pct(begin: Begin, seed: object, runs: int, tally: Tally | None = None, *, depth: int = 3) -> Iterator[Play]:
    """Yield plays by random priorities that change at `depth - 1` random points: deep races with few changes."""
    for number in range(runs):
        yield _at_random(begin, f"pct{depth}/{seed}/{number}", tally, depth=depth)


def _at_random(begin: Begin, seed: str, tally: Tally | None, *, depth: int) -> Play:
    draw = random.Random(seed)
    play = begin()
    run = play.run
    length = STEPS_OF_A_CALL * max(1, len(run.actors))
    priority = {name: draw.random() + 1 for name in run.actors}
    changes = {draw.randrange(length): -number for number in range(1, depth)}
    fires = {name: _moment(draw, length) for name in run.events}
    written = dict.fromkeys(run.actors, 0)
    for at in count():
        if run.is_over:
            break
        enabled = run.enabled()
        events = [name for name in enabled if name not in run.actors]
        for name in events:
            if name not in fires:  # it came up only now
                fires[name] = _moment(draw, length)
        due = [name for name in events if _is_due(run, name, fires[name], at, written)]
        ready = [name for name in enabled if name in run.actors]
        if due or not ready:
            run.step((due or events)[0])
            continue
        name = max(ready, key=priority.__getitem__) if depth else draw.choice(ready)
        if at in changes:
            priority[name] = changes[at]
        written[name] += run.pending(name).name in WRITES
        run.step(name)
    play.seed = seed
    if tally is not None:
        tally.runs += 1
    return play


def _moment(draw: random.Random, length: int) -> tuple[str, int]:
    """Draw when an event happens: at some step of the run, or just before some write of whom it befalls."""
    return ("step", draw.randrange(length)) if draw.random() < 0.5 else ("write", draw.randrange(WRITES_OF_A_CALL))


def _is_due(run: Run, event: str, moment: tuple[str, int], at: int, written: Mapping[str, int]) -> bool:
    kind, number = moment
    target = target_of(event)
    if kind == "step":
        return at >= number
    pending = run.actors[target].pending
    return pending is None or (written[target] >= number and pending.name in WRITES)


def replayed(begin: Begin, names: Sequence[str]) -> Play:
    """Return the play of a written-down schedule; what cannot move is passed over, what is missing is filled in."""
    play = begin()
    run, last = play.run, ""
    for name in names:
        if name in run.enabled():
            run.step(name)
            last = name
    while not run.is_over:
        enabled = run.enabled()
        last = last if last in enabled else enabled[0]
        run.step(last)
    return play
