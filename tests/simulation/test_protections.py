"""Which protections the real code needs: the model's table, with the protections taken from the code itself."""

import os

import pytest
from tests.simulation.protections import hunt_losses
from tests.simulation.test_model import MATRIX, SMALL, is_safe, spelled

IS_FULL = bool(os.environ.get("PYHUDI_SIMULATE_ALL"))
RUNS = 300
"""How many runs a scenario has to show a loss."""
QUIET_RUNS = 2
SAFE = [one for one in MATRIX if is_safe(one, SMALL)]


def has_losses(protection):
    """Say what must be found: what the model says, but that salt is not enough.

    The model's salt is in the names of instants too, so that two writers of one time get along. Hudi's names of these
    have no room for it: where neither times nor the store keep two instants apart, one replaces the other.
    """
    rests_on_salt = not protection.is_monotonic and not protection.has_absent
    return not is_safe(protection, SMALL) or rests_on_salt


@pytest.mark.parametrize("protection", [one for one in MATRIX if has_losses(one)], ids=spelled)
def test_what_is_not_safe_is_found_to_lose(protection, figure):
    lost, runs = hunt_losses(protection, "pct3", "uniform", runs=RUNS)
    assert lost, f"nothing lost in {runs} runs"
    figure("configurations of the real code")


@pytest.mark.parametrize("protection", [one for one in MATRIX if not has_losses(one)], ids=spelled)
def test_what_is_safe_loses_nothing(protection, figure):
    lost, _ = hunt_losses(protection, "pct3", "uniform", runs=100 if IS_FULL else QUIET_RUNS)
    assert lost == ""
    figure("configurations of the real code")


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("protection", [one for one in MATRIX if not has_losses(one)], ids=spelled)
def test_what_is_safe_loses_nothing_with_two_preemptions(protection):
    lost, _ = hunt_losses(protection, "bound2")
    assert lost == ""


def test_the_code_differs_from_the_model_only_where_salt_would_have_to_be_in_the_names_of_instants():
    different = [spelled(one) for one in MATRIX if has_losses(one) == is_safe(one, SMALL)]
    assert different == ["optimistic-salt-keys", "pessimistic-salt-keys"]
