import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, trip, trips

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
