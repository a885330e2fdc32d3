"""Which protections a table needs, by looking at every order in which writers of a small model can move."""

from itertools import product

import pytest
from tests.amounts import IS_FULL
from tests.simulation.model import Control, Protection, Size, search

SMALL = Size(groups=2, keys=2, values=1, operations=2)
SIZES = [Size(groups=1, keys=1, values=2), Size(groups=2, keys=1, values=2), Size(groups=2, keys=2, values=1)]
THREE_WRITERS = Size(groups=2, keys=1, values=1, writers=3)
BOTH = (True, False)
MATRIX = [
    Protection(
        control=control, is_monotonic=is_monotonic, has_absent=has_absent, is_salted=is_salted, checks_keys=checks_keys
    )
    for control, is_monotonic, has_absent, is_salted, checks_keys in product(Control, BOTH, BOTH, BOTH, BOTH)
]


def spelled(protection):
    said = {
        "monotonic": protection.is_monotonic,
        "absent": protection.has_absent,
        "salt": protection.is_salted,
        "keys": protection.checks_keys,
    }
    return "-".join([protection.control, *(name for name, is_on in said.items() if is_on)])


def is_safe(protection, size):
    """Return what the search must find; the table of the reliability design."""
    if protection.control is Control.NONE:
        return False
    if not protection.checks_keys and size.groups > 1:
        return False  # one key in two file groups
    if protection.is_monotonic or protection.has_absent or protection.is_salted:
        return True
    # Two writers with one time: under per-group locks they collide only where their groups differ.
    return protection.control is Control.PESSIMISTIC and size.keys == 1


@pytest.mark.parametrize("protection", MATRIX, ids=spelled)
def test_every_combination_is_judged_as_it_must_be(protection, figure):
    verdict = search(protection, SMALL)
    figure("model configurations")
    assert (verdict.wrong == "") == is_safe(protection, SMALL), verdict


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.groups}g{size.keys}k{size.values}v")
@pytest.mark.parametrize("protection", MATRIX, ids=spelled)
def test_larger_sizes_are_judged_the_same(protection, size, figure):
    verdict = search(protection, size)
    figure("model configurations")
    assert (verdict.wrong == "") == is_safe(protection, size), verdict


@pytest.mark.skipif(not IS_FULL, reason="the long lane: make simulate")
@pytest.mark.parametrize("protection", [one for one in MATRIX if one.is_monotonic], ids=spelled)
def test_three_writers_are_judged_the_same(protection, figure):
    verdict = search(protection, THREE_WRITERS)
    figure("model configurations")
    assert (verdict.wrong == "") == is_safe(protection, THREE_WRITERS), verdict


def test_the_model_sees_more_than_one_way_to_go_wrong():
    told = {search(protection, SMALL).wrong for protection in MATRIX if not is_safe(protection, SMALL)}
    assert any("readers see []" in wrong for wrong in told)  # a write that is lost
    assert any("[(1, 1), (1, 1)]" in wrong for wrong in told)  # a key that is there twice
