from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips
from tests.filegroup.test_writer import FIRST, SECOND, TASK, keyed, next_task, spec_at, stored, updates_of

from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.writer import Rewritten, create_base_file, merge_base_file, rewrite_base_file
from pyhudi.formats.bloom import might_contain
from pyhudi.storage.memory import MemoryStorage

DYNAMIC = BloomSpec(type_code="DYNAMIC_V0", entries=60_000, fpp=1e-9, max_entries=100_000)
SIMPLE = replace(DYNAMIC, type_code="SIMPLE", entries=1000)


def rows(first, last):
    return keyed(*(trip(f"k{number:06}") for number in range(first, last)))


def keys(first, last):
    return pa.array([f"k{number:06}" for number in range(first, last)])


@pytest.fixture
def storage():
    return MemoryStorage()


def test_two_rows_make_a_small_file():
    table = TableBuilder().create()
    result = table.upsert(trips(trip("a"), trip("b", "oslo")))
    assert len(result.files) == 2
    assert result.bytes_written < 2 * 10_000


@pytest.mark.parametrize(
    ("count", "entries"), [(1, 64), (64, 80), (1000, 1250), (48_000, 60_000), (60_000, 60_000), (200_000, 60_000)]
)
def test_a_filter_is_made_for_the_rows_and_a_quarter_more_up_to_the_option(count, entries):
    assert DYNAMIC.build(keys(0, count)).entries == entries


def test_the_option_is_the_most_and_a_simple_filter_is_of_its_size():
    assert replace(DYNAMIC, entries=10).build(keys(0, 5)).entries == 10
    assert SIMPLE.build(keys(0, 5)).bits_count == SIMPLE.build(keys(0, 900)).bits_count


def merged(storage, status, spec, more):
    return stored(storage, merge_base_file(storage, spec, next_task(status), updates_of(more, spec)))[1].bloom()


@pytest.mark.parametrize("last", [70, 81, 500, 70_000])
def test_a_merged_files_filter_has_all_keys_and_grows_with_them(storage, last):
    status = create_base_file(storage, spec_at(FIRST, bloom=DYNAMIC), TASK, rows(0, 64))
    bloom = merged(storage, status, spec_at(SECOND, bloom=DYNAMIC), rows(60, last))
    assert might_contain(bloom, keys(0, last)).to_pylist() == [True] * last
    assert sum(might_contain(bloom, keys(last, last + 1000)).to_pylist()) == 0
    assert bloom.entries == (80 if last < 80 else min(60_000, last + last // 4))
    assert len(bloom.rows) == (2 if last > 60_000 else 1)


def test_a_rewritten_files_filter_has_all_keys_and_grows_with_them(storage):
    spec = spec_at(SECOND, bloom=DYNAMIC)
    status = create_base_file(storage, spec_at(FIRST, bloom=DYNAMIC), TASK, rows(0, 64))
    status = rewrite_base_file(
        storage,
        spec,
        next_task(status),
        lambda batch: Rewritten(batch=batch, is_deleted=np.arange(batch.num_rows) < 4),
        lambda: rows(64, 300),
    )
    bloom = stored(storage, status)[1].bloom()
    assert might_contain(bloom, keys(4, 300)).to_pylist() == [True] * 296
    assert (bloom.entries, len(bloom.rows)) == (370, 1)


def test_filters_of_the_full_size_grow_by_rows_as_apache_hudis_do(storage):
    small = replace(DYNAMIC, entries=100, max_entries=300)
    status = create_base_file(storage, spec_at(FIRST, bloom=small), TASK, rows(0, 100))
    bloom = merged(storage, status, spec_at(SECOND, bloom=small), rows(100, 150))
    assert (bloom.entries, len(bloom.rows), bloom.active_count) == (100, 2, 50)


def test_a_small_filter_of_a_file_with_many_rows_is_only_added_to(storage):
    status = create_base_file(storage, spec_at(FIRST, bloom=replace(DYNAMIC, entries=64)), TASK, rows(0, 100))
    bloom = merged(storage, status, spec_at(SECOND, bloom=replace(DYNAMIC, entries=90)), rows(100, 200))
    assert bloom.entries == 64
    assert might_contain(bloom, keys(0, 200)).to_pylist() == [True] * 200
