"""Faults that there were are found by lives, once they are put back."""

from itertools import count, islice
from random import Random

import pytest
from tests.lives.life import Life, live, play
from tests.lives.mutants import LIVES, MUTANTS, Mutant
from tests.lives.setting import Setting
from tests.lives.test_life import row
from tests.lives.verbs.recovery import Restore, Savepoint
from tests.lives.verbs.step import Step
from tests.lives.verbs.writing import Upsert

WRITE = Upsert(rows=(row("a"),))
RARE: dict[str, tuple[Step, ...]] = {
    "a restore that is refused drops the metadata table": (WRITE, WRITE, Savepoint(back=0), Restore(back=1)),
}
"""Faults that show in few lives, which would take minutes to find, and steps by which they do."""


def settings_of(mutant: Mutant) -> list[tuple[int, Setting]]:
    """Draw the first settings in which a fault can show, each with its seed."""
    drawn = ((seed, Setting.draw(Random(seed))) for seed in count(mutant.seed))
    return list(islice(((seed, setting) for seed, setting in drawn if mutant.fits(setting)), LIVES))


@pytest.mark.all
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "mutant", [one for one in MUTANTS if one.name not in RARE], ids=lambda mutant: mutant.name.replace(" ", "-")
)
def test_a_fault_is_found(mutant: Mutant) -> None:
    with mutant.at_work():
        assert any(live(seed, setting=setting) is not None for seed, setting in settings_of(mutant))


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if one.name in RARE], ids=lambda mutant: mutant.name)
def test_a_fault_that_few_lives_meet_is_found_by_one_that_does(mutant: Mutant) -> None:
    setting = Setting(table_type="cow", version=9, writes=(("hoodie.metadata.enable", True),))
    life = Life(0, setting, RARE[mutant.name])
    assert play(life) is None
    with mutant.at_work():
        found = play(life)
    assert found is not None
    assert "and yet files went" in found.says
