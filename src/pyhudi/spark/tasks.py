"""What runs in Spark's Python workers: functions over Arrow batches.

Everything here is a module-level function, so that it travels by name. Nothing here has a session. Start at
`run_tasks` and `map_task`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.serializers import CloudPickleSerializer

from pyhudi.engine.api import FILES_AT_ONCE, Attempt
from pyhudi.engine.frames import select_and_cast
from pyhudi.env import SystemEnv
from pyhudi.kernels.order import sort_rows
from pyhudi.spark.failures import carried

__all__ = [
    "INDEX",
    "PAYLOAD",
    "WORK",
    "map_task",
    "packed_tasks",
    "row_tasks",
    "run_tasks",
    "shared_tasks",
    "sort_task",
    "unpacked_results",
]

INDEX = "index"
PAYLOAD = "payload"
WORK = pa.schema([(INDEX, pa.int32()), (PAYLOAD, pa.binary())])
"""A task or a result on its way: its place, and its pickle. Only our own driver and workers write these."""

Batches = Iterator[pa.RecordBatch]

_UUID_BITS, _NUMBER_BITS = 128, 31

_PICKLER: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]


def packed_tasks(tasks: Sequence[object]) -> pa.Table:
    """Make rows of tasks.   Shape: WORK."""
    numbers = pa.array(range(len(tasks)), pa.int32())
    return pa.table([numbers, pa.array([_PICKLER.dumps(task) for task in tasks], pa.binary())], schema=WORK)


def unpacked_results(results: pa.Table) -> list[Any]:
    """Return the results in order of their tasks.   Shape: WORK."""
    return [_PICKLER.loads(payload) for payload in results.sort_by(INDEX)[PAYLOAD].to_pylist()]


def shared_tasks(batches: Batches, *, shares: Sequence[pa.Table], work: Callable[[Batches], Batches]) -> Batches:
    """Do the work of the shares that these rows number.   Shape: a number -> as `work` has it, given WORK."""
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    return work(batch for number in numbers for batch in shares[number].to_batches())


def run_tasks(batches: Batches, *, function: Callable[[Any], object]) -> Batches:
    """Run a function over tasks and yield their results.   Shape: WORK -> WORK."""
    for place, task in _tasks(batches):
        with carried():
            result = function(task)
        yield pa.record_batch([pa.array([place], pa.int32()), pa.array([_PICKLER.dumps(result)])], schema=WORK)


def row_tasks(batches: Batches, *, function: Callable[[Any], Batches], schema: pa.Schema) -> Batches:
    """Yield the rows a function gives for each task.   Shape: WORK -> `schema`."""
    for _, task in _tasks(batches):
        with carried():
            for batch in function(task):
                yield select_and_cast(batch, schema)


def map_task(
    batches: Batches, *, function: Callable[[Attempt, Batches], Batches], source: pa.Schema, target: pa.Schema
) -> Batches:
    """Run a function over the rows of this task.   Shape: `source` -> `target`."""
    rows = (select_and_cast(batch, source) for batch in batches if batch.num_rows)
    with carried():
        for batch in function(_attempt(), rows):
            yield select_and_cast(batch, target)


def sort_task(batches: Batches, *, columns: Sequence[str], schema: pa.Schema) -> Batches:
    """Yield the rows of this task in order of some columns.

    Shape: `schema` -> `schema`.
    Cost:  the rows of the task in memory.
    """
    rows = pa.Table.from_batches([select_and_cast(batch, schema) for batch in batches], schema)
    yield from sort_rows(rows, columns).to_batches()


def _attempt() -> Attempt:
    """Return which task this is; a server that tells no numbers gets one that no other task has."""
    context = TaskContext.get()
    if context is None:
        return Attempt(task=SystemEnv().uuid().int >> _UUID_BITS - _NUMBER_BITS, files_at_once=FILES_AT_ONCE)
    return Attempt(task=context.partitionId(), attempt=context.attemptNumber(), files_at_once=FILES_AT_ONCE)


def _tasks(batches: Batches) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        for place, payload in zip(batch[INDEX].to_pylist(), batch[PAYLOAD].to_pylist(), strict=True):
            yield place, _PICKLER.loads(payload)
