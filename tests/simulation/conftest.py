"""What simulations share."""

import pytest
from tests import figures
from tests.simulation.explorer.process import quick
from tests.storage.conftest import s3_server

__all__ = ["s3_server"]


@pytest.fixture
def figure():
    """Return what adds to a figure of docs/reliability.md."""
    return figures.count


@pytest.fixture
def quick_process():
    """Make the order of operations the same every time, and parse no bytes twice."""
    with quick():
        yield


def pytest_sessionfinish():
    figures.save()
