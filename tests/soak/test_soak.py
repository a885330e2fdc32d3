"""Real processes on real files, killed and troubled: nothing acknowledged is lost, nothing is there twice."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests import figures
from tests.amounts import amount
from tests.building import trip
from tests.soak.__main__ import SHORT_LIVES
from tests.soak.actors import ACTORS, COUNTERS, Place, meaning
from tests.soak.judging import Journal, difference, judged, require_told
from tests.soak.killing import kill_writers
from tests.soak.running import new_table

from pyhudi.errors import CorruptData, InternalError, StorageFull, WriteConflict

ROOT = Path(__file__).resolve().parents[2]
SEED = os.environ.get("PYHUDI_SEED") or str(random.SystemRandom().randrange(10**6))


@pytest.fixture(autouse=True)
def _told_seed():
    """Print what repeats the choices; the system's own scheduling no seed repeats."""
    print(f"PYHUDI_SEED={SEED}")


@pytest.mark.all
@pytest.mark.timeout(1800)
def test_troubled_processes_lose_nothing():
    commits = amount(30, 200, 200)
    asked = ["--on", "local,mor", "--commits", str(commits), "--processes", "4", "--minutes", "20", "--seed", SEED]
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", *asked], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    counted = {line[8:].strip(): int(line[:8]) for line in done.stdout.splitlines() if line[:8].strip().isdigit()}
    tally = Counter(counted)  # chance may leave a trouble out
    assert tally["commits"] >= commits
    assert tally["reader read"] > 10
    assert tally["kill -9"] + tally["stands still"] + tally["disk full"] > 3


@pytest.mark.timeout(3600)
def test_killed_writers_leave_what_was_acknowledged(tmp_path):
    kills = amount(8, 50, 1_000)
    pending = kill_writers(tmp_path, kills, SEED)
    assert pending > kills // 10, "hardly any writer died in the middle of a write"
    figures.count("real SIGKILL recoveries", kills)
    figures.count("of them in the middle of a write", pending)


# what judges can fail


@pytest.fixture
def place(tmp_path):
    return Place(path=str(tmp_path / "trips"))


def told(*ends):
    journal = Journal()
    for end in ends:
        journal.add(*end)
    return journal


HISTORY = [({"token": "a"}, "1"), ({"token": "b"}, "2")]


def test_what_was_told_has_to_be_true():
    require_told(told(("ok", "a", "1"), ("unknown", "b", ""), ("WriteConflict", "c", "")), HISTORY)
    for wrong in (told(("ok", "c", "3")), told(("ok", "a", "2")), told(("WriteConflict", "b", ""))):
        with pytest.raises(AssertionError):
            require_told(wrong, HISTORY)
    with pytest.raises(AssertionError, match="twice"):
        require_told(told(), [*HISTORY, ({"token": "a"}, "3")])


def test_rows_that_no_commit_explains_are_seen(place):
    first = new_table(place)
    assert judged(place, told(), first) == 0
    with pytest.raises(AssertionError, match="count-p0"):
        judged(place, told(), {**first, ("count-p0", "p0"): 1.0})


def test_a_log_compaction_of_a_keeper_that_died_is_no_fault(tmp_path):
    place = Place(path=str(tmp_path / "trips"), table_type="mor", options=SHORT_LIVES)
    rows = new_table(place)
    for _ in range(2):
        place.table().upsert([trip(key, city, fare=1.0, ts=2) for key, city in COUNTERS], options=place.asked)
    assert place.table().log_compact(options=place.asked, schedule=True).instants
    assert judged(place, told(), dict.fromkeys(rows, 1.0)) == 0


def test_what_commits_mean():
    rows = {("count-p0", "p0"): 1.0, ("count-p1", "p1"): 1.0}
    added = meaning(rows, {"verb": "add", "key": "k", "pair": ("p0", "p1"), "fare": 5.0})
    assert difference(added, rows) == {("k", "p0"): (5.0, None), ("k", "p1"): (5.0, None)}
    assert meaning(added, {"verb": "drop", "key": "k", "pair": ("p0", "p1"), "fare": 0.0}) == rows
    assert set(meaning(rows, {"verb": "count", "key": "", "pair": ("p0", "p1"), "fare": 0.0}).values()) == {2.0}


class OneRound:
    """A wire that says stop after one round, a place and its table: whatever is asked of it fails."""

    def __init__(self, error):
        self.error, self.polled, self.told, self.asked, self.sway_ms = error, [], [], {}, 0

    def poll(self, pause_s=0):
        self.polled.append(pause_s)
        return len(self.polled) > 1

    def send(self, told):
        self.told.append(told[0])

    def table(self, env=None):
        return self

    def fail(self, *asked, **said):
        raise self.error

    run_due_services = upsert = update = scan = fail


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("kind", [CorruptData, InternalError, StorageFull, WriteConflict])
def test_an_actor_may_lose_against_others_but_finds_nothing_corrupt(actor, kind):
    every = OneRound(kind("a file is cut"))
    ACTORS[actor](every, f"{actor}1", every)
    [told] = every.told
    assert told.startswith("wrong: ") is (kind in {CorruptData, InternalError})
    assert kind.__name__ in told
