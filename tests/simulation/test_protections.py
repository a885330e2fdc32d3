"""Which protections the real code needs: the model's table, with the protections taken from the code itself."""

import pytest
from tests.amounts import IS_FULL, amount
from tests.simulation.protections import hunt_losses
from tests.simulation.test_model import MATRIX, SMALL, is_safe, spelled

RUNS = 300
"""How many runs a scenario has to show a loss."""
QUIET_RUNS = 2
SAFE = [one for one in MATRIX if is_safe(one, SMALL)]
UNSAFE = [one for one in MATRIX if one not in SAFE]


@pytest.mark.parametrize("protection", amount(UNSAFE, UNSAFE, UNSAFE, everyday=UNSAFE[::8]), ids=spelled)
def test_what_is_not_safe_is_found_to_lose(protection, figure):
    lost, runs = hunt_losses(protection, "pct3", "uniform", runs=RUNS)
    assert lost, f"nothing lost in {runs} runs"
    figure("configurations of the real code")


@pytest.mark.everyday
@pytest.mark.parametrize("protection", amount(SAFE[::6], SAFE, SAFE, everyday=SAFE[::20]), ids=spelled)
def test_what_is_safe_loses_nothing(protection, figure):
    lost, _ = hunt_losses(protection, "pct3", "uniform", runs=amount(QUIET_RUNS, QUIET_RUNS, 100))
    assert lost == ""
    figure("configurations of the real code")


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("protection", SAFE, ids=spelled)
def test_what_is_safe_loses_nothing_with_two_preemptions(protection):
    lost, _ = hunt_losses(protection, "bound2")
    assert lost == ""
