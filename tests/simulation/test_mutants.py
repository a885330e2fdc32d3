"""The checker can fail: with one protection taken away, a violation is found within the budget."""

import pytest
from tests.simulation.explorer.hunting import hunt, scenarios, ways
from tests.simulation.mutants import MUTANTS, RUNS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_mutant_is_found(mutant, figure):
    with mutant.at_work():
        found = hunt(scenarios()[mutant.scenario], *ways(*mutant.ways, seed=mutant.seed, runs=RUNS), runs=RUNS)
    assert found.wrong, f"nothing seen in {found.tally.runs} runs"
    figure("mutants found")


def test_there_are_enough_of_them():
    assert len({mutant.name for mutant in MUTANTS}) >= 55
