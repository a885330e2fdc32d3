"""Everything in this folder needs a JVM."""

from pathlib import Path

import pytest
from tests.spark.many import take_few_for_many

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(autouse=True)
def _rows_stay_on_spark(monkeypatch):
    """What is tested here is what Spark does; `test_few_rows` has what it leaves to the driver."""
    take_few_for_many(monkeypatch.setattr)
