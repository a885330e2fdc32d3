"""Tables by engine and version: every test here runs on the engines there are."""

import os

import pytest
from tests.building import TableBuilder


@pytest.fixture
def engine(request, tmp_path):
    """Give tables of the local engine; of Spark where PYHUDI_TEST_ENGINE says `spark`."""
    if os.environ.get("PYHUDI_TEST_ENGINE") != "spark":
        return TableBuilder()
    from tests.spark.building import SparkTableBuilder

    return SparkTableBuilder(request.getfixturevalue("spark"), tmp_path)


@pytest.fixture(params=[9] if os.environ.get("PYHUDI_TEST_ENGINE") == "spark" else [6, 8, 9])
def version(request):
    """Give each table version that is written; on Spark the newest, as versions differ below the engine."""
    return request.param
