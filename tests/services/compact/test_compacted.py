"""What a plan is run with, and what is said of it; `test_compact` and `test_log_compact` hold whole runs."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.services.compacting import VERSIONS, base_files, call_of, rows_of, services_of, state_of

from pyhudi.actions.repair import repair_table
from pyhudi.errors import NotBuilt
from pyhudi.services.compact.compact import Compaction, compact_table
from pyhudi.services.compact.compacted import CompactionResult
from pyhudi.services.service import run_service, schedule_service
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action


def test_a_result_is_one_line_and_a_table_in_a_notebook():
    found = CompactionResult(instants=("1", "2"), files=("p/.f_1.log.1",), bytes=7, file_groups=1)
    assert str(found) == "compaction 1, 2: 1 file groups, 1 log files, 7 bytes"
    assert repr(found) == f"CompactionResult({found})"
    assert "log files" in found._repr_html_()


@VERSIONS
def test_a_table_whose_merge_rules_are_not_built_is_not_compacted(version):
    state = state_of(version)
    update_properties(state.storage, state.env, {"hoodie.table.partial.update.mode": "FILL_DEFAULTS"})
    with pytest.raises(NotBuilt, match="merge rules"):
        compact_table(call_of(open_state(state.storage, state.env)))
    assert services_of(state) == []


@VERSIONS
def test_a_file_that_another_program_left_of_the_plan_goes(version):
    state = state_of(version)
    before = rows_of(state)
    planned = schedule_service(call_of(state), Compaction())
    group, files = planned.plan[0], base_files(state)
    left = f"{group.partition}/{group.file_id}_7-7-7_{planned.instant.requested_time}.parquet"
    state.storage.put(left, b"half a file")
    compact_table(call_of(state))
    assert left not in base_files(state)
    assert len(base_files(state)) == len(files) + 2
    assert rows_of(state) == before


def test_at_version_6_a_delta_commit_of_a_dead_writer_is_rolled_back_first():
    state = state_of(6, "mor_delta_inflight")
    before = rows_of(state)
    deltas = [one for one in load_timeline(state).instants if one.action is Action.DELTACOMMIT]
    assert [one.is_completed for one in deltas].count(False) == 1
    assert len(compact_table(call_of(state)).instants) == 1
    assert [one for one in load_timeline(state).instants if not one.is_completed] == []
    assert rows_of(state) == rows_of(state, mode="read_optimized") == before


@VERSIONS
def test_a_partition_of_the_metadata_table_that_is_added_meanwhile_gets_what_was_compacted(version):
    state, options = (
        state_of(version),
        {"hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": False},
    )

    class Overtaken(Compaction):
        def run(self, call, instant, plan):
            done = super().run(call, instant, plan)
            repair_table(call, "column_stats")
            return done

    [_] = run_service(call_of(state, **options), Overtaken())
    after = open_state(state.storage, state.env)
    assert "column_stats" in after.config.metadata_partitions
    assert Table(after).check().ok
    assert len(Table(after).scan().plan.files) == 2
    assert Table(after).scan(filter="fare > 1000000").plan.files == ()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_is_only_planned_is_told_and_left_for_another_process(version):
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ")
    for ts in (1, 2):
        table.upsert([trip("a", ts=ts)], options=TINY_FILTERS)
    planned = table.compact(schedule=True)
    assert len(planned.instants) == 1
    assert [one.requested_time for one in table.timeline.instants if not one.is_completed] == list(planned.instants)
    assert table.compact(schedule=True).instants == (), "nothing is left to plan"
    assert table.compact().instants == planned.instants
