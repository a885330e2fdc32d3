"""The explorer itself: it repeats itself, its searches agree, what it finds can be kept, and it can fail."""

from dataclasses import replace
from itertools import count

import pytest
from tests.amounts import IS_FULL, amount
from tests.simulation.explorer import hunting, search
from tests.simulation.explorer.__main__ import main
from tests.simulation.explorer.hunting import begin_of, explained, hunt, made_for, scenarios, ways
from tests.simulation.explorer.operations import (
    HALVES,
    half_of,
    is_dependent,
    listing,
    locking,
    reading,
    unlocking,
    writing,
)
from tests.simulation.explorer.process import simulated
from tests.simulation.explorer.scenario import Scenario, Verb
from tests.simulation.explorer.traces import parsed, schedule_of, spelled
from tests.simulation.explorer.verbs import drop_partition, read_twice, upsert
from tests.simulation.mutants import MUTANTS

SAVED = sorted(hunting.TRACES.glob("*.json"))
PROMISED = [name for name, given in made_for().items() if not given and not scenarios()[name].breaks]


def trace_of(play):
    return [(move.actor, str(move.operation)) for move in play.run.trace]


@pytest.mark.parametrize("way", [search.pct, search.uniform])
def test_the_same_seed_gives_the_same_trace(way):
    begin = begin_of(scenarios()["crash"])
    with simulated():
        first, again, other = (next(way(begin, seed, 1)) for seed in (7, 7, 8))
    assert trace_of(first) == trace_of(again)
    assert first.run.state() == again.run.state()
    assert trace_of(first) != trace_of(other)


def test_a_trace_is_repeated_by_its_names():
    begin = begin_of(scenarios()["read-update"])
    with simulated():
        play = next(search.uniform(begin, 3, 1))
        names = [move.actor for move in play.run.trace]
        again = search.replayed(begin, parsed(spelled(names)))
    assert trace_of(again) == trace_of(play)


@pytest.mark.parametrize("name", ["read-update", "crash"])
def test_forked_plays_go_on_as_the_play_would_and_apart_from_it(name):
    scenario = scenarios()[name]
    with simulated():
        play = begin_of(scenario)()
        for _ in range(25):
            play.run.step(play.run.enabled()[0])
        so_far, before = [move.actor for move in play.run.trace], play.run.state()
        for turn in (list(scenario.actors), list(scenario.actors)[::-1]):
            copied = search.replayed(play.fork, turn * 20)
            afresh = search.replayed(begin_of(scenario), so_far + turn * 20)
            assert trace_of(copied) == trace_of(afresh)
            assert copied.run.state() == afresh.run.state()
            assert [one.result for one in copied.outcomes] == [one.result for one in afresh.outcomes]
            assert (play.run.state(), play.outcomes) == (before, [])


def test_what_is_remembered_is_what_the_code_does():
    """Runs out of memory are those of the code, also where an actor died, was lied to or stood still."""
    scenario = replace(scenarios()["crash"], events=("crash:w1", "lost:w2", "stall:w1"), budget=2)
    begin = begin_of(scenario)
    with simulated():
        for seed in range(12):
            remembered = [next(search.uniform(begin, seed, 1)) for _ in range(2)][1]
            afresh = next(search.uniform(begin_of(scenario), seed, 1))
            assert trace_of(remembered) == trace_of(afresh)
            assert remembered.run.state() == afresh.run.state()
            assert [(one.token, one.result) for one in remembered.outcomes] == [
                (one.token, one.result) for one in afresh.outcomes
            ]
            assert remembered.run.violations == afresh.run.violations


def test_code_that_depends_on_more_than_it_was_told_is_noticed():
    times = count()

    def do(seat):
        seat.table().state.storage.put(f"seen/{next(times)}", b"")
        return read_twice().do(seat)

    scenario = Scenario(about="", actors={"w": (upsert(k1_b=5.0),), "r": (Verb(about="", do=do, is_read=True),)})
    with pytest.raises(AssertionError, match="did not do the same"):
        hunt(scenario, *ways("all:50"))


def test_operations_depend_on_each_other_where_one_changes_what_the_other_sees():
    put = writing("put", "a/b/c")
    assert is_dependent(put, reading("get", "a/b/c"))
    assert [is_dependent(listing("a/b", half), put) for half in HALVES] == [half == half_of("c") for half in HALVES]
    assert [is_dependent(listing("", half), put) for half in HALVES] == [half == half_of("a") for half in HALVES]
    assert is_dependent(writing("delete tree", "a", is_tree=True), put)
    assert not is_dependent(reading("get", "a/b/c"), reading("get", "a/b/c"))
    for half in HALVES:
        assert not is_dependent(listing("a/bc", half), put)
        assert not is_dependent(listing("a", half, sees_directories=False), put)
        assert is_dependent(listing("a/b", half), writing("delete tree", "a", is_tree=True))
    assert is_dependent(listing("a/b", half_of("c"), sees_directories=False), put)
    assert not is_dependent(listing("a/b", HALVES[half_of("c") == HALVES[0]], sees_directories=False), put)
    assert is_dependent(locking("l"), locking("l"))
    assert not is_dependent(locking("l"), unlocking("l"))


def test_searches_agree_on_what_can_happen():
    """Leaving equivalent schedules out loses nothing: every outcome of all states is one of the reversed races."""
    scenario = replace(scenarios()["update-update"], actors={"w1": (drop_partition("b"),), "r": (read_twice(),)})
    races, states = hunt(scenario, *ways("all")), hunt(scenario, *ways("states"))
    assert races.tallies[0].is_exhausted
    assert states.tallies[0].is_exhausted
    assert races.outcomes == states.outcomes
    assert {key[0] for key in races.ends} == {key[0] for key in states.ends}
    assert {key[2] for key in races.ends} == {key[2] for key in states.ends}
    assert races.runs < states.runs


def test_what_is_wrong_is_told_and_kept(tmp_path, monkeypatch):
    scenario = scenarios()["outage"]
    mutant = next(one for one in MUTANTS if one.name == "unknown taken for a failure and rolled back")
    monkeypatch.setattr(hunting, "TRACES", tmp_path)
    with mutant.at_work():
        found = hunt(scenario, *ways("all:100"))
        shorter, schedule, text = explained(scenario, found.schedule)
        hunting.save("example", "outage", shorter, schedule, found.wrong, "as an example")
        play, wrong = hunting.replay_saved(tmp_path / "example.json")
    assert "~ outage:w1 ~" in text
    assert "I7" in text
    assert wrong
    assert schedule_of(play) == schedule
    assert hunting.replay_saved(tmp_path / "example.json")[1] == []


@pytest.mark.all
def test_a_seed_and_a_scenario_find_it_again(tmp_path, monkeypatch, capsys):
    mutant = next(one for one in MUTANTS if one.name == "no check of file groups")
    monkeypatch.setattr(hunting, "TRACES", tmp_path)
    told = []
    for _ in range(2):
        with mutant.at_work():
            assert main(["--scenario", "count-count", "--seed", "7", "--ways", "uniform"]) == 1
        told.append([line for line in capsys.readouterr().out.splitlines() if line.startswith("schedule: ")])
    assert told[0]
    assert told[0] == told[1]
    assert (tmp_path / "found-count-count.json").exists()


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("name", [name for name, scenario in scenarios().items() if scenario.breaks])
def test_what_cannot_be_promised_does_go_wrong(name):
    assert hunt(scenarios()[name], *ways("pct3", "uniform", runs=2_000)).wrong


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_what_was_found_once_stays_repaired(path):
    _, wrong = hunting.replay_saved(path)
    assert wrong == []


@pytest.mark.parametrize("name", amount(PROMISED, PROMISED, PROMISED, everyday=PROMISED[::6]))
def test_nothing_goes_wrong_at_random(name):
    runs = amount(1, 2, 100)
    found = hunt(scenarios()[name], *ways("pct3", "uniform", runs=runs))
    assert found.wrong == [], explained(scenarios()[name], found.schedule)[2]


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("name", PROMISED)
def test_nothing_goes_wrong_in_any_order(name, figure):
    found = hunt(scenarios()[name], *ways("all:2000"))
    assert found.wrong == [], explained(scenarios()[name], found.schedule)[2]
    figure("distinct interleavings", len(found.schedules))
