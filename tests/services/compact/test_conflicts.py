"""Compactions whose file groups are replaced, compacted or written to by others before they are committed."""

from dataclasses import dataclass

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.services.compacting import VERSIONS, base_files, call_of, log_files, rows_of, services_of, state_of
from tests.txn.writing import leftovers

from pyhudi.errors import WriteConflict
from pyhudi.services.compact import plan as compaction_plan
from pyhudi.services.compact.compact import Compaction, compact_table
from pyhudi.services.compact.log_compact import LogCompaction, compact_logs_of_table
from pyhudi.services.service import run_service, schedule_service
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.txn.conflicts import Resolution

ONE = {"hoodie.log.compaction.blocks.threshold": 1}
SERVICES = pytest.mark.parametrize(
    ("service", "run"), [(Compaction, compact_table), (LogCompaction, compact_logs_of_table)]
)
YIELDS = {"hoodie.write.lock.conflict.resolution.strategy": Resolution.PREFER_WRITER}


def drop(state, *partitions):
    """Replace file groups that a service has planned, as a writer does that comes before table services."""
    Table(state).delete_partitions([*partitions], options=YIELDS)


def stats_of(state, instant):
    said = read_commit_metadata(state, load_timeline(state).completed[instant])
    return {stat.partition_path for stats in said.stats.values() for stat in stats}


def files_of(state):
    return base_files(state) + log_files(state)


@VERSIONS
@SERVICES
def test_groups_that_were_replaced_since_the_plan_are_left_out(version, service, run):
    state = state_of(version)
    planned = schedule_service(call_of(state, **ONE), service())
    assert {one.partition for one in planned.plan} == {"city=sf", "city=rio"}
    drop(state, "city=sf")
    before = rows_of(state)
    done = run(call_of(state, **ONE))
    assert done.instants == (planned.instant.requested_time,)
    assert stats_of(state, done.instants[0]) == {"city=rio"}
    assert (rows_of(state), leftovers(state)) == (before, [])


@VERSIONS
@SERVICES
def test_a_plan_goes_on_where_the_files_of_a_replaced_group_were_cleaned(version, service, run):
    state = state_of(version)
    schedule_service(call_of(state, **ONE), service())
    drop(state, "city=sf")
    before = rows_of(state)
    for path in [path for path in files_of(state) if path.startswith("city=sf/")]:
        state.storage.delete(path)
    assert len(run(call_of(state, **ONE)).instants) == 1
    assert rows_of(state) == before


@VERSIONS
@SERVICES
def test_groups_that_are_replaced_while_a_service_runs_leave_no_file_of_it(version, service, run):
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Overtaken(service):
        def run(self, call, instant, plan):
            done = service.run(self, call, instant, plan)
            drop(state, "city=sf")
            return done

    state = state_of(version)
    files = {path for path in files_of(state) if path.startswith("city=sf/")}
    [done] = run_service(call_of(state, **ONE), Overtaken())
    assert stats_of(state, done.instant.requested_time) == {"city=rio"}
    assert {path for path in files_of(state) if path.startswith("city=sf/")} == files
    assert leftovers(state) == []
    assert Table(state).check().ok


@VERSIONS
@SERVICES
def test_a_plan_of_which_nothing_is_left_conflicts_and_goes(version, service, run):
    state = state_of(version)
    planned = schedule_service(call_of(state, **ONE), service())
    drop(state, "city=sf", "city=rio")
    before, files = rows_of(state), files_of(state)
    with pytest.raises(WriteConflict, match="replaced or compacted") as raised:
        run(call_of(state, **ONE))
    assert raised.value.values["instant"] == planned.instant.requested_time
    assert len(raised.value.values["file_groups"]) == 2
    assert services_of(state) == [("replacecommit", "completed")]
    assert (rows_of(state), files_of(state), leftovers(state)) == (before, files, [])
    assert run(call_of(state, **ONE)).instants == ()


def compact_regardless(state, monkeypatch):
    """Compact as a program does that does not look at what others have planned."""
    with monkeypatch.context() as patched:
        patched.setattr(compaction_plan, "planned_groups", lambda state, timeline: {})
        return compact_table(call_of(state))


@VERSIONS
def test_a_log_compaction_does_not_bring_back_what_was_changed_before_another_program_compacted(version, monkeypatch):
    state = state_of(version)
    schedule_service(call_of(state, **ONE), LogCompaction())
    table = Table(state)
    table.update(set={"fare": "-1.0"}, where="city = 'sf'", options=YIELDS)
    before = rows_of(state)
    compact_regardless(state, monkeypatch)
    with pytest.raises(WriteConflict, match="replaced or compacted"):
        compact_logs_of_table(call_of(state, **ONE))
    assert rows_of(state) == rows_of(state, mode="read_optimized") == before
    assert services_of(state) == [("commit", "completed")]
    assert leftovers(state) == []


@VERSIONS
def test_a_log_compaction_that_died_leaves_nothing_that_counts_nor_stays_once_its_plan_goes(version):
    for name in ("open_output", "put"):
        state = state_of(version)
        before, files = rows_of(state), files_of(state)
        crash = Fault(kind=FaultKind.CRASH_AFTER, operations=frozenset({name}), at=2 if name == "put" else 1)
        with pytest.raises(SimulatedCrash):
            compact_logs_of_table(call_of(state, FaultyStorage(state.storage, plan=[crash]), **ONE))
        assert rows_of(state) == before
        state.env.sleep(121)
        drop(state, "city=sf", "city=rio")
        with pytest.raises(WriteConflict):
            compact_logs_of_table(call_of(state, **ONE))
        assert (files_of(state), leftovers(state)) == (files, [])
