"""One run of the surface over Spark Connect."""

import pytest
from tests.spark.apart import run_apart


@pytest.mark.all
@pytest.mark.timeout(600)
def test_the_surface_works_over_spark_connect(tmp_path):
    done = run_apart("tests.spark.over_connect", tmp_path, cwd=tmp_path, timeout=590)
    assert done.stdout.splitlines()[-1:] == ["done"]
