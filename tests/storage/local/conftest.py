"""The local store is tried on a disk, wherever the files of other tests are."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path():
    """Return a folder on disk."""
    with tempfile.TemporaryDirectory(prefix="pyhudi-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
