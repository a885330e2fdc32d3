"""Tables by engine and version: every test here runs on the engines there are."""

import pytest
from tests.building import TableBuilder


@pytest.fixture
def engine():
    """Give the local engine's tables; the Spark lane overrides this with its own."""
    return TableBuilder()


@pytest.fixture(params=[6, 8, 9])
def version(request):
    """Give each table version that is written."""
    return request.param
