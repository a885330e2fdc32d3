"""Each check of a commit stops a writer in some scenario: what never fires is not tested by any schedule."""

from collections import Counter
from contextlib import ExitStack
from unittest.mock import patch

import pytest
from tests.simulation.explorer.hunting import hunt, scenarios, ways
from tests.simulation.mutants import MUTANTS

from pyhudi.errors import HudiError
from pyhudi.txn import commit

RUNS = 300
FIRES = (
    ("require_alive", "roll-back-live"),
    ("find_overlaps", "count-count"),
    ("require_no_service", "clustering"),
    ("require_no_service", "compaction"),
    ("require_new_keys", "insert-same-key"),
    ("require_same_table", "renamed"),
    ("require_same_schema", "columns"),
    ("require_lease", "expired-lease-fenced"),
    ("require_heartbeat", "stalled-writer"),
    ("require_reads_unchanged", "skew"),
    ("require_untouched", "early"),
    ("require_no_rival", "early"),
    ("require_no_restore", "restore-writer"),
)
"""Checks, and where each of them has to say no."""
NAMES = frozenset(name for name, _ in FIRES)
SECOND_LINE = {"require_older_targets": "snapshot after begin"}
"""Checks that nothing reaches while the others are there, and the mutant that they stop."""


def counting(check, fired):
    """Make a check that counts how often it says no: raises, or finds something."""

    def asked(*given, **more):
        try:
            found = check(*given, **more)
        except HudiError:
            fired[check.__name__] += 1
            raise
        fired[check.__name__] += bool(found)
        return found

    return asked


def until_fired(way, fired, name):
    """Search until the check has said no."""

    def search(begin, tally):
        for play in way(begin, tally):
            yield play
            if fired[name]:
                return

    return search


def watched(name, scenario):
    """Search a scenario until a check says no in it; give how often it did, and what was wrong."""
    fired = Counter()
    with ExitStack() as stack:
        for one in {*NAMES, *SECOND_LINE}:
            stack.enter_context(patch.object(commit, one, counting(getattr(commit, one), fired)))
        how = [until_fired(way, fired, name) for way in ways("pct3", "uniform", runs=RUNS)]
        found = hunt(scenarios()[scenario], *how)
    return fired[name], found.wrong


@pytest.mark.parametrize(("name", "scenario"), FIRES)
def test_a_check_says_no_in_some_schedule(name, scenario):
    times, wrong = watched(name, scenario)
    assert times
    assert wrong == []


@pytest.mark.parametrize("name", SECOND_LINE)
def test_a_second_line_stops_what_the_first_lets_through(name):
    mutant = next(one for one in MUTANTS if one.name == SECOND_LINE[name])
    with mutant.at_work():
        times, wrong = watched(name, mutant.scenario)
    assert times
    assert {text.partition(":")[0] for text in wrong} <= {"L1"}


def test_every_check_is_here():
    checks = {name for name in vars(commit) if name.startswith("require_")}
    assert checks - {"require_supported_mode", "require_single_writer"} == {*NAMES, *SECOND_LINE} - {"find_overlaps"}
