"""What simulations share."""

import pytest
from tests import figures
from tests.storage.conftest import s3_server

__all__ = ["s3_server"]


@pytest.fixture
def figure():
    """Give what adds to a figure of docs/reliability.md."""
    return figures.count


def pytest_sessionfinish():
    figures.save()
