"""What we need of a Spark session, and the traps of starting one.

Start at `require_pyspark`; `check_workers` asks the workers themselves.
"""

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pyhudi.errors import FileMissing, InvalidInput, NotBuilt, PackageMissing, PathNotShared, WorkerMismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyhudi.storage.api import Storage  # brings Arrow, which Spark's search for data sources need not wait for

__all__ = [
    "Worker",
    "check_workers",
    "is_connect",
    "is_local",
    "require_pyspark",
    "require_same",
    "require_session",
    "session_options",
    "set_worker_python",
]

_PREFIX = "spark."

_FLOOR = (3, 5)
_CONNECT_FLOOR = (4, 0)
_PROBE_TASKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """What a worker runs."""

    python: str
    """Major and minor version."""
    pyhudi: str
    probe: bytes | None
    """What it read of the driver's file; none if it found nothing."""


def require_pyspark() -> None:
    """Check that a pyspark is there which we can work with.

    Raises: PackageMissing with what to install.
    """
    for package in ("pyspark", "pandas"):
        if importlib.util.find_spec(package) is None:
            raise PackageMissing("install pyhudi[spark] to work on spark", package=package)
    if _release() < _FLOOR:
        raise PackageMissing("install pyspark 3.5 or newer", package="pyspark", version=metadata.version("pyspark"))


def set_worker_python() -> None:
    """Make workers run this interpreter, where Spark starts in this process and no setting says otherwise.

    Spark reads the variable when a session starts, and takes `python3` from PATH without it: another interpreter
    wherever a virtual environment is not activated.
    """
    submitted = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    elsewhere = ("SPARK_REMOTE" in os.environ, "PYSPARK_GATEWAY_PORT" in os.environ, "--remote" in submitted)
    is_cluster = "--master" in submitted and "--master local" not in submitted
    is_cluster = is_cluster or not os.environ.get("MASTER", "local").startswith("local")
    if not any(elsewhere) and not is_cluster and not _has_session():
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def require_session(spark: object) -> None:
    """Check that this is a session, classic or of Spark Connect.

    Raises: InvalidInput; NotBuilt for Spark Connect of 3.5, which cannot keep rows while they are written.
    """
    if not any(
        kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.") for kind in type(spark).__mro__
    ):
        raise InvalidInput("spark is a SparkSession", type=type(spark).__name__)
    if type(spark).__module__.startswith("pyspark.sql.connect") and _release() < _CONNECT_FLOOR:
        raise NotBuilt("pyhudi needs pyspark 4.0 or newer over Spark Connect; use a classic session")


def is_connect(spark: "SparkSession") -> bool:
    """Return whether a session speaks to a server by Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def session_options(spark: "SparkSession") -> Mapping[str, str]:
    """Return the session's `hoodie.*` options; those set as `spark.hoodie.*` win."""
    from pyhudi.spark.releases import session_settings

    settings = session_settings(spark, "hoodie.", _PREFIX + "hoodie.")
    plain = {key: text for key, text in settings.items() if key.startswith("hoodie.")}
    prefixed = {key[len(_PREFIX) :]: text for key, text in settings.items() if key.startswith(_PREFIX + "hoodie.")}
    return {**plain, **prefixed}


def is_local(spark: "SparkSession") -> bool:
    """Return whether workers run on this host for certain."""
    if is_connect(spark):
        return False
    master = spark.sparkContext.master or ""
    return master.startswith("local") and not master.startswith("local-cluster")


def check_workers(
    run: Callable[[Callable[[int], Worker], Sequence[int]], list[Worker]], storage: "Storage", token: str
) -> None:
    """Check which Python and pyhudi workers run, and to read a file this process writes.

    Raises: WorkerMismatch, PathNotShared.
    """
    path = f".hoodie/.temp/pyhudi-probe-{token}"
    is_shared = storage.traits.is_shared
    if not is_shared:
        storage.put(path, token.encode())
    try:
        workers = run(partial(_probe, storage=None if is_shared else storage, path=path), range(_PROBE_TASKS))
    finally:
        if not is_shared:
            storage.delete(path)
    require_same(workers, None if is_shared else token.encode(), storage.url)


def require_same(workers: Sequence[Worker], probe: bytes | None, url: str) -> None:
    """Compare what workers run with what runs here.

    Raises: WorkerMismatch, PathNotShared.
    """
    here = _probe(0, storage=None, path="")
    for worker in workers:
        if worker.python != here.python:
            raise WorkerMismatch(
                "set PYSPARK_PYTHON to the driver's Python before Spark starts", worker=worker.python, here=here.python
            )
        if worker.pyhudi != here.pyhudi:
            raise WorkerMismatch("install the same pyhudi on workers", worker=worker.pyhudi, here=here.pyhudi)
        if worker.probe != probe:
            raise PathNotShared("use a path that all workers see as the driver does", url=url)


def _probe(task: int, *, storage: Any, path: str) -> Worker:  # noqa: ANN401 - a storage or none, pickled
    try:
        probe = None if storage is None else storage.get(path)
    except FileMissing:
        probe = None
    return Worker(python=".".join(platform.python_version_tuple()[:2]), pyhudi=metadata.version("pyhudi"), probe=probe)


def _release() -> tuple[int, ...]:
    import pyspark

    return tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def _has_session() -> bool:
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None
