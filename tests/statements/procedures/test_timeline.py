import json

import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import InvalidInput


def test_instants_are_listed_in_every_state_newest_first(runner, mor):
    mor.compact(schedule=True)
    rows = runner.call("show_timeline", "mor")
    assert [row["state"] for row in rows] == ["REQUESTED", *["COMPLETED"] * 3]
    assert rows[0]["action"] == "compaction"
    assert rows[0]["completed_time"] is None
    assert rows[1]["completed_time"]
    assert rows[1]["requested_time"]
    assert rows[1]["timeline_type"] == "ACTIVE"
    assert [row["instant_time"] for row in rows] == sorted((row["instant_time"] for row in rows), reverse=True)


def test_a_range_leaves_the_limit_out(runner, cow):
    times = cow.history()["instant"].to_pylist()
    assert len(runner.call("show_timeline", "cow", limit=1)) == 1
    assert len(runner.call("show_timeline", "cow", limit=1, startTime=times[-1], endTime=times[0])) == 3
    rows = runner.call("show_timeline", "cow", startTime=times[1])
    assert [row["instant_time"] for row in rows] == times[:2]


def test_rollbacks_say_what_they_took_back(runner, cow):
    newest = cow.latest_instant
    cow.rollback(newest, completed=True)
    (row,) = runner.call("show_timeline", "cow", filter="action = 'rollback'")
    assert row["rollback_info"] == f"Rolled back: {newest}"


def test_archived_instants_come_where_they_are_asked_for(runner):
    table = TableBuilder().create()
    for number in range(5):
        table.upsert([trip("a", ts=number)])
    runner.tables["t"] = table
    before = [row["instant_time"] for row in runner.call("show_timeline", "t")]
    assert runner.call("archive_commits", "t", min_commits=2, max_commits=3, retain_commits=1) == [{"result": 0}]
    rows = runner.call("show_timeline", "t", showArchived=True)
    assert [row["instant_time"] for row in rows] == before
    assert {row["timeline_type"] for row in rows} == {"ACTIVE", "ARCHIVED"}
    assert len(runner.call("show_timeline", "t")) < len(before)


def test_archiving_keeps_the_metadata_table(runner):
    with pytest.raises(InvalidInput, match="leave enable_metadata out"):
        runner.call("archive_commits", "cow", enable_metadata=False)


def test_the_newest_commit_is_taken_back(runner, cow):
    assert runner.call("rollback_to_instant", "cow", cow.latest_instant) == [{"rollback_result": True}]
    assert cow.scan(["uuid", "fare"], filter="uuid = 'b'").to_arrow()["fare"].to_pylist() == [1.0]


def test_instants_are_written_as_json(runner, cow, tmp_path):
    cow.savepoint(cow.latest_instant)
    (said,) = runner.call("export_instants", "cow", str(tmp_path))
    assert said["export_detail"] == f"Exported 4 Instants to {tmp_path}"
    kinds = sorted(path.suffix for path in tmp_path.iterdir() if path.is_file())
    assert kinds == [".commit", ".commit", ".commit", ".savepoint"]
    one = json.loads(min(path for path in tmp_path.iterdir() if path.is_file()).read_text(encoding="utf-8"))
    assert one["operationType"] == "UPSERT"
    assert set(one["partitionToWriteStats"]) == {"sf", "la"}


def test_export_takes_the_newest_where_it_is_asked_for(runner, cow, tmp_path):
    runner.call("export_instants", "cow", str(tmp_path), 1, "commit", True)
    (path,) = (path for path in tmp_path.iterdir() if path.is_file())
    assert path.name.startswith(cow.latest_instant)
    with pytest.raises(InvalidInput, match="no actions"):
        runner.call("export_instants", "cow", str(tmp_path), actions="commits")
