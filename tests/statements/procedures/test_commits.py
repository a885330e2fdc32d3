import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import InstantNotFound


def commits(table):
    """Return the times of commits, newest first."""
    return table.history()["instant"].to_pylist()


def test_commits_are_counted_newest_first(runner, cow):
    rows = runner.call("show_commits", "cow")
    assert [row["commit_time"] for row in rows] == commits(cow)
    first = rows[-1]
    assert (first["action"], first["total_files_added"], first["total_files_updated"]) == ("commit", 2, 0)
    assert (first["total_partitions_written"], first["total_records_written"]) == (2, 3)
    assert (rows[0]["total_files_added"], rows[0]["total_files_updated"]) == (0, 1)
    assert rows[0]["total_update_records_written"] == 1
    assert rows[0]["state_transition_time"] > rows[0]["commit_time"]


def test_log_files_are_files_of_groups_that_were_there(runner):
    rows = runner.call("show_commits", "mor", 1)
    assert (rows[0]["action"], rows[0]["total_files_added"], rows[0]["total_files_updated"]) == ("deltacommit", 0, 1)


def test_files_of_commits_have_what_their_stats_say(runner, cow):
    rows = runner.call("show_commits_metadata", "cow")
    assert [row["commit_time"] for row in rows] == [*commits(cow)[:2], *[commits(cow)[2]] * 2]
    assert {row["partition"] for row in rows} == {"sf", "la"}
    assert [row["previous_commit"] for row in rows[-2:]] == ["null", "null"]
    assert sum(row["num_inserts"] for row in rows) == 3
    assert len(runner.call("show_commits_metadata", "cow", 2)) == 2


def test_extra_metadata_is_of_the_newest_commit_or_of_the_one_that_is_named(runner, cow):
    cow.upsert([trip("d")], commit_metadata={"owner": "me"})
    newest = runner.call("show_commit_extra_metadata", "cow", metadata_key="owner")
    assert [(row["instant_time"], row["metadata_value"]) for row in newest] == [(commits(cow)[0], "me")]
    older = runner.call("show_commit_extra_metadata", "cow", instant_time=commits(cow)[1])
    assert "schema" in {row["metadata_key"] for row in older}
    assert "owner" not in {row["metadata_key"] for row in older}


def test_a_table_without_commits_has_no_extra_metadata(runner, builder):
    runner.tables["empty"] = builder.create()
    assert runner.call("show_commit_extra_metadata", "empty") == []


def test_a_commit_is_shown_by_file_partition_and_as_a_whole(runner, cow):
    first = commits(cow)[-1]
    files = runner.call("show_commit_files", "cow", instant_time=first)
    partitions = runner.call("show_commit_partitions", "cow", instant_time=first)
    (whole,) = runner.call("show_commit_write_stats", "cow", instant_time=first)
    assert sorted(row["partition_path"] for row in files) == ["la", "sf"]
    assert {row["partition_path"]: row["total_records_inserted"] for row in partitions} == {"la": 1, "sf": 2}
    assert whole["total_bytes_written"] == sum(row["total_bytes_written"] for row in files)
    assert whole["avg_record_size"] == -(-whole["total_bytes_written"] // 3)
    assert all(row["file_size"] == row["total_bytes_written"] for row in files)


@pytest.mark.parametrize("name", ["show_commit_files", "show_commit_partitions", "show_commit_write_stats"])
def test_a_commit_that_is_not_there_is_an_error(runner, name):
    with pytest.raises(InstantNotFound, match="show_commits lists them"):
        runner.call(name, "cow", instant_time="20200101000000000")


@pytest.mark.parametrize("version", [6, 9])
def test_archived_commits_are_read_from_the_history(runner, version):
    table = TableBuilder().create(version=version)
    for number in range(5):
        table.upsert([trip("a", ts=number)])
    before = runner_rows(runner, table, "show_commits")
    if version == 9:
        assert table.archive(
            options={"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1}
        ).instants
        archived = runner_rows(runner, table, "show_archived_commits")
        active = runner_rows(runner, table, "show_commits")
        assert [row["commit_time"] for row in active + archived] == [row["commit_time"] for row in before]
        assert archived[0]["total_records_written"] == 1
        bounded = runner.call("show_archived_commits", "t", start_ts=archived[0]["commit_time"])
        assert [row["commit_time"] for row in bounded] == [archived[0]["commit_time"]]
        files = runner_rows(runner, table, "show_archived_commits_metadata")
        assert [row["commit_time"] for row in files] == [row["commit_time"] for row in archived]
    else:
        assert runner_rows(runner, table, "show_archived_commits") == []


def runner_rows(runner, table, name):
    """Run a procedure on a table that gets the name t."""
    runner.tables["t"] = table
    return runner.call(name, "t")


def test_rollbacks_show_what_they_took_back(runner, cow):
    newest = commits(cow)[0]
    cow.rollback(newest, completed=True)
    (row,) = runner.call("show_rollbacks", "cow")
    assert (row["rollback_instant"], row["total_files_deleted"], row["total_partitions"]) == (newest, 1, 1)
    (file,) = runner.call("show_rollback_detail", "cow", instant_time=row["instant"])
    assert (file["partition"], file["succeeded"], file["rollback_instant"]) == ("la", True, f"[{newest}]")
    assert newest in file["deleted_file"]
    with pytest.raises(InstantNotFound, match="show_rollbacks lists them"):
        runner.call("show_rollback_detail", "cow", instant_time=newest)


def test_tables_are_compared_by_their_newest_commits(runner, cow):
    older = runner.call("commits_compare", "cow", "/lake/cow")[0]["compare_detail"]
    assert older == "Source trips is ahead by 0 commits. Commits to catch up - []"
    runner.tables["other"] = TableBuilder().create()
    ahead = runner.call("commits_compare", "cow", "/lake/other")[0]["compare_detail"]
    assert "ahead by 3" in ahead
    assert commits(cow)[0] in ahead
