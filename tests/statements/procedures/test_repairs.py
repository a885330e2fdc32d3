from pyhudi.timeline.active import load_timeline, request
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

METADATA = "la/.hoodie_partition_metadata"


def test_partitions_without_metadata_get_it(runner, cow):
    cow.state.storage.delete(METADATA)
    asked = {row["partition_path"]: row for row in runner.call("repair_add_partition_meta", "cow")}
    assert {key: row["metadata_is_present"] for key, row in asked.items()} == {"la": "No", "sf": "Yes"}
    assert {row["action"] for row in asked.values()} == {"None"}
    assert METADATA not in [file.path for file in cow.state.storage.list("la")]
    done = {row["partition_path"]: row["action"] for row in runner.call("repair_add_partition_meta", "cow", False)}
    assert done == {"la": "Repaired", "sf": "None"}
    assert METADATA in [file.path for file in cow.state.storage.list("la")]


def test_cleans_without_a_plan_are_taken_off(runner, cow):
    time = InstantTime("20260101000000500")
    request(cow.state, Instant(requested_time=time, action=Action.CLEAN, state=State.REQUESTED), b"")
    cow.clean(schedule=True, options={"hoodie.clean.commits.retained": 1})
    assert runner.call("repair_corrupted_clean_files", "cow") == [{"result": True}]
    left = [one for one in load_timeline(cow.state).instants if one.action is Action.CLEAN]
    assert time not in [one.requested_time for one in left]
    assert len(left) == 1
