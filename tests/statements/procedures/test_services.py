import pytest
from tests.building import trip

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InstantNotFound, InvalidInput, NotBuilt


def test_a_compaction_is_planned_and_then_run(runner, mor):
    (planned,) = runner.call("run_compaction", "schedule", "mor")
    assert (planned["operation_size"], planned["state"]) == (2, "REQUESTED")
    (done,) = runner.call("run_compaction", op="execute", table="mor", instants=planned["timestamp"])
    assert done == {**planned, "state": "COMPLETED"}
    assert runner.call("run_compaction", op="execute", table="mor") == []


def test_run_plans_and_runs_at_once(runner):
    assert [row["state"] for row in runner.call("run_compaction", op="RUN", table="mor")] == ["COMPLETED"]


def test_a_timestamp_names_the_compaction_that_is_run(runner):
    (planned,) = runner.call("run_compaction", op="schedule", table="mor")
    (done,) = runner.call("run_compaction", op="run", table="mor", timestamp=int(planned["timestamp"]))
    assert done["timestamp"] == planned["timestamp"]


@pytest.mark.parametrize(
    ("named", "kind", "message"),
    [
        ({"op": "compact"}, InvalidInput, "op is schedule or execute or scheduleandexecute"),
        ({"op": "execute", "instants": "20200101000000000"}, InstantNotFound, "no compaction is planned"),
        ({"op": "schedule", "instants": "20200101000000000"}, InvalidInput, "op => 'execute'"),
    ],
)
def test_wrong_calls_of_a_compaction_say_so(runner, named, kind, message):
    with pytest.raises(kind, match=message):
        runner.call("run_compaction", table="mor", **named)


def test_only_merge_on_read_tables_are_compacted(runner):
    with pytest.raises(InvalidInput, match="merge-on-read"):
        runner.call("run_compaction", "run", "cow")


def test_a_clustering_takes_the_partitions_of_a_predicate(runner, cow):
    named = {"predicate": "city = 'sf'", "order": "fare", "order_strategy": "z-order", "show_involved_partition": True}
    (row,) = runner.call("run_clustering", "cow", **named)
    assert (row["state"], row["involved_partitions"]) == ("COMPLETED", "sf")
    assert runner.call("run_clustering", "cow", predicate="city = 'nowhere'") == []
    with pytest.raises(InvalidInput, match="partition columns"):
        runner.call("run_clustering", "cow", predicate="fare > 1")


def test_a_clustering_takes_the_partitions_that_are_named(runner):
    chosen = {"selected_partitions": "la", "order": "fare", "show_involved_partition": True}
    assert runner.call("run_clustering", "cow", **chosen)[0]["involved_partitions"] == "la"


def test_a_clustering_is_planned_and_then_run(runner):
    (planned,) = runner.call("run_clustering", "cow", op="schedule", order="fare")
    assert planned["state"] == "REQUESTED"
    (done,) = runner.call("run_clustering", "cow", instants=planned["timestamp"])
    assert done["state"] == "COMPLETED"


def test_a_planned_clustering_is_taken_back_with_its_plan(runner):
    (planned,) = runner.call("run_clustering", "cow", op="schedule", order="fare")
    named = {"pending_instant": planned["timestamp"]}
    with pytest.raises(InvalidInput, match="delete_request_instant_file"):
        runner.call("run_rollback_inflight_tableservice", "cow", **named)
    (row,) = runner.call("run_rollback_inflight_tableservice", "cow", **named, delete_request_instant_file=True)
    assert row["instant"] == planned["timestamp"]
    assert int(row["time_cost"]) >= 0
    assert runner.call("show_clustering", "cow") == []


def test_a_planned_compaction_is_finished_and_not_taken_back(runner):
    (planned,) = runner.call("run_compaction", "schedule", "mor")
    with pytest.raises(NotBuilt, match="run_compaction"):
        runner.call("run_rollback_inflight_tableservice", "mor", pending_instant=planned["timestamp"])
    with pytest.raises(InstantNotFound, match="is pending"):
        runner.call("run_rollback_inflight_tableservice", "mor", pending_instant="20200101000000000")


def test_a_clean_obeys_its_policy(runner):
    (row,) = runner.call("run_clean", "cow", clean_policy="KEEP_LATEST_FILE_VERSIONS", file_versions_retained=1)
    assert (row["total_files_deleted"], row["bootstrap_part_metadata"]) == (2, "{}")
    assert runner.call("run_clean", "cow") == []


def test_a_clean_may_only_finish_what_was_planned(runner, cow):
    assert runner.call("run_clean", "cow", schedule_in_line=False, retain_commits=1) == []
    cow.clean(options={"hoodie.clean.commits.retained": 1}, schedule=True)
    assert len(runner.call("run_clean", "cow", schedule_in_line=False)) == 1


def test_options_reach_the_service(runner):
    with pytest.raises(InvalidInput, match=r"hoodie\.clean\.nope"):
        runner.call("run_clean", "cow", options="hoodie.clean.nope=1")


def test_markers_of_a_pending_write_stay(runner, cow, mor):
    assert runner.call("delete_marker", "cow", cow.latest_instant) == [{"delete_marker_result": True}]
    (planned,) = runner.call("run_compaction", "schedule", "mor")
    with pytest.raises(InvalidInput, match="roll it back"):
        runner.call("delete_marker", "mor", planned["timestamp"])


def test_partitions_and_rows_are_deleted(runner, cow):
    assert runner.call("drop_partition", "cow", "la") == [{"result": "Success"}]
    assert set(cow.scan(["city"]).to_arrow()["city"].to_pylist()) == {"sf"}
    cow.upsert([trip("z", city="la")])
    runner.call("truncate_table", "cow", partitions="la")
    assert cow.count() == 2
    (row,) = runner.call("truncate_table", "cow")
    assert row["result"] == "SUCCESS"
    assert cow.count() == 0


def test_a_session_of_the_surface_does_the_work(runner, monkeypatch):
    asked = []

    def engine_on(spark, storage):
        asked.append(spark)
        return LocalEngine(storage)

    monkeypatch.setattr("pyhudi.table.services.engine_on", engine_on)
    monkeypatch.setattr("pyhudi.statements.procedures.services.engine_on", engine_on)
    monkeypatch.setattr(type(runner), "session", "spark", raising=False)
    runner.call("run_compaction", "schedule", "mor")
    runner.call("run_compaction", "execute", "mor")
    runner.call("run_clustering", "cow", order="fare")
    assert asked == ["spark", "spark"]
