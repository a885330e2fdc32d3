"""Everything that can be done beside everything else, in every order; and crowds of three to five, in random orders."""

import os

import pytest
from tests.simulation.explorer.hunting import explained, hunt, scenarios, ways
from tests.simulation.scenarios import crowds, pairs

IS_FULL = bool(os.environ.get("PYHUDI_SIMULATE_ALL"))
SEED = os.environ.get("PYHUDI_SEED", "1")
WAYS = ("bound2", "all:8000") if IS_FULL else ("bound1", "all:25")
"""The first of them is searched to its end."""
EARLIER_WAYS = ("bound1", "all:200") if IS_FULL else ("bound1",)
EARLIER = [name for name in pairs.SCENARIOS if name.endswith("-v6")]
CROWDS = list(crowds.SCENARIOS)[: 250 if IS_FULL else 10]
RUNS_OF_A_CROWD = 100 if IS_FULL else 25
"""Of each way."""


def require_right(name, found):
    assert found.wrong == [], explained(scenarios()[name], found.schedule)[2]


@pytest.mark.parametrize("name", [name for name in pairs.SCENARIOS if name not in EARLIER])
def test_two_actions_beside_each_other(name, figure):
    found = hunt(scenarios()[name], *ways(*WAYS))
    require_right(name, found)
    bounded, unbounded = found.tallies
    assert bounded.is_exhausted
    figure("distinct interleavings", len(found.schedules))
    figure("action pairs, every order with few interruptions")
    figure("action pairs, every order", unbounded.is_exhausted)


@pytest.mark.parametrize("name", EARLIER)
def test_two_actions_beside_each_other_at_version_6(name, figure):
    found = hunt(scenarios()[name], *ways(*EARLIER_WAYS))
    require_right(name, found)
    assert found.tallies[0].is_exhausted
    figure("distinct interleavings", len(found.schedules))
    figure("action pairs at version 6, every order with one interruption")


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
    assert len(pairs.SCENARIOS) == 2 * len(EARLIER) == count * (count + 1)
