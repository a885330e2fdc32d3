"""Tests of what older releases of PySpark do not have: they are skipped there, by name."""

import pyspark
import pytest

__all__ = ["needs_pyspark"]


def needs_pyspark(release, what):
    """Skip a test, or a module as `pytestmark`, before a release such as "4.0", which is the first to have `what`."""
    has = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    wanted = tuple(int(part) for part in release.split("."))
    return pytest.mark.skipif(has < wanted, reason=f"pyspark {pyspark.__version__} has no {what}; {release} has")
