import pytest

from pyhudi.errors import InvalidInput


def test_compactions_are_listed_with_their_operations(runner, mor):
    mor.compact()
    mor.upsert([{"uuid": "a", "ts": 9, "rider": "r", "fare": 9.0, "city": "sf"}])
    mor.compact(schedule=True)
    rows = runner.call("show_compaction", "mor")
    assert [(row["operation_size"], row["state"]) for row in rows] == [(1, "REQUESTED"), (2, "COMPLETED")]
    assert len(runner.call("show_compaction", "mor", limit=1)) == 1


def test_only_merge_on_read_tables_have_compactions(runner):
    with pytest.raises(InvalidInput, match="merge-on-read"):
        runner.call("show_compaction", "cow")


def test_clusterings_are_listed_with_their_partitions(runner, cow):
    cow.cluster(["fare"])
    cow.upsert([{"uuid": "a", "ts": 9, "rider": "r", "fare": 9.0, "city": "sf"}])
    cow.cluster(["fare"], schedule=True)
    rows = runner.call("show_clustering", "cow")
    assert [row["state"] for row in rows] == ["REQUESTED", "COMPLETED"]
    assert {row["involved_partitions"] for row in rows} == {"*"}
    shown = runner.call("show_clustering", "cow", show_involved_partition=True)
    assert sorted(shown[1]["involved_partitions"].split(",")) == ["la", "sf"]


def test_an_overwrite_is_no_clustering(runner, cow):
    cow.insert_overwrite_table([{"uuid": "a", "ts": 9, "rider": "r", "fare": 9.0, "city": "sf"}])
    assert runner.call("show_clustering", "cow") == []


def test_cleans_are_shown_with_plan_and_files(runner, cow):
    cow.clean(options={"hoodie.clean.commits.retained": 1})
    (clean,) = runner.call("show_cleans", "cow")
    (plan,) = runner.call("show_clean_plans", "cow")
    files = runner.call("show_cleans_metadata", "cow")
    assert clean["total_files_deleted"] == sum(row["success_delete_files"] for row in files) > 0
    assert plan["plan_time"] == clean["clean_time"]
    assert plan["state"] == "COMPLETED"
    assert plan["policy"] == "KEEP_LATEST_COMMITS"
    assert plan["total_partitions_to_clean"] == len(files)
    assert clean["earliest_commit_to_retain"] == plan["earliest_instant_to_retain"]


def test_archived_cleans_come_where_they_are_asked_for(runner, plain):
    for number in range(6):
        plain.upsert([{"uuid": "a", "ts": 10 + number, "rider": "r", "fare": 9.0, "city": "sf"}])
        plain.clean(options={"hoodie.clean.commits.retained": 1})
    before = {name: runner.call(name, "plain") for name in ("show_cleans", "show_clean_plans")}
    plain.archive(
        options={"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1}
    )
    for name, rows in before.items():
        assert len(runner.call(name, "plain")) < len(rows)
        assert runner.call(name, "plain", showArchived=True) == rows
