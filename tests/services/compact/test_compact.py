"""Compactions of what Apache Hudi wrote: whatever step is the last of a process, rows stay, and the next goes on."""

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.golden.catalogue import spelled
from tests.services.compacting import VERSIONS, base_files, call_of, path_of, rows_of, services_of, state_of
from tests.simulation.watching import deaths
from tests.txn.writing import leftovers

from pyhudi.errors import CorruptData, OptionError, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import FILE_NAME
from pyhudi.services.compact.compact import Compaction, compact_table, is_compaction_inline
from pyhudi.services.due import run_due_services
from pyhudi.services.service import schedule_service
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.instant import Action


@VERSIONS
def test_a_compaction_leaves_rows_as_they_are_and_one_new_base_file_a_group(version):
    state = state_of(version)
    before, files = rows_of(state), base_files(state)
    done = compact_table(call_of(state))
    assert (done.file_groups, len(done.files)) == (2, 2)
    assert rows_of(state) == rows_of(state, mode="read_optimized") == before
    assert len(base_files(state)) == len(files) + 2
    assert services_of(state) == [("commit", "completed")]
    assert leftovers(state) == []


@VERSIONS
def test_a_stat_says_what_was_merged_as_apache_hudi_does(version):
    state = state_of(version)
    [instant] = compact_table(call_of(state)).instants
    said = read_commit_metadata(state, load_timeline(state).completed[instant])
    stats = {stat.partition_path: stat for found in said.stats.values() for stat in found}
    assert said.extra["schema"]
    updated, deleted = stats["city=sf"], stats["city=rio"]
    counts = ("num_writes", "num_update_writes", "num_deletes", "num_inserts", "total_updated_records_compacted")
    assert [getattr(updated, name) for name in counts] == [1, 1, 0, 0, 1]
    assert [getattr(deleted, name) for name in counts] == [1, 0, 1, 0, 1]
    for stat in stats.values():
        assert version == 6 or stat.prev_base_file.split("_")[-1] == f"{stat.prev_commit}.parquet"
        assert stat.total_log_files_compacted == 1
        assert stat.total_log_size_compacted > 500
        assert stat.file_size_in_bytes == state.storage.head(stat.path).size_bytes


@pytest.mark.everyday
@VERSIONS
def test_a_process_that_dies_at_any_write_leaves_what_the_next_one_finishes(version):
    state = state_of(version)
    before, files = rows_of(state), len(base_files(state))
    found = deaths(Table(state), lambda table: compact_table(call_of(table.state)))
    for at, table in enumerate(found):
        assert rows_of(table.state) == before, at
        table.state.env.sleep(121)
        compact_table(call_of(table.state))
        assert services_of(table.state) == [("commit", "completed")], at
        assert rows_of(table.state) == rows_of(table.state, mode="read_optimized") == before
        assert len(base_files(table.state)) == files + 2, at
    assert len(found) > 6


@VERSIONS
def test_a_failure_gives_the_plan_back_and_leaves_no_file(version):
    state = state_of(version)
    before, files = rows_of(state), base_files(state)
    fault = Fault(kind=FaultKind.ERROR_BEFORE, path="city=sf/*", operations=frozenset({"open_output"}))
    with pytest.raises(StorageUnavailable):
        compact_table(call_of(state, FaultyStorage(state.storage, plan=[fault])))
    assert services_of(state) == [("compaction", "requested")]
    assert (base_files(state), leftovers(state), rows_of(state)) == (files, [], before)
    assert len(compact_table(call_of(state)).instants) == 1
    assert rows_of(state, mode="read_optimized") == before


@VERSIONS
def test_a_plan_whose_log_is_gone_is_not_run(version):
    state = state_of(version)
    planned = schedule_service(call_of(state), Compaction())
    state.storage.delete(path_of(planned.plan[0]))
    with pytest.raises(CorruptData, match="planned compaction is gone"):
        compact_table(call_of(state))
    assert services_of(state) == [("compaction", "requested")]


@pytest.mark.parametrize("version", [8, 9])
def test_a_log_that_was_rolled_back_since_is_left_out(version):
    state = state_of(version)
    table = Table(state)
    planned = schedule_service(call_of(state), Compaction())
    path = path_of(planned.plan[0])
    instant = path.rsplit("/", 1)[-1].split("_")[1].split(".")[0]
    state.storage.delete(path)
    for name in state.storage.list_names(state.layout.timeline_path):
        if name.startswith(instant):
            state.storage.delete(f"{state.layout.timeline_path}/{name}")
    without = spelled(table.scan(meta=True).to_arrow().drop_columns([FILE_NAME]))
    assert len(compact_table(call_of(state)).instants) == 1
    assert rows_of(state) == without


@VERSIONS
def test_a_compaction_is_due_by_its_trigger_and_run_by_a_process_of_its_own(version):
    state = state_of(version)
    few = {"hoodie.compact.inline.max.delta.commits": 3, "hoodie.clean.automatic": False}
    deltas = sum(one.action is Action.DELTACOMMIT for one in load_timeline(state).completed.values())
    assert deltas == 3
    assert run_due_services(call_of(state, **few | {"hoodie.compact.inline.max.delta.commits": 4})) == {}
    done = run_due_services(call_of(state, **few))
    assert list(done) == ["compaction"]
    assert services_of(state) == [("commit", "completed")]
    assert run_due_services(call_of(state, **few)) == {}


def test_a_table_without_logs_has_nothing_to_compact():
    state = state_of(9, "cow_plain")
    assert compact_table(call_of(state)).instants == ()
    assert not Compaction().is_due(call_of(state), load_timeline(state))


def test_to_run_in_writes_and_only_to_plan_there_contradict_each_other():
    keys = ("hoodie.compact.inline", "hoodie.compact.schedule.inline")
    assert is_compaction_inline(Settings.of({keys[0]: True})) == (True, False)
    assert is_compaction_inline(Settings.of({keys[1]: True})) == (False, True)
    with pytest.raises(OptionError, match="choose one"):
        is_compaction_inline(Settings.of(dict.fromkeys(keys, True)))
