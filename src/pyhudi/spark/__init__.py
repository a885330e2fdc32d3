"""Spark as an engine and as a surface: the only room that imports pyspark.

Importing it starts nothing and changes nothing in Spark; `install` does. Start at `read`, `write` and `install`; the
engine is `pyhudi.spark.engine`.
"""

import importlib
from typing import TYPE_CHECKING

from pyhudi.spark.session import set_worker_python

if TYPE_CHECKING:
    from pyhudi.spark.explaining import explain
    from pyhudi.spark.gathered import into
    from pyhudi.spark.hooks import install, sql, uninstall
    from pyhudi.spark.reading import read
    from pyhudi.spark.streaming import streaming_sink
    from pyhudi.spark.writing import write

__all__ = ["explain", "install", "into", "read", "sql", "streaming_sink", "uninstall", "write"]

_HOMES = {
    "explain": "explaining",
    "install": "hooks",
    "into": "gathered",
    "read": "reading",
    "sql": "hooks",
    "streaming_sink": "streaming",
    "uninstall": "hooks",
    "write": "writing",
}

set_worker_python()


def __getattr__(name: str) -> object:
    """Load on first use: Spark's workers import this package for their tasks."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"pyhudi.spark.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Name what loads on first use too."""
    return sorted({*globals(), *__all__})
