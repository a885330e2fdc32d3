import numpy as np
import pyarrow as pa
import pytest

from pyhudi.engine.api import KEY, ORDER, PARTITION, RowsMemory
from pyhudi.engine.sorted_spool import sorted_spool
from pyhudi.engine.spool import spooled

MEMORY = RowsMemory(max_bytes=1 << 20)
SCHEMA = pa.schema(
    [("n", pa.int64()), ("text", pa.string()), (KEY, pa.string()), (PARTITION, pa.string()), (ORDER, pa.int64())]
)


def frame_of(numbers, partitions, text="x" * 200):
    rows = len(numbers)
    columns = [
        pa.array(numbers, pa.int64()),
        [text] * rows,
        [f"k{number}" for number in numbers],
        partitions,
        range(rows),
    ]
    table = pa.table([pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
    return spooled((table.slice(start, 500) for start in range(0, rows, 500)), SCHEMA, MEMORY)


def sorted_numbers(frame, partition):
    rows = pa.Table.from_batches(frame.spool.read(partition), schema=frame.schema)
    return rows["n"].to_pylist()


@pytest.mark.parametrize("columns", [["n"], ["n", KEY]])
def test_rows_of_a_partition_that_is_larger_than_memory_are_sorted(columns):
    numbers = np.random.default_rng(1).permutation(4_000).tolist()
    partitions = ["large" if number % 20 else "small" for number in numbers]
    frame = frame_of(numbers, partitions)
    assert frame.spool.size_bytes("large") > MEMORY.rows_bytes > frame.spool.size_bytes("small") * 4
    found = sorted_spool(frame, columns)
    assert found.counts == frame.counts
    assert sorted_numbers(found, "large") == [number for number in range(4_000) if number % 20]
    assert sorted_numbers(found, "small") == list(range(0, 4_000, 20))


@pytest.mark.parametrize("kinds", [1, 2, 7])
def test_equal_values_and_nulls_are_sorted_too(kinds):
    numbers = [None if number % 3 == 0 else number % kinds for number in range(4_000)]
    found = sorted_numbers(sorted_spool(frame_of(numbers, ["p"] * 4_000), ["n"]), "p")
    assert found == sorted(numbers, key=lambda one: (one is not None, one))
