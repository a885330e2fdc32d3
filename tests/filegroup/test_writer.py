from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.building import TRIPS, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage

from pyhudi.errors import StorageFull
from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.model import BaseFile, FileId, PartitionPath
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.write_task import FileTask, WriteSpec
from pyhudi.filegroup.writer import Rewritten, create_base_file, merge_base_file, rewrite_base_file, store_base_file
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.parquet import base_file_footer, parquet_options, read_footer
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField
from pyhudi.kernels.merge import MergeSpec, probe
from pyhudi.options import Settings
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import InstantTime

FIRST, SECOND = InstantTime("20260101000000001"), InstantTime("20260101000000002")
KEYS = KeySpec(generator=KeyGenerator.SIMPLE, record_key=("uuid",), partition=(PartitionField(name="city"),))
LAYOUT = RowLayout(schema=TRIPS, key_spec=KEYS)
BLOOM = BloomSpec(type_code="SIMPLE", entries=100, fpp=1e-6, max_entries=100)
TASK = FileTask(partition=PartitionPath("sf"), file_id=FileId("f-0"), write_token="0-0-0", number=3)


def spec_at(instant, **said):
    merge = MergeSpec(ordering=("ts",), is_event_time=True)
    parts = {"layout": LAYOUT, "merge": merge, "parquet": parquet_options(Settings()), "bloom": BLOOM, **said}
    return WriteSpec(instant=instant, **parts)


def keyed(*rows):
    table = trips(*rows)
    table = table.append_column("_hoodie_record_key", table["uuid"])
    return table.append_column("_hoodie_partition_path", table["city"])


def updates_of(rows, spec, deletes=()):
    flags = np.array([row in deletes for row in range(rows.num_rows)], dtype=np.bool_)
    return probe(rows, rows["_hoodie_record_key"], flags, spec.merge)


def next_task(status):
    name = status.path.rsplit("/", 1)[-1]
    base = BaseFile(
        partition=TASK.partition,
        file_id=TASK.file_id,
        write_token="0-0-0",
        instant=FIRST,
        extension=".parquet",
        size_bytes=status.size_bytes,
    )
    assert base.name == name
    return replace(TASK, base=base)


def stored(storage, status):
    with storage.open_input(status.path) as source:
        return pq.read_table(source), base_file_footer(read_footer(source).key_values)


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def first(storage):
    return create_base_file(storage, spec_at(FIRST), TASK, keyed(trip("b"), trip("a"), trip("c", ts=5)))


def test_a_new_file_has_meta_columns_key_range_and_filter(storage, first):
    assert first.path == f"sf/f-0_0-0-0_{FIRST}.parquet"
    assert (first.rows_count, first.inserts_count, first.updates_count, first.deletes_count) == (3, 3, 0, 0)
    assert first.previous_instant == "null"
    assert first.size_bytes == storage.head(first.path).size_bytes
    rows, footer = stored(storage, first)
    assert rows.column_names[:5] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    ]
    assert rows["_hoodie_commit_seqno"].to_pylist() == [f"{FIRST}_3_{i}" for i in range(3)]
    assert set(rows["_hoodie_file_name"].to_pylist()) == {first.path.removeprefix("sf/")}
    assert (footer.min_key, footer.max_key) == ("a", "c")
    assert might_contain(footer.bloom(), pa.array(["a", "b", "c", "x", "y"])).to_pylist() == [True] * 3 + [False] * 2


def test_a_marker_is_there_before_the_file(storage):
    full = Fault(kind=FaultKind.NO_SPACE, operations=frozenset({"open_output"}))
    with pytest.raises(StorageFull):
        create_base_file(FaultyStorage(storage, plan=[full]), spec_at(FIRST), TASK, keyed(trip("a")))
    [marker] = [status.path for status in storage.list("")]
    assert marker == f".hoodie/.temp/{FIRST}/sf/f-0_0-0-0_{FIRST}.parquet.marker.CREATE"


def test_without_rows_there_is_no_new_file(storage):
    assert create_base_file(storage, spec_at(FIRST), TASK, keyed()).path == ""
    assert storage.list("") == []


def test_merging_keeps_the_order_of_stored_rows_and_puts_new_ones_at_the_end(storage, first):
    spec = spec_at(SECOND)
    rows = keyed(trip("a", ts=2, fare=2.0), trip("d"), trip("c", ts=4, fare=4.0), trip("b", ts=9))
    status = merge_base_file(storage, spec, next_task(first), updates_of(rows, spec, deletes=(3,)))
    found, footer = stored(storage, status)
    assert found["uuid"].to_pylist() == ["a", "c", "d"]
    assert found["fare"].to_pylist() == [2.0, 1.0, 1.0]
    assert found["_hoodie_commit_time"].to_pylist() == [SECOND, FIRST, SECOND]
    assert set(found["_hoodie_file_name"].to_pylist()) == {status.path.removeprefix("sf/")}
    assert (status.rows_count, status.inserts_count, status.updates_count, status.deletes_count) == (3, 1, 1, 1)
    assert (status.previous_instant, status.previous_name) == (FIRST, first.path.removeprefix("sf/"))
    assert (footer.min_key, footer.max_key) == ("a", "d")
    assert might_contain(footer.bloom(), pa.array(["a", "c", "d"])).to_pylist() == [True] * 3


def test_a_merge_in_which_nothing_wins_writes_no_file(storage, first):
    spec = spec_at(SECOND)
    rows = keyed(trip("c", ts=1), trip("x"))
    status = merge_base_file(storage, spec, next_task(first), updates_of(rows, spec, deletes=(1,)))
    assert status.path == ""
    assert [one.path for one in storage.list("sf")] == [first.path]


def test_a_second_attempt_reports_the_file_of_the_first(storage, first):
    spec = spec_at(SECOND)
    rows = keyed(trip("a", ts=2), trip("d"))
    done = merge_base_file(storage, spec, next_task(first), updates_of(rows, spec))
    before = storage.get(done.path)
    other = keyed(trip("a", ts=3, fare=9.0))
    again = merge_base_file(storage, spec, next_task(first), updates_of(other, spec))
    assert storage.get(done.path) == before
    assert replace(again, write_ms=done.write_ms) == done


def test_a_rewrite_changes_batches_and_appends_rows(storage, first):
    def without_first(batch):
        return Rewritten(batch=batch, is_deleted=np.arange(batch.num_rows) < 1)

    status = rewrite_base_file(
        storage, spec_at(SECOND), next_task(first), without_first, lambda: keyed(trip("z"), trip("z"))
    )
    found, footer = stored(storage, status)
    assert found["uuid"].to_pylist() == ["a", "c", "z", "z"]
    assert (status.inserts_count, status.deletes_count, status.rows_count) == (2, 1, 4)
    assert footer.max_key == "z"
    assert might_contain(footer.bloom(), pa.array(["z"])).to_pylist() == [True]


def test_a_rewrite_that_changes_nothing_writes_no_file(storage, first):
    def unchanged(batch):
        return Rewritten(batch=batch)

    assert rewrite_base_file(storage, spec_at(SECOND), next_task(first), unchanged).path == ""


def test_a_file_may_end_without_rows(storage, first):
    def nothing(batch):
        return Rewritten(batch=batch, is_deleted=np.ones(batch.num_rows, np.bool_))

    status = rewrite_base_file(storage, spec_at(SECOND), next_task(first), nothing)
    found, footer = stored(storage, status)
    assert found.num_rows == 0
    assert found.column_names[5:] == TRIPS.names
    assert footer.min_key is None


def test_virtual_keys_leave_meta_values_and_filter_out(storage):
    layout = replace(LAYOUT, has_meta_values=False)
    spec = spec_at(FIRST, layout=layout, bloom=None)
    status = create_base_file(storage, spec, TASK, keyed(trip("a"), trip("b")))
    rows, footer = stored(storage, status)
    assert rows["_hoodie_record_key"].null_count == 2
    assert footer.bloom() is None
    later = spec_at(SECOND, layout=layout, bloom=None)
    merged = merge_base_file(storage, later, next_task(status), updates_of(keyed(trip("a", ts=2), trip("c")), later))
    assert (merged.inserts_count, merged.updates_count) == (1, 1)


def as_merged(storage, status, *rows, without=()):
    """Return a file's rows as a reader of its slice gives them: some of another file, some gone."""
    table, _ = stored(storage, status)
    kept = table.filter(
        pa.compute.invert(pa.compute.is_in(table["_hoodie_record_key"], pa.array(without, pa.string())))
    )
    changed = create_base_file(storage, spec_at(SECOND), replace(TASK, write_token="9-9-9"), keyed(*rows))
    fresh = stored(storage, changed)[0].set_column(2, "_hoodie_record_key", pa.array([row["uuid"] for row in rows]))
    return iter([*kept.to_batches(), *fresh.cast(table.schema).to_batches()]), kept, fresh


@pytest.mark.parametrize("bloom", [BLOOM, None])
def test_rows_that_are_stored_again_keep_all_but_the_name_of_their_file(storage, first, bloom):
    spec = replace(spec_at(SECOND), bloom=bloom)
    rows, kept, fresh = as_merged(storage, first, trip("b", fare=9.0), trip("z"), without=("b", "c"))
    status = store_base_file(storage, spec, next_task(first), rows)
    found, footer = stored(storage, status)
    name = status.path.rsplit("/", 1)[-1]
    assert found.column("_hoodie_file_name").to_pylist() == [name] * 3
    assert found.drop_columns(["_hoodie_file_name"]) == pa.concat_tables(
        [one.drop_columns(["_hoodie_file_name"]) for one in (kept, fresh.cast(kept.schema))]
    )
    assert (status.rows_count, status.previous_instant) == (3, FIRST)
    if bloom is not None:
        assert (status.updates_count, status.inserts_count, status.deletes_count) == (1, 1, 1)
        assert (footer.min_key, footer.max_key) == ("a", "z")
        assert might_contain(footer.bloom(), pa.array(["a", "b", "z", "q"])).to_pylist() == [True, True, True, False]


def test_rows_of_a_new_group_are_all_inserts(storage, first):
    rows, _, _ = as_merged(storage, first, trip("x"), trip("y"), without=("a", "b", "c"))
    status = store_base_file(storage, spec_at(SECOND), replace(TASK, file_id=FileId("new-0")), rows)
    found, footer = stored(storage, status)
    assert (status.inserts_count, status.updates_count, status.deletes_count, found.num_rows) == (2, 0, 0, 2)
    assert status.previous_instant == "null"
    assert might_contain(footer.bloom(), pa.array(["x", "y", "a"])).to_pylist() == [True, True, False]


def test_a_file_is_stored_also_of_no_rows(storage, first):
    status = store_base_file(storage, spec_at(SECOND), next_task(first), iter(()))
    found, _ = stored(storage, status)
    assert (found.num_rows, found.schema.names) == (0, LAYOUT.file_schema.names)
    assert status.deletes_count == 3


def test_a_second_attempt_reports_the_file_that_is_there(storage, first):
    for _ in range(2):
        rows, _, _ = as_merged(storage, first, trip("b", fare=9.0), without=("b",))
        status = store_base_file(storage, spec_at(SECOND), next_task(first), rows)
        assert (status.rows_count, status.updates_count) == (3, 1)


def test_rows_of_a_new_file_do_not_stay_in_memory_for_their_keys(storage):
    spec = spec_at(FIRST, parquet=replace(parquet_options(Settings()), block_bytes=1 << 20))
    held = []

    def parts():
        for number in range(20):
            rows = keyed(trip(uuid=f"key-{number}", rider="x" * (1 << 20)))
            message = rows.combine_chunks().to_batches()[0].serialize()
            del rows
            batch = pa.ipc.read_record_batch(message, keyed().schema)  # its columns lie in one piece of memory
            del message
            yield pa.Table.from_batches([batch])
            del batch
            held.append(pa.total_allocated_bytes())

    status = create_base_file(storage, spec, TASK, parts())
    assert status.inserts_count == 20
    assert max(held) - held[0] < 8 << 20
