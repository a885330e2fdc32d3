"""Spark runs a slow task twice, on two hosts, or loses an executor: one attempt's files count, none is left over."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.cluster import HOSTS
from tests.spark.test_attempts import ALL_ROWS, FIRST_ROWS, PARTITIONS, require_whole

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Run all writes on a cluster of its own, and read what they came to."""
    folder = tmp_path_factory.mktemp("duplicates")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.duplicates", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout)


def test_spark_did_run_copies_on_another_host_and_lost_an_executor(found):
    assert found["events"]["speculative"] >= 2
    assert found["events"]["hosts"] == list(HOSTS)
    assert found["events"]["lost"] >= 1


@pytest.mark.parametrize("scenario", ["late", "answers late", "executor"])
def test_one_attempt_of_each_file_group_is_committed(found, scenario):
    facts = found[scenario]
    assert facts["copies"] >= 1 or facts["refused"]
    assert facts["written"]["result"] == [20, 20, PARTITIONS]
    for moment in ("written", "at_last"):
        require_whole(facts[moment], ALL_ROWS)
        assert facts[moment]["files_nobody_committed"] == []


def test_a_write_fails_only_where_rows_that_it_held_went_with_their_executor(found):
    assert found["late"]["refused"] is None
    assert found["answers late"]["refused"] is None
    lost = found["executor"]["refused"]
    assert lost is None or ("CHECKPOINT_RDD_BLOCK" in lost["error"] and lost["rows"] == FIRST_ROWS)
