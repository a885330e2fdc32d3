"""Count rows by partition in the job that computes them; of few rows the keys come to the driver with it.

Where Spark itself takes the rows for few, as those of a small batch of a stream, they come whole in that one job, and
nothing of them has to be kept.

Of every partition of a frame there is a share that may travel, of later partitions a smaller one, so that however many
rows there are, what travels is bounded. A partition that has more says only how many rows it has. Start at
`counted_keys`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.api import KEY, ORDER, PARTITION
from pyhudi.spark.keys import named
from pyhudi.spark.releases import NESTED_TYPES
from pyhudi.spark.types import to_spark

__all__ = [
    "COUNTED",
    "all_rows",
    "count_task",
    "counted_keys",
    "counts_by_partition",
    "first_rows",
    "keys_of_all",
    "may_be_small",
    "rows_bytes",
]

_MEASURED_ROWS = 100_000
"""So many rows may be brought here whole."""
_WHOLE_ROWS = 100_000
"""Rows that are brought here whole before it is known how many there are."""
_ANY_ROWS = 10_000
"""So many of them however wide they are."""
_SHARED_BYTES = 64 << 20
"""What the others take, were all as wide."""
_WHOLE_BYTES = 8 << 20
_KEYS_BYTES = 64 << 20
"""What the keys of rows that are looked up from here may take."""
_COUNTED_TOGETHER = 64
_PLACE = "_pyhudi_place"
_IS_WHOLE = "_pyhudi_is_whole"
_BYTES = "_pyhudi_bytes"
_ROWS = "_pyhudi_rows"
_ROW_BITS = 33
_ROW_MASK = (1 << _ROW_BITS) - 1
COUNTED: Final = pa.schema(
    [(KEY, pa.string()), (PARTITION, pa.string()), (ORDER, pa.int64()), (_BYTES, pa.int64()), (_ROWS, pa.int64())]
)
"""A row of the frame with its key, or, with only PARTITION and a count, several."""
_TEXTS = (spark.StringType, spark.BinaryType)


def counted_keys(frame: DataFrame, most: int) -> DataFrame:
    """Return the keys of each partition of a frame, or of one that has more than its share how many rows it has.

    The first may have `most` rows, the second half as many, a third, and so on; so of the bytes of keys.

    Shape: COUNTED.
    """
    place = F.monotonically_increasing_id()
    is_first = _share(place) < most
    narrow = frame.select(
        named(PARTITION),
        F.when(is_first, named(KEY)).alias(KEY),
        F.when(is_first, named(ORDER)).alias(ORDER),
        place.alias(_PLACE),
        F.when(_share(place) < _MEASURED_ROWS, _size(frame)).alias(_BYTES),
    )
    return narrow.mapInArrow(partial(count_task, most=most, most_bytes=_KEYS_BYTES), to_spark(COUNTED))


def count_task(batches: Iterator[pa.RecordBatch], *, most: int, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """Return the keys of one task's rows, or count the rows where they are more than its share.

    Shape: PARTITION, KEY, ORDER, the row's place, its bytes -> COUNTED.
    Cost:  the task's share of keys in memory.
    """
    kept: list[pa.RecordBatch] | None = []
    counts: list[pa.Table] = []
    size_bytes = 0
    for batch in batches:
        counts.append(pa.table({PARTITION: batch.column(PARTITION), "rows": pa.repeat(1, batch.num_rows)}))
        counts = [_summed(counts)] if len(counts) == _COUNTED_TOGETHER else counts
        if kept is None or not batch.num_rows:
            continue
        last = batch.column(_PLACE)[-1].as_py()
        share = (last >> _ROW_BITS) + 1
        size_bytes += batch.column(KEY).nbytes
        is_kept = ((last & _ROW_MASK) + 1) * share < most and size_bytes * share <= most_bytes
        kept = [*kept, batch] if is_kept else None
    said = [pa.table(one) for one in kept] if kept is not None else [_summed(counts).rename_columns([PARTITION, _ROWS])]
    yield from (batch for one in said for batch in _laid_out(one).to_batches())


def keys_of_all(found: pa.Table) -> pa.Table | None:
    """Return the keys of all rows; None where some partition has more than its share.   Shape: COUNTED."""
    return found if found[_ROWS].null_count == found.num_rows else None


def counts_by_partition(found: pa.Table) -> pa.Table:
    """Return how many rows a partition of the table has.

    Shape: COUNTED -> PARTITION, `rows`.
    """
    rows = pc.fill_null(found[_ROWS], 1)
    return _summed([pa.table({PARTITION: found[PARTITION], "rows": rows})])


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
    """Return whole rows, of each partition its share; those that are too wide for it say so, without their texts.

    Shape: the frame's columns, the row's place, and whether it is whole.
    """
    rows = frame.withColumn(_PLACE, F.monotonically_increasing_id())
    share = _share(named(_PLACE))
    rows = rows.withColumn(_IS_WHOLE, (share < _ANY_ROWS) | (share * _size(frame) < _SHARED_BYTES))
    wide = [one.name for one in frame.schema.fields if isinstance(one.dataType, (*_TEXTS, *NESTED_TYPES))]
    cut = {name: F.when(named(_IS_WHOLE), named(name)) for name in wide}
    return rows.where(share < _WHOLE_ROWS).withColumns(cut)


def all_rows(found: pa.Table) -> pa.Table | None:
    """Return what `first_rows` chose, without what it added; None where something may have been left out."""
    place = found[_PLACE].to_numpy()
    row, partition = place & _ROW_MASK, place >> _ROW_BITS
    is_cut = np.any((row + 1) * (partition + 1) >= _WHOLE_ROWS) or not pc.all(found[_IS_WHOLE], min_count=0).as_py()
    return None if is_cut else found.drop_columns([_PLACE, _IS_WHOLE])


def rows_bytes(found: pa.Table) -> int | None:
    """Return how many bytes the rows take in memory, roughly; None where some were not measured."""
    if found[_BYTES].null_count:
        return None
    return int(pc.sum(found[_BYTES]).as_py() or 0)


def _laid_out(rows: pa.Table) -> pa.Table:
    """Return rows with all columns, null where they have no such.   Shape: some of COUNTED -> COUNTED."""
    known = frozenset(rows.column_names)
    columns = [rows[one.name] if one.name in known else pa.nulls(rows.num_rows, one.type) for one in COUNTED]
    return pa.table(columns, names=COUNTED.names).cast(COUNTED)


def _summed(counts: Sequence[pa.Table]) -> pa.Table:
    together = pa.concat_tables(counts).group_by(PARTITION, use_threads=False).aggregate([("rows", "sum")])
    return together.select([PARTITION, "rows_sum"]).rename_columns([PARTITION, "rows"])


def _share(place: Column) -> Column:
    row, partition = place.bitwiseAND(F.lit(_ROW_MASK)), F.shiftright(place, _ROW_BITS)
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
