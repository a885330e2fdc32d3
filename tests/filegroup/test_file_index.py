import threading
from dataclasses import replace

import pytest
from tests.faulty import FaultyStorage
from tests.new_states import new_state

from pyhudi.errors import CorruptData
from pyhudi.filegroup.file_index import FILES, storage_index
from pyhudi.filegroup.listing import ensure_partition_metadata
from pyhudi.filegroup.model import PartitionPath
from pyhudi.timeline.active import load_timeline

T = "20250928205430030"
CITIES = [PartitionPath(f"city={name}") for name in "abc"]


@pytest.fixture
def watched():
    """Make a table of three partitions with two files each; give it, and the storage that counts."""
    state = new_state()
    for partition in CITIES:
        ensure_partition_metadata(state, partition, T)
        state.storage.put(f"{partition}/x.parquet", b"12")
        state.storage.put(f"{partition}/.y.log.1", b"1")
    counting = FaultyStorage(state.storage)
    return replace(state, storage=counting), counting


def index_of(state):
    return storage_index(state, load_timeline(state))


def listed(counting):
    """Return the directories that were listed, but for those of the timeline."""
    paths = (one.path for one in counting.operations if one.name == "list_directory")
    return sorted(path for path in paths if not path.startswith(".hoodie"))


def test_files_of_partitions_are_listed_without_their_metadata(watched):
    state, _ = watched
    files = index_of(state).files(["city=b", "city=a", "city=b"])
    assert files.schema == FILES
    assert files.to_pylist() == [
        {"partition": partition, "name": name, "size_bytes": size}
        for partition in ("city=a", "city=b")
        for name, size in ((".y.log.1", 1), ("x.parquet", 2))
    ]


def test_nothing_is_listed_before_it_is_asked_for(watched):
    state, counting = watched
    index = index_of(state)
    assert listed(counting) == []
    assert index.files([]).num_rows == 0
    assert listed(counting) == []


def test_files_of_known_partitions_cost_one_listing_each_and_once(watched):
    state, counting = watched
    index = index_of(state)
    index.files(["city=a"])
    index.files(["city=b", "city=a"])
    assert listed(counting) == ["city=a", "city=b"]


def test_files_cost_nothing_more_where_all_partitions_were_listed(watched):
    state, counting = watched
    index = index_of(state)
    assert list(index.partitions()) == CITIES
    assert index.partitions() is index.partitions()
    assert index.files(index.partitions()).num_rows == 6
    assert listed(counting) == ["", *CITIES]


def test_partitions_are_listed_several_at_once(watched):
    state, _ = watched
    meeting = threading.Barrier(len(CITIES), timeout=30)

    class Meeting(FaultyStorage):
        def list_directory(self, prefix):
            if prefix.startswith("city="):
                meeting.wait()
            return super().list_directory(prefix)

    state = replace(state, storage=Meeting(state.storage))
    assert index_of(state).files(CITIES).num_rows == 6
    assert list(index_of(state).partitions()) == CITIES


def test_an_index_keeps_showing_what_it_has_shown(watched):
    state, _ = watched
    index = index_of(state)
    before = index.files(["city=a"])
    state.storage.put("city=a/new.parquet", b"")
    index.partitions()
    assert index.files(["city=a"]) == before
    assert index_of(state).files(["city=a"]).num_rows == 3


def test_a_directory_that_was_asked_for_is_no_partition_for_that(watched):
    state, _ = watched
    index = index_of(state)
    assert index.files(["city=none"]).num_rows == 0
    assert list(index.partitions()) == CITIES


def test_a_name_that_is_no_text_is_corrupt(watched):
    state, _ = watched
    state.storage.put("city=a/\udc80.parquet", b"")
    with pytest.raises(CorruptData, match=r"not UTF-8.*udc80"):
        index_of(state).files(["city=a"])
