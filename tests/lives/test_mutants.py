"""Faults that there were are found by the life that is stored for each, once they are put back."""

from random import Random

import pytest
from tests.lives.life import play
from tests.lives.mutants import MUTANTS, Mutant
from tests.lives.setting import Setting
from tests.lives.stored import STORED
from tests.lives.verbs import INDEXING, VERBS

DRAWN = 300


@pytest.mark.each
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_fault_is_found(mutant: Mutant) -> None:
    life = STORED[mutant.name]
    assert play(life, is_whole=True) is None
    with mutant.at_work():
        found = play(life, is_whole=True)
    assert found is not None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_life_that_meets_a_fault_can_be_drawn(mutant: Mutant) -> None:
    assert {type(step) for step in STORED[mutant.name].steps} <= VERBS.keys() | INDEXING.keys()
    assert any(mutant.fits(Setting.draw(Random(seed))) for seed in range(DRAWN))


def test_every_stored_life_is_that_of_a_fault() -> None:
    assert list(STORED) == [mutant.name for mutant in MUTANTS]
