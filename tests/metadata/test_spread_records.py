"""Records that tasks tell are brought together by file group, each key once."""

import pyarrow as pa
import pytest

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import DuplicateKeys
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata import spread_records
from pyhudi.metadata.spread_records import TOLD, Owners, SpreadRecords, write_groups
from pyhudi.storage.memory import MemoryStorage


def tell(task):
    yield pa.table([list(task), list(task.values())], schema=TOLD)


def records(*tasks, **said):
    engine = LocalEngine(MemoryStorage(), threads=2)
    values = pa.array([b"one", b"two"])
    count = sum(map(len, tasks))
    return SpreadRecords(
        partition="p", engine=engine, tell=tell, tasks=tasks, values=values, count=count, key_hash=SHARD_HASH, **said
    )


def written(given, groups=3, ids=None):
    """Return what each file group was given."""
    found = {}

    def write(content):
        found[content.group] = (
            dict(zip(content.keys.to_pylist(), content.values.to_pylist(), strict=True)),
            content.deleted.to_pylist(),
            content.moved.to_pylist(),
        )
        return 7, b"content"

    rows = write_groups(given, ids or [f"p-{group:04d}-0" for group in range(groups)], write)
    assert rows["group"].to_pylist() == sorted(found)
    assert rows["records_count"].to_pylist() == [len(found[group][0]) for group in sorted(found)]
    return found


@pytest.mark.parametrize("rows_at_once", [2, 1000])
def test_keys_meet_in_their_file_group_whatever_task_told_them(rows_at_once, monkeypatch):
    monkeypatch.setattr(spread_records, "_PASS_ROWS", rows_at_once)
    found = written(records({"a": 0, "b": 1, "c": None}, {"d": 0, "b": None, "e": None}))
    assert {key: value for keys, *_ in found.values() for key, value in keys.items()} == {
        b"a": b"one",
        b"b": b"two",
        b"d": b"one",
    }
    assert sorted(key for _, deleted, _ in found.values() for key in deleted) == ["c", "e"]
    assert [key for *_, moved in found.values() for key in moved] == ["b"]
    for group, (keys, deleted, _) in found.items():
        told = pa.array([*(key.decode() for key in keys), *deleted])
        assert set(SHARD_HASH.place_of(told, 3).tolist()) == {group}


def test_a_key_with_two_records_is_refused_where_there_is_one_place_for_it():
    twice = {"a": 0}, {"a": 1}
    assert written(records(*twice), 1) == {0: ({b"a": b"one"}, [], [])}
    with pytest.raises(DuplicateKeys, match="two file groups"):
        written(records(*twice, refuses_two=True), 1)
    assert written(records({"a": 0}, {"a": 0}, refuses_two=True), 1) == {0: ({b"a": b"one"}, [], [])}


def test_keys_of_a_partition_of_the_table_meet_in_its_own_file_groups():
    ids = [
        f"record-index-{owner}-{number:04d}-0" for owner, count in (("rio", 1), ("sf", 2)) for number in range(count)
    ]
    owners = Owners(counts={"rio": 2, "sf": 3}, of_task=lambda task: "rio" if "c" in task else "sf")
    found = written(records({"a": 0, "b": 0}, {"a": 1, "c": 1}, {"d": None}, owners=owners), ids=ids)
    assert found[0] == ({b"a": b"two", b"c": b"two"}, [], [])
    places = dict(zip("abd", (1 + SHARD_HASH.place_of(pa.array(list("abd")), 2)).tolist(), strict=True))
    for group in (1, 2):
        keys, deleted, _ = found.get(group, ({}, [], []))
        assert {*map(bytes.decode, keys), *deleted} == {key for key, place in places.items() if place == group}
