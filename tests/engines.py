"""Tables by engine and version: tests that ask for `engine` and `version` run on the engines there are."""

import os
from pathlib import Path

import pytest
from tests.building import TableBuilder

__all__ = ["engine", "pytest_generate_tests", "version"]

IS_SPARK = os.environ.get("PYHUDI_TEST_ENGINE") == "spark"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of a module with `engine` on each type of table that it names."""
    types = getattr(metafunc.module, "TABLE_TYPES", ())
    if types and "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", types, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> TableBuilder:
    """Return what makes tables on the local engine; on Spark where PYHUDI_TEST_ENGINE says `spark`.

    A module that names TABLE_TYPES runs on tables of each of them.
    """
    table_type = getattr(request, "param", "cow")
    if not IS_SPARK:
        return TableBuilder(table_type)
    from tests.spark.building import SparkTableBuilder

    return SparkTableBuilder(request.getfixturevalue("spark"), tmp_path, table_type)


@pytest.fixture(params=[9] if IS_SPARK else [6, 8, 9])
def version(request: pytest.FixtureRequest) -> int:
    """Return each table version that is written; on Spark the newest, as versions differ below the engine."""
    return int(request.param)
