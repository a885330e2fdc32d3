import pyarrow as pa
import pytest
from tests.conformance.engine import double, echo, fail_at_three, fail_in_rows

from pyhudi.errors import CorruptData
from pyhudi.spark.failures import error_in_spark
from pyhudi.spark.tasks import map_task, packed_tasks, row_tasks, run_tasks, unpacked_results


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
