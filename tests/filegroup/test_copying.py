"""Base files of others' column chunks: rows, keys, filters, and when they are not copied."""

import pyarrow as pa
import pytest
from tests.building import SMALL_FILES, TableBuilder, trip

from pyhudi.filegroup.copying import copy_base_files
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.filegroup.write_task import FileTask
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.services.compact.compacted import base_file_specs
from pyhudi.services.service import service_call
from pyhudi.timeline.active import load_timeline

APART = {"hoodie.parquet.small.file.limit": 0}
FILE = FileTask(partition="", file_id="new-0", write_token="0-0-0")


def filled(*counts, **options):
    table = TableBuilder().create(partition_by=[])
    for part, count in enumerate(counts):
        table.insert([trip(f"{part}-{at}") for at in range(count)], options={**APART, **options})
    return table


def copied(table, **how):
    state = table.state
    timeline = load_timeline(state)
    index = file_index(state, timeline)
    found = latest_file_slices(index.files(index.partitions()), timeline, {})
    _, writes, _ = base_file_specs(service_call(state, Settings()), timeline, "20270101000000000")
    return copy_base_files(state.storage, writes, FILE, [one.base for one in found], **how)


@pytest.mark.parametrize("counts", [(20, 20, 20), (20, 3, 200)], ids=["alike", "different"])
def test_the_new_file_has_all_rows_under_its_own_name_and_a_filter_of_all_keys(counts):
    table = filled(*counts)
    status = copied(table)
    assert (status.rows_count, status.inserts_count, status.is_new_group) == (sum(counts), sum(counts), True)
    with table.state.storage.open_input(status.path) as source:
        footer = read_footer(source)
        rows = pa.parquet.read_table(source)
    assert set(rows["_hoodie_file_name"].to_pylist()) == {status.path}
    keys = rows["_hoodie_record_key"].combine_chunks()
    assert sorted(keys.to_pylist()) == sorted(table.scan().to_arrow()["uuid"].to_pylist())
    hudi = base_file_footer(footer.key_values)
    assert (hudi.min_key, hudi.max_key) == (min(keys.to_pylist()), max(keys.to_pylist()))
    assert all(might_contain(hudi.bloom(), keys).to_pylist())
    assert status.size_bytes == table.state.storage.head(status.path).size_bytes


def test_small_row_groups_are_not_worth_to_be_kept():
    assert copied(filled(5, 5), least_bytes=1 << 20) is None


def test_files_from_before_a_column_was_added_are_not_copied():
    table = filled(5)
    table.insert([trip("more", note="x")], options=APART)
    assert copied(table) is None


def test_a_second_attempt_finds_the_file_of_the_first():
    table = filled(5, 5, **SMALL_FILES)
    assert copied(table) == copied(table)
