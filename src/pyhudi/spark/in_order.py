"""Place rows that are in no file in the order in which they come, by what was counted of them: no job looks for places.

As rows were counted, each task told how many of each partition it has in which span of ORDER. So the rows of a
partition before a span are known, and within a span they are taken to be spread evenly: a row's place is a function of
its ORDER. That was made before the rows were held, so that a task that runs again finds the same places. Start at
`places_of`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pyhudi.engine.api import KEY, ORDER, PARTITION, KeyedRows, Placing, Routes
from pyhudi.engine.frames import Indices
from pyhudi.spark.keys import named
from pyhudi.spark.releases import collect_arrow, frame_of

__all__ = ["COUNT", "STARTS", "Places", "in_first_slot", "in_order", "is_ordered", "listed", "places_of", "split_keys"]

STARTS: Final = "_pyhudi_starts"
"""How many rows of a row's partition come before each span, and how many there are; null: they are placed by keys."""
COUNT: Final = "_pyhudi_count"
"""How many slots a row's partition has."""
_SPAN: Final = "_pyhudi_span"
_ROW: Final = "_pyhudi_row"
_HASH: Final = "_pyhudi_hash"
_FIRST: Final = "_pyhudi_first_of_key"
_LAST: Final = "_pyhudi_last_of_key"
_ROW_BITS: Final = 33
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_MOST_SPANS: Final = 1 << 14
_MOST_STARTS: Final = 1 << 22
"""Of all partitions together; they are sent to every task."""
_MOST_SPLIT: Final = 10_000
_ROWS_A_TASK: Final = 1 << 18
_MOSTLY: Final = 0.9
"""If fewer of a partition's rows are new, they may lie anywhere among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the rows of partitions lie among all rows, which are cut into spans of ORDER."""

    sizes: tuple[int, ...]
    """By the partition of Spark's in which ORDER was made: how many numbers a span of it has."""
    firsts: tuple[int, ...]
    """By the same: its first span."""
    widths: tuple[int, ...]
    """How many rows each span has."""
    starts: Mapping[str, tuple[int, ...]]
    """By the table's partition: how many rows of it come before each span, and how many there are."""


def is_ordered(routes: Routes) -> bool:
    """Return whether it matters in which order the rows of some partition come."""
    is_by_key = routes.placing is Placing.BY_KEY or routes.key_hash is not None
    return not is_by_key and max(routes.slots_count, default=0) > 1


def places_of(rows: KeyedRows, routes: Routes) -> Places | None:
    """Find where the rows of those partitions lie that have several slots, and few rows whose keys are stored.

    None: there are none, or this was not counted.
    """
    if rows.spread is None or not rows.spread.num_rows or not is_ordered(routes):
        return None
    names = _placed(rows, routes)
    order, counts = (rows.spread[name].to_numpy() for name in (ORDER, "rows"))
    cut = _spans(order, rows.spread["span"].to_numpy(), len(names)) if names else None
    if cut is None:
        return None
    sizes, firsts, spans_count = cut
    task, row = order >> _ROW_BITS, order & _ROW_MASK
    span = firsts[task] + row // sizes[task]
    widths = np.bincount(span, weights=counts, minlength=spans_count).astype(np.int64)
    starts = np.zeros((len(names), spans_count + 1), dtype=np.int64)
    partition = pc.index_in(rows.spread[PARTITION], value_set=pa.array(names, pa.string())).to_numpy()
    is_listed = ~np.isnan(partition)
    np.add.at(starts, (partition[is_listed].astype(np.int64), span[is_listed] + 1), counts[is_listed])
    np.cumsum(starts, axis=1, out=starts)
    return Places(
        sizes=tuple(sizes.tolist()),
        firsts=tuple(firsts.tolist()),
        widths=tuple(widths.tolist()),
        starts={name: tuple(found.tolist()) for name, found in zip(names, starts, strict=True)},
    )


def in_order(frame: DataFrame, places: Places, column: str) -> DataFrame:
    """Add the slot of each row within its partition, by its place; null where STARTS is."""
    task = F.shiftright(ORDER, _ROW_BITS).cast("int")
    size, first = (F.get(listed(values), task) for values in (places.sizes, places.firsts))
    row = named(ORDER).bitwiseAND(F.lit(_ROW_MASK))
    within = F.pmod(row, size)
    frame = frame.withColumns({_ROW: within, _SPAN: (first + ((row - within) / size).cast("long")).cast("int")})
    before, after = F.get(STARTS, F.col(_SPAN)), F.get(STARTS, F.col(_SPAN) + 1)
    width = F.greatest(F.get(listed(places.widths), F.col(_SPAN)), F.lit(1))
    place = before + F.floor((after - before) * F.col(_ROW) / width)
    whole = F.greatest(F.element_at(STARTS, -1), F.lit(1))
    slot = F.least(F.floor(place * F.col(COUNT) / whole), F.col(COUNT) - 1)
    found = F.when(F.col(STARTS).isNotNull(), F.coalesce(slot.cast("int"), F.lit(0)))
    return frame.withColumn(column, found).drop(_ROW, _SPAN)


def split_keys(frame: DataFrame, slots: str, rows_count: int) -> DataFrame | None:
    """Find the keys whose rows would go to several slots, and the first one of each; None where such keys are many.

    Shape: KEY, PARTITION, the column `slots` -> the columns that `in_first_slot` looks at.
    Cost:  a job that shuffles a hash and a number of each row that is placed in order, of some `rows_count`. Most keys
           come once, so that to sum them up before that would cost as much again.
    """
    placed = frame.where(F.col(slots).isNotNull()).select(_hash().alias(_HASH), F.col(slots))
    placed = placed.repartition(rows_count // _ROWS_A_TASK + 1, _HASH)
    by_key = placed.groupBy(_HASH).agg(F.min(slots).alias(_FIRST), F.max(slots).alias(_LAST))
    split = by_key.where(F.col(_FIRST) < F.col(_LAST)).drop(_LAST).limit(_MOST_SPLIT + 1)
    found = collect_arrow(split)
    return None if found.num_rows > _MOST_SPLIT else frame_of(frame.sparkSession, found)


def in_first_slot(frame: DataFrame, split: DataFrame, column: str) -> DataFrame:
    """Send the rows of keys that `split_keys` found to the first slot of their key."""
    firsts = split.select(F.col(_HASH), F.col(_FIRST))
    together = frame.join(F.broadcast(firsts), _hash() == F.col(_HASH), "left")
    first = F.when(F.col(column).isNotNull(), F.coalesce(F.col(_FIRST), F.col(column)))
    return together.withColumn(column, first).drop(_HASH, _FIRST)


def listed(values: Sequence[int]) -> Column:
    """Return a literal list; Spark folds the text into an array once.   Shape: array of bigint."""
    text = F.lit(",".join(map(str, values)))
    return (F.split(text, ",") if values else F.array()).cast("array<bigint>")


def _hash() -> Column:
    """Return what stands for a row's key and partition."""
    return F.xxhash64(KEY, PARTITION)


def _placed(rows: KeyedRows, routes: Routes) -> list[str]:
    """Return the partitions whose rows are placed in order."""
    counts = rows.counts or {}
    known = routes.placed_rows or (0,) * len(routes.partitions)
    listed = zip(routes.partitions, routes.slots_count, known, strict=True)
    return [name for name, slots, count in listed if slots > 1 and count >= _MOSTLY * counts.get(name, 0)]


def _spans(order: Indices, spans: Indices, partitions_count: int) -> tuple[Indices, Indices, int] | None:
    """Cut ORDER into spans, in the finest way that was counted and is not too much to send.

    Shape: by Spark's partition the size of its spans and its first one, and how many there are; None: all are too many.
    """
    task, row = order >> _ROW_BITS, order & _ROW_MASK
    sizes, last = np.ones(int(task.max()) + 1, dtype=np.int64), np.zeros(int(task.max()) + 1, dtype=np.int64)
    np.maximum.at(sizes, task, spans)
    np.maximum.at(last, task, row + spans - 1)
    for bits in range(_ROW_BITS + 1):
        sizes = np.maximum(sizes, 1 << bits)
        counts = last // sizes + 1
        spans_count = int(counts.sum())
        is_small = spans_count <= _MOST_SPANS or bits == _ROW_BITS
        if is_small and spans_count * partitions_count <= _MOST_STARTS:
            return sizes, np.cumsum(counts) - counts, spans_count
    return None
