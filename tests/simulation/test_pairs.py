"""Everything that can be done beside everything else, in every order; and crowds of three to five, in random orders."""

import os
from itertools import product

import pytest
from tests.amounts import IS_COUNTED, IS_FULL, amount
from tests.simulation.explorer.hunting import explained, hunt, scenarios, ways
from tests.simulation.scenarios import crowds, pairs

SEED = os.environ.get("PYHUDI_SEED", "1")
WAYS = ("bound2", "all:8000") if IS_FULL else ("bound1", "all:25")
"""The first of them is searched to its end."""
EARLIER_WAYS = ("bound1", "all:200") if IS_FULL else ("bound1",)
RUNS_OF_A_KIND = amount(5, 5, 60)
CROWDS = list(crowds.SCENARIOS)[: amount(4, 10, 250, everyday=1)]
RUNS_OF_A_CROWD = amount(25, 25, 100, everyday=10)
"""Of each way."""
SLICES = 18


def chosen(suffix, number):
    """Return pairs by name: all, or where nothing is counted one slice of them, in which every action is."""
    names = list(pairs.ACTIONS)
    return [
        f"{one}+{other}{suffix}"
        for one, other in pairs.PAIRS
        if IS_COUNTED or (names.index(one) + names.index(other)) % SLICES == number
    ]


NEWEST, EARLIER = chosen("", 0), chosen("-v6", 4)
CROSSED = list(pairs.CROSSED)[:: amount(25, 25, 1, everyday=100)]


def require_right(name, found):
    assert found.wrong == [], explained(scenarios()[name], found.schedule)[2]


@pytest.mark.everyday
@pytest.mark.parametrize("name", NEWEST)
def test_two_actions_beside_each_other(name, figure):
    found = hunt(scenarios()[name], *ways(*WAYS))
    require_right(name, found)
    bounded, unbounded = found.tallies
    assert bounded.is_exhausted
    figure("distinct interleavings", len(found.schedules))
    figure("action pairs, every order with few interruptions")
    figure("action pairs, every order", unbounded.is_exhausted)


@pytest.mark.all
@pytest.mark.parametrize("name", EARLIER)
def test_two_actions_beside_each_other_at_version_6(name, figure):
    found = hunt(scenarios()[name], *ways(*EARLIER_WAYS))
    require_right(name, found)
    assert found.tallies[0].is_exhausted
    figure("distinct interleavings", len(found.schedules))
    figure("action pairs at version 6, every order with one interruption")


@pytest.mark.parametrize("name", CROSSED)
def test_two_actions_beside_each_other_on_other_kinds_of_tables(name, figure):
    found = hunt(scenarios()[name], *ways(*crowds.WAYS, seed=SEED, runs=RUNS_OF_A_KIND))
    require_right(name, found)
    figure("random schedules of pairs on other kinds of tables", found.runs)


def half(name):
    """Let a half of the crowds be run beside the other."""
    return f"{name}-{'even' if int(name.split('-')[1]) % 2 == 0 else 'odd'}"


@pytest.mark.parametrize("name", CROWDS, ids=half)
def test_three_to_five_at_once(name, figure):
    found = hunt(scenarios()[name], *ways(*crowds.WAYS, seed=SEED, runs=RUNS_OF_A_CROWD))
    require_right(name, found)
    figure("random schedules of 3-5 actors", found.runs)


def test_no_pair_is_missing():
    count = len(pairs.ACTIONS)
    assert len(pairs.SCENARIOS) == 3 * len(pairs.PAIRS) == 3 * len(pairs.CROSSED) == 3 * count * (count + 1) / 2
    if IS_COUNTED:
        assert len(NEWEST) == len(EARLIER) == len(pairs.PAIRS)
    for names in (NEWEST, [name.removesuffix("-v6") for name in EARLIER]):
        assert {action for name in names for action in parts(name)} == set(pairs.ACTIONS)
    kinds = {(action, name.partition("-on-")[2]) for name in pairs.CROSSED for action in parts(name)}
    assert kinds == set(product(pairs.ACTIONS, pairs.KINDS))


def parts(name):
    """Return the actions of a pair on a kind."""
    return name.partition("-on-")[0].split("+")
