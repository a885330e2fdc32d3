"""Faults that there were are found by lives, once they are put back."""

from itertools import count, islice
from random import Random

import pytest
from tests.amounts import IS_FULL
from tests.lives.life import live
from tests.lives.mutants import LIVES, MUTANTS, Mutant
from tests.lives.setting import Setting

RARE = frozenset({"a restore that is refused drops the metadata table"})


def settings_of(mutant: Mutant) -> list[tuple[int, Setting]]:
    """Draw the first settings in which a fault can show, each with its seed."""
    drawn = ((seed, Setting.draw(Random(seed))) for seed in count(mutant.seed))
    return list(islice(((seed, setting) for seed, setting in drawn if mutant.fits(setting)), LIVES))


@pytest.mark.all
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_fault_is_found(mutant: Mutant) -> None:
    if mutant.name in RARE and not IS_FULL:
        pytest.skip("it shows in few lives, which take minutes: make simulate tries it")
    with mutant.at_work():
        assert any(live(seed, setting=setting) is not None for seed, setting in settings_of(mutant))
