"""What the lane shares: one peer a release for the whole run. Without `-m peers` nothing here needs one."""

import os
import random

import pytest
from tests.storage.conftest import s3_server

__all__ = ["hudi", "hudi_1_2", "is_full", "lane", "s3_server", "seed", "uncompiled_spark"]

BEYOND_SLICE = {"test_judged_releases.py"}
_DRAWN = 1 if os.environ.get("CI") == "true" else random.randrange(1_000_000)


def pytest_report_header(config):
    """Write how a run is repeated."""
    return f"PYHUDI_SEED={seed()}" if "peers" in (config.getoption("markexpr") or "") else None


def lane():
    """Return how much is judged: short, full or everything."""
    return os.environ.get("PYHUDI_PEERS", "full")


def seed():
    """Return the number that histories are drawn from; a submission judges the same ones every time."""
    return int(os.environ.get("PYHUDI_SEED", _DRAWN))


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
    """Return whether the whole matrix is wanted, or the slice."""
    return lane() != "short"


@pytest.fixture(scope="session")
def hudi_1_2(s3_server):
    """Return Apache Hudi's newest release, which reaches the S3 emulator too."""
    from tests.peers.on_s3 import s3_jars, s3_settings
    from tests.peers.peer import NEWEST, UNCOMPILED, Peer

    with Peer(NEWEST, s3_jars(), UNCOMPILED | s3_settings(s3_server)) as peer:
        yield peer


@pytest.fixture(scope="session")
def uncompiled_spark(spark):
    """Return our Spark, which does not compile plans then."""
    from tests.peers.peer import UNCOMPILED

    for name, value in UNCOMPILED.items():
        spark.conf.set(name, value)
    yield spark
    for name in UNCOMPILED:
        spark.conf.unset(name)


@pytest.fixture(scope="session")
def hudi(request):
    """Return the release that a test names by `crafted.asked_of`."""
    from tests.peers.peer import NEWEST, UNCOMPILED, Peer

    if request.param == NEWEST:
        yield request.getfixturevalue("hudi_1_2")
        return
    with Peer(request.param, settings=UNCOMPILED) as peer:
        yield peer
