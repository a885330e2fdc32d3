"""Copies of what Apache Hudi wrote are compacted by ours: the same rows, in base files only, and its plans are run."""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.writing import Later

from pyhudi.errors import NotBuilt
from pyhudi.schema.meta_fields import FILE_NAME
from pyhudi.table import open_table
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action, State

MERGED = [one for one in kept_tables() if one.script.name.startswith("mor_")]
NOT_WRITTEN = ("mor_cdc_",)
REFUSED = [one for one in MERGED if one.script.name.startswith(NOT_WRITTEN)]
GOLDEN = [one for one in MERGED if one not in REFUSED]
NOT_FOLDED = ("mor_partial_payload", "mor_fills", "mor_kept_values", "mor_postgres_debezium")
"""Cells of their log rows are filled by the base file, which a log compaction does not read."""
FOLDED = [one for one in GOLDEN if not one.script.name.startswith(NOT_FOLDED)]
LOGS = [one for one in GOLDEN if one.script.name in {"mor_logs", "mor_log_only"}]


def rows_of(table, **how):
    rows = table.scan(meta=True, **how).to_arrow()
    return spelled(rows.drop_columns([FILE_NAME]))


def logs_of(table):
    """Return the log files that a reader of the newest rows merges."""
    return [log.path for one in table.inspect.file_slices().to_pylist() for log in one.get("logs") or ()]


def pending(table):
    return [one for one in table.timeline.instants if one.action is Action.COMPACTION and not one.is_completed]


def compacted(golden, path):
    """Compact a copy; give the table and its rows before, or skip one that ours does not read."""
    table = open_table(str(path), env=Later())
    try:
        before = rows_of(table)
    except NotBuilt as error:
        pytest.skip(f"not read yet: {error}")
    if any(one.action is Action.LOGCOMPACTION for one in table.timeline.instants):
        assert table.compact(dry_run=True).files == (), "its file groups are taken"
        table.log_compact()
    planned = {one.requested_time for one in pending(table)}
    done = table.compact()
    assert planned <= set(done.instants)
    return table, before, done


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda one: one.name)
def test_rows_stay_as_they_are_and_are_in_base_files_afterwards(tmp_path, golden):
    path = golden.unpack(tmp_path)
    table, before, done = compacted(golden, path)
    reopened = open_table(str(path), env=Later())
    assert rows_of(reopened) == before
    assert rows_of(reopened, mode="read_optimized") == before
    assert pending(reopened) == []
    assert table.schema == reopened.schema
    assert reopened.compact().instants == (), "nothing is left to compact"
    for time in done.instants:
        said = read_commit_metadata(reopened.state, reopened.timeline.completed[time])
        assert (said.operation, said.compacted) == ("COMPACT", True)
        written = {str(one.relative_to(path)) for one in path.rglob(f"*_{time}.parquet")}
        assert written == {stat.path for stats in said.stats.values() for stat in stats}


@pytest.mark.parametrize("golden", LOGS, ids=lambda one: one.name)
def test_what_is_only_planned_is_read_as_before_and_run_later_as_it_was_planned(tmp_path, golden):
    path = golden.unpack(tmp_path)
    table = open_table(str(path), env=Later())
    before = rows_of(table)
    shown = table.compact(dry_run=True)
    assert pending(table) == []
    planned = table.compact(schedule=True)
    assert (planned.files, planned.bytes) == (shown.files, shown.bytes)
    [waiting] = pending(table)
    assert waiting.state is State.REQUESTED
    assert rows_of(table) == before
    assert table.compact(dry_run=True).files == (), "its file groups are taken"
    done = table.compact()
    assert (done.instants, done.files) == (planned.instants, planned.files)
    assert rows_of(table) == before
    assert rows_of(table, mode="read_optimized") == before


@pytest.mark.parametrize("golden", [one for one in GOLDEN if one not in FOLDED], ids=lambda one: one.name)
def test_logs_whose_cells_the_base_file_fills_are_not_put_together(tmp_path, golden):
    table = open_table(str(golden.unpack(tmp_path)), env=Later())
    with pytest.raises(NotBuilt, match="merge rules"):
        table.log_compact(options={"hoodie.log.compaction.blocks.threshold": 1})


@pytest.mark.parametrize("golden", FOLDED, ids=lambda one: one.name)
def test_logs_put_together_give_the_same_rows_and_so_do_they_compacted(tmp_path, golden):
    path = golden.unpack(tmp_path)
    table = open_table(str(path), env=Later())
    try:
        before = rows_of(table)
    except NotBuilt as error:
        pytest.skip(f"not read yet: {error}")
    one = {"hoodie.log.compaction.blocks.threshold": 1}
    done = table.log_compact(options=one)
    for time in done.instants:
        said = read_commit_metadata(table.state, table.timeline.completed[time])
        assert (said.operation, said.compacted) == ("LOG_COMPACT", True)
        assert table.timeline.completed[time].action is Action.DELTACOMMIT
    assert rows_of(table) == before
    assert open_table(str(path), env=Later()).compact().file_groups >= done.file_groups
    assert rows_of(table) == rows_of(table, mode="read_optimized") == before


@pytest.mark.parametrize("golden", REFUSED, ids=lambda one: one.name)
def test_a_table_that_is_not_written_is_not_compacted(tmp_path, golden):
    table = open_table(str(golden.unpack(tmp_path)), env=Later())
    for compact in (table.compact, table.log_compact):
        with pytest.raises(NotBuilt, match="change data capture"):
            compact(options={"hoodie.log.compaction.blocks.threshold": 1})
    assert all(one.is_completed for one in table.timeline.instants)
