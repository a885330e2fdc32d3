"""What a compaction takes: as of each plan that Apache Hudi made, ours makes the same one, names, order and metrics."""

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.env import SystemEnv
from pyhudi.options import Settings
from pyhudi.services.compact.log_compact import LogCompaction
from pyhudi.services.compact.plan import plan_compaction
from pyhudi.services.service import service_call
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_plan
from pyhudi.timeline.codec import decode_compaction_plan, decode_plan, encode_compaction_plan
from pyhudi.timeline.instant import Action, Instant, State, parse_name
from pyhudi.timeline.view import timeline_of

GOLDEN = [one for one in kept_tables() if one.script.name.startswith("mor_")]
PLANNED = {"mor_cleaned", "mor_compacted", "mor_compaction_inflight", "mor_compaction_requested"}
LOGS = [one for one in GOLDEN if one.script.name in {"mor_log_compacted", "mor_log_compaction_inflight"}]
PENDING = [one for one in GOLDEN if one.script.name == "mor_compaction_requested"]


def opened(path):
    state = open_state(LocalStorage(str(path)), SystemEnv())
    return state, load_timeline(state)


def plans_of(path, action=Action.COMPACTION):
    """Return (instant, operations) of every compaction on the active timeline of which no file was cleaned since."""
    state, _ = opened(path)
    found = []
    for name in sorted(state.storage.list_names(state.layout.timeline_path)):
        plan = parse_name(name)
        if plan is not None and plan.action is action and plan.state is State.REQUESTED:
            operations = decode_compaction_plan(read_plan(state, plan), name)
            if all((path / each.partition / log).exists() for each in operations for log in each.logs):
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


@pytest.mark.parametrize("golden", LOGS, ids=lambda one: one.name)
def test_so_are_plans_of_log_compactions_but_for_what_one_has_put_together_already(tmp_path, golden):
    path = golden.unpack(tmp_path)
    state, _ = opened(path)
    plans = plans_of(path, Action.LOGCOMPACTION)
    assert plans
    for time, operations in reversed(plans):
        stored = Instant(requested_time=time, action=Action.LOGCOMPACTION, state=State.REQUESTED)
        theirs = decode_plan(read_plan(state, stored), time)
        ours = decode_plan(encode_compaction_plan(operations, bytes(16), is_log_compaction=True), time)
        known = theirs.keys() - {"extraMetadata"}
        assert {name: ours[name] for name in known} == {name: theirs[name] for name in known}
        if golden.version == 6:
            continue  # names do not tell which logs were there
        call = service_call(state, Settings.of({"hoodie.log.compaction.blocks.threshold": 1}))
        planned = LogCompaction().plan(call, as_of(path, time)[1]) or ()
        assert all(one in operations for one in planned), time
    assert golden.version == 6 or planned, "of the first plan, before which nothing was put together"


@pytest.mark.parametrize("golden", PENDING, ids=lambda one: one.name)
def test_nothing_is_planned_of_what_a_pending_compaction_takes(tmp_path, golden):
    assert plan_compaction(*opened(golden.unpack(tmp_path)), Settings.of({})) == ()
