"""Golden merge-on-read tables in memory, for tests of what compacts them."""

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.fixed_env import FixedEnv
from tests.golden.catalogue import kept_tables, spelled
from tests.txn.writing import states_of

from pyhudi.options import Settings
from pyhudi.schema.meta_fields import FILE_NAME
from pyhudi.services.service import service_call
from pyhudi.state.properties_file import open_state
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table

__all__ = [
    "VERSIONS",
    "base_files",
    "call_of",
    "log_files",
    "path_of",
    "rows_of",
    "services_of",
    "state_of",
]

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
START_MS = 1_798_761_600_000
"""2027, later than the tables."""


@cache
def packed(name):
    [golden] = [one for one in kept_tables() if one.name == name]
    with tempfile.TemporaryDirectory() as folder:
        root = golden.unpack(Path(folder))
        return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()}


def state_of(version, name="mor_logs"):
    """Copy a golden table into memory."""
    env = FixedEnv(START_MS)
    storage = MemoryStorage(env=env)
    for path, data in packed(f"{name}-v{version}").items():
        storage.put(path, data)
    return open_state(storage, env)


def call_of(state, storage=None, **options):
    return service_call(replace(state, storage=storage or state.storage), Settings.of(options))


def rows_of(state, **how):
    rows = Table(open_state(state.storage, state.env)).scan(meta=True, **how).to_arrow()
    return spelled(rows.drop_columns([FILE_NAME]))


def services_of(state):
    """Return (action, state) of what is no delta commit."""
    return [one for one in states_of(state) if one[0] != "deltacommit"]


def path_of(operation):
    return f"{operation.partition}/{operation.logs[0]}"


def log_files(state):
    return [one.path for one in state.storage.list("") if ".log." in one.path and not one.path.startswith(".hoodie/")]


def base_files(state):
    return [one.path for one in state.storage.list("") if one.path.endswith(".parquet")]
