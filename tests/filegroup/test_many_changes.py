import numpy as np
import pyarrow as pa
import pytest

from pyhudi.filegroup.many_changes import ManyChanges, RowsOnDisk

ROWS = 1_000
SCHEMA = pa.schema([("key", pa.string()), ("text", pa.string())])


def on_disk(step=100):
    rows = RowsOnDisk(SCHEMA)
    for first in range(0, ROWS, step):
        numbers = range(first, first + step)
        rows.add(pa.record_batch([[f"k{one:05}" for one in numbers], ["x" * 50] * step], schema=SCHEMA))
    return rows


@pytest.fixture
def changes():
    """Every other row, each tenth of these a delete."""
    numbers = np.arange(1, ROWS, 2)
    return ManyChanges(
        keys=pa.array([f"k{one:05}" for one in numbers]),
        is_delete=np.arange(len(numbers)) % 10 == 0,
        is_unordered=np.zeros(len(numbers), dtype=np.bool_),
        rows=on_disk(),
        numbers=numbers,
        positions=numbers * 2,
        most_bytes=8_000,
    )


def test_rows_are_read_by_their_numbers():
    wanted = np.array([0, 1, 99, 100, 555, 999])
    batches = list(on_disk().take(wanted))
    assert len(batches) == 4
    assert pa.Table.from_batches(batches)["key"].to_pylist() == [f"k{one:05}" for one in wanted]
    assert not list(on_disk().take(np.array([], dtype=np.int64)))


def test_changes_are_found_by_keys_each_once(changes):
    keys = pa.array(["k00003", "k00001", "k00003", "k00002", "other"])
    assert changes.meet(keys).tolist() == [0, 1]
    assert changes.meet(keys.cast(pa.string()).dictionary_encode().dictionary_decode()).tolist() == [0, 1]


def test_keys_that_no_number_tells_apart_are_found_too(changes, monkeypatch):
    monkeypatch.setattr("pyhudi.filegroup.many_changes.KeyLookup.of", lambda keys: None)
    assert changes.meet(pa.array(["k00003", "k00001", "k00002"])).tolist() == [0, 1]


def test_some_changes_have_their_rows(changes):
    some = changes.take(np.array([0, 10, 499]))
    assert some.keys.to_pylist() == some.rows["key"].to_pylist() == ["k00001", "k00021", "k00999"]
    assert some.is_delete.tolist() == [True, True, False]
    assert some.positions.tolist() == [2, 42, 1998]


def test_all_changes_come_in_order_some_at_a_time(changes):
    parts = list(changes.parts(~changes.is_delete))
    assert len(parts) > 2
    assert all(part.rows.nbytes < 2 * changes.most_bytes for part in parts)
    keys = [key for part in parts for key in part.keys.to_pylist()]
    assert keys == changes.keys.filter(pa.array(~changes.is_delete)).to_pylist()
    assert keys == [key for part in parts for key in part.rows["key"].to_pylist()]
