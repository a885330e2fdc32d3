"""The matrix is drawn as it promises; needs no peer."""

import itertools
import random
from collections import defaultdict
from functools import cache

import pytest
from tests.peers.histories import COMPACTIONS, FILLS_LOGS, Expected, can_do, history, verbs_of
from tests.peers.kinds import LOGS, crossed, laid_out
from tests.peers.matrix import FACTORS, SIZES, WRITERS, cases, covering, deeds_of, fits, groups_of, kind_of
from tests.peers.peer import NEWEST
from tests.peers.upkeep import upkeeps

pytestmark = pytest.mark.all
SEEDS = range(5)
POSSIBLE = [choice for choice in itertools.product(*FACTORS.values()) if fits(choice)]
drawn_once = cache(cases)


@pytest.mark.parametrize(("lane", "strength"), [("short", 1), ("full", 2)])
def test_all_values_that_can_meet_do(lane, strength):
    chosen = covering(SIZES[lane].strength, random.Random(7))
    met = {group for choice in chosen for group in groups_of(choice, strength)}
    assert met == {group for choice in POSSIBLE for group in groups_of(choice, strength)}
    assert len(chosen) < len(POSSIBLE) / 100


def test_all_combinations_are_everything():
    assert covering(SIZES["everything"].strength, random.Random(7)) == POSSIBLE


def able(kind):
    return [(actor, verb) for actor in WRITERS for verb in verbs_of(kind) if can_do(actor, verb, kind)]


def test_in_the_full_lane_every_writer_does_everything_with_every_value():
    values = defaultdict(set)  # with which each kind of table can be
    kinds = {}
    for choice in POSSIBLE:
        kind = kind_of(choice)
        assert kinds.setdefault(kind.name, kind) == kind
        values[kind.name].update(enumerate(choice))
    possible = {(*turn, *value) for name, met in values.items() for turn in able(kinds[name]) for value in met}
    drawn = drawn_once(SIZES["full"], 1)
    steps = [(step, case.choice) for case in drawn for step in history(case.kind, case.turns, case.seed)]
    assert {deed for step, choice in steps for deed in deeds_of((step.actor, step.verb), choice)} == possible
    assert all(len(case.turns) == 20 for case in drawn)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_writer_does_everything_even_in_the_slice(seed):
    drawn = drawn_once(SIZES["short"], seed)
    done = {turn for case in drawn for turn in case.turns}
    anything = {
        turn for logs in LOGS for turn in able(crossed(laid_out("simple", "flat", "all"), "event_time", "SIMPLE", logs))
    }
    assert done == anything
    assert all(can_do(actor, verb, case.kind) for case in drawn for actor, verb in case.turns)
    assert all(one != other for case in drawn for (one, _), (other, _) in itertools.pairwise(case.turns))


def test_a_seed_says_it_all():
    def drawn(seed):
        return [(case, list(history(case.kind, case.turns, case.seed))) for case in cases(SIZES["short"], seed)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_keep_rows_to_work_on(seed):
    for case in drawn_once(SIZES["short"], seed):
        expected, sizes = Expected(case.kind), []
        for step in history(case.kind, case.turns, case.seed):
            expected.apply(step)
            sizes.append(len(expected.rows))
            assert step.rows or step.verb in COMPACTIONS
        assert sizes[0] == 12
        assert len(set(sizes)) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_logs_are_written_before_they_are_compacted(seed):
    pairs = [pair for case in drawn_once(SIZES["full"], seed) for pair in itertools.pairwise(case.turns)]
    compacted = {(actor, verb, verb_before) for (_, verb_before), (actor, verb) in pairs if verb in COMPACTIONS}
    assert {before for _, _, before in compacted} == FILLS_LOGS
    assert {actor for actor, verb, _ in compacted if verb == "compact"} == set(WRITERS)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_way_to_clean_and_every_saga_comes_up(seed):
    everything = {tuple(one.name.split("-")[:2]) for one in upkeeps("everything", seed)}
    for lane in ("short", "full"):
        drawn = upkeeps(lane, seed)
        names = [one.name for one in drawn]
        assert len(set(names)) == len(names)
        assert {name.split("-")[0] for name in names} == {policy for policy, _ in everything}
        assert {one.version for one in drawn} == {6, 8, 9}
        assert lane == "full" or {one.release for one in drawn} == {NEWEST}
    assert {name.split("-")[1] for name in names} == {saga for _, saga in everything}
