import pytest
from tests.new_states import new_state

from pyhudi.errors import CorruptData
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.recovery.markers import delete_markers, is_file_of, marked_files, named_files, reconcile, remove_marked

T, OTHER = "20260101000000001", "20260101000000002"
TEMP = f".hoodie/.temp/{T}"


@pytest.fixture
def state():
    return new_state()


def file(name, partition="sf", instant=T):
    return f"{partition}/{name}_0-0-0_{instant}.parquet".lstrip("/")


def mark(state, *paths, kind="CREATE", has_file=True):
    for path in paths:
        state.storage.put(f"{TEMP}/{path}.marker.{kind}", b"")
        if has_file:
            state.storage.put(path, b"data")


def data_files(state):
    return sorted(status.path for status in state.storage.list("") if status.path.endswith(".parquet"))


def test_markers_of_every_kind_name_their_files(state):
    mark(state, file("a"), file("b", ""), file("c", "x/y"))
    mark(state, file("d"), kind="MERGE")
    assert marked_files(state, T) == {file("a"), file("b", ""), file("c", "x/y"), file("d")}
    assert marked_files(state, OTHER) == set()


def test_the_timeline_servers_markers_are_read(state):
    state.storage.put(f"{TEMP}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    state.storage.put(f"{TEMP}/MARKERS0", f"{file('a')}.marker.CREATE\n{file('b')}.marker.MERGE\n".encode())
    state.storage.put(f"{TEMP}/MARKERS7", f"{file('c')}.marker.CREATE\n\n".encode())
    assert marked_files(state, T) == {file("a"), file("b"), file("c")}


def test_a_marker_never_leads_to_a_file_of_another_instant(state):
    committed = file("a", instant=OTHER)
    mark(state, committed, ".hoodie/hoodie.properties", "sf/.hoodie_partition_metadata", has_file=False)
    state.storage.put(committed, b"data")
    assert marked_files(state, T) == set()
    remove_marked(state, T)
    assert data_files(state) == [committed]


def test_a_marker_that_leaves_the_table_is_refused(state):
    state.storage.put(f"{TEMP}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    state.storage.put(f"{TEMP}/MARKERS0", f"../../{file('a')}.marker.CREATE".encode())
    with pytest.raises(CorruptData, match="outside the table"):
        marked_files(state, T)


def test_reconciling_deletes_what_no_status_names(state):
    mark(state, file("a"), file("b"))
    mark(state, file("never"), has_file=False)
    metadata = CommitMetadata(operation=WriteOperation.UPSERT, stats={"sf": (WriteStat(file_id="a", path=file("a")),)})
    assert reconcile(state, T, metadata) == [file("b"), file("never")]
    assert data_files(state) == [file("a")]


def test_markers_are_removed_whole(state):
    mark(state, file("a"), file("b", "x/y"))
    delete_markers(state, T)
    delete_markers(state, T)
    assert state.storage.list(".hoodie/.temp") == []
    assert len(data_files(state)) == 2


@pytest.mark.parametrize(
    ("path", "is_ours"),
    [
        (file("a"), True),
        (f"sf/.a_{T}.log.1_0-0-0", True),
        (file("a", instant=OTHER), False),
        (f".hoodie/{T}.commit", False),
        (f".hoodie/a_0-0-0_{T}.parquet", False),
        (f"sf/{T}", False),
    ],
)
def test_a_data_file_carries_its_instant_in_its_name(path, is_ours):
    assert is_file_of(path, T) is is_ours


@pytest.mark.parametrize(("version", "has_logs", "is_found"), [(6, True, True), (6, False, False), (9, False, True)])
def test_files_are_found_by_their_names_beside_whatever_else_is_there(version, has_logs, is_found):
    """At version 6 a log carries the instant of its slice, and may be of a write after a compaction."""
    state = new_state(version)
    log = f"sf/.g-0_{T}.log.1_0-0-0"
    for path in (file("a"), file("b", instant=OTHER), log, "sf/readme.txt", "sf/.hoodie_partition_metadata"):
        state.storage.put(path, b"data")
    assert named_files(state, T, has_logs=has_logs) == {file("a"), *([log] if is_found else [])}
