"""Log compactions of what Apache Hudi wrote, and of logs that one has put together before."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.services.compacting import VERSIONS, base_files, call_of, log_files, rows_of, services_of, state_of
from tests.simulation.watching import deaths
from tests.txn.writing import leftovers

from pyhudi import create_table
from pyhudi.filegroup.log_scan import VisibleInstants, blocks_to_merge, log_blocks
from pyhudi.kernels.mergers import register_merger
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.services.compact.compact import compact_table
from pyhudi.services.compact.log_compact import LogCompaction, compact_logs_of_table, is_log_compaction_inline
from pyhudi.services.compact.plan import slices_with_logs
from pyhudi.services.due import run_due_services
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_plan
from pyhudi.timeline.codec import decode_plan
from pyhudi.timeline.instant import Action, Instant, State

ONE = {"hoodie.log.compaction.blocks.threshold": 1}
DUE = {
    "hoodie.log.compaction.enable": True,
    "hoodie.log.compaction.blocks.threshold": 1,
    "hoodie.clean.automatic": False,
}


def blocks_of(state):
    """Return (all blocks, those that are merged) of the newest slices."""
    timeline = load_timeline(state)
    index = file_index(state, timeline)
    found = slices_with_logs(index, index.partitions())
    seen = VisibleInstants.of(timeline, {})
    merged_of = lambda logs: blocks_to_merge(state.storage, logs, seen.counts, seen)  # noqa: E731
    everything = [block for one in found for _, block in log_blocks(state.storage, one.logs)]
    return everything, [block for one in found for block in merged_of(one.logs)]


@VERSIONS
def test_the_blocks_of_a_slice_become_one_that_stands_for_them(version):
    state = state_of(version)
    before, files = rows_of(state), base_files(state)
    read = {block.instant for block in blocks_of(state)[0]}
    done = compact_logs_of_table(call_of(state, **ONE))
    assert (done.file_groups, len(done.files)) == (2, 2)
    everything, merged = blocks_of(state)
    assert len(everything) == 4
    assert {block.instant for block in merged} == set(done.instants)
    assert {time for block in merged for time in block.compacted_instants} == read
    assert (rows_of(state), base_files(state)) == (before, files)
    assert leftovers(state) == []
    compact_table(call_of(state))
    assert rows_of(state) == rows_of(state, mode="read_optimized") == before


@VERSIONS
def test_what_was_put_together_is_left_until_more_comes(version):
    state = state_of(version)
    assert compact_logs_of_table(call_of(state, **ONE)).file_groups == 2
    assert compact_logs_of_table(call_of(state, **ONE)).instants == ()


@VERSIONS
def test_plan_and_commit_are_apache_hudi_s(version):
    state = state_of(version)
    [time] = compact_logs_of_table(call_of(state, **ONE)).instants
    requested = Instant(requested_time=time, action=Action.LOGCOMPACTION, state=State.REQUESTED)
    plan = decode_plan(read_plan(state, requested), "plan")
    assert plan["strategy"]["compactorClassName"].endswith("LogCompactionExecutionHelper")
    assert plan["preserveHoodieMetadata"] is True
    done = load_timeline(state).completed[time]
    said = read_commit_metadata(state, done)
    assert (done.action, said.operation, said.compacted) == (Action.DELTACOMMIT, "LOG_COMPACT", True)
    assert all(stat.is_log for stats in said.stats.values() for stat in stats)


@VERSIONS
def test_slices_with_few_blocks_are_left(version):
    state = state_of(version)
    assert compact_logs_of_table(call_of(state)).instants == ()
    assert compact_logs_of_table(call_of(state, **ONE), is_dry_run=True).file_groups == 2
    little = {"hoodie.memory.merge.max.size": 10}
    assert compact_logs_of_table(call_of(state, **ONE, **little), is_dry_run=True).file_groups == 0
    assert services_of(state) == []


@pytest.mark.parametrize("version", [8, 9])
def test_slices_with_partial_updates_are_left(version):
    state = state_of(version, "mor_partial_updates")
    assert any(block.is_partial for block in blocks_of(state)[1])
    assert compact_logs_of_table(call_of(state, **ONE), is_dry_run=True).file_groups == 0


@VERSIONS
def test_it_is_due_where_it_is_enabled_and_once_for_the_same_delta_commits(version):
    state = state_of(version)
    few = {"hoodie.compact.inline.max.delta.commits": 99}
    assert "log compaction" not in run_due_services(call_of(state, **few | {"hoodie.clean.automatic": False}))
    assert list(run_due_services(call_of(state, **DUE, **few))) == ["log compaction"]
    assert run_due_services(call_of(state, **DUE, **few)) == {}
    assert not LogCompaction().is_due(call_of(state, **few), load_timeline(state))


def test_writes_run_it_only_if_both_options_say_so():
    keys = ("hoodie.log.compaction.enable", "hoodie.log.compaction.inline")
    assert is_log_compaction_inline(Settings.of(dict.fromkeys(keys, True)))
    for key in keys:
        assert not is_log_compaction_inline(Settings.of({key: True}))


@VERSIONS
def test_a_process_that_dies_at_any_write_leaves_what_the_next_one_finishes(version):
    state = state_of(version)
    before, files = rows_of(state), len(log_files(state))
    found = deaths(Table(state), lambda table: compact_logs_of_table(call_of(table.state, **ONE)))
    for at, table in enumerate(found):
        assert rows_of(table.state) == before, at
        table.state.env.sleep(121)
        compact_logs_of_table(call_of(table.state, **ONE))
        assert rows_of(table.state) == before, at
        assert len(log_files(table.state)) == files + 2, at
    assert len(found) > 6


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("ordering", [[], ["ts"]], ids=["not ordered", "ordered"])
@pytest.mark.parametrize("deletes", [1, 2])
def test_a_row_behind_a_delete_does_not_meet_the_base_file_s_by_a_merger(tmp_path, version, ordering, deletes):
    """Log compaction keeps the delete beside the row, as a reader of all blocks would find it."""
    name = "adds up behind deletes"
    register_merger(name, lambda old, new: new.set_column(2, "n", pc.add(old["n"], new["n"])))
    table = create_table(
        str(tmp_path),
        pa.schema([("k", pa.string()), ("ts", pa.int64()), ("n", pa.int64())]),
        record_key="k",
        ordering=ordering,
        table_type="mor",
        table_version=version,
        options={"hoodie.write.record.merge.mode": "CUSTOM", "hoodie.write.record.merge.strategy.id": name},
    )
    table.upsert([{"k": key, "ts": 1, "n": 1} for key in "abc"])
    for _ in range(deletes):
        table.upsert([{"k": key, "ts": 2, "n": 10} for key in "ac"])
        table.delete(keys=["a", "b"])
        table.upsert([{"k": key, "ts": 3, "n": 5} for key in "ac"])
    expected = {"a": 5, "c": 1 + 15 * deletes}
    for act in (lambda: table.log_compact(options=ONE), table.compact):
        rows = table.scan(["k", "n"]).to_arrow()
        assert dict(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == expected
        assert act().instants
    rows = table.scan(["k", "n"]).to_arrow()
    assert dict(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == expected


@pytest.mark.parametrize("version", [8, 9])
def test_logs_that_have_keys_of_their_own_keep_the_names_that_tell_of_it(tmp_path, version):
    """Of a log compaction's file it could not be told any more that a compaction was planned before its rows came."""
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    table = create_table(str(tmp_path), schema, record_key="k", table_type="mor", table_version=version)
    table.upsert([{"k": key, "n": 1} for key in "ab"])
    table.delete(keys=["a"])
    table.compact(schedule=True)
    table.upsert([{"k": "a", "n": 2}])
    table.run_due_services(options={"hoodie.compact.inline.max.delta.commits": 5})
    table.upsert([{"k": "b", "n": 2}])
    assert table.log_compact(options=ONE).file_groups == 0
    result = table.upsert([{"k": "a", "n": 3}, {"k": "c", "n": 3}])
    assert (result.inserted, result.updated, table.count()) == (1, 1, 3)
    table.compact()
    table.upsert([{"k": "b", "n": 4}])
    assert table.log_compact(options=ONE).file_groups == 1
