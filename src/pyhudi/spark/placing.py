"""Send every row to exactly the partition its number says.

Spark 4.1 does it by itself; before that numbers are replaced by seeds whose hash lands there. Of a server with a hash
of its own the seeds are found by asking it. Start at `by_number`.
"""

import weakref
from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pyhudi.errors import Environment
from pyhudi.spark.keys import named
from pyhudi.spark.releases import collect_arrow, placed_by_id
from pyhudi.spark.servers import is_spark_itself

__all__ = ["asked_seeds", "by_number", "by_seed", "seeds"]

_SEED = "_pyhudi_seed"
_PLACE = "_pyhudi_place"
_SPARK_HASH_SEED = 42
_TRIED_A_PARTITION = 64
_ASKED: weakref.WeakKeyDictionary[SparkSession, dict[int, list[int]]] = weakref.WeakKeyDictionary()


def by_number(frame: DataFrame, partitions_count: int, column: str) -> DataFrame:
    """Put rows whose int32 column is i into partition i mod n."""
    if not is_spark_itself(frame.sparkSession):
        return by_seed(frame, column, asked_seeds(frame.sparkSession, partitions_count))
    placed = placed_by_id(frame, partitions_count, named(column))
    return by_seed(frame, column, seeds(partitions_count)) if placed is None else placed


def by_seed(frame: DataFrame, column: str, numbers: Sequence[int]) -> DataFrame:
    """Do the same by hash partitioning, for Spark 4.0 and older: the hash of the i-th number lands in partition i."""
    partitions_count = len(numbers)
    listed = F.split(F.lit(",".join(map(str, numbers))), ",").cast("array<int>")
    seeded = frame.withColumn(_SEED, F.get(listed, F.pmod(named(column), F.lit(partitions_count))))
    return seeded.repartition(partitions_count, F.col(_SEED)).drop(_SEED)


def seeds(partitions_count: int) -> list[int]:
    """Find for each partition the smallest int that Spark's hash partitioning puts there.

    Spec: murmur3 x86 32 of one int, seed 42, modulo n, as Spark computes it.
    """
    found = np.full(partitions_count, -1, dtype=np.int64)
    start, step = 0, 16 * partitions_count
    while (found < 0).any():
        numbers = np.arange(start, start + step, dtype=np.uint32)
        partition = _murmur(numbers).view(np.int32).astype(np.int64) % partitions_count
        places, first = np.unique(partition, return_index=True)
        is_new = found[places] < 0
        found[places[is_new]] = numbers[first[is_new]]
        start += step
    return [int(seed) for seed in found]


def asked_seeds(spark: SparkSession, partitions_count: int) -> list[int]:
    """Find for each partition an int that this server's own hash partitioning puts there.

    Cost:   a job for each count of partitions, once a session.
    Raises: Environment where some partition gets none.
    """
    known = _ASKED.setdefault(spark, {})
    if partitions_count not in known:
        known[partitions_count] = _ask_for_seeds(spark, partitions_count)
    return known[partitions_count]


def _ask_for_seeds(spark: SparkSession, partitions_count: int) -> list[int]:
    numbers = spark.range(_TRIED_A_PARTITION * partitions_count).select(F.col("id").cast("int").alias(_SEED))
    placed = numbers.repartition(partitions_count, F.col(_SEED)).select(F.spark_partition_id().alias(_PLACE), _SEED)
    found = collect_arrow(placed.groupBy(_PLACE).agg(F.min(_SEED).alias(_SEED))).sort_by(_PLACE)
    if found[_PLACE].to_pylist() != list(range(partitions_count)):
        raise Environment("this server does not place rows by a hash of a column", partitions=partitions_count)
    return [int(seed) for seed in found[_SEED].to_pylist()]


def _murmur(numbers: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    mixed = numbers * np.uint32(0xCC9E2D51)
    mixed = ((mixed << np.uint32(15)) | (mixed >> np.uint32(17))) * np.uint32(0x1B873593)
    state = np.uint32(_SPARK_HASH_SEED) ^ mixed
    state = ((state << np.uint32(13)) | (state >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
    state = state ^ np.uint32(4)
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))
