"""Tables by engine and version: tests that ask for `engine` and `version` run on the engines there are."""

import os
from pathlib import Path

import pytest
from tests.building import TableBuilder

__all__ = ["engine", "version"]

IS_SPARK = os.environ.get("PYHUDI_TEST_ENGINE") == "spark"


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> TableBuilder:
    """Return what makes tables on the local engine; on Spark where PYHUDI_TEST_ENGINE says `spark`."""
    if not IS_SPARK:
        return TableBuilder()
    from tests.spark.building import SparkTableBuilder

    return SparkTableBuilder(request.getfixturevalue("spark"), tmp_path)


@pytest.fixture(params=[9] if IS_SPARK else [6, 8, 9])
def version(request: pytest.FixtureRequest) -> int:
    """Return each table version that is written; on Spark the newest, as versions differ below the engine."""
    return int(request.param)
