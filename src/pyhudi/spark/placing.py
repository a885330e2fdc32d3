"""Send every row to exactly the partition its number says.

Spark 4.1 does it by itself; before that numbers are replaced by seeds whose hash lands there. Start at `by_number`.
"""

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyhudi.spark.keys import named
from pyhudi.spark.releases import placed_by_id

__all__ = ["by_number", "by_seed", "seeds"]

_SEED = "_pyhudi_seed"
_SPARK_HASH_SEED = 42


def by_number(frame: DataFrame, partitions_count: int, column: str) -> DataFrame:
    """Put rows whose int32 column is i into partition i mod n."""
    placed = placed_by_id(frame, partitions_count, named(column))
    return by_seed(frame, partitions_count, column) if placed is None else placed


def by_seed(frame: DataFrame, partitions_count: int, column: str) -> DataFrame:
    """Do the same by hash partitioning, for Spark 4.0 and older."""
    listed = F.split(F.lit(",".join(map(str, seeds(partitions_count)))), ",").cast("array<int>")
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


def _murmur(numbers: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    mixed = numbers * np.uint32(0xCC9E2D51)
    mixed = ((mixed << np.uint32(15)) | (mixed >> np.uint32(17))) * np.uint32(0x1B873593)
    state = np.uint32(_SPARK_HASH_SEED) ^ mixed
    state = ((state << np.uint32(13)) | (state >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
    state = state ^ np.uint32(4)
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))
