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
from pyhudi.filegroup import listing, numbering
from pyhudi.filegroup.name_columns import base_files, log_files
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.parquet import footer
from pyhudi.formats.parquet.statistics import StoredStatistics
from pyhudi.formats.properties import parse_properties
from pyhudi.metadata import reader, state
from pyhudi.state import properties_file
from pyhudi.storage.process import RecentlyUsed
from pyhudi.tasks import at_once
from pyhudi.timeline import active
from pyhudi.timeline.codec import decode_commit
from pyhudi.timeline.view import Timeline

_MOST = 2_000
"""Answers of one kind that are remembered."""


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
    gc.freeze()
    try:
        with (
            patch.object(listing, "_all_of", _one_by_one),
            patch.object(properties_file, "parse_properties", _properties),
            patch.object(active, "decode_commit", _commit),
            patch.object(footer, "StoredStatistics", _statistics),
            patch.object(numbering, "base_files", _base_files),
            patch.object(numbering, "log_files", _log_files),
            patch.object(state, "latest_file_slices", _slices),
            patch.object(reader, "decode_rows", _rows),
            patch.object(at_once, "timed", _at_no_cost),
        ):
            yield
    finally:
        pa.set_cpu_count(cpus)
        gc.unfreeze()
        gc.set_threshold(*thresholds)


@lru_cache(maxsize=1_000)
def _parsed(data: bytes) -> Mapping[str, str]:
    return parse_properties(data)


def _properties(data: bytes) -> dict[str, str]:
    return dict(_parsed(data))


_commit = lru_cache(maxsize=10_000)(decode_commit)
_statistics = lru_cache(maxsize=1_000)(StoredStatistics)


def _once(function: Callable[..., Any], key_of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that answers from memory where it was asked the same before, as a key says."""
    known = RecentlyUsed[Any, Any](_MOST)

    def answer(*given: Any, **named: Any) -> Any:
        key = key_of(*given, **named)
        found = known.get(key)
        return known.add(key, function(*given, **named)) if found is None else found

    return answer


def _texts(files: pa.Table) -> tuple[object, ...]:
    return tuple(tuple(column.to_pylist()) for column in files.columns)


def _listed(files: pa.Table, timeline: Timeline, replaced: Mapping[object, object]) -> tuple[object, ...]:
    """Return what the slices of a metadata table follow from, where nothing is ever replaced."""
    return _texts(files), timeline.instants, timeline.layout, timeline.pending_times, tuple(replaced)


def _records(values: pa.Array, *schemas: str, columns: Sequence[str] | None = None) -> tuple[object, ...]:
    return tuple(values.to_pylist()), schemas, None if columns is None else tuple(columns)


_base_files, _log_files = (_once(read, _texts) for read in (base_files, log_files))
_slices = _once(latest_file_slices, _listed)
_rows = _once(decode_rows, _records)


def _one_by_one(_: object, function: Callable[[Any], Any], places: Sequence[Any]) -> dict[Any, Any]:
    """Do the work of threads at once, in the thread that asks."""
    return {place: function(place) for place in places}


def _at_no_cost(work: Callable[[], Any]) -> tuple[Any, float]:
    """Do work that does not wait, however long the machine lets this process stand: it begins no threads."""
    return work(), 1.0


def _again(function: Callable[[Any], Any], task: Any) -> Any:
    try:
        return function(task)
    except TaskLostError:
        return function(task)
