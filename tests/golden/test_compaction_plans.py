"""What a compaction takes: as of each plan that Apache Hudi made, ours makes the same one, names, order and metrics.

Its log compactions are not among them: it planned none in these tables.
"""

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.actions.compaction_plan import plan_compaction
from pyhudi.env import SystemEnv
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_plan
from pyhudi.timeline.codec import decode_compaction_plan
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.view import timeline_of

GOLDEN = [one for one in kept_tables() if one.script.name.startswith("mor_")]
PLANNED = {"mor_cleaned", "mor_compacted", "mor_compaction_inflight", "mor_compaction_requested"}
PENDING = [one for one in GOLDEN if one.script.name == "mor_compaction_requested"]


def opened(path):
    state = open_state(LocalStorage(str(path)), SystemEnv())
    return state, load_timeline(state)


def plans_of(path):
    """Return (instant, operations) of every compaction on the active timeline of which no file was cleaned since."""
    state, timeline = opened(path)
    found = []
    for one in timeline.instants:
        if one.action in {Action.COMMIT, Action.COMPACTION}:
            plan = Instant(requested_time=one.requested_time, action=Action.COMPACTION, state=State.REQUESTED)
            operations = decode_compaction_plan(read_plan(state, plan), plan.file_name)
            if all((path / each.partition / name).exists() for each in operations for name in each.logs):
                found.append((plan.requested_time, operations))
    return found


def as_of(path, time):
    """Return table and timeline as they were at a time; what was written later goes, as names do not always tell."""
    state, timeline = opened(path)
    for one in timeline.completed.values():
        if one.requested_time > time:
            for stat in [stat for stats in read_commit_metadata(state, one).stats.values() for stat in stats]:
                (path / stat.path).unlink(missing_ok=True)
    kept = [one for one in timeline.instants if (one.completion_time or one.requested_time) < time]
    return state, timeline_of(kept, timeline.layout, timeline.archive)


@pytest.mark.parametrize("golden", [one for one in GOLDEN if one.script.name in PLANNED], ids=lambda one: one.name)
def test_the_plan_made_as_of_each_plan_of_apache_hudi_is_the_same(tmp_path, golden):
    path = golden.unpack(tmp_path)
    plans = plans_of(path)
    assert plans
    for time, operations in reversed(plans):
        assert plan_compaction(*as_of(path, time), Settings.of({})) == tuple(operations), time


@pytest.mark.parametrize("golden", PENDING, ids=lambda one: one.name)
def test_nothing_is_planned_of_what_a_pending_compaction_takes(tmp_path, golden):
    assert plan_compaction(*opened(golden.unpack(tmp_path)), Settings.of({})) == ()
