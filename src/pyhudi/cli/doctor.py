"""Look at the machine and at one table, and say what to do about what is not right.

Every check catches what it looks at, so that one broken thing does not hide the others. Start at `examine`.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

import pyarrow as pa

import pyhudi
from pyhudi.cli.checks import Check
from pyhudi.errors import HudiError, OptionError, PermissionDenied
from pyhudi.spark.java import JAVA_FLOOR, find_java, java_version
from pyhudi.state.kept_options import settings_of
from pyhudi.storage.probe import probe_writes
from pyhudi.txn.locks import lock_for

__all__ = ["examine"]

PYTHON_FLOOR = (3, 11)
PYSPARK_FLOOR, PYSPARK_CEILING = (3, 5), (5, 0)
CORE = ("pyarrow", "numpy", "obstore", "fastavro", "typer", "rich")
EXTRAS = ("pyspark", "pandas", "polars", "duckdb")
_WORKER = "import sys, pyarrow, pyhudi; print('%d.%d' % sys.version_info[:2], pyarrow.__version__)"


def examine(path: str, storage_options: Mapping[str, str]) -> list[Check]:
    """Check Python, packages, Java and Spark's worker Python; and the table at `path`, if one is given."""
    found = [_python(), *map(_core_package, CORE), *map(_extra_package, EXTRAS)]
    if _installed("pyspark"):
        found += [_java(), _worker_python()]
    return found + (_table_checks(path, storage_options) if path else [])


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < PYTHON_FLOOR:
        return Check(subject="python", verdict="fix", found=version, advice="use Python 3.11 or newer")
    return Check(subject="python", verdict="fine", found=f"{version} ({sys.executable})")


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _core_package(package: str) -> Check:
    version = _installed(package)
    if version is None:
        return Check(subject=package, verdict="fix", found="not installed", advice=f"pip install {package}")
    return Check(subject=package, verdict="fine", found=version)


def _extra_package(package: str) -> Check:
    version = _installed(package)
    if version is None:
        advice = f"pip install 'pyhudi[{'spark' if package == 'pyspark' else package}]' if you want it"
        return Check(subject=package, verdict="note", found="not installed", advice=advice)
    if package == "pyspark" and not PYSPARK_FLOOR <= _release(version) < PYSPARK_CEILING:
        return Check(subject=package, verdict="fix", found=version, advice="pip install 'pyspark>=3.5,<5'")
    return Check(subject=package, verdict="fine", found=version)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _java() -> Check:
    home, java = os.environ.get("JAVA_HOME"), find_java()
    version = java_version(java) if java else None
    advice = "install Java 17 or newer and set JAVA_HOME: sudo apt-get install -y openjdk-17-jre-headless"
    if java is None or version is None:
        where = f"JAVA_HOME={home} has no working java" if home else "not found"
        return Check(subject="java", verdict="fix", found=where, advice=f"Spark needs it; {advice}")
    if version < JAVA_FLOOR:
        return Check(subject="java", verdict="fix", found=f"{version} ({java})", advice=advice)
    return Check(subject="java", verdict="fine", found=f"{version} ({java})")


def _worker_python() -> Check:
    """Query the Python that Spark's local workers would run for its version and for pyhudi."""
    subject, python = "spark worker python", os.environ.get("PYSPARK_PYTHON", sys.executable)
    mine = f"{'.'.join(map(str, sys.version_info[:2]))} {pa.__version__}"
    try:
        done = subprocess.run([python, "-c", _WORKER], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(
            subject=subject, verdict="fix", found=f"{python}: {error}", advice=f"set PYSPARK_PYTHON={sys.executable}"
        )
    answer = done.stdout.strip()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        advice = f"install pyhudi for that Python, or set PYSPARK_PYTHON={sys.executable}"
        return Check(subject=subject, verdict="fix", found=f"{python}: {last}", advice=advice)
    if answer.split()[0] != mine.split()[0]:
        advice = f"workers must run the driver's Python: set PYSPARK_PYTHON={sys.executable}"
        return Check(subject=subject, verdict="fix", found=f"{answer} where the driver has {mine}", advice=advice)
    if answer != mine:
        advice = "give workers and driver the same pyarrow"
        return Check(
            subject=subject,
            verdict="note",
            found=f"pyarrow {answer.split()[1]}, driver {pa.__version__}",
            advice=advice,
        )
    return Check(subject=subject, verdict="fine", found=python)


def _table_checks(path: str, storage_options: Mapping[str, str]) -> list[Check]:
    try:
        table = pyhudi.open_table(path, storage_options=dict(storage_options))
    except HudiError as error:
        return [Check(subject="table", verdict="fix", found=f"{error} [{type(error).__name__}]")]
    config = table.config
    found = [
        Check(
            subject="table", verdict="fine", found=f"{config.name}, {config.table_type}, version {config.table_version}"
        )
    ]
    for subject, look in (("storage", _storage), ("lock", _lock), ("pending", _pending)):
        found.append(_guarded(subject, look, table))
    return found


def _guarded(subject: str, look: Callable[[Any], Check], table: Any) -> Check:  # noqa: ANN401 - a Table
    try:
        return look(table)
    except HudiError as error:
        return Check(subject=subject, verdict="fix", found=str(error))


def _storage(table: Any) -> Check:  # noqa: ANN401
    state = table.state
    try:
        can = probe_writes(state.storage, state.env)
    except PermissionDenied:
        return Check(subject="storage", verdict="note", found=f"{state.storage.url}; it can only be read")
    swaps = f"compare and swap: {'yes' if can.has_cas else 'no'}"
    if can.has_many_writers:
        return Check(subject="storage", verdict="fine", found=f"{state.storage.url}; several writers: yes; {swaps}")
    found = f"{state.storage.url}; several writers: no, because {can.reason}; {swaps}"
    return Check(subject="storage", verdict="note", found=found, advice="run one writer at a time")


def _lock(table: Any) -> Check:  # noqa: ANN401
    """Return which lock is in force, and what to do where Apache Hudi's writers would not meet it."""
    try:
        lock = lock_for(table.state, settings_of(table.config, None))
    except OptionError as error:  # the table declares a lock, and not how it is reached
        found = table.config.lock.get("hoodie.write.lock.provider", "")
        return Check(subject="lock", verdict="note", found=found, advice=str(error))
    if lock.is_shared or not table.state.storage.traits.has_guard:
        return Check(subject="lock", verdict="fine", found=lock.name)
    advice = (
        "if Apache Hudi writes this table too, name a lock that both know, once: "
        "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    )
    return Check(subject="lock", verdict="note", found=lock.name, advice=advice)


def _pending(table: Any) -> Check:  # noqa: ANN401
    rows = table.inspect.pending().to_pylist()
    if not rows:
        return Check(subject="pending", verdict="fine", found="no unfinished instants")
    found = "; ".join(f"{row['instant']} {row['action']} {row['state']}, {row['writer']}" for row in rows)
    advice = "; ".join(dict.fromkeys(str(row["what_to_do"]) for row in rows))
    return Check(subject="pending", verdict="note", found=found, advice=advice)
