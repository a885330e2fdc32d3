"""Schedules written down: saved, replayed, made shorter, and drawn with one lane an actor.

A schedule names what moved, in order; `w1*3 crash:w1` is three steps of w1 and its crash. Start at `shrunk`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from tests.simulation.explorer.operations import Operation
from tests.simulation.explorer.scenario import Play, Scenario
from tests.simulation.explorer.search import Begin, replayed

_LOOKS = frozenset({"get", "head", "list", "open", "now", "sleep", "try lock"})


def spelled(names: Sequence[str]) -> str:
    """Write a schedule down."""
    runs = ((name, len(list(same))) for name, same in groupby(names))
    return " ".join(name if length == 1 else f"{name}*{length}" for name, length in runs)


def parsed(text: str) -> list[str]:
    """Read a schedule."""
    names = []
    for part in text.split():
        name, _, length = part.partition("*")
        names += [name] * int(length or 1)
    return names


def schedule_of(play: Play) -> list[str]:
    """Return what moved in a run; events that befell no actor any more are left out."""
    names = [move.actor for move in play.run.trace]
    while names and names[-1] not in play.run.actors:
        names.pop()
    return names


def shrunk(
    scenario: Scenario, names: Sequence[str], is_bad: Callable[[Play], bool], begin_of: Callable[[Scenario], Begin]
) -> tuple[Scenario, list[str]]:
    """Return (scenario, schedule) that is still bad, with fewer events, actors and changes from one actor to another.

    `begin_of` makes the beginning of a play from a scenario; `is_bad` judges a play that is over.
    """
    scenario = _with_fewer_actors(scenario, names, is_bad, begin_of)
    names = schedule_of(replayed(begin_of(scenario), [name for name in names if _is_known(scenario, name)]))
    is_shorter = True
    while is_shorter:
        is_shorter = False
        parts = spelled(names).split()
        for left_out in range(len(parts)):
            tried = parsed(" ".join(parts[:left_out] + parts[left_out + 1 :]))
            play = replayed(begin_of(_with_events(scenario, tried)), tried)
            found = schedule_of(play)
            if _weight(found, play) < _weight(names, play) and is_bad(play):
                names, is_shorter = found, True
                break
    return _with_events(scenario, names), names


def drawn(play: Play) -> str:
    """Draw a run: one lane an actor, one line a step; what only looks is counted."""
    lanes = list(play.run.actors)
    width = max(30, 110 // max(1, len(lanes)))
    lines = ["".join(name.ljust(width) for name in lanes).rstrip()]
    for (actor, is_look), moves in groupby(
        play.run.trace, key=lambda move: (move.actor, move.operation.name in _LOOKS)
    ):
        shown = list(moves)
        texts = [f"({len(shown)} looks)"] if is_look else [_short(move.operation) for move in shown]
        for text in texts:
            if actor in lanes:
                lines.append(" " * (width * lanes.index(actor)) + text[: width - 1])
            else:
                lines.append(f"{'~' * 10} {actor} {'~' * 10}")
    return "\n".join(lines)


def _short(operation: Operation) -> str:
    return f"{operation.name} {operation.path.rsplit('/', 1)[-1]}"


def _weight(names: Sequence[str], play: Play) -> tuple[int, int]:
    return sum(name not in play.run.actors for name in names), len(spelled(names).split())


def _is_known(scenario: Scenario, name: str) -> bool:
    return name in scenario.actors or name.partition(":")[2] in scenario.actors


def _with_fewer_actors(
    scenario: Scenario, names: Sequence[str], is_bad: Callable[[Play], bool], begin_of: Callable[[Scenario], Begin]
) -> Scenario:
    for name in list(scenario.actors):
        actors = {other: verbs for other, verbs in scenario.actors.items() if other != name}
        events = tuple(event for event in scenario.events if event.partition(":")[2] != name)
        fewer = replace(scenario, actors=actors, events=events)
        if actors and is_bad(replayed(begin_of(fewer), [one for one in names if _is_known(fewer, one)])):
            scenario = fewer
    return scenario


def _with_events(scenario: Scenario, names: Sequence[str]) -> Scenario:
    return replace(scenario, events=tuple(event for event in scenario.events if event in names))
