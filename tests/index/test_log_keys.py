"""Keys that are looked for in logs before base files."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder, counts, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.index import log_keys, stored_keys

PARTITION = "t.uuid = s.uuid and t.city = s.city"
ROWS = [trip(f"k{i}", fare=float(i)) for i in range(8)]


@pytest.fixture(params=["SIMPLE", "BLOOM"])
def table(request):
    """Return a merge-on-read table whose logs have k0 to k3."""
    table = TableBuilder("mor").create()
    table.upsert(trips(*ROWS), options={"hoodie.index.type": request.param})
    table.upsert(trips(*(trip(f"k{i}", ts=2, fare=20.0 + i) for i in range(4))))
    return table


@pytest.fixture
def looks(monkeypatch):
    """Return how many base files were looked into, as a list as long."""
    seen = []
    look = stored_keys.read_columns

    def watched(source, *args):
        seen.append(source)
        return look(source, *args)

    monkeypatch.setattr(stored_keys, "read_columns", watched)
    return seen


def changed(*numbers, ts=3):
    return trips(*(trip(f"k{number}", ts=ts, fare=30.0 + number) for number in numbers))


def test_rows_that_are_written_once_more_are_found_in_the_logs(table, looks):
    assert counts(table.upsert(changed(0, 1, 2, 3))) == (0, 4, 0)
    assert looks == []
    assert sorted(table.scan().to_arrow()["fare"].to_pylist()) == [4.0, 5.0, 6.0, 7.0, 30.0, 31.0, 32.0, 33.0]


@pytest.mark.parametrize("numbers", [(0, 1, 2, 3, 4), (3, 5, 6, 7), (9,), (0, 9)])
def test_other_rows_are_looked_for_in_the_base_file(table, looks, numbers):
    new = sum(number > 7 for number in numbers)
    assert counts(table.upsert(changed(*numbers))) == (new, len(numbers) - new, 0)
    assert looks
    assert table.count() == 8 + new


def test_keys_that_a_log_deletes_go_where_they_were(table, looks):
    table.delete(keys=["k1", "k2"])
    looks.clear()
    table.upsert(changed(1, 2, ts=9))
    assert looks == []
    assert table.count() == 8
    assert len(table.inspect.file_slices()) == 1


def test_each_of_several_file_groups_is_looked_into(looks):
    table = TableBuilder("mor").create()
    for number in range(2):
        table.insert(trips(trip(f"k{number}")), options={"hoodie.parquet.small.file.limit": 0})
    table.upsert(changed(0, ts=2))
    looks.clear()
    assert counts(table.upsert(changed(0))) == (0, 1, 0)
    assert len({id(source) for source in looks}) == 2


def test_the_same_merge_once_more_reads_no_base_file(table, looks):
    builder = TableBuilder("mor")
    faulty = FaultyStorage(table.state.storage)
    watched = builder.reopen(table, faulty)
    merge = watched.merge(trips(*(trip(f"k{i}", ts=2, fare=20.0 + i) for i in range(4))), on=PARTITION)
    assert counts(merge.when_matched_update_all("s.fare <> t.fare").when_not_matched_insert_all().execute()) == (
        0,
        0,
        0,
    )
    assert looks == []


def test_blocks_that_bring_less_than_half_of_the_keys_end_the_search(table, monkeypatch):
    for number in range(4, 7):
        table.upsert(changed(number, ts=2))
    seen = []
    read = log_keys.read_changes
    monkeypatch.setattr(log_keys, "read_changes", lambda block, spec: seen.append(block) or read(block, spec))
    table.upsert(changed(0, 1, 2, 6))
    assert len(seen) == 1
    assert pa.compute.sum(table.scan().to_arrow()["fare"]).as_py() == 30 + 31 + 32 + 23 + 34 + 35 + 36 + 7
