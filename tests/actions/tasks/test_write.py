from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.building import trip
from tests.filegroup.test_writer import TASK, keyed, next_task, spec_at

from pyhudi.actions.tasks.write import RowsKind, runs_by_bucket, status_batch, to_statuses, write_bucket
from pyhudi.engine.api import BUCKET, IS_MOVED
from pyhudi.filegroup.writer import WriteStatus, create_base_file
from pyhudi.kernels.merge import MergeSpec
from pyhudi.kernels.rules import Fill
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import InstantTime

INSTANT, NEXT = InstantTime("20260101000000001"), InstantTime("20260101000000002")


def batches_of(buckets, sizes):
    table = pa.table({BUCKET: pa.array(buckets, pa.int32()), "row": list(range(len(buckets)))})
    start = 0
    for size in sizes:
        yield from table.slice(start, size).to_batches() or table.schema.empty_table().to_batches()
        start += size
    yield from table.slice(start).to_batches()


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=30).map(sorted), st.lists(st.integers(0, 7), max_size=6))
def test_a_stream_is_cut_where_the_bucket_changes_however_it_is_batched(buckets, sizes):
    runs = [(bucket, rows["row"].to_pylist()) for bucket, rows in runs_by_bucket(batches_of(buckets, sizes))]
    assert [bucket for bucket, _ in runs] == sorted(set(buckets))
    assert [row for _, rows in runs for row in rows] == list(range(len(buckets)))
    assert all(buckets[row] == bucket for bucket, rows in runs for row in rows)


def test_one_bucket_is_given_before_the_next_batch_is_asked_for():
    asked = []

    def stream():
        for bucket in (0, 1, 2):
            asked.append(bucket)
            yield pa.record_batch({BUCKET: pa.array([bucket], pa.int32())})

    runs = runs_by_bucket(stream())
    assert next(runs)[0] == 0
    assert asked == [0, 1]


def test_statuses_survive_the_way_through_a_table():
    status = WriteStatus(
        partition="p",
        file_id="f",
        path="p/f",
        previous_instant="null",
        previous_name="",
        rows_count=3,
        size_bytes=2**40,
    )
    other = WriteStatus(partition="a", file_id="z", path="", previous_instant="1", previous_name="n")
    logs = [
        replace(other, path=f"a/.z_7.log.{version}_0-0-0", log_version=version, log_files=("x", "y"), is_new_group=True)
        for version in (2, 10)
    ]
    table = pa.Table.from_batches([status_batch(one) for one in (status, *reversed(logs), other)])
    assert to_statuses(table) == [other, *logs, status]


def test_rows_of_one_key_in_a_write_fill_each_other_and_the_stored_row():
    storage, merge = MemoryStorage(), MergeSpec(ordering=("ts",), is_event_time=True, fill=Fill.NULLS)
    stored = create_base_file(storage, spec_at(INSTANT), TASK, keyed(trip("a", ts=5, rider=None, fare=1.0)))
    given = keyed(trip("a", ts=2, rider="r", fare=2.0), trip("a", ts=3, rider=None, fare=None))
    given = given.append_column(IS_MOVED, pa.array([False, False]))
    write = replace(spec_at(NEXT), merge=merge)
    (status,) = write_bucket(storage, write, next_task(stored), given, RowsKind.UPSERT)
    (row,) = pq.read_table(storage.open_input(status.path)).to_pylist()
    assert (row["ts"], row["rider"], row["fare"], row["_hoodie_commit_time"]) == (5, "r", 1.0, NEXT)
