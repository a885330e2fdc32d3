"""Faults that there were are found by the life that is stored for each, or in drawn ones, once they are put back."""

from itertools import count
from random import Random

import pytest
from tests.lives.life import live, play
from tests.lives.mutants import MUTANTS, Mutant
from tests.lives.setting import Setting
from tests.lives.stored import STORED
from tests.lives.verbs import INDEXING, VERBS

DRAWN = 300
SEARCHED = [one for one in MUTANTS if one.name not in STORED]
"""Faults that no short life is known for."""
FIRST_SEED = 70
LIVES = 150
FOUND = [one for one in MUTANTS if one.name in STORED]


@pytest.mark.each
@pytest.mark.parametrize("mutant", FOUND, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_fault_is_found(mutant: Mutant) -> None:
    life = STORED[mutant.name]
    assert play(life, is_whole=True) is None
    with mutant.at_work():
        found = play(life, is_whole=True)
    assert found is not None


@pytest.mark.parametrize("mutant", FOUND, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_life_that_meets_a_fault_can_be_drawn(mutant: Mutant) -> None:
    assert {type(step) for step in STORED[mutant.name].steps} <= VERBS.keys() | INDEXING.keys()
    assert any(mutant.fits(Setting.draw(Random(seed))) for seed in range(DRAWN))


@pytest.mark.all
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", SEARCHED, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_fault_is_found_in_drawn_lives(mutant: Mutant) -> None:
    drawn = ((seed, Setting.draw(Random(seed))) for seed in count(FIRST_SEED))
    fitting = (drawn_one for drawn_one in drawn if mutant.fits(drawn_one[1]))
    with mutant.at_work():
        assert any(
            live(seed, setting=setting) is not None for (seed, setting), _ in zip(fitting, range(LIVES), strict=False)
        )


def test_every_stored_life_is_that_of_a_fault() -> None:
    assert list(STORED) == [mutant.name for mutant in FOUND]
