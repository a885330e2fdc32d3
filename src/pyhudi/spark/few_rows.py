"""Count rows by partition in the job that computes them; of few rows the keys come to the driver with it.

Of many rows it tells how those of each partition are spread among all, so that they can be placed in their order, and
what a row takes. Where Spark itself takes the rows for few, as those of a small batch of a stream, they come whole in
that one job, and nothing of them has to be kept.

Of every partition of a frame there is a share that may travel, of later partitions a smaller one, so that however many
rows there are, what travels is bounded. A partition that has more says only how many rows it has. Start at
`counted_keys`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.api import KEY, ORDER, PARTITION, KeyedRows
from pyhudi.engine.frames import counts_of
from pyhudi.spark.keys import named
from pyhudi.spark.releases import NESTED_TYPES
from pyhudi.spark.types import to_spark

__all__ = [
    "COUNTED",
    "all_rows",
    "count_task",
    "counted_keys",
    "counted_rows",
    "counts_by_partition",
    "first_rows",
    "keys_of_all",
    "may_be_small",
    "row_bytes",
    "rows_bytes",
    "spread",
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
_SPAN_BITS = 13
"""A task counts the rows of each partition by so many neighbours, as 2**13, at first;"""
_MOST_SPANS = 256
"""by more of them, where it has more counts to tell than so many."""
_PLACE = "_pyhudi_place"
_IS_WHOLE = "_pyhudi_is_whole"
_BYTES = "_pyhudi_bytes"
_ROWS = "_pyhudi_rows"
_SPAN = "_pyhudi_span"
_MEASURED = "_pyhudi_measured"
_COUNTS = [PARTITION, ORDER, _ROWS, _BYTES, _MEASURED]
_ROW_BITS = 33
_ROW_MASK = (1 << _ROW_BITS) - 1
COUNTED: Final = pa.schema(
    [
        (KEY, pa.string()),
        (PARTITION, pa.string()),
        (ORDER, pa.int64()),
        (_BYTES, pa.int64()),
        (_ROWS, pa.int64()),
        (_SPAN, pa.int64()),
    ]
)
"""A row of the frame with its key; or, with a count, the rows of a partition in a span of ORDER that begins there."""
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
        named(ORDER),
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
    bits, size_bytes = _SPAN_BITS, 0
    for batch in batches:
        counts.append(_ones(batch))
        if len(counts) == _COUNTED_TOGETHER:
            counts, bits = _in_spans(counts, bits)
        if kept is None or not batch.num_rows:
            continue
        last = batch.column(_PLACE)[-1].as_py()
        share = (last >> _ROW_BITS) + 1
        size_bytes += batch.column(KEY).nbytes
        is_kept = ((last & _ROW_MASK) + 1) * share < most and size_bytes * share <= most_bytes
        kept = [*kept, batch] if is_kept else None
    said = [pa.table(one) for one in kept] if kept is not None else _told(*_in_spans(counts, bits))
    yield from (batch for one in said for batch in _laid_out(one).to_batches())


def counted_rows(frame: DataFrame, found: pa.Table, *, is_far: bool) -> KeyedRows:
    """Return the rows of a frame with what was counted of them, and their keys where these came.

    Shape: found: COUNTED. `is_far`: this process may be far from the table, and does not write the rows itself.
    """
    rows = KeyedRows(frame=frame, counts=counts_of(counts_by_partition(found)), row_bytes=row_bytes(found))
    known = keys_of_all(found)
    if known is None:
        return replace(rows, has_many_keys=True, spread=spread(found))
    return replace(rows, keys=known.select([KEY, PARTITION, ORDER]), size_bytes=None if is_far else rows_bytes(known))


def keys_of_all(found: pa.Table) -> pa.Table | None:
    """Return the keys of all rows; None where some partition has more than its share.   Shape: COUNTED."""
    return found if found[_ROWS].null_count == found.num_rows else None


def counts_by_partition(found: pa.Table) -> pa.Table:
    """Return how many rows a partition of the table has.

    Shape: COUNTED -> PARTITION, `rows`.
    """
    rows = pa.table({PARTITION: found[PARTITION], "rows": pc.fill_null(found[_ROWS], 1)})
    counted = rows.group_by(PARTITION, use_threads=False).aggregate([("rows", "sum")])
    return counted.select([PARTITION, "rows_sum"]).rename_columns([PARTITION, "rows"])


def row_bytes(found: pa.Table) -> float:
    """Return what a row takes in memory, roughly, by those that were measured; 0 where none was.

    Shape: COUNTED -> bytes.
    """
    measured = found.filter(pc.is_valid(found[_BYTES]))
    rows_count = pc.sum(pc.fill_null(measured[_ROWS], 1)).as_py() or 0
    return (pc.sum(measured[_BYTES]).as_py() or 0) / max(1, rows_count)


def spread(found: pa.Table) -> pa.Table:
    """Return how many rows of each partition are in which span of ORDER.

    Shape: COUNTED -> PARTITION, ORDER, `span`, `rows`.
    """
    columns = [found[PARTITION], found[ORDER], pc.fill_null(found[_SPAN], 1), pc.fill_null(found[_ROWS], 1)]
    return pa.table(columns, names=[PARTITION, ORDER, "span", "rows"])


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


def _ones(batch: pa.RecordBatch) -> pa.Table:
    """Return a count for each row.   Shape: PARTITION, ORDER, rows, bytes, measured rows."""
    one, size = pa.array(np.ones(batch.num_rows, np.int64)), batch.column(_BYTES)
    return pa.table(
        [batch.column(PARTITION), batch.column(ORDER), one, pc.fill_null(size, 0), pc.cast(pc.is_valid(size), "int64")],
        names=_COUNTS,
    )


def _in_spans(counts: Sequence[pa.Table], bits: int) -> tuple[list[pa.Table], int]:
    """Sum counts by partition and by spans of 2**bits rows, or of more where these would be too many.

    Shape: tables as of `_ones` -> one of them, and the bits of its spans.
    """
    if not counts:
        return [], bits
    together = _summed(pa.concat_tables(counts), bits)
    while together.num_rows > _MOST_SPANS and bits < _ROW_BITS:
        bits += 1
        together = _summed(together, bits)
    return [together], bits


def _summed(counts: pa.Table, bits: int) -> pa.Table:
    order = counts[ORDER].to_numpy() >> bits << bits
    spans = counts.set_column(1, ORDER, pa.array(order)).group_by([PARTITION, ORDER], use_threads=False)
    summed = spans.aggregate([(name, "sum") for name in _COUNTS[2:]])
    return summed.select([PARTITION, ORDER, *(f"{name}_sum" for name in _COUNTS[2:])]).rename_columns(_COUNTS)


def _told(counts: Sequence[pa.Table], bits: int) -> Iterator[pa.Table]:
    """Yield what was counted with what the rows take, if they are as those that were measured.   Shape: of COUNTED."""
    for one in counts:
        measured, rows = pc.sum(one[_MEASURED]).as_py(), one[_ROWS]
        size = pc.sum(one[_BYTES]).as_py() / measured if measured else None
        sizes = pa.nulls(one.num_rows, pa.int64()) if size is None else pa.array((rows.to_numpy() * size).astype(int))
        span = pa.array(np.full(one.num_rows, 1 << bits))
        yield pa.table([one[PARTITION], one[ORDER], rows, sizes, span], names=[PARTITION, ORDER, _ROWS, _BYTES, _SPAN])


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
