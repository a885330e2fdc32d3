import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from pyhudi.spark.placing import asked_seeds, by_number, by_seed, seeds
from pyhudi.spark.releases import frame_of


def by_known_seeds(frame, partitions_count, column):
    return by_seed(frame, column, seeds(partitions_count))


def by_asked_seeds(frame, partitions_count, column):
    return by_seed(frame, column, asked_seeds(frame.sparkSession, partitions_count))


@pytest.mark.parametrize("place", [by_number, by_known_seeds, by_asked_seeds])
@pytest.mark.parametrize("partitions_count", [1, 7])
def test_rows_land_in_exactly_the_partition_they_name(spark, place, partitions_count):
    frame = frame_of(spark, pa.table({"n": pa.array([*range(partitions_count)] * 3, pa.int32())}))
    placed = place(frame, partitions_count, "n").withColumn("at", F.spark_partition_id())
    assert placed.columns == ["n", "at"]
    assert {(row.n, row.at) for row in placed.collect()} == {(n, n) for n in range(partitions_count)}
