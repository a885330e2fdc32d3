"""Bring the keys of few rows to the driver in the job that computes the rows, and see whether those are all.

Where Spark itself takes the rows for few, as those of a small batch of a stream, they come whole in that one job, and
nothing of them has to be kept.

The first rows of every partition are taken, of later partitions fewer, so that however many rows there are, those that
travel are bounded. Start at `first_keys`.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.api import KEY, ORDER, PARTITION
from pyhudi.spark.keys import named
from pyhudi.spark.releases import NESTED_TYPES

__all__ = ["all_rows", "first_keys", "first_rows", "is_cut", "may_be_small", "rows_bytes"]

_MEASURED_ROWS = 100_000
"""So many rows may be brought here whole."""
_WHOLE_ROWS = 10_000
"""Rows that are brought here whole before it is known how many there are."""
_WHOLE_BYTES = 8 << 20
_PLACE = "_pyhudi_place"
_BYTES = "_pyhudi_bytes"
_ROW_BITS = 33
_TEXTS = (spark.StringType, spark.BinaryType)


def first_keys(frame: DataFrame, most: int) -> DataFrame:
    """Return the keys of `most` rows of the first partition, of half as many of the second, a third, and so on.

    Shape: KEY, PARTITION, ORDER, the row's place and, of those that may be brought here, its bytes.
    """
    place = F.monotonically_increasing_id()
    size = F.when(_share(place) < _MEASURED_ROWS, _size(frame))
    narrow = frame.select(*map(named, (KEY, PARTITION, ORDER)), place.alias(_PLACE), size.alias(_BYTES))
    return narrow.where(_share(named(_PLACE)) < most)


def may_be_small(frame: DataFrame, most_bytes: int) -> bool:
    """Return whether Spark takes a frame of a classic session for small; it is asked for what is private to it."""
    private: Any = frame
    if not most_bytes:
        return False
    try:
        said = private._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    except Exception:  # of a release that tells it in another way
        return False
    return int(str(said)) <= min(most_bytes, _WHOLE_BYTES)


def first_rows(frame: DataFrame) -> DataFrame:
    """Return rows as `first_keys` chooses them, whole.   Shape: the frame's columns, and the row's place."""
    return frame.withColumn(_PLACE, F.monotonically_increasing_id()).where(_share(named(_PLACE)) < _WHOLE_ROWS)


def all_rows(found: pa.Table) -> pa.Table | None:
    """Return what `first_rows` chose, without places; None where rows may have been left out."""
    return None if is_cut(found, _WHOLE_ROWS) else found.drop_columns([_PLACE])


def is_cut(found: pa.Table, most: int) -> bool:
    """Return whether rows may have been left out."""
    place = found[_PLACE].to_numpy()
    row, partition = place & ((1 << _ROW_BITS) - 1), place >> _ROW_BITS
    return bool(np.any((row + 1) * (partition + 1) >= most))


def rows_bytes(found: pa.Table) -> int | None:
    """Return how many bytes the rows take in memory, roughly; None where some were not measured."""
    if found[_BYTES].null_count:
        return None
    return int(pc.sum(found[_BYTES]).as_py() or 0)


def _share(place: Column) -> Column:
    row, partition = place.bitwiseAND(F.lit((1 << _ROW_BITS) - 1)), F.shiftright(place, _ROW_BITS)
    return row * (partition + 1)


def _size(frame: DataFrame) -> Column:
    """Measure a row, roughly."""
    fixed, size = 0, F.lit(0).cast("long")
    for field in frame.schema.fields:
        if isinstance(field.dataType, _TEXTS):
            fixed += 4
            size = size + F.coalesce(F.octet_length(named(field.name)), F.lit(0))
        elif isinstance(field.dataType, NESTED_TYPES):
            size = size + F.coalesce(F.octet_length(named(field.name).cast("string")), F.lit(0))
        else:
            fixed += 8
    return size + F.lit(fixed)
