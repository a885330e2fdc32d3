import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, trip, trips
from tests.services.compacting import VERSIONS, log_files, state_of

from pyhudi.errors import FileMissing
from pyhudi.table import Table
from pyhudi.timeline.active import request, start
from pyhudi.timeline.instant import Action, Instant, InstantTime, State


@pytest.fixture
def table(engine, version):
    made = engine.create(version=version)
    options = {**SMALL_FILES, **TINY_FILTERS}
    made.upsert(engine.rows(trips(*(trip(f"k{i}", ["sf", "oslo"][i % 2]) for i in range(50)))), options=options)
    made.upsert(engine.rows(trips(trip("k1", "oslo", ts=2), trip("new"))), options=options)
    made.delete_partitions(["oslo"])
    return made


def test_commits_tell_what_they_did_newest_first(table):
    commits = table.inspect.commits().to_pylist()
    assert [one["operation"] for one in commits] == ["DELETE_PARTITION", "UPSERT", "UPSERT"]
    assert [one["action"] for one in commits] == ["replacecommit", "commit", "commit"]
    assert [one["inserted"] for one in commits] == [0, 1, 50]
    assert [one["updated"] for one in commits] == [0, 1, 0]
    assert [one["partitions"] for one in commits] == [1, 2, 2]
    assert commits[0]["file_groups_replaced"] == 3
    assert commits[2]["files_written"] == 6
    assert commits[2]["rows"] == 50
    assert commits[0]["instant"] == table.latest_instant


def test_the_timeline_lists_every_instant(table):
    found = table.inspect.timeline().to_pylist()
    assert [one["action"] for one in found] == ["commit", "commit", "replacecommit"]
    assert {one["state"] for one in found} == {"completed"}
    assert all(one["completion_time"] for one in found)
    assert [one["requested_time"] for one in found] == sorted(one["requested_time"] for one in found)


def test_file_slices_are_those_a_reader_opens(table):
    slices = table.inspect.file_slices()
    scanned = {file.path: file.size_bytes for file in table.scan().plan.files}
    assert dict(zip(slices["base_file"].to_pylist(), slices["base_size_bytes"].to_pylist(), strict=True)) == scanned
    assert set(slices["partition"].to_pylist()) == {"sf"}
    assert slices["file_id"].to_pylist() == sorted(slices["file_id"].to_pylist())


def test_partitions_sum_their_file_groups(table):
    [sf] = table.inspect.partitions().to_pylist()
    assert sf["partition"] == "sf"
    assert sf["file_groups"] == table.inspect.file_slices().num_rows
    assert sf["size_bytes"] == sum(table.inspect.file_slices()["base_size_bytes"].to_pylist())


def test_files_lists_what_is_stored_and_whether_it_counts(table):
    files = table.inspect.files().to_pylist()
    stored = {status.path for status in table.state.storage.list("") if status.path.endswith(".parquet")}
    assert {one["path"] for one in files} == stored
    assert all(one["is_committed"] for one in files)
    assert {one["kind"] for one in files} == {"base"}


def test_pending_tells_whose_an_instant_is_and_what_to_do(table):
    assert table.inspect.pending().num_rows == 0
    time = InstantTime(str(int(table.latest_instant) + 50))
    instant = Instant(requested_time=time, action=Action.COMMIT, state=State.REQUESTED)
    start(table.state, request(table.state, instant, b""))
    [found] = table.inspect.pending().to_pylist()
    assert found["instant"] == time
    assert found["state"] == "inflight"
    assert found["writer"] == "foreign"
    assert "rollback" in found["what_to_do"]


def test_an_empty_table_has_nothing_to_show_but_its_columns(engine, version):
    inspect = engine.create(version=version).inspect
    for answer in (inspect.timeline(), inspect.commits(), inspect.files(), inspect.file_slices(), inspect.pending()):
        assert answer.num_rows == 0
        assert answer.num_columns > 0
    assert inspect.partitions().num_rows == 0


@VERSIONS
def test_log_blocks_say_what_each_block_is_and_which_are_merged(version):
    state = state_of(version)
    table = Table(state)
    table.delete(where="city = 'sf'")
    blocks = table.inspect.log_blocks()
    assert set(blocks["path"].to_pylist()) == set(log_files(state))
    assert {"delete"} < set(blocks["kind"].to_pylist()) <= {"delete", "avro", "parquet"}
    assert all(blocks["is_merged"].to_pylist())
    for one in blocks.to_pylist():
        headers = dict(one["headers"])
        assert headers["INSTANT_TIME"] == one["instant"]
        assert one["content_bytes"] < one["size_bytes"]
    sizes = blocks.group_by("path").aggregate([("size_bytes", "sum")]).to_pylist()
    assert {one["path"]: one["size_bytes_sum"] for one in sizes} == {
        path: state.storage.head(path).size_bytes for path in log_files(state)
    }
    table.compact()
    assert not any(table.inspect.log_blocks()["is_merged"].to_pylist())


@VERSIONS
def test_log_blocks_of_one_file_show_what_a_torn_write_left(version):
    state = state_of(version)
    path = log_files(state)[0]
    whole = state.storage.get(path)
    state.storage.delete(path)
    state.storage.put(path, whole + whole[: len(whole) // 2])
    inspect = Table(state).inspect
    found = inspect.log_blocks(path).to_pylist()
    assert [one["kind"] for one in found][-1] == "corrupt"
    assert [one["is_merged"] for one in found] == [True] * (len(found) - 1) + [False]
    assert found[-1]["position"] == len(whole)
    with pytest.raises(FileMissing, match="no log file of this path"):
        inspect.log_blocks("city=sf/none.log")


@VERSIONS
def test_the_size_of_a_partition_has_its_logs(version):
    state = state_of(version)
    found = {one["partition"]: one["size_bytes"] for one in Table(state).inspect.partitions().to_pylist()}
    slices = Table(state).inspect.file_slices().to_pylist()
    for name, size in found.items():
        mine = [one for one in slices if one["partition"] == name]
        paths = [path for one in mine for path in (one["base_file"], *one["log_files"]) if path]
        assert size == sum(state.storage.head(path).size_bytes for path in paths)
