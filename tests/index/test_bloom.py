import pyarrow as pa
import pytest
from tests.filegroup.test_writer import FIRST, TASK, keyed, spec_at, trip

from pyhudi.engine.api import KEY, PARTITION, ScanFile
from pyhudi.filegroup.writer import create_base_file
from pyhudi.index.bloom import prune_file
from pyhudi.storage.memory import MemoryStorage


@pytest.fixture
def storage():
    return MemoryStorage()


def file_of(storage, *keys, **said):
    status = create_base_file(storage, spec_at(FIRST, **said), TASK, keyed(*(trip(key) for key in keys)))
    return ScanFile(path=status.path, size_bytes=status.size_bytes, partition="sf")


def may_hold(storage, file, *keys, partition="sf", by_partition=True):
    columns = [pa.array(keys, pa.string()), pa.array([partition] * len(keys), pa.string())]
    wanted = pa.table(columns, names=[KEY, PARTITION])
    return prune_file(file, storage=storage, keys=wanted, by_partition=by_partition)


def test_a_file_is_kept_for_keys_it_has_and_left_out_for_others(storage):
    file = file_of(storage, "b", "d", "f")
    assert may_hold(storage, file, "d")
    assert may_hold(storage, file, "a", "z", "f")
    assert not may_hold(storage, file, "a", "z")
    assert not may_hold(storage, file, "c", "e")
    assert not may_hold(storage, file)


def test_keys_of_other_partitions_count_only_for_global_indexes(storage):
    file = file_of(storage, "b")
    assert not may_hold(storage, file, "b", partition="oslo")
    assert may_hold(storage, file, "b", partition="oslo", by_partition=False)


def test_a_file_without_filter_may_hold_any_key_and_gives_none_away(storage):
    file = file_of(storage, "b", bloom=None)
    assert may_hold(storage, file, "x")
