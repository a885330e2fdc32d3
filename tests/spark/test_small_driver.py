"""A driver of 1 GB writes more rows than it could look up by itself: it holds counts, and no keys."""

import json

import pytest
from tests.spark.apart import run_apart
from tests.spark.small_driver import ROWS


@pytest.mark.timeout(900)
def test_a_driver_of_one_gigabyte_writes_many_rows_in_many_partitions(tmp_path):
    said = json.loads(run_apart("tests.spark.small_driver", tmp_path, timeout=880).stdout.splitlines()[-1])
    assert (said["inserted"], said["updated"], said["rows"]) == (ROWS, ROWS // 100, ROWS)
    assert said["driver_mb"] < 400
