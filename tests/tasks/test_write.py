from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.filegroup.test_writer import LAYOUT, TASK, keyed, next_task, spec_at

from pyhudi.engine.api import BASE_ROW, BUCKET, IS_MOVED, Attempt
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.write_task import Sink, WriteStatus
from pyhudi.filegroup.writer import create_base_file
from pyhudi.formats.bitmap import decode_positions
from pyhudi.formats.log import HeaderKey, read_blocks
from pyhudi.kernels.merge import MergeSpec
from pyhudi.kernels.rules import Fill
from pyhudi.options import Settings
from pyhudi.state.layout import LAYOUTS
from pyhudi.storage.memory import MemoryStorage
from pyhudi.tasks import write
from pyhudi.tasks.write import RowsKind, status_batch, to_statuses, write_bucket, write_buckets
from pyhudi.timeline.instant import InstantTime

INSTANT, NEXT = InstantTime("20260101000000001"), InstantTime("20260101000000002")


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


LOGGED = [
    ({"hoodie.index.type": "SIMPLE"}, True),
    ({"hoodie.index.type": "BLOOM"}, True),
    ({"hoodie.index.type": "GLOBAL_SIMPLE"}, True),
    ({"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}, False),
    ({"hoodie.write.record.positions": False}, False),
]


@pytest.mark.parametrize(("options", "is_known"), LOGGED)
@pytest.mark.parametrize("verb", ["upsert", "delete"])
def test_a_log_block_says_which_rows_of_the_base_file_it_replaces(version, options, is_known, verb):
    table = TableBuilder("mor").create(version=version, options=options if "hoodie.index.type" in options else None)
    table.bulk_insert([trip(key) for key in "abcde"], options={**TINY_FILTERS, **options})
    [base] = table.scan().plan.files
    if verb == "upsert":
        table.upsert([trip("d", ts=2), trip("b", ts=2)], options=options)
    else:
        table.delete([trip("d"), trip("b")], options=options)
    stored = pq.read_table(pa.BufferReader(table.state.storage.get(base.path)))["uuid"].to_pylist()
    [one] = table.scan().plan.merged
    [[_, block]] = log_blocks(table.state.storage, one.logs)
    said = block.headers.get(HeaderKey.RECORD_POSITIONS)
    assert (said is not None) == (is_known and version > 6)
    if said is not None:
        assert [stored[place] for place in decode_positions(said, 2)] == ["b", "d"]
        assert block.headers[HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS] == one.base_instant
    rows = table.scan(columns=["uuid", "ts"], filter="uuid in ('b', 'd', 'e')").to_arrow().sort_by("uuid")
    assert [tuple(row.values()) for row in rows.to_pylist()] == ([("b", 2), ("d", 2)] if verb == "upsert" else []) + [
        ("e", 1)
    ]


def test_a_key_that_a_base_file_has_twice_makes_a_block_say_nothing_of_rows():
    table = TableBuilder("mor").create()
    table.insert([trip("a"), trip("b"), trip("a", fare=2.0)], options=TINY_FILTERS)
    table.upsert([trip("a", ts=2, fare=7.0)], options=TINY_FILTERS)
    [one] = table.scan().plan.merged
    [[_, block]] = log_blocks(table.state.storage, one.logs)
    assert HeaderKey.RECORD_POSITIONS not in block.headers
    assert sorted(table.scan(columns=["fare"]).to_arrow()["fare"].to_pylist()) == [1.0, 7.0, 7.0]


@pytest.mark.parametrize("is_as_tagged", [True, False])
def test_on_top_of_another_base_file_nothing_is_said_of_rows(is_as_tagged):
    storage, logs = MemoryStorage(), log_spec(Settings(), LAYOUTS[9], LAYOUT, "trips")
    base = replace(next_task(create_base_file(storage, spec_at(INSTANT), TASK, keyed(trip("a")))), sink=Sink.LOG)
    rows = keyed(trip("a", ts=2)).append_column(IS_MOVED, pa.array([False]))
    rows = rows.append_column(BASE_ROW, pa.array([0], pa.int64()))
    file = replace(base, is_as_tagged=is_as_tagged, base_instant=INSTANT)
    [status] = write_bucket(storage, replace(spec_at(NEXT), logs=logs), file, rows, RowsKind.UPSERT)
    size = storage.head(status.path).size_bytes
    [block] = read_blocks(partial(storage.get_range, status.path), size)
    assert (HeaderKey.RECORD_POSITIONS in block.headers) == is_as_tagged


@pytest.mark.parametrize("kind", [RowsKind.UPSERT, RowsKind.INSERT])
@pytest.mark.parametrize("most_bytes", [1, 2000, 1 << 20])
def test_files_are_the_same_whether_they_are_written_at_once_or_one_after_the_other(monkeypatch, kind, most_bytes):
    monkeypatch.setattr(write, "MOST_BYTES", most_bytes)
    files = tuple(replace(TASK, file_id=f"f{number}-0", number=number) for number in range(9))
    counts = [1, 40, 3, 1, 70, 2, 2, 2, 30]
    keys = [(bucket, f"k{bucket}-{number}") for bucket, count in enumerate(counts) for number in range(count)]
    rows = keyed(*(trip(key) for _, key in keys)).append_column(IS_MOVED, pa.array([False] * len(keys)))
    rows = rows.append_column(BUCKET, pa.array([bucket for bucket, _ in keys], pa.int32()))

    def files_of(at_once):
        storage = MemoryStorage()
        done = write_buckets(
            Attempt(task=0, files_at_once=at_once),
            iter(rows.to_batches(max_chunksize=7)),
            storage=storage,
            spec=spec_at(INSTANT),
            files=files,
            kind=kind,
        )
        statuses = to_statuses(pa.Table.from_batches(done))
        return statuses, {one.path: storage.get(one.path) for one in statuses}

    statuses, stored = files_of(1)
    assert [one.rows_count for one in statuses] == counts
    assert files_of(4) == (statuses, stored)
