import numpy as np
import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, TableBuilder

ROWS = 40_000
MOST_BYTES = 100_000
SIZES = {**TINY_FILTERS, "hoodie.parquet.max.file.size": MOST_BYTES}


def rows_of(count=ROWS, start=0):
    keys = pa.array([f"key-{number:08}" for number in range(start, start + count)])
    values = pa.array(np.random.default_rng(start).random(count))
    return pa.table({"id": keys, "value": values})


@pytest.fixture
def table():
    return TableBuilder().create(rows_of(1).schema, record_key=["id"], partition_by=[], ordering=["value"])


@pytest.mark.parametrize("verb", ["bulk_insert", "insert", "upsert"])
def test_the_first_files_have_the_size_that_is_asked_for(table, verb):
    getattr(table, verb)(rows_of(), options=SIZES)
    sizes = table.inspect.file_slices()["base_size_bytes"].to_pylist()
    assert len(sizes) > 1
    assert 0.5 * MOST_BYTES < min(sizes) <= max(sizes) < 1.1 * MOST_BYTES


def test_the_option_says_what_a_record_takes_where_it_is_given(table):
    table.insert(rows_of(), options={**SIZES, "hoodie.copyonwrite.record.size.estimate": MOST_BYTES // 5_000})
    assert table.inspect.file_slices().num_rows == ROWS // 5_000


def test_the_commits_of_the_table_come_before_the_option(table):
    table.insert(rows_of(1_000), options=SIZES)
    options = {**SIZES, "hoodie.copyonwrite.record.size.estimate": MOST_BYTES, "hoodie.parquet.small.file.limit": 0}
    table.insert(rows_of(5_000, start=1_000), options=options)
    assert table.inspect.file_slices().num_rows == 2


def test_a_commit_of_few_rows_tells_no_size(table):
    table.insert(rows_of(1), options=SIZES)  # one row, and a file that is all footer
    table.insert(rows_of(start=1), options={**SIZES, "hoodie.parquet.small.file.limit": 10 * MOST_BYTES})
    sizes = sorted(table.inspect.file_slices()["base_size_bytes"].to_pylist())
    assert 0.5 * MOST_BYTES < sizes[0] <= sizes[-2] < 1.1 * MOST_BYTES
    assert len(sizes) == 5  # with the first file, which is filled


def test_wide_rows_are_parted_however_few_they_are():
    schema = rows_of(1).schema.set(1, pa.field("value", pa.string()))
    table = TableBuilder().create(schema, record_key=["id"], partition_by=[], ordering=[])
    texts = [np.random.default_rng(number).bytes(5_000).hex() for number in range(60)]
    table.insert(pa.table({"id": [f"k{number:02}" for number in range(60)], "value": texts}), options=SIZES)
    sizes = table.inspect.file_slices()["base_size_bytes"].to_pylist()
    assert 0.5 * MOST_BYTES < min(sizes) <= max(sizes) < 1.1 * MOST_BYTES


def test_rows_that_fit_into_a_file_anyway_are_not_looked_at(table, monkeypatch):
    def fail(*_):
        raise AssertionError("rows were encoded for nothing")

    monkeypatch.setattr("pyhudi.commit.sizing.stored_row_bytes", fail)
    table.insert(rows_of(90), options=SIZES)
    assert table.count() == 90


def test_keys_to_delete_tell_no_size(table):
    assert table.delete(rows_of().select(["id"]), options=SIZES).deleted == 0
