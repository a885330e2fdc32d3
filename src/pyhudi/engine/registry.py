"""Which engine works on rows: the one that says it takes objects of their package, else this process.

An engine is an entry point of the group `pyhudi.engines`, named by the package whose frames and sessions it takes:
`pyspark = "pyhudi.spark.engine:SparkEngine"`. The class takes a session and a storage; its `of(rows, storage,
progress)` makes one for rows. Start at `engine_for`.
"""

from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Final, Protocol, cast

from pyhudi.engine.api import Engine
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.progress import Progress
from pyhudi.errors import Environment, InvalidInput
from pyhudi.storage.api import Storage

__all__ = ["engine_for", "engine_on"]

_GROUP: Final = "pyhudi.engines"
_OURS: Final = frozenset({"builtins", "pyarrow"})
"""Packages of rows that this process takes for certain: entry points need not be read for them."""


class _EngineClass(Protocol):
    """A class of engines, of a room that this one does not import."""

    def __call__(self, session: object, storage: Storage) -> Engine:
        """Make the engine of a session."""

    def of(self, rows: object, storage: Storage, progress: Progress | None) -> Engine:
        """Make the engine that works on rows."""


def engine_for(rows: object, storage: Storage, progress: Progress | None = None) -> Engine:
    """Find the engine that fits rows: Spark for a Spark DataFrame, this process for all else.

    `progress` hears how far work is; Spark shows that itself.

    Raises: PackageMissing, PathNotShared, WorkerMismatch if Spark cannot do the work; Environment where pyhudi is
            installed without its entry points.
    """
    kind = _engine_of(rows)
    return LocalEngine.of(rows, storage, progress) if kind is None else kind.of(rows, storage, progress)


def engine_on(session: object, storage: Storage) -> Engine:
    """Make the engine of a Spark session.

    Raises: InvalidInput for what is no session; as `engine_for`.
    """
    kind = _engine_of(session)
    if kind is None:
        raise InvalidInput("spark is a SparkSession", type=type(session).__name__)
    return kind(session, storage)


def _engine_of(given: object) -> _EngineClass | None:
    """Return the engine of the package whose class an object has, or inherits; None where none takes it."""
    packages = {kind.__module__.partition(".")[0] for kind in type(given).__mro__} - _OURS
    registered = _registered() if packages else ()
    found = next((one for one in registered if one.name in packages), None)
    return None if found is None else cast("_EngineClass", found.load())


@cache
def _registered() -> EntryPoints:
    found = entry_points(group=_GROUP)
    if not found:
        raise Environment("pyhudi is installed without its entry points; install it again", group=_GROUP)
    return found
