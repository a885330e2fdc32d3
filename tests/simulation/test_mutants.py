"""The checker can fail: with one protection taken away, a violation is found within the budget."""

import sys

import pytest
from tests.amounts import amount
from tests.simulation.explorer.hunting import hunt, scenarios, ways
from tests.simulation.mutants import MUTANTS, RUNS


def names_of_modules():
    """Return what the code's modules have under each of their names."""
    modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "pyhudi"}
    return {(owner, name): what for owner, module in modules.items() for name, what in vars(module).items()}


TRIED = amount(MUTANTS, MUTANTS, MUTANTS, everyday=MUTANTS[::12])


@pytest.mark.each
@pytest.mark.parametrize("mutant", TRIED, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_mutant_is_found(mutant, figure):
    before = names_of_modules()
    with mutant.at_work():
        found = hunt(scenarios()[mutant.scenario], *ways(*mutant.ways, seed=mutant.seed, runs=RUNS))
    assert found.wrong, f"nothing seen in {found.runs} runs"
    after = names_of_modules()
    assert {name for name, what in before.items() if after[name] is not what} == set()
    figure("mutants found")


def test_there_are_enough_of_them():
    assert len({mutant.name for mutant in MUTANTS}) >= 60
