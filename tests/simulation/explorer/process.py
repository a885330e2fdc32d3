"""The process in which runs take place: deterministic, and nothing is parsed twice. Start at `simulated`."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from tests.simulation.explorer.actors import TaskLostError

from pyhudi.engine.local import LocalEngine
from pyhudi.filegroup import listing
from pyhudi.formats.properties import parse_properties
from pyhudi.state import properties_file
from pyhudi.timeline import active
from pyhudi.timeline.codec import decode_commit


@contextmanager
def simulated() -> Iterator[None]:
    """Make this process deterministic, with tasks that run again where their executor is lost; and quick."""

    def run(engine: LocalEngine, function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        return [_again(function, task) for task in tasks]

    with quick(), patch.object(LocalEngine, "run", run):
        yield


@contextmanager
def quick() -> Iterator[None]:
    """List and compute in one thread; parse no bytes twice; seldom search what is remembered for cycles."""
    cpus, thresholds = pa.cpu_count(), gc.get_threshold()
    pa.set_cpu_count(1)
    gc.set_threshold(20_000, 50, 100)
    try:
        with (
            patch.object(listing, "_all_of", _one_by_one),
            patch.object(properties_file, "parse_properties", _properties),
            patch.object(active, "decode_commit", _commit),
        ):
            yield
    finally:
        pa.set_cpu_count(cpus)
        gc.set_threshold(*thresholds)


@lru_cache(maxsize=1_000)
def _parsed(data: bytes) -> Mapping[str, str]:
    return parse_properties(data)


def _properties(data: bytes) -> dict[str, str]:
    return dict(_parsed(data))


_commit = lru_cache(maxsize=10_000)(decode_commit)


def _one_by_one(_: object, function: Callable[[Any], Any], places: Sequence[Any]) -> dict[Any, Any]:
    """Do the work of threads at once, in the thread that asks."""
    return {place: function(place) for place in places}


def _again(function: Callable[[Any], Any], task: Any) -> Any:
    try:
        return function(task)
    except TaskLostError:
        return function(task)
