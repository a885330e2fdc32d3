import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.engine import SIMPLE, stored_trips, write_file

from pyhudi.engine.api import BASE_ROW, FILE_INDEX, KEY, PARTITION, STORED, ScanFile
from pyhudi.errors import CorruptData
from pyhudi.index.stored_keys import Lookup, find_in_file, has_stored_keys, stored_schema
from pyhudi.storage.memory import MemoryStorage

KEYS = st.lists(st.sampled_from([f"k{number}" for number in range(8)]), max_size=12)
FARE = pa.schema([("fare", pa.int64())])


@settings(max_examples=60)
@given(stored=KEYS, wanted=KEYS)
def test_a_look_up_finds_the_first_row_of_each_key(stored, wanted):
    storage = MemoryStorage()
    rows = {KEY: stored, "fare": list(range(len(stored)))}
    file = write_file(storage, "p/f.parquet", rows, pa.schema([(KEY, pa.string()), *FARE]))
    lookup = Lookup(index=3, file=file, keys=pa.array(sorted(set(wanted)), pa.string()))
    found = find_in_file(lookup, storage=storage, spec=SIMPLE, stored=FARE)
    expected = {key: stored.index(key) for key in set(wanted) & set(stored)}
    assert dict(zip(found[KEY].to_pylist(), found[STORED + "fare"].to_pylist(), strict=True)) == expected
    assert found.num_rows == len(expected)
    assert set(found[FILE_INDEX].to_pylist()) <= {3}
    assert set(found[PARTITION].to_pylist()) <= {"p"}


@settings(max_examples=60)
@given(stored=KEYS, wanted=KEYS, row_group_size=st.integers(1, 5))
def test_a_look_up_numbers_the_rows_of_keys_that_are_there_once(stored, wanted, row_group_size):
    storage = MemoryStorage()
    file = write_file(storage, "p/f.parquet", {KEY: stored}, pa.schema([(KEY, pa.string())]), row_group_size)
    lookup = Lookup(index=3, file=file, keys=pa.array(sorted(set(wanted)), pa.string()), numbers_rows=True)
    found = find_in_file(lookup, storage=storage, spec=SIMPLE, stored=pa.schema([]))
    expected = {key: stored.index(key) if stored.count(key) == 1 else None for key in set(wanted) & set(stored)}
    assert dict(zip(found[KEY].to_pylist(), found[BASE_ROW].to_pylist(), strict=True)) == expected


def test_a_footer_tells_whether_rows_carry_their_keys():
    storage = MemoryStorage()
    full = stored_trips(storage, "p/full", ["a"])
    null = write_file(storage, "p/null", {KEY: ["a", None]})
    bare = write_file(storage, "p/bare", {"id": ["a"]})
    empty = write_file(storage, "p/empty", {KEY: ["", ""]})
    files = (full, null, bare, empty)
    assert [has_stored_keys(storage, file.path) for file in files] == [True, False, False, False]


def test_stored_columns_are_read_in_the_types_of_the_rows_then_of_the_newest_file():
    storage = MemoryStorage()
    old = write_file(storage, "p/old", {"fare": [1], "note": ["x"]})
    new = write_file(storage, "p/new", {"fare": [1.5], "note": [b"x"]})
    rows = pa.schema([("fare", pa.int32())])
    schema = stored_schema(storage, [old, new], rows, ["fare", "note", "none"])
    assert schema == pa.schema([("fare", pa.int32()), ("note", pa.binary()), ("none", pa.null())])


def test_a_look_up_far_from_a_files_keys_reads_no_row_group():
    storage = MemoryStorage()
    file = stored_trips(storage, "p/f", ["b", "c"])
    for keys, hits in ((["x", "y"], 0), (["a"], 0), (["a", "c"], 1)):
        lookup = Lookup(index=0, file=file, keys=pa.array(keys))
        assert find_in_file(lookup, storage=storage, spec=SIMPLE, stored=FARE).num_rows == hits


def test_a_damaged_file_is_named():
    storage = MemoryStorage()
    storage.put("p/bad", b"not parquet at all")
    lookup = Lookup(index=0, file=ScanFile(path="p/bad", size_bytes=18, partition="p"), keys=pa.array(["a"]))
    with pytest.raises(CorruptData, match="p/bad"):
        find_in_file(lookup, storage=storage, spec=SIMPLE, stored=pa.schema([]))
