import math
import random

import pyarrow as pa
import pytest

from pyhudi.engine.api import KEY, ORDER
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.merge import MergeSpec
from pyhudi.spark.releases import collect_arrow, frame_of
from pyhudi.spark.shaping import conformed, newest
from pyhudi.storage.memory import MemoryStorage

KINDS = [pa.int32(), pa.int64(), pa.string(), pa.date32(), pa.timestamp("us", "UTC"), pa.decimal128(6, 2), pa.bool_()]
ODD = {pa.float64(): [None, -0.0, 0.0, math.nan], pa.binary(): [None, b"\x80", b"\x01", b""]}
"""Values that Spark and Arrow compare otherwise than Apache Hudi does."""


def _rows(seed, kind):
    chance = random.Random(seed)
    count = 60
    numbers = [chance.choice([None, 0, 1, 2]) for _ in range(count)]
    values = pa.array(numbers, pa.int32())
    if kind in ODD:
        values = pa.array([chance.choice(ODD[kind]) for _ in numbers], kind)
    if pa.types.is_temporal(kind):
        values = values.cast(pa.int32() if kind == pa.date32() else pa.int64())
    return pa.table(
        {
            KEY: [chance.choice("abcdefgh") for _ in range(count)],
            ORDER: pa.array(range(count), pa.int64()),
            "value": values.cast(pa.decimal128(12, 2)).cast(kind) if pa.types.is_decimal(kind) else values.cast(kind),
            "_hoodie_is_deleted": [chance.choice([True, False, None]) for _ in range(count)],
        }
    )


@pytest.mark.parametrize("kind", [*KINDS, *ODD], ids=str)
def test_newest_is_what_the_kernel_chooses(spark, kind):
    table = _rows(1, kind)
    spec = MergeSpec(ordering=("value",))
    local = LocalEngine(MemoryStorage(), threads=1)
    expected = local.collect(local.newest(local.frame(table), spec))[ORDER].to_pylist()
    chosen = collect_arrow(newest(frame_of(spark, table), spec))
    assert chosen.schema.names == table.schema.names
    assert sorted(chosen[ORDER].to_pylist()) == expected


def test_types_that_may_not_change_are_refused_before_anything_runs(spark):
    frame = frame_of(spark, pa.table({"n": ["x"]}))
    with pytest.raises(SchemaMismatch):
        conformed(frame, pa.schema([("n", pa.int64())]))
