"""The statements and streams that each lane and Spark Connect run too, on a classic session."""

import pytest
from tests.lanes.statements import run_statements
from tests.lanes.streams import run_streams

import pyhudi.spark
from pyhudi.spark.releases import HAS_DATA_SOURCES


@pytest.fixture
def hooked(spark):
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE same")
    spark.sql("USE same")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE same CASCADE")
    pyhudi.spark.uninstall()


@pytest.mark.all
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_statements_answer_as_everywhere(hooked, tmp_path, kind):
    lacks = () if HAS_DATA_SOURCES else ("views",)
    assert run_statements(hooked, str(tmp_path), kind, lacks) > 80


@pytest.mark.all
def test_streams_carry_as_everywhere(hooked, tmp_path):
    run_streams(hooked, str(tmp_path / "streams"), has_source=HAS_DATA_SOURCES)
