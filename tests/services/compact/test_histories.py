"""Compactions of tables that ours writes: inline, beside delta commits, and with cleaning and archiving."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip

from pyhudi.errors import WriteConflict
from pyhudi.services.compact import compact, log_compact
from pyhudi.timeline.instant import Action

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
OFF = {**TINY_FILTERS, "hoodie.clean.automatic": False}
INLINE = OFF | {"hoodie.compact.inline": True, "hoodie.compact.inline.max.delta.commits": 3}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}


@pytest.fixture
def builder():
    return TableBuilder()


def compactions(table):
    return [one for one in table.timeline.completed.values() if one.action is Action.COMMIT]


def put(table, number, **options):
    """Update one of two keys, add one, and delete one that was added before."""
    rows = [trip(f"k{number % 2}", ts=number, fare=float(number)), trip(f"n{number}", ts=number)]
    table.upsert(rows, options=OFF | options)
    if number % 3 == 2:
        table.delete(keys=[f"n{number - 1}"], options=OFF | options)


def expected(count):
    found = {f"n{number}": 1.0 for number in range(count)}
    for number in range(count):
        found[f"k{number % 2}"] = float(number)
        if number % 3 == 2:
            found.pop(f"n{number - 1}", None)
    return found


def fares(table, **how):
    return {row["uuid"]: row["fare"] for row in table.scan(**how).to_arrow().to_pylist()}


@VERSIONS
@pytest.mark.parametrize("index", [{}, BUCKETS], ids=["bloom", "bucket"])
def test_a_table_is_compacted_after_each_write_that_makes_it_due(builder, version, index):
    table = builder.create(version=version, table_type="mor")
    for number in range(9):
        put(table, number, **INLINE, **index)
        assert fares(table) == expected(number + 1)
    assert len(compactions(table)) >= 3
    table.compact()
    assert fares(table, mode="read_optimized") == fares(table) == expected(9)


@VERSIONS
def test_a_write_may_only_plan_and_another_process_runs_it(builder, version):
    table = builder.create(version=version, table_type="mor")
    how = OFF | {"hoodie.compact.schedule.inline": True, "hoodie.compact.inline.max.delta.commits": 3}
    for number in range(5):
        put(table, number, **how)
    assert compactions(table) == []
    [waiting] = [one for one in table.timeline.instants if not one.is_completed]
    assert waiting.action is Action.COMPACTION
    assert fares(table) == expected(5)
    assert waiting.requested_time in builder.reopen(table).run_due_services(options=how)["compaction"]
    assert fares(table) == expected(5)


@VERSIONS
@pytest.mark.parametrize("index", [{}, BUCKETS], ids=["bloom", "bucket"])
def test_what_is_written_while_a_compaction_runs_is_in_the_next_slice(builder, version, index, monkeypatch):
    table = builder.create(version=version, table_type="mor")
    for number in range(3):
        put(table, number, **index)
    run = compact.Compaction.run

    def meanwhile(self, call, instant, plan):
        put(builder.reopen(table), 3, **index)
        done = run(self, call, instant, plan)
        put(builder.reopen(table), 4, **index)
        return done

    monkeypatch.setattr(compact.Compaction, "run", meanwhile)
    assert len(table.compact().instants) == 1
    assert fares(table) == expected(5)
    monkeypatch.undo()
    table.compact()
    assert fares(table) == fares(table, mode="read_optimized") == expected(5)


@VERSIONS
def test_cleaning_and_archiving_keep_what_slices_with_logs_need(builder, version):
    table = builder.create(version=version, table_type="mor")
    how = INLINE | {
        "hoodie.clean.automatic": True,
        "hoodie.clean.commits.retained": 2,
        "hoodie.keep.min.commits": 4,
        "hoodie.keep.max.commits": 6,
    }
    for number in range(24):
        put(table, number, **how)
        assert fares(table) == expected(number + 1)
    assert table.archive(dry_run=True).instants == ()
    logs = [one.path for one in table.state.storage.list("") if ".log." in one.path and ".hoodie" not in one.path]
    assert len(logs) < 24
    assert len(table.timeline.completed) < 20


@VERSIONS
@pytest.mark.parametrize("index", [{}, BUCKETS], ids=["bloom", "bucket"])
@pytest.mark.parametrize("service", ["compact", "log_compact"])
def test_a_slice_whose_rows_are_all_deleted_is_compacted_and_written_on(builder, version, index, service):
    table = builder.create(version=version, table_type="mor", partition_by=["city"])
    how = OFF | index | {"hoodie.log.compaction.blocks.threshold": 1}
    keys = [f"k{number}" for number in range(4)]
    table.upsert([trip(key, city="sf") for key in keys] + [trip("other", city="rio")], options=how)
    for number in range(2):
        table.upsert([trip(key, city="sf", ts=number + 1) for key in keys], options=how)
    table.delete([trip(key, city="sf") for key in keys], options=how)
    assert getattr(table, service)(options=how).instants
    for _ in range(2):
        assert fares(table) == {"other": 1.0}
        assert fares(table, filter="ts > 1") == fares(table, filter="city = 'sf'") == {}
        assert table.check().ok
        table.compact(options=how)
    assert fares(table, mode="read_optimized") == {"other": 1.0}
    table.upsert([trip("k1", city="sf", fare=5.0)], options=how)
    assert fares(table) == {"other": 1.0, "k1": 5.0}
    table.compact(options=how)
    assert fares(table, mode="read_optimized") == {"other": 1.0, "k1": 5.0}
    assert table.check().ok


@VERSIONS
def test_logs_are_put_together_inline_and_then_compacted(builder, version):
    table = builder.create(version=version, table_type="mor")
    how = {"hoodie.log.compaction.enable": True, "hoodie.log.compaction.inline": True}
    how |= {"hoodie.log.compaction.blocks.threshold": 2}
    for number in range(8):
        put(table, number, **how)
        assert fares(table) == expected(number + 1)
    commits = table.history()["operation"].to_pylist()
    assert "log_compact" in [str(one).lower() for one in commits]
    table.compact()
    assert fares(table) == fares(table, mode="read_optimized") == expected(8)


@VERSIONS
def test_a_write_that_began_before_a_log_compaction_was_planned_does_not_lose_its_rows(builder, version, monkeypatch):
    table = builder.create(version=version, table_type="mor")
    for number in range(3):
        put(table, number)
    run = log_compact.LogCompaction.run

    def meanwhile(self, call, instant, plan):
        try:
            put(builder.reopen(table), 3)
        except WriteConflict:
            pytest.fail("a write that begins later only appends")
        return run(self, call, instant, plan)

    monkeypatch.setattr(log_compact.LogCompaction, "run", meanwhile)
    table.log_compact(options={"hoodie.log.compaction.blocks.threshold": 1})
    assert fares(table) == expected(4)
