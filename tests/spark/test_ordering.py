import itertools
import math

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from pyhudi.kernels import ordering as kernel
from pyhudi.spark.keys import named
from pyhudi.spark.ordering import comparable_columns
from pyhudi.spark.releases import collect_arrow, frame_of

FLOATS = [None, -math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]
COLUMNS = {
    "double": pa.array(FLOATS),
    "float": pa.array(FLOATS, pa.float32()),
    "bytes": pa.array([None, b"\x80", b"\x80\x00", b"\xff", b"\x00", b"\x01", b"\x01\x00", b"\x7f"]),
    "long": pa.array([None, -5, 0, 7], pa.int64()),
    "text": pa.array([None, "", "a", "ab"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_spark_compares_ordering_values_as_the_kernel_does(spark, name):
    values = COLUMNS[name]
    pairs = pa.array(list(itertools.product(range(len(values)), repeat=2)))
    left, right = (values.take(pa.array([pair[side] for pair in pairs.to_pylist()])) for side in (0, 1))
    frame = frame_of(spark, pa.table({"a": left, "b": right, "at": pa.array(range(len(pairs)))}))
    one, other = (F.struct(*comparable_columns(named(column), frame.schema[column].dataType)) for column in "ab")
    found = collect_arrow(frame.select("at", (one < other).alias("smaller"), (one == other).alias("equal")).sort("at"))
    smaller, equal = kernel.compare_values([kernel.comparable(left)], [kernel.comparable(right)], len(pairs))
    assert found["smaller"].to_pylist() == smaller.tolist()
    assert found["equal"].to_pylist() == equal.tolist()
