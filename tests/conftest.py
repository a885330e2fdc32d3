"""One Spark session for the whole run, started when the first test asks for it; and the tables of both engines."""

import atexit
import gc
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import settings
from tests import everyday
from tests.amounts import IS_EVERYDAY, IS_REST
from tests.engines import engine, pytest_generate_tests, version

__all__ = ["engine", "pytest_generate_tests", "version"]

ROOT = Path(__file__).resolve().parent.parent

# Workers import test functions by name, so they need this directory; and the interpreter of this process.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
os.environ.setdefault("PYTHONWARNINGS", "ignore:PySpark does not yet fully support pandas:FutureWarning")

# A deadline would measure the machine, and what the first example imports.
# On a submission the same examples run every time; elsewhere new ones are drawn.
settings.register_profile("pyhudi", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("pyhudi")

atexit.register(gc.unfreeze)  # bindings call what is not freed in the end a leak

# Tests write much that is soon removed again. What memory holds waits for no disk, and says of syncs what a disk says.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= 2 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
}


ON_SPARK = (
    "tests/spark/",
    "tests/commit/test_few_rows.py",
    "tests/docs/test_sql_examples.py",
    "tests/peers/test_judged_",
)
"""Where tests are that need the session, but for those that both engines share."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave what is long to `make test-all`, where this is `make test` or CI, and what is done out of CI's rest.

    Tests on Spark have to be known as such.
    """
    for item in items:
        if "spark" in item.fixturenames and not item.nodeid.startswith(ON_SPARK):
            raise pytest.UsageError(f"{item.nodeid} would begin a second Spark session; put its file into ON_SPARK")
    if IS_EVERYDAY or IS_REST:
        left = everyday.left_out(items) if IS_EVERYDAY else everyday.done(items)
        if IS_REST:
            left |= everyday.too_long([item for item in items if item not in left], everyday.turn())
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
    if IS_EVERYDAY:
        everyday.draw_few(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without a look for garbage: what is collected stays for the whole run, and is not looked at later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter):
    """Write how CI's choice is repeated."""
    if IS_REST:
        terminalreporter.write_line(f"PYHUDI_TURN={everyday.turn()}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Send all Spark tests to one process, first, where tests run in several: there is one session a run."""
    from xdist.scheduler import LoadScopeScheduling

    class OneSession(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if nodeid.startswith(ON_SPARK) else nodeid

        def mark_test_complete(self, node, item_index, duration=0):
            # What is done is counted again at each event of each test: a third of what this process does.
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()):
                del self.assigned_work[node][scope]

    return OneSession(config, log)


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME", "")
    return shutil.which("java") is not None or (bool(home) and (Path(home) / "bin" / "java").exists())


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Return the one session, a Connect client if PYHUDI_TEST_CONNECT is set; the test fails where Java is missing."""
    if not _has_java():
        pytest.fail("the spark tests need Java 17 or newer; install it and put it on PATH", pytrace=False)
    from pyspark.sql import SparkSession

    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    is_connect = bool(os.environ.get("PYHUDI_TEST_CONNECT"))
    builder = SparkSession.builder.remote("local[2]") if is_connect else SparkSession.builder.master("local[2]")
    builder = builder.config(map={**SETTINGS, "spark.sql.warehouse.dir": warehouse})
    with warnings.catch_warnings():
        # A Connect client sets the server's static settings once more, in vain.
        warnings.filterwarnings("ignore", message="Failed to set spark")
        session = builder.getOrCreate()
    yield session
    session.stop()
