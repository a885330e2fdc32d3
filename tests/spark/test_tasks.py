from functools import partial

import pyarrow as pa
import pytest
from tests.conformance.engine import double, echo, fail_at_three, fail_in_rows

from pyhudi.errors import CorruptData
from pyhudi.spark.failures import error_in_spark
from pyhudi.spark.tasks import map_task, packed_tasks, row_tasks, run_tasks, shared_tasks, sort_task, unpacked_results


def test_tasks_travel_as_rows_and_results_come_back_in_order():
    work = packed_tasks([1, 2, 5])
    results = pa.Table.from_batches(run_tasks(iter(work.to_batches(max_chunksize=1)), function=double))
    assert unpacked_results(results.take([2, 0, 1])) == [2, 4, 10]


def test_a_failing_task_carries_its_error():
    with pytest.raises(RuntimeError) as caught:
        list(run_tasks(iter(packed_tasks([3]).to_batches()), function=fail_at_three))
    assert error_in_spark(caught.value).values == {"number": 3}


def test_rows_are_brought_to_the_schema_that_was_told():
    batches = row_tasks(
        iter(packed_tasks([4]).to_batches()), function=fail_in_rows, schema=pa.schema([("n", pa.int32())])
    )
    assert next(batches) == pa.record_batch({"n": pa.array([4], pa.int32())})
    with pytest.raises(RuntimeError) as caught:
        next(batches)
    assert isinstance(error_in_spark(caught.value), CorruptData)


def test_a_mapped_task_sees_nullable_fields_and_no_empty_batches():
    required = pa.schema([pa.field("n", pa.int64(), False)])
    source = pa.schema([("n", pa.int64())])
    batches = [pa.record_batch([pa.array(rows, pa.int64())], schema=required) for rows in ([], [1, 2])]
    seen = list(map_task(iter(batches), function=echo, source=source, target=source))
    assert seen == [pa.record_batch({"n": pa.array([1, 2], pa.int64())})]


def test_rows_of_a_task_are_sorted_whole():
    schema = pa.schema([("n", pa.int64()), ("text", pa.string())])
    batches = [pa.record_batch([[3, 1], ["c", "a"]], schema=schema), pa.record_batch([[2], ["b"]], schema=schema)]
    (found,) = sort_task(iter(batches), columns=("n",), schema=schema)
    assert found["text"].to_pylist() == ["a", "b", "c"]
    assert list(sort_task(iter([]), columns=("n",), schema=schema)) == []


def test_a_task_without_a_number_takes_one_of_its_own():
    seen = []

    def note(attempt, batches):
        seen.append(attempt.task)
        yield from batches

    for _ in range(3):
        rows = iter([pa.record_batch([[1]], names=["n"])])
        list(map_task(rows, function=note, source=SCHEMA_OF_N, target=SCHEMA_OF_N))
    assert len(set(seen)) == 3
    assert all(0 <= task < 2**31 for task in seen)


SCHEMA_OF_N = pa.schema([("n", pa.int64())])


def test_shares_of_tasks_are_done_by_whom_they_are_for():
    packed = packed_tasks([1, 2, 5, 7, 9])
    shares = [packed.take(pa.array(places)) for places in ([0, 3], [1, 4], [2])]
    work = partial(run_tasks, function=double)
    batches = [pa.record_batch({"id": pa.array(numbers, pa.int64())}) for numbers in ([], [2], [0])]
    results = pa.Table.from_batches(shared_tasks(iter(batches), shares=shares, work=work))
    assert unpacked_results(results) == [2, 10, 14]
