"""What a task of a clustering writes, whatever the order and the number of files."""

from functools import partial
from itertools import pairwise

import pyarrow as pa
import pytest
from tests.building import TRIPS, TableBuilder, trip

from pyhudi.filegroup.view import latest_file_slices
from pyhudi.filegroup.write_task import FileTask
from pyhudi.kernels.curves import Curve
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.services.compact.compacted import base_file_specs
from pyhudi.services.service import service_call
from pyhudi.tasks.cluster import ClusteringTask, RowOrder, cluster_slices
from pyhudi.timeline.active import load_timeline

NOW = "20270101000000000"
APART = {"hoodie.parquet.small.file.limit": 0}


@pytest.fixture
def table():
    table = TableBuilder("mor").create(partition_by=[])
    for part in range(3):
        table.insert([trip(f"{part}-{at}", fare=(at * 7 + part) % 20) for at in range(20)], options=APART)
    table.upsert([trip("0-0", ts=2, fare=99.0)])
    table.delete(keys=["1-1"])
    return table


def clustered(table, files_count, *, slices=None, **how):
    state = table.state
    timeline = load_timeline(state)
    index = file_index(state, timeline)
    found = latest_file_slices(index.files(index.partitions()), timeline, {}) if slices is None else slices
    reads, writes, _ = base_file_specs(service_call(state, Settings()), timeline, NOW)
    files = tuple(FileTask(partition="", file_id=f"new{at}-0", write_token="0-0-0") for at in range(files_count))
    task = ClusteringTask(slices=tuple(found), files=files, **how)
    statuses = cluster_slices(task, storage=state.storage, reads=reads, writes=writes)
    return statuses, [rows_in(state, status.path) for status in statuses]


def rows_in(state, path):
    with state.storage.open_input(path) as source:
        return pa.parquet.read_table(source)


def order(*columns, curve=Curve.LINEAR):
    return RowOrder(columns=columns, curve=curve, sampled_rows=1000)


@pytest.mark.parametrize("curve", list(Curve))
def test_rows_are_ordered_over_all_files_and_none_is_lost(table, curve):
    statuses, files = clustered(table, 3, order=order("fare", curve=curve))
    assert [status.rows_count for status in statuses] == [20, 20, 19]
    fares = [fare for rows in files for fare in rows["fare"].to_pylist()]
    assert fares == sorted(fares)
    expected = sorted(
        table.scan().to_pylist() if hasattr(table.scan(), "to_pylist") else table.scan().to_arrow().to_pylist(), key=str
    )
    assert sorted((row for rows in files for row in rows.select(TRIPS.names).to_pylist()), key=str) == expected
    assert all(
        set(rows["_hoodie_file_name"].to_pylist()) == {status.path}
        for status, rows in zip(statuses, files, strict=True)
    )


def test_without_an_order_rows_stay_in_that_of_their_slices(table):
    [status], [rows] = clustered(table, 1)
    assert (status.rows_count, status.inserts_count, status.updates_count, status.deletes_count) == (59, 59, 0, 0)
    assert status.is_new_group
    assert rows["uuid"].to_pylist()[-1] != rows["uuid"].to_pylist()[0]


def test_rows_keep_their_commits_or_become_those_of_the_clustering(table):
    commits = set(table.scan(meta=True).to_arrow()["_hoodie_commit_time"].to_pylist())
    _, [kept] = clustered(table, 1, order=order("fare"))
    assert set(kept["_hoodie_commit_time"].to_pylist()) == commits


def test_rows_that_are_dated_anew_get_sequence_numbers_of_the_instant(table):
    _, [rows] = clustered(table, 1, order=order("fare"), keeps_commits=False)
    assert set(rows["_hoodie_commit_time"].to_pylist()) == {NOW}
    numbers = rows["_hoodie_commit_seqno"].to_pylist()
    assert len(set(numbers)) == len(numbers) == 59
    assert set(rows["_hoodie_record_key"].to_pylist()) == set(table.scan().to_arrow()["uuid"].to_pylist())


def test_a_second_attempt_finds_the_files_of_the_first(table):
    run = partial(clustered, table, 2, order=order("fare", "ts", curve=Curve.HILBERT))
    first, rows = run()
    again, same = run()
    assert again == first
    assert same == rows


def test_files_that_no_row_is_left_for_are_not_written(table):
    table.delete(where="fare >= 0")
    assert clustered(table, 2, order=order("fare")) == ([], [])
    assert clustered(table, 1) == ([], [])


def test_an_order_has_small_row_groups_whose_ranges_lie_apart(table, monkeypatch):
    monkeypatch.setattr("pyhudi.tasks.cluster._ORDERED_GROUP_ROWS", 10)
    [status], _ = clustered(table, 1, order=order("fare"))
    with table.state.storage.open_input(status.path) as source:
        metadata = pa.parquet.ParquetFile(source).metadata
    fare = metadata.schema.names.index("fare")
    bounds = [metadata.row_group(group).column(fare).statistics for group in range(metadata.num_row_groups)]
    assert len(bounds) == 6
    assert all(one.max <= other.min for one, other in pairwise(bounds))
