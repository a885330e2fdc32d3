import json

import pytest
from tests.spark.apart import run_apart

pytestmark = pytest.mark.all

ALL_ROWS, FIRST_ROWS = [120, 120, 40], [100, 100, 0]
"""Rows, distinct keys, rows of the second write."""
PARTITIONS = 3


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    """Run all writes in a session of its own, which tries tasks again, and read what they came to."""
    folder = tmp_path_factory.mktemp("attempts")
    return json.loads(run_apart("tests.spark.attempts", folder).stdout)


def require_whole(facts, rows):
    """Every file group has one file an instant, as large as its commit says, and both readers see the rows."""
    assert facts["most_files_of_one_group_and_instant"] == 1
    assert facts["files_of_another_size"] == []
    assert facts["rows"] == rows
    assert facts["hudi_rs"] == rows


@pytest.mark.parametrize("scenario", ["once", "twice"])
def test_tasks_that_fail_or_run_twice_leave_one_file_and_true_counts(scenarios, scenario):
    facts = scenarios[scenario]
    require_whole(facts, ALL_ROWS)
    assert facts["files_nobody_committed"] == []
    assert facts["result"] == [20, 20, PARTITIONS]
    assert facts["died"] == (0 if scenario == "twice" else PARTITIONS)


def test_a_zombie_that_writes_after_the_commit_changes_nothing(scenarios):
    facts = scenarios["zombie"]
    assert facts["zombies"] == facts["written"]["died"] == PARTITIONS
    assert facts["written"]["result"] == [20, 20, PARTITIONS]
    for moment in ("written", "after", "at_last"):
        require_whole(facts[moment], ALL_ROWS)
        assert facts[moment]["files_nobody_committed"] == []


def test_a_failed_write_is_rolled_back_and_its_zombies_are_swept_by_the_next(scenarios):
    facts = scenarios["failed"]
    assert facts["error"] == "InternalError"
    assert facts["died"] == 3
    require_whole(facts["rolled_back"], FIRST_ROWS)
    assert facts["rolled_back"]["files_nobody_committed"] == []
    require_whole(facts["after"], FIRST_ROWS)
    assert len(facts["after"]["files_nobody_committed"]) == facts["zombies"] == 1
    assert facts["again"] == [20, 20]
    require_whole(facts["at_last"], ALL_ROWS)
    assert facts["at_last"]["files_nobody_committed"] == []


def test_a_source_that_differs_each_time_is_asked_once(scenarios):
    facts = scenarios["random"]
    require_whole(facts, [300, 300, 200])
    assert facts["inserted"] == 200
    assert facts["evaluations"] == 2
    assert facts["died"] == 2
