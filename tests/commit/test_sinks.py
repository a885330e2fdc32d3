from dataclasses import replace

import pytest
from tests.building import TableBuilder, trip, trips

from pyhudi.commit.begin import begin_write
from pyhudi.commit.call import WriteCall
from pyhudi.commit.sinks import appends_of, stored_slices, stored_task
from pyhudi.commit.write_plan import Appends
from pyhudi.engine.local import LocalEngine
from pyhudi.filegroup.write_task import Sink
from pyhudi.options import Settings
from pyhudi.timeline.metadata import WriteOperation

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}


def begun(table_type, operation, options):
    """Return a write that looks at a table of one file group."""
    builder = TableBuilder(table_type)
    table = builder.create(options=options)
    table.upsert([trip("a")], options=options)
    engine = LocalEngine(table.state.storage)
    call = WriteCall(state=builder.reopen(table).state, settings=Settings.of(options), engine=engine, is_dry_run=True)
    return begin_write(call, engine.frame(trips(trip("b"))), operation)


@pytest.mark.parametrize(
    ("table_type", "options", "operation", "expected"),
    [
        ("cow", {}, WriteOperation.UPSERT, Appends.NOTHING),
        ("cow", BUCKETS, WriteOperation.UPSERT, Appends.NOTHING),
        ("mor", {}, WriteOperation.UPSERT, Appends.CHANGES),
        ("mor", BUCKETS, WriteOperation.UPSERT, Appends.EVERYTHING),
        ("mor", BUCKETS, WriteOperation.INSERT, Appends.EVERYTHING),
        ("mor", BUCKETS, WriteOperation.BULK_INSERT, Appends.CHANGES),
        ("mor", BUCKETS, WriteOperation.INSERT_OVERWRITE, Appends.CHANGES),
    ],
)
def test_what_goes_to_logs_is_told_by_the_table_its_index_and_the_operation(table_type, options, operation, expected):
    with begun(table_type, operation, options) as write:
        assert appends_of(write) is expected


@pytest.mark.parametrize(("table_type", "sink"), [("cow", Sink.BASE), ("mor", Sink.LOG)])
def test_stored_rows_are_changed_where_the_table_has_its_changes(table_type, sink):
    with begun(table_type, WriteOperation.UPSERT, {}) as write:
        (one,) = write.slices
        task = stored_task(write, one, 3)
        assert (task.base, task.sink, task.number, task.write_token) == (one.base, sink, 3, "3-0-0")
        assert task.base_instant == one.base_instant
        compacted = replace(write, closed={one.group: write.time})
        assert stored_task(compacted, one, 3).base_instant == write.time
        assert "_hoodie_record_key" in stored_slices(write).columns


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET", "GLOBAL_SIMPLE"])
def test_changes_beside_a_planned_compaction_stay(version, index):
    builder, options = TableBuilder("mor"), {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": 1}
    table = builder.create(version=version)
    table.upsert([trip("a"), trip("b")], options=options)
    table.upsert([trip("a", ts=2, fare=2.0)], options=options)
    builder.reopen(table).compact(schedule=True)
    table = builder.reopen(table)
    table.upsert([trip("a", ts=3, fare=3.0), trip("c")], options=options)
    table.delete(keys=["b"], options=options)
    table.update(set={"fare": "fare + 100"}, where="uuid = 'c'")
    assert builder.rows_of(table, "uuid", "fare") == [("a", 3.0), ("c", 101.0)]
    table.compact()
    assert builder.rows_of(builder.reopen(table), "uuid", "fare") == [("a", 3.0), ("c", 101.0)]
