"""The matrix is drawn as it promises; needs no peer."""

import itertools
import random

import pytest
from tests.peers.histories import Expected, can_do, history, verbs_of
from tests.peers.kinds import KINDS
from tests.peers.matrix import FACTORS, SIZES, WRITERS, cases, covering, fits, groups_of

SEEDS = range(5)


@pytest.mark.parametrize(("lane", "strength"), [("short", 1), ("full", 3)])
def test_all_values_that_can_meet_do(lane, strength):
    chosen = covering(FACTORS, SIZES[lane].strength, fits, random.Random(7))
    met = {group for choice in chosen for group in groups_of(choice, strength)}
    possible = [choice for choice in itertools.product(*FACTORS.values()) if fits(choice)]
    assert met == {group for choice in possible for group in groups_of(choice, strength)}
    assert len(chosen) < len(possible) / 10


@pytest.mark.parametrize("seed", SEEDS)
def test_every_writer_does_everything_even_in_the_slice(seed):
    drawn = cases(SIZES["short"], seed)
    done = {turn for case in drawn for turn in case.turns}
    assert done == set(itertools.product(WRITERS, verbs_of(KINDS[-1])))
    assert all(can_do(actor, verb, case.kind) for case in drawn for actor, verb in case.turns)
    assert all(one != other for case in drawn for (one, _), (other, _) in itertools.pairwise(case.turns))


def test_a_seed_says_it_all():
    def drawn(seed):
        return [(case, list(history(case.kind, case.turns, case.seed))) for case in cases(SIZES["short"], seed)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_keep_rows_to_work_on(seed):
    for case in cases(SIZES["short"], seed):
        expected, sizes = Expected(case.kind), []
        for step in history(case.kind, case.turns, case.seed):
            expected.apply(step)
            sizes.append(len(expected.rows))
            assert step.rows
        assert sizes[0] == 12
        assert len(set(sizes)) > 1
