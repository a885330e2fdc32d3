"""What the lane shares: one peer a release for the whole run. Without `-m peers` nothing here needs one."""

import os

import pytest
from tests.storage.conftest import s3_server

__all__ = ["hudi_1_2", "is_full", "s3_server"]

BEYOND_SLICE = {"test_judged_releases.py"}


def pytest_ignore_collect(collection_path, config):
    """Leave the judging out of runs that did not ask for it."""
    is_judging = collection_path.name.startswith("test_judged_")
    return True if is_judging and "peers" not in (config.getoption("markexpr") or "") else None


def pytest_collection_modifyitems(config, items):
    """Mark what is judged; the short slice has one release only."""
    for item in items:
        if item.path.name.startswith("test_judged_"):
            item.add_marker(pytest.mark.peers)
    if not is_full():
        left_out = [item for item in items if item.path.name in BEYOND_SLICE]
        items[:] = [item for item in items if item.path.name not in BEYOND_SLICE]
        config.hook.pytest_deselected(items=left_out)


def is_full():
    """Tell whether the whole matrix is wanted, or the slice."""
    return os.environ.get("PYHUDI_PEERS", "full") == "full"


@pytest.fixture(scope="session")
def hudi_1_2():
    """Give Apache Hudi's newest release."""
    from tests.peers.peer import Peer

    with Peer() as peer:
        yield peer
