"""What is claimed of Apache Hudi is asked of each release, one after the other. Tests say of which by `asked_of`."""

import os

import pytest
from tests.peers.crafted import Crafted


def pytest_ignore_collect(collection_path, config):
    """Leave the claims out of the short slice: they change with Apache Hudi's releases, not with ours."""
    return True if os.environ.get("PYHUDI_PEERS") == "short" else None


@pytest.fixture
def craft(hudi, version, tmp_path):
    """Return a function that makes a table of the version that a test names."""
    return lambda **options: Crafted(hudi, tmp_path / "crafted", version, options)
