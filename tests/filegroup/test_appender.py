from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import trip
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.filegroup.test_writer import FIRST, LAYOUT, SECOND, TASK, keyed, next_task, spec_at

from pyhudi.errors import CorruptData, PutUnknown, StorageFull, StorageUnavailable
from pyhudi.filegroup.appender import append_changes
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.write_task import Sink
from pyhudi.filegroup.writer import create_base_file
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.log import BlockKind, decode_deletes, read_blocks, split_rows
from pyhudi.formats.parquet import iter_batches
from pyhudi.kernels.changes import RowChanges
from pyhudi.options import Settings
from pyhudi.state.layout import LAYOUTS
from pyhudi.storage.memory import MemoryStorage

AVRO = {"hoodie.logfile.data.block.format": "avro"}
SMALL_FILES = {"hoodie.logfile.data.block.max.size": "1", "hoodie.logfile.max.size": "1"}


def spec_of(instant, version=9, layout=LAYOUT, options=(), **said):
    logs = log_spec(Settings.of(dict(options)), LAYOUTS[version], layout, "trips")
    return spec_at(instant, layout=layout, logs=logs, **said)


def changes_of(rows, deletes=(), unordered=()):
    flags = np.isin(np.arange(rows.num_rows), deletes)
    return RowChanges(
        keys=rows["_hoodie_record_key"],
        rows=rows,
        is_delete=flags,
        is_unordered=flags & np.isin(np.arange(rows.num_rows), unordered),
    )


def log_task(first):
    return replace(next_task(first), sink=Sink.LOG, base_instant=FIRST)


def blocks_of(storage, status):
    data = storage.get(status.path)
    return list(read_blocks(lambda offset, length: data[offset : offset + length], len(data)))


def rows_of(block):
    if block.kind is BlockKind.AVRO:
        return decode_rows(split_rows(block.read_content()), block.schema)
    return pa.Table.from_batches(iter_batches(pa.BufferReader(block.read_content())))


def keys_of(storage, statuses, spec):
    wanted = ReadSpec(schema=spec.layout.file_schema, layout=spec.layout, merge=spec.merge)
    found = [read_changes(block, wanted).keys.to_pylist() for one in statuses for block in blocks_of(storage, one)]
    return sorted(key for keys in found for key in keys)


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def first(storage):
    return create_base_file(storage, spec_at(FIRST), TASK, keyed(trip("b"), trip("a"), trip("c", ts=5)))


@pytest.mark.parametrize("options", [{}, AVRO], ids=["parquet", "avro"])
def test_rows_go_to_a_block_with_their_meta_columns_and_deletes_behind_them(storage, first, options):
    spec = spec_of(SECOND, options=options)
    rows = keyed(trip("a", ts=2), trip("b", ts=7), trip("x"), trip("d", ts=9))
    [status] = append_changes(storage, spec, log_task(first), changes_of(rows, deletes=(1, 2), unordered=(2,)))
    stored, deleted = blocks_of(storage, status)
    assert stored.kind is (BlockKind.AVRO if options else BlockKind.PARQUET)
    assert {stored.instant, deleted.instant} == {SECOND}
    found = rows_of(stored)
    assert found.column("uuid").to_pylist() == ["a", "d"]
    assert found.column("_hoodie_commit_time").to_pylist() == [SECOND] * 2
    assert found.column("_hoodie_record_key").to_pylist() == ["a", "d"]
    assert found.column("_hoodie_partition_path").to_pylist() == ["sf"] * 2
    assert found.column("_hoodie_file_name").to_pylist() == [TASK.file_id] * 2
    assert len(set(found.column("_hoodie_commit_seqno").to_pylist())) == 2
    gone = decode_deletes(deleted.read_content())
    assert gone.column("record_key").to_pylist() == ["b", "x"]
    assert gone.column("partition_path").to_pylist() == ["sf"] * 2
    values = [{name: one["value"] for name, one in row.items() if one} for row in gone.column("ordering").to_pylist()]
    assert values == [{"LongWrapper": 7}, {"IntWrapper": 0}]


def test_a_log_of_versions_8_and_9_is_named_by_its_delta_commit(storage, first):
    older = LogFile(
        partition=TASK.partition,
        file_id=TASK.file_id,
        instant=FIRST,
        version=3,
        write_token="7-7-7",
        suffix="",
        size_bytes=0,
    )
    task = replace(log_task(first), logs=(older,))
    [status] = append_changes(storage, spec_of(SECOND), task, changes_of(keyed(trip("a", ts=2), trip("z")), (1,)))
    name = f".f-0_{SECOND}.log.1_0-0-0"
    assert status.path == f"sf/{name}"
    assert (status.log_version, status.log_files) == (1, (name,))
    assert (status.previous_instant, status.previous_name) == (SECOND, "")
    assert (status.rows_count, status.updates_count, status.inserts_count, status.deletes_count) == (1, 1, 0, 1)
    assert status.size_bytes == storage.head(status.path).size_bytes
    assert storage.head(f".hoodie/.temp/{SECOND}/{status.path}.marker.CREATE").size_bytes == 0


def test_a_log_of_version_6_is_named_by_its_slice_and_follows_the_logs_there(storage, first):
    task = log_task(first)
    logs = [
        LogFile(
            partition=task.partition,
            file_id=task.file_id,
            instant=instant,
            version=version,
            write_token="0-1-2",
            suffix="",
            size_bytes=0,
        )
        for instant, version in (("20250101000000000", 8), (FIRST, 1), (FIRST, 2))
    ]
    task = replace(task, logs=tuple(logs))
    [status] = append_changes(storage, spec_of(SECOND, 6), task, changes_of(keyed(trip("a", ts=2))))
    name = f".f-0_{FIRST}.log.3_0-20260101-000000002"
    assert status.path == f"sf/{name}"
    assert (status.previous_instant, status.previous_name) == (FIRST, task.base.name)
    assert status.log_files == (logs[2].name, logs[1].name, logs[0].name, name)
    assert storage.head(f".hoodie/.temp/{SECOND}/{status.path}.marker.APPEND").size_bytes == 0


@pytest.mark.parametrize("version", [6, 9])
def test_the_first_log_of_a_file_group_begins_its_slice(storage, version):
    [status] = append_changes(
        storage, spec_of(SECOND, version), replace(TASK, sink=Sink.LOG), changes_of(keyed(trip("a"), trip("b")))
    )
    assert status.path.startswith(f"sf/.f-0_{SECOND}.log.1_")
    assert (status.is_new_group, status.inserts_count, status.updates_count) == (True, 2, 0)
    assert (status.previous_instant, status.previous_name) == (SECOND, "")


def test_without_changes_there_is_no_log(storage, first):
    assert append_changes(storage, spec_of(SECOND), log_task(first), changes_of(keyed())) == []
    assert storage.list(".hoodie/.temp/" + SECOND) == []


def test_a_marker_is_there_before_the_log(storage, first):
    full = Fault(kind=FaultKind.NO_SPACE, operations=frozenset({"open_output"}))
    with pytest.raises(StorageFull):
        append_changes(
            FaultyStorage(storage, plan=[full]), spec_of(SECOND), log_task(first), changes_of(keyed(trip("a")))
        )
    [marker] = [one.path for one in storage.list(f".hoodie/.temp/{SECOND}")]
    assert marker.endswith("sf/.f-0_20260101000000002.log.1_0-0-0.marker.CREATE")


@pytest.mark.parametrize("version", [6, 9])
def test_a_log_that_is_full_is_followed_by_the_next(storage, first, version):
    spec = spec_of(SECOND, version, options=SMALL_FILES)
    rows = keyed(trip("a", ts=2), trip("b", ts=2), trip("c", ts=9))
    statuses = append_changes(storage, spec, log_task(first), changes_of(rows, deletes=(1,)))
    assert [one.log_version for one in statuses] == [1, 2, 3]
    assert [(one.rows_count, one.deletes_count) for one in statuses] == [(1, 0), (1, 0), (0, 1)]
    assert len({one.path for one in statuses}) == 3
    assert keys_of(storage, statuses, spec) == ["a", "b", "c"]
    if version == 6:
        assert [len(one.log_files) for one in statuses] == [1, 2, 3]


@pytest.mark.parametrize("options", [{}, AVRO], ids=["parquet", "avro"])
@pytest.mark.parametrize("version", [6, 9])
def test_a_second_attempt_takes_the_log_of_the_first(storage, first, version, options):
    spec = spec_of(SECOND, version, options=options)
    changes = changes_of(keyed(trip("a", ts=2), trip("b", ts=2), trip("c", ts=9)), deletes=(0,))
    done = append_changes(storage, spec, log_task(first), changes)
    before = storage.get(done[0].path)
    assert append_changes(storage, spec, log_task(first), changes) == done
    assert storage.get(done[0].path) == before


def test_virtual_keys_are_read_back_too(storage):
    layout = replace(LAYOUT, has_meta_values=False)
    spec = spec_of(SECOND, layout=layout, bloom=None, options=SMALL_FILES)
    task = replace(TASK, sink=Sink.LOG)
    changes = changes_of(keyed(trip("a"), trip("b")))
    done = append_changes(storage, spec, task, changes)
    [block] = blocks_of(storage, done[0])
    assert {rows_of(block)[name].null_count for name in rows_of(block).column_names[:5]} == {1}
    assert append_changes(storage, spec, task, changes) == done


def test_attempts_that_fill_their_logs_otherwise_lose_no_row_between_them(storage, first):
    spec = spec_of(SECOND, options=SMALL_FILES)
    there, back = keyed(trip("a"), trip("b"), trip("c")), keyed(trip("c"), trip("b"), trip("a"))
    crash = Fault(kind=FaultKind.NO_SPACE, operations=frozenset({"open_output"}), path="*log.2*")
    with pytest.raises(StorageFull):
        append_changes(FaultyStorage(storage, plan=[crash]), spec, log_task(first), changes_of(there))
    statuses = append_changes(storage, spec, log_task(first), changes_of(back))
    assert keys_of(storage, statuses, spec) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.ERROR_BEFORE])
def test_an_attempt_whose_log_was_not_confirmed_is_done_again(storage, first, kind):
    spec = spec_of(SECOND)
    lost = Fault(kind=kind, operations=frozenset({"open_output"}))
    changes = changes_of(keyed(trip("a", ts=2)))
    with pytest.raises((StorageUnavailable, PutUnknown)):
        append_changes(FaultyStorage(storage, plan=[lost]), spec, log_task(first), changes)
    statuses = append_changes(storage, spec, log_task(first), changes)
    assert keys_of(storage, statuses, spec) == ["a"]


def test_writers_that_want_one_version_of_a_log_do_not_meet(storage, first):
    ours, theirs = spec_of(SECOND, 6), spec_of("20260101000000003", 6)
    [mine] = append_changes(storage, ours, log_task(first), changes_of(keyed(trip("a", ts=2))))
    [other] = append_changes(storage, theirs, log_task(first), changes_of(keyed(trip("a", ts=3))))
    assert mine.log_version == other.log_version == 1
    assert keys_of(storage, [mine], ours) == keys_of(storage, [other], theirs) == ["a"]


def test_a_log_of_another_instant_is_never_taken_for_ours(storage, first):
    spec = spec_of(SECOND, 6)
    [status] = append_changes(storage, spec, log_task(first), changes_of(keyed(trip("a", ts=2))))
    other = append_changes(storage, spec_of("20260101000000003", 6), log_task(first), changes_of(keyed(trip("a"))))
    storage.put(status.path, storage.get(other[0].path))
    with pytest.raises(CorruptData, match="another instant"):
        append_changes(storage, spec, log_task(first), changes_of(keyed(trip("a", ts=2))))


@pytest.mark.parametrize("version", [6, 9])
def test_attempts_at_the_same_time_say_the_same(storage, first, version):
    spec = spec_of(SECOND, version, options=SMALL_FILES)
    rows = keyed(*[trip(key, ts=2) for key in "abcdef"])
    with ThreadPoolExecutor(4) as threads:
        attempts = [threads.submit(append_changes, storage, spec, log_task(first), changes_of(rows)) for _ in range(4)]
    done, *others = [one.result() for one in attempts]
    assert all(one == done for one in others)
    assert keys_of(storage, done, spec) == list("abcdef")
