"""Spark runs a slow task twice, on two hosts, or loses an executor: one attempt's files count, none is left over."""

import json
import os

import pytest
from tests.spark.apart import run_apart
from tests.spark.cluster import HOSTS
from tests.spark.test_attempts import ALL_ROWS, PARTITIONS, require_whole

pytestmark = pytest.mark.skipif(
    os.environ.get("PYHUDI_TEST_ENGINE") != "spark", reason="the long lane: make test-spark starts a cluster"
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Run all writes on a cluster of its own, and read what they came to."""
    folder = tmp_path_factory.mktemp("duplicates")
    return json.loads(run_apart("tests.spark.duplicates", folder).stdout)


def test_spark_did_run_copies_on_another_host_and_lost_an_executor(found):
    assert found["events"]["speculative"] >= 2
    assert found["events"]["hosts"] == list(HOSTS)
    assert found["events"]["lost"] >= 1


@pytest.mark.parametrize("scenario", ["late", "answers late", "executor"])
def test_one_attempt_of_each_file_group_is_committed(found, scenario):
    facts = found[scenario]
    assert facts["copies"] >= 1
    assert facts["written"]["result"] == [20, 20, PARTITIONS]
    for moment in ("written", "at_last"):
        require_whole(facts[moment], ALL_ROWS)
        assert facts[moment]["files_nobody_committed"] == []
