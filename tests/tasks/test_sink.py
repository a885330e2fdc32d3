from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import TRIPS, trip
from tests.filegroup.test_writer import LAYOUT, TASK, keyed, spec_at

from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.filegroup.write_task import Sink, WriteStatus
from pyhudi.filegroup.writer import Rewritten, create_base_file
from pyhudi.formats.bitmap import decode_positions
from pyhudi.formats.log import HeaderKey, read_blocks
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.merge import MergeSpec
from pyhudi.kernels.rules import Fill, LogRule
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.state.layout import LAYOUTS
from pyhudi.storage.memory import MemoryStorage
from pyhudi.tasks.sink import change_stored, slice_of, with_inserts, write_changes
from pyhudi.timeline.instant import InstantTime

FIRST, SECOND, THIRD = (InstantTime(f"2026010100000000{number}") for number in (1, 2, 3))
BY_EVENT = MergeSpec(ordering=("ts",), is_event_time=True)
EVERYTHING = VisibleInstants(completed=frozenset(), hidden=frozenset(), first_write="9", until="", is_named=True)
READS = SliceSpec(
    layout=LAYOUT, merge=BY_EVENT, instants=EVERYTHING, columns=tuple(field.name for field in LAYOUT.file_schema)
)


def spec(instant):
    return replace(spec_at(instant), merge=BY_EVENT, logs=log_spec(Settings(), LAYOUTS[9], LAYOUT, "trips"))


def next_of(task, *statuses, sink=Sink.LOG):
    """Return the task that writes on top of files."""
    logs = [
        LogFile(
            partition=task.partition,
            file_id=task.file_id,
            instant=InstantTime(one.path.split("_")[1].split(".")[0]),
            version=one.log_version,
            write_token=task.write_token,
            suffix="",
            size_bytes=one.size_bytes,
        )
        for one in statuses
    ]
    return replace(task, sink=sink, logs=tuple(logs))


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def stored(storage):
    """Return the task of a file group with a base file, and a log that updates one of its two rows."""
    create_base_file(storage, spec(FIRST), TASK, keyed(trip("a", ts=1, fare=1.0), trip("b", ts=1, fare=1.0)))
    from tests.filegroup.test_writer import next_task

    task = replace(next_task(create_base_file(storage, spec(FIRST), TASK, keyed(trip("a")))), base_instant=FIRST)
    rows = keyed(trip("a", ts=5, fare=5.0))
    (log,) = write_changes(
        storage, spec(SECOND), replace(task, sink=Sink.LOG), RowChanges.of_rows(rows, rows["_hoodie_record_key"])
    )
    return next_of(task, log)


class Raising:
    """Change the ordering value of some keys, delete others, and add rows."""

    def __init__(self, ts=None, gone=(), rest=()):
        self.ts, self.gone, self.added = ts or {}, gone, rest

    def __call__(self, batch):
        keys = batch.column("_hoodie_record_key").to_pylist()
        values = [self.ts.get(key, old) for key, old in zip(keys, batch.column("ts").to_pylist(), strict=True)]
        changed = batch.set_column(batch.schema.get_field_index("ts"), "ts", pa.array(values, pa.int64()))
        is_updated, is_deleted = (np.array([key in names for key in keys]) for names in (self.ts, self.gone))
        return Rewritten(batch=changed, is_updated=is_updated, is_deleted=is_deleted)

    def rest(self):
        return keyed(*self.added) if self.added else with_meta_fields(TRIPS).empty_table()


class Emptying(Raising):
    """Takes the fare of the rows whose ordering value it raises."""

    def __call__(self, batch):
        raised = super().__call__(batch)
        emptied = raised.batch.to_pylist()
        for row in emptied:
            row["fare"] = None if row["uuid"] in self.ts else row["fare"]
        return replace(raised, batch=pa.RecordBatch.from_pylist(emptied, schema=batch.schema))


def change(storage, task, **said):
    return change_stored(storage, spec(THIRD), READS, task, lambda: Raising(**said))


def rows_of(storage, task):
    batches = read_slice(slice_of(task), storage=storage, spec=READS)
    return sorted((row["uuid"], row["ts"], row["fare"]) for batch in batches for row in batch.to_pylist())


def test_changes_of_merged_rows_go_to_a_log(storage, stored):
    (status,) = change(storage, stored, ts={"a": 7}, gone=("b",), rest=[trip("c", ts=1, fare=3.0)])
    assert status.log_version == 1
    assert (status.inserts_count, status.updates_count, status.deletes_count) == (1, 1, 1)
    after = replace(stored, logs=(*stored.logs, *next_of(stored, status).logs))
    assert rows_of(storage, after) == [("a", 7, 5.0), ("c", 1, 3.0)]


@pytest.mark.parametrize(("rest", "is_known"), [([], True), ([trip("z")], False)])
def test_rows_of_a_base_file_are_replaced_by_position_where_there_are_no_logs(storage, stored, rest, is_known):
    (status,) = change(storage, replace(stored, logs=()), ts={"b": 7}, rest=rest)
    size = storage.head(status.path).size_bytes
    (block,) = read_blocks(lambda start, length: storage.get_range(status.path, start, length), size)
    said = block.headers.get(HeaderKey.RECORD_POSITIONS)
    assert (said is not None) == is_known
    assert not is_known or decode_positions(said, 1).tolist() == [1]


def test_without_changes_nothing_is_written(storage, stored):
    before = set(storage._content.files)
    (status,) = change(storage, stored)
    assert (status.path, status.file_id) == ("", stored.file_id)
    assert set(storage._content.files) == before


def test_a_row_that_gets_older_makes_a_base_file_of_the_slice(storage, stored):
    (status,) = change(storage, stored, ts={"a": 2}, gone=("b",), rest=[trip("c", ts=1, fare=3.0)])
    assert (status.log_version, status.path.endswith(".parquet")) == (0, True)
    assert (status.inserts_count, status.updates_count, status.deletes_count) == (1, 1, 1)
    base = replace(stored.base, instant=THIRD, write_token=stored.write_token)
    assert rows_of(storage, replace(stored, base=base, logs=())) == [("a", 2, 5.0), ("c", 1, 3.0)]


def test_what_readers_of_a_log_would_not_see_makes_a_base_file(storage, stored):
    by_log = replace(BY_EVENT, is_event_time=False, log_rule=LogRule.PRECOMBINED)
    fills = replace(BY_EVENT, fill=Fill.NULLS)
    for merge, change_of in ((by_log, Raising(ts={"a": 2})), (fills, Emptying(ts={"a": 7}))):
        write, reads = replace(spec(THIRD), merge=merge), replace(READS, merge=merge)
        (status,) = change_stored(storage, write, reads, stored, lambda change_of=change_of: change_of)
        assert status.path.endswith(".parquet")
        storage.delete(status.path)


def test_new_rows_of_logs_are_counted_from_the_last_file():
    def logs(*rows):
        return [
            WriteStatus(
                partition="p", file_id="f", path=f"p/{n}", previous_instant="", previous_name="", updates_count=count
            )
            for n, count in enumerate(rows)
        ]

    found = with_inserts(logs(5, 2, 3), 4)
    assert [(one.inserts_count, one.updates_count) for one in found] == [(0, 5), (1, 1), (3, 0)]
