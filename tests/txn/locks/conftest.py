"""The lane of locks that other programs keep: `make locks` runs it, other runs leave it out."""

import pytest


def pytest_collection_modifyitems(config, items):
    if "services" in (config.getoption("markexpr") or ""):
        return
    left_out = [item for item in items if item.get_closest_marker("services")]
    items[:] = [item for item in items if not item.get_closest_marker("services")]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def zookeeper():
    """Start one server for the whole run."""
    from tests.txn.locks.zookeeper_server import ZooKeeperServer

    with ZooKeeperServer() as server:
        yield server
