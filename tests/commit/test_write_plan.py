import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.commit.write_plan import Appends, Demand, Sizing, plan_write, sole_files
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.write_task import Sink
from pyhudi.index.api import Hashing
from pyhudi.kernels.bucket import BucketHash, bucket_number
from pyhudi.timeline.instant import InstantTime

INSTANT = InstantTime("20260101000000002")
SIZING = Sizing(max_file_bytes=1000, small_file_bytes=800, record_bytes=10.0)


def file_slice(partition, number, size_bytes, *, file_id=None):
    base = BaseFile(
        partition=PartitionPath(partition),
        file_id=FileId(file_id or f"{partition}{number}-0"),
        write_token="0-0-0",
        instant=InstantTime("20260101000000001"),
        extension=".parquet",
        size_bytes=size_bytes,
    )
    group = FileGroupId(partition=base.partition, file_id=base.file_id)
    return FileSlice(group=group, base_instant=base.instant, base=base, logs=())


def with_log(one, *, keeps_base=True):
    log = LogFile(
        partition=one.group.partition,
        file_id=one.group.file_id,
        instant=InstantTime("20260101000000001"),
        version=1,
        write_token="0-0-0",
        suffix="",
        size_bytes=10,
    )
    return replace(one, base=one.base if keeps_base else None, logs=(log,))


def plan(new_rows, slices=(), located=(), sole=None, slots_count=2, **said):
    demand = Demand(new_rows=new_rows, located_rows=dict(located), slices=slices)
    return plan_write(
        instant=INSTANT, demand=demand, slices=slices, sole=sole or {}, sizing=SIZING, slots_count=slots_count, **said
    )


def slots(made, partition):
    place = made.routes.partitions.index(partition)
    first = made.routes.first_slot[place]
    return made.routes.bucket_of_slot[first : first + made.routes.slots_count[place]]


partitions = st.sampled_from(["p", "q", "r"])
stored = st.lists(st.tuples(partitions, st.integers(1, 1200)), max_size=8)


@settings(deadline=None)
@given(st.dictionaries(partitions, st.integers(0, 900)), stored, st.integers(1, 8), st.data())
def test_every_new_row_has_a_place_and_no_file_is_planned_too_large(new_rows, sizes, slots_count, data):
    slices = [file_slice(partition, number, size) for number, (partition, size) in enumerate(sizes)]
    located = {i: data.draw(st.integers(1, 50)) for i in range(len(slices)) if data.draw(st.booleans())}
    made = plan(new_rows, slices, located, slots_count=slots_count)
    for partition, rows in new_rows.items():
        buckets = slots(made, partition)
        files = [made.files[bucket] for bucket in set(buckets)]
        assert {file.partition for file in files} == {partition}
        room = sum(SIZING.rows_that_fit(file.base.size_bytes if file.base else 0) for file in files)
        assert room >= rows
        new = [file for file in files if file.base is None]
        small = sum(
            SIZING.rows_that_fit(one.base.size_bytes)
            for one in slices
            if one.group.partition == partition and one.base.size_bytes < SIZING.small_file_bytes
        )
        assert len(new) == math.ceil(max(0, max(1, rows) - small) / 100)
    for index, bucket in enumerate(made.routes.bucket_of_file):
        assert (bucket >= 0) == (index in located)
        assert bucket < 0 or made.files[bucket].base == slices[index].base
    groups = [(file.partition, file.file_id) for file in made.files]
    assert len(groups) == len(set(groups))
    assert [file.write_token for file in made.files] == [f"{bucket}-0-0" for bucket in range(len(made.files))]
    assert len(made.routes.task_of_bucket) == len(made.files)
    assert set(made.routes.task_of_bucket) <= set(range(made.tasks_count))
    assert made.tasks_count <= max(1, min(len(made.files), slots_count * 3))


def test_the_smallest_files_are_filled_first():
    slices = [file_slice("p", 0, 700), file_slice("p", 1, 300), file_slice("p", 2, 900)]
    made = plan({"p": 60}, slices)
    assert [made.files[bucket].file_id for bucket in set(slots(made, "p"))] == ["p1-0"]


def test_a_larger_share_of_rows_gets_a_larger_share_of_slots():
    slices = [file_slice("p", 0, 790), file_slice("p", 1, 190)]
    made = plan({"p": 100}, slices)
    shares = [slots(made, "p").count(bucket) for bucket in range(len(made.files))]
    assert shares[0] / sum(shares) == pytest.approx(81 / 100, abs=0.05)


def test_a_plan_without_inserts_has_no_slots():
    made = plan({"p": 5}, [file_slice("p", 0, 100)], {0: 2}, has_inserts=False)
    assert made.routes.partitions == ()
    assert len(made.files) == 1
    assert made.new_rows == {}


def test_heavy_buckets_are_spread_over_tasks():
    slices = [file_slice("p", number, size) for number, size in enumerate([900, 900, 10, 10])]
    made = plan({}, slices, dict.fromkeys(range(4), 1), slots_count=1)
    assert made.tasks_count == 3
    heavy = {made.routes.task_of_bucket[bucket] for bucket in made.routes.bucket_of_file[:2]}
    assert len(heavy) == 2


def test_hash_buckets_keep_their_file_groups_and_get_new_ones():
    kept = file_slice("p", 0, 900, file_id="00000001-aaaa-bbbb-cccc-dddddddddddd-0")
    hashing = Hashing(buckets_count=3, key_hash=BucketHash(hash_fields=("uuid",), key_fields=("uuid",)))
    made = plan({"p": 5}, [kept], hashing=hashing)
    files = [made.files[bucket] for bucket in slots(made, "p")]
    assert [bucket_number(file.file_id) for file in files] == [0, 1, 2]
    assert [file.base for file in files] == [None, kept.base, None]
    without = plan({"p": 5}, [kept], hashing=hashing, has_inserts=False)
    assert [bucket >= 0 for bucket in slots(without, "p")] == [False, True, False]


def test_new_rows_do_not_go_to_closed_groups():
    slices = [file_slice("p", 0, 10), file_slice("p", 1, 10), file_slice("q", 0, 10)]
    closed = {slices[0].group: None, slices[2].group: None}
    made = plan({"p": 5, "q": 5}, slices, closed=closed)
    assert [made.files[bucket].base for bucket in slots(made, "p")] == [slices[1].base]
    assert [made.files[bucket].base for bucket in slots(made, "q")] == [None]
    assert list(sole_files(slices, {"q": 1}, SIZING)) == ["q"]
    assert sole_files(slices, {"q": 1}, SIZING, closed) == {}


def test_updates_go_to_logs_and_new_rows_to_base_files():
    slices = [file_slice("p", 0, 900), with_log(file_slice("p", 1, 10)), file_slice("q", 0, 10)]
    made = plan({"p": 5, "q": 5}, slices, {0: 1, 1: 1, 2: 1}, appends=Appends.CHANGES)
    assert [made.files[bucket].sink for bucket in made.routes.bucket_of_file] == [Sink.LOG, Sink.LOG, Sink.BASE]
    assert made.files[1].logs == slices[1].logs
    assert [(file.base, file.sink) for file in map(made.files.__getitem__, slots(made, "p"))] == [(None, Sink.BASE)]
    assert slots(made, "q") == (made.routes.bucket_of_file[2],)


def test_updates_alone_write_no_small_file_anew():
    small = file_slice("p", 0, 10)
    made = plan({"p": 0}, [small], {0: 1}, appends=Appends.CHANGES)
    assert made.files[made.routes.bucket_of_file[0]].sink is Sink.LOG
    assert [made.files[bucket].base for bucket in slots(made, "p")] == [None]


@pytest.mark.parametrize(("rows", "is_grown"), [(10, True), (9, False)])
def test_a_small_file_is_not_written_anew_for_far_fewer_rows(rows, is_grown):
    small = file_slice("p", 0, 200)
    demand = Demand(new_rows={"p": rows}, located_rows={}, slices=[small])
    said = {"instant": INSTANT, "demand": demand, "slices": [small], "sole": {}, "slots_count": 1}
    made = plan_write(sizing=replace(SIZING, growth=2.0), appends=Appends.CHANGES, **said)
    assert [file.base is not None for file in made.files] == [is_grown]
    assert plan_write(sizing=replace(SIZING, growth=2.0), **said).files[0].base is not None


def test_a_plan_writes_as_few_small_files_anew_as_it_is_told():
    slices = [file_slice("p", number, 790) for number in range(4)]
    demand = Demand(new_rows={"p": 60}, located_rows={}, slices=slices)
    said = {"instant": INSTANT, "demand": demand, "slices": slices, "sole": {}, "slots_count": 2}
    made = plan_write(sizing=replace(SIZING, small_files_count=2), appends=Appends.CHANGES, **said)
    assert [file.base is not None for file in made.files] == [True, True, False]


@pytest.mark.parametrize(
    ("appends", "sinks"), [(Appends.EVERYTHING, [Sink.LOG, Sink.LOG]), (Appends.CHANGES, [Sink.BASE, Sink.LOG])]
)
def test_a_hash_bucket_with_logs_only_keeps_its_file_group(appends, sinks):
    stored = with_log(file_slice("p", 0, 0, file_id="00000001-aaaa-bbbb-cccc-dddddddddddd-0"), keeps_base=False)
    hashing = Hashing(buckets_count=2, key_hash=BucketHash(hash_fields=("uuid",), key_fields=("uuid",)))
    made = plan({"p": 5}, [stored], hashing=hashing, appends=appends)
    files = [made.files[bucket] for bucket in slots(made, "p")]
    assert files[1].file_id == stored.group.file_id
    assert [file.base_instant for file in files] == [None, stored.base_instant]
    assert [file.sink for file in files] == sinks


def test_logs_of_a_group_that_is_being_compacted_join_its_next_slice():
    stored = with_log(file_slice("p", 0, 900))
    planned = InstantTime("20260101000000002")
    made = plan({"p": 0}, [stored], {0: 1}, appends=Appends.CHANGES, closed={stored.group: planned})
    assert made.files[made.routes.bucket_of_file[0]].base_instant == planned


def test_a_sole_file_that_takes_all_rows_needs_no_look_up():
    slices = [file_slice("p", 0, 500), file_slice("q", 0, 500), file_slice("r", 0, 10), file_slice("r", 1, 10)]
    assert list(sole_files(slices, {"p": 50, "q": 51, "r": 1}, SIZING)) == ["p"]
