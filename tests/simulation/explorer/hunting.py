"""Run a search over a scenario until something is wrong, the search is over, or its time is.

Start at `hunt`.
"""

import copy
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.simulation.explorer import search
from tests.simulation.explorer.actors import Actor, Memory
from tests.simulation.explorer.checks import Watcher, judged
from tests.simulation.explorer.kernel import Run
from tests.simulation.explorer.operations import Operation
from tests.simulation.explorer.process import simulated
from tests.simulation.explorer.scenario import Play, Scenario
from tests.simulation.explorer.search import Begin, Tally
from tests.simulation.explorer.traces import drawn, parsed, schedule_of, shrunk, spelled

SCENARIOS = Path(__file__).parents[1] / "scenarios"
TRACES = Path(__file__).parents[1] / "traces"
ENDLESS = sys.maxsize

Way = Callable[[Begin, Tally], Iterator[Play]]
Judge = Callable[[Play], list[str]]


@dataclass
class Hunt:
    """What a search found, and what it cost."""

    tallies: list[Tally] = field(default_factory=list)
    """Of each way that was begun, in order."""
    schedules: set[int] = field(default_factory=set)
    """Which actor moved when, of all runs that went to their end, as hashes: no two ways count one schedule twice."""
    ends: dict[object, list[str]] = field(default_factory=dict)
    """What was wrong with each distinct end."""
    outcomes: set[tuple[tuple[str, str], ...]] = field(default_factory=set)
    """Which actor was told what, in any run."""
    schedule: list[str] | None = None
    """Of the first run that is wrong."""
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def runs(self) -> int:
        """How many runs all ways made."""
        return sum(tally.runs for tally in self.tallies)


def begin_of(scenario: Scenario) -> Begin:
    """Make what a search needs: a function that begins one more run; what was run before is not run again."""
    memory = Memory()

    def begin() -> Play:
        play = Play(scenario, memory)
        play.run.watchers.append(_Watching(play, memory))
        return play.start()

    return begin


@dataclass(eq=False)
class _Sighted:
    """What a watcher has seen, what was wrong with the last of it, and what it saw next."""

    watcher: Watcher
    found: tuple[str, ...] = ()
    then: dict[object, Any] = field(default_factory=dict)


class _Watching:
    """A watcher that does not look twice at the same: what it says follows from what was stored, in which order."""

    def __init__(self, play: Play, memory: Memory) -> None:
        self._memory = memory
        if "" not in memory.first:
            memory.add(memory.first, "", _Sighted(Watcher(play)))
        self._at = memory.first[""]

    def __call__(self, run: Run, actor: Actor, operation: Operation) -> None:
        key = (actor.name, operation.number, run.disk.digest())
        known = self._at.then.get(key)
        if known is None:
            watcher, before = copy.copy(self._at.watcher), len(run.violations)
            watcher.doomed = dict(watcher.doomed)
            watcher(run, actor, operation)
            known = _Sighted(watcher, tuple(run.violations[before:]))
            self._memory.add(self._at.then, key, known)
        else:
            run.violations += known.found
        self._at = known


def hunt(scenario: Scenario, *how: Way, seconds: float | None = None, judge: Judge = judged) -> Hunt:
    """Search in one or several ways, each a function of `begin` and a tally that yields plays; stop at the first wrong.

    `seconds` limits each way; `judge` says what is wrong with a run that is over. All ways share what the code did.
    """
    found, begin = Hunt(), begin_of(scenario)
    with simulated():
        for way in how:
            started = time.monotonic()
            found.tallies.append(search.Tally())
            for play in way(begin, found.tallies[-1]):
                found.schedules.add(hash(tuple(schedule_of(play))))
                wrong = _judged_once(play, found, judge)
                if wrong:
                    found.schedule, found.wrong = schedule_of(play), wrong
                    break
                if seconds is not None and time.monotonic() - started > seconds:
                    break
            found.seconds += time.monotonic() - started
            if found.wrong:
                break
    return found


def ways(*names: str, seed: object = 1, runs: int | None = None) -> list[Way]:
    """Return searches by name: `all`, `states`, `bound2`, `pct3`, `uniform`; `all:50` and `runs` end after so many.

    Without a number, walks at random go on until they are stopped.
    """

    def walk(depth: int) -> Way:
        return lambda begin, tally: search.pct(begin, seed, ENDLESS, tally, depth=depth)

    made: dict[str, Way] = {
        "all": search.exhaustive,
        "states": search.every_state,
        "uniform": lambda begin, tally: search.uniform(begin, seed, ENDLESS, tally),
    }
    for number in range(1, 6):
        made[f"bound{number}"] = partial(search.every_state, preemptions=number)
        made[f"pct{number}"] = walk(number)
    asked = [name.partition(":") for name in names]
    return [_limited(made[name], int(number) if number else runs) for name, _, number in asked]


def _limited(way: Way, runs: int | None) -> Way:
    """End a search after so many runs, the abandoned ones among them."""

    def limited(begin: Begin, tally: Tally) -> Iterator[Play]:
        for play in way(begin, tally):
            yield play
            if runs is not None and tally.runs >= runs:
                return

    return limited


def _judged_once(play: Play, found: Hunt, judge: Judge) -> list[str]:
    told = tuple((outcome.token, outcome.result) for outcome in play.outcomes)
    found.outcomes.add(tuple(sorted(told)))
    known = (play.run.disk.digest(), tuple(play.published)) if play.scenario.version == 6 else play.run.disk.digest()
    key = (known, told, tuple(play.seen), tuple(play.run.violations), play.run.budget)
    if key not in found.ends:
        found.ends[key] = judge(play)
    return found.ends[key]


def is_wrong(play: Play) -> bool:
    """Return whether a run that is over breaks an invariant."""
    return bool(judged(play))


def explained(scenario: Scenario, schedule: Sequence[str]) -> tuple[Scenario, list[str], str]:
    """Make a bad schedule short, and tell it: (scenario, schedule, text)."""
    with simulated():
        scenario, names = shrunk(scenario, schedule, is_wrong, begin_of)
        play = search.replayed(begin_of(scenario), names)
        told = [f"{outcome.token} {outcome.verb.about}: {outcome.result}" for outcome in play.outcomes]
        return scenario, names, "\n".join([*judged(play), "", drawn(play), "", *told])


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name: every module of the folder has one or more."""
    return {name: scenario for module in _modules() for name, scenario in module.SCENARIOS.items()}


def made_for() -> dict[str, tuple[str, ...]]:
    """Return the ways of searching that modules name, by scenario; none for those written by hand."""
    return {name: getattr(module, "WAYS", ()) for module in _modules() for name in module.SCENARIOS}


@cache
def _modules() -> list[ModuleType]:
    names = sorted(one.name for one in pkgutil.iter_modules([str(SCENARIOS)]))
    return [importlib.import_module(f"tests.simulation.scenarios.{name}") for name in names]


def save(
    name: str, scenario_name: str, scenario: Scenario, schedule: Sequence[str], wrong: Iterable[str], about: str
) -> None:
    """Write a bad schedule down, to be replayed for ever."""
    said = {
        "about": about,
        "broke": sorted({text.partition(":")[0] for text in wrong}),
        "scenario": scenario_name,
        "actors": list(scenario.actors),
        "events": list(scenario.events),
        "budget": scenario.budget,
        "schedule": spelled(schedule),
    }
    TRACES.mkdir(exist_ok=True)
    (TRACES / f"{name}.json").write_text(json.dumps(said, indent=2) + "\n")


def replay_saved(path: Path) -> tuple[Play, list[str]]:
    """Replay a saved schedule on the code as it is now: (play, what is wrong)."""
    said = json.loads(path.read_text())
    scenario = scenarios()[said["scenario"]]
    actors = {name: scenario.actors[name] for name in said["actors"]}
    scenario = replace(scenario, actors=actors, events=tuple(said["events"]), budget=said["budget"])
    with simulated():
        play = search.replayed(begin_of(scenario), parsed(said["schedule"]))
        return play, judged(play)
